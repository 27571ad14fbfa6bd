"""A study of job logs, described by values named as in a study file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, unreadable
from cpsched.study.run_table import RunTable
from cpsched.study.study import log_name, system_label
from cpsched.study.study_file import parse_study
from cpsched.util.models import Source

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from cpsched.study.study import Study


def study_of_log(
    log: str | Path | Sequence[str | Path],
    given: Mapping[str, Any],
    name_of: Callable[[str], str],
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
        ``allocator``, ``predictors``, ``baseline`` (a dispatcher), ``baseline_system``,
        ``repeat``, ``jitter``, ``measure_from``, ``input_format``, ``skip_bad_lines``, and those
        of the table ``run``.
    name_of
        Returns what the user calls a key of a study: an option or a parameter.

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
    baseline = {"dispatcher": given["baseline"]} if given.get("baseline") is not None else {}
    if given.get("baseline_system") is not None:
        baseline["system"] = system_label(given["baseline_system"])
    content: dict[str, Any] = {
        "title": ", ".join(map(log_name, paths)),
        "systems": systems,
        "dispatchers": list(dict.fromkeys(given.get("dispatchers") or ["easy"])),
        "predictors": list(dict.fromkeys(given.get("predictors") or ["requested"])),
        "workloads": [
            {"file": str(path), **values("input_format", "skip_bad_lines"), **on}
            for path, on in zip(paths, own, strict=True)
        ],
        "run": values(*RunTable.model_fields),
        "baseline": baseline,
        **values("allocator", "repeat", "jitter", "measure_from"),
    }
    return parse_study(Source("", content, name_of=name_of))


def _readable(log: str | Path) -> Path:
    try:
        with Path(log).open("rb"):
            pass
    except OSError as error:
        from cpsched.study.study_file import study_names

        if str(log) in study_names():
            raise ConfigError(f"is a study. Use 'cpsched compare {log}'.", where=log) from error
        raise ConfigError(unreadable(error), where=log) from error
    return Path(log).absolute()
