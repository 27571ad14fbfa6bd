"""A study of one job log, described by values named as in a study file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.base.spec import called
from cpsched.errors import ConfigError
from cpsched.simulation.settings import RULES
from cpsched.study.study import as_label, system_label
from cpsched.study.study_file import log_name, parse_study

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.study.study import Study


def study_of_log(log: str | Path, given: Mapping[str, Any], where: str) -> Study:
    """
    Return a study of one log, read like one in a file.

    Parameters
    ----------
    given
        Values by their names in a study file; None means not given. ``systems``, ``dispatchers``,
        ``allocator``, ``predictors``, ``baseline`` (a dispatcher), ``baseline_system``, ``seeds``,
        ``jitter``, ``measure_from``, ``format``, ``skip_bad_lines``, and those of the table
        ``run``.
    where
        The source of these values, for messages.

    Raises
    ------
    ConfigError
        As :func:`~cpsched.study.load_study`, or if the log cannot be read.
    """

    def said(*keys: str) -> dict[str, Any]:
        return {key: given[key] for key in keys if given.get(key) is not None}

    try:
        with Path(log).open("rb"):
            pass
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", where=log) from error
    path = Path(log).absolute()
    base = given.get("baseline")
    baseline = {} if base is None else {"dispatcher": as_label(called("dispatchers", base))}
    if given.get("baseline_system") is not None:
        baseline["system"] = system_label(given["baseline_system"])
    content: dict[str, Any] = {
        "title": log_name(path),
        "systems": given["systems"],
        "dispatchers": list(dict.fromkeys(given.get("dispatchers") or ["easy"])),
        "predictors": list(dict.fromkeys(given.get("predictors") or ["requested"])),
        "workloads": [{"file": str(path), **said("format", "skip_bad_lines")}],
        "run": said(*RULES),
        "baseline": baseline,
        **said("allocator", "seeds", "jitter", "measure_from"),
    }
    return parse_study(content, Path(where))
