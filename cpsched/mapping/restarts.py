"""Which jobs may be taken off their nodes and started again, where the log does not say."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from cpsched.errors import check_range
from cpsched.mapping.settings import LONGEST, NONE, read_settings

if TYPE_CHECKING:
    from cpsched.model.workload import Workload


class Restarts(NamedTuple):
    """
    How a share of a log's jobs may be restarted.

    Attributes
    ----------
    share
        Of the jobs, drawn at random and always the same ones of a log.
    cost
        Seconds that each start but the first takes longer.
    checkpoint
        After every how many seconds a job saves what it has done; 0: never.
    """

    share: float = 1.0
    cost: int = 0
    checkpoint: int = 0

    @classmethod
    def parse(cls, text: str) -> Restarts:
        """
        Read ``share=0.5,cost=30,checkpoint=600``; each may be left out.

        Raises
        ------
        ConfigError
            If something else is given, or a value is invalid.
        """
        found = cls(**read_settings(cls._field_defaults, "restarts", text))
        check_range("share", found.share, 0, 1)
        check_range("cost", found.cost, 0, LONGEST)
        check_range("checkpoint", found.checkpoint, 0, LONGEST)
        return found


def with_restarts(workload: Workload, text: str) -> Workload:
    """Return a workload in which jobs may be restarted as a setting says; ``none``: as it is."""
    if text == NONE:
        return workload
    found = Restarts.parse(text)
    chosen = np.random.default_rng(0).random(len(workload)) < found.share
    return workload.with_columns(
        restartable=chosen,
        restart_cost=np.where(chosen, found.cost, 0),
        checkpoint=np.where(chosen, found.checkpoint, 0),
    )
