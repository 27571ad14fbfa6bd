"""A study of one job log, described by options of the command line."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.cli.options import Part, Runs, moment, option_of
from cpsched.cli.output import complain, counted, echo, escaped
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.study import CampaignOutcome, Study


def study_of_log(
    log: str | Path | Sequence[str], runs: Runs, *, once: Sequence[str] = (), **more: Any
) -> Study:
    """
    Return the study of one log, or several, that options describe.

    Parameters
    ----------
    once
        What may be given only once, by its name in a study file.
    more
        Further values, as for :func:`cpsched.study.log_study.study_of_log`.

    Raises
    ------
    ConfigError
        As there, or if there is no system, or more than one of what may be
        given once.
    """
    from cpsched.study.log_study import study_of_log as of_log

    given = runs.given() | more
    for name in once:
        if len(given.get(name, ())) > 1:
            raise ConfigError(
                f"is given {len(given[name])} times. Give it once.", key=option_of(name)
            )
    if "systems" not in given:
        raise ConfigError(
            "is missing. Name a system (cpsched list systems) or a TOML file."
            " 'cpsched compare LOG --out DIR' infers one.",
            key=option_of("systems"),
        )
    return narrowed(of_log(log, given, option_of), runs)


def narrowed(study: Study, part: Part) -> Study:
    """Return a study restricted to the part of its workloads that the options select."""
    return study.narrowed(part.first, moment("--from", part.start), moment("--to", part.end))


def say_what_is_assumed(study: Study) -> None:
    """
    Say what the site's policy does not know about the log.

    For scenarios, the limits are named that now apply, or no longer apply, besides those changed.
    """
    from cpsched.cli.progress import reading
    from cpsched.study.inputs import prepare
    from cpsched.study.policies import assumed_of
    from cpsched.study.run_spec import run_specs

    first = run_specs(study)[0]
    with reading(study.workloads[0].label):
        fitted = prepare(first.made_of)
    for line in assumed_of(fitted, first.dispatcher):
        echo(escaped(line))


def say_what_is_not_followed(study: Study) -> None:
    """Say what each dispatcher does not know about each log, once, before they are compared."""
    from cpsched.cli.progress import reading
    from cpsched.study.inputs import prepare
    from cpsched.study.policies import assumed_of
    from cpsched.study.run_spec import run_specs

    first = {task.labels[:3]: task for task in reversed(run_specs(study))}
    lines: dict[str, None] = {}
    for labels, task in reversed(first.items()):
        with reading(str(dict(labels)["workload"])):
            fitted = prepare(task.made_of)
        lines.update(dict.fromkeys(assumed_of(fitted, task.dispatcher)))
    for line in lines:
        echo(escaped(line))


def complain_about(outcome: CampaignOutcome, *, kept: bool = True) -> None:
    """
    Say what was damaged and what failed, once for each error.

    Parameters
    ----------
    kept
        Whether the folder is kept, so that its files can be named.
    """
    for folder in outcome.damaged:
        complain(f"a run was damaged and is repeated. The old one is in {folder}.", "warning")
    by_error: dict[str, list[Any]] = {}
    for failure in outcome.failed:
        by_error.setdefault(failure.error, []).append(failure)
    for error, failures in by_error.items():
        what = f"{failures[0].name} failed"
        where = str(failures[0].file)
        if len(failures) > 1:
            what, where = f"{counted(len(failures), 'run')} failed", f"the first: {where}"
        complain(f"{what}: {error} ({where})" if kept else f"{what}: {error}")
