"""Whether a log has jobs of the kind that a dispatcher needs."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from cpsched.base.spec import build
from cpsched.base.types import JobType

if TYPE_CHECKING:
    from cpsched.dispatch.contract import Dispatcher
    from cpsched.model.workload import Workload


def without_effect(dispatcher: str, workload: Workload) -> str | None:
    """
    Return a line if the log has no jobs for which this dispatcher is special; else None.

    Parameters
    ----------
    dispatcher
        A specification.
    """
    setting = cast("Dispatcher", build("dispatchers", dispatcher)).works_with
    some = {
        "restarts": bool(workload.restartable.any()),
        "malleable": bool(np.any(workload.job_type != JobType.RIGID)),
    }
    if some.get(setting, True):
        return None
    what = "may be restarted" if setting == "restarts" else "may change its size"
    return (
        f"no job of {workload.title} {what}, but {dispatcher} is for such jobs: --{setting} makes"
        " a share of the jobs so"
    )
