"""A study of job logs, described by values named as in a study file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError
from cpsched.simulation.settings import RULES
from cpsched.study.study import as_label, system_label
from cpsched.study.study_file import log_name, parse_study
from cpsched.util.spec import display_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from cpsched.study.study import Study


def study_of_log(
    log: str | Path | Sequence[str | Path], given: Mapping[str, Any], where: str
) -> Study:
    """
    Return a study of one log or several, read like one in a file.

    Parameters
    ----------
    log
        Of several each runs on the system at its place in the list of systems, if there are as
        many, else on all of them.
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

    def values(*keys: str) -> dict[str, Any]:
        return {key: given[key] for key in keys if given.get(key) is not None}

    paths = [_readable(path) for path in ([log] if isinstance(log, str | Path) else log)]
    systems = list(given["systems"])
    own: list[dict[str, Any]] = [{} for _ in paths]
    if 1 < len(paths) == len(systems):
        own, systems = [{"systems": [name]} for name in systems], []
    base = given.get("baseline")
    baseline = {} if base is None else {"dispatcher": as_label(display_name("dispatchers", base))}
    if given.get("baseline_system") is not None:
        baseline["system"] = system_label(given["baseline_system"])
    content: dict[str, Any] = {
        "title": ", ".join(map(log_name, paths)),
        "systems": systems,
        "dispatchers": list(dict.fromkeys(given.get("dispatchers") or ["easy"])),
        "predictors": list(dict.fromkeys(given.get("predictors") or ["requested"])),
        "workloads": [
            {"file": str(path), **values("format", "skip_bad_lines"), **on}
            for path, on in zip(paths, own, strict=True)
        ],
        "run": values(*RULES),
        "baseline": baseline,
        **values("allocator", "seeds", "jitter", "measure_from"),
    }
    return parse_study(content, Path(where))


def _readable(log: str | Path) -> Path:
    try:
        with Path(log).open("rb"):
            pass
    except OSError as error:
        raise ConfigError(f"cannot be read: {error.strerror or error}", where=log) from error
    return Path(log).absolute()
