"""What-if studies: a baseline, and scenarios in which something is changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError, UnknownNameError
from cpsched.study.inputs import jobs_of, second_of
from cpsched.study.policies import edited_policy, follows_policy, needs_policy
from cpsched.study.run_spec import run_specs
from cpsched.study.store import Store
from cpsched.study.study import Baseline, Study, as_label
from cpsched.study.study_models import labelled_spec
from cpsched.util import registry
from cpsched.util.atomic_files import replacing, subfolder
from cpsched.util.spec import Spec, canonical, expand, files_of, options_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: Name of the baseline.
BASELINE = "baseline"
_ENDING = ".policy.toml"
#: Changes to what decides, besides options of the baseline's dispatcher (``set``).
_OTHERS = ("dispatcher", "predictor")


@dataclass(frozen=True, kw_only=True)
class Scenario:
    """
    One or several changes.

    Attributes
    ----------
    label
        Its name in tables.
    changes
        Specifications of :class:`~cpsched.study.changes.Change`.
    settings
        Options of the baseline's dispatcher and values of its policy (``KEY=VALUE``).
    dispatcher, predictor
        Replacements of the baseline's; None: unchanged.
    """

    label: str
    changes: tuple[str, ...] = ()
    settings: tuple[str, ...] = ()
    dispatcher: str | None = None
    predictor: str | None = None


def scenarios(study: Study, texts: Iterable[str]) -> list[Scenario]:
    """
    Return the scenarios that texts describe; ``study`` is the baseline.

    Raises
    ------
    ConfigError
        As :func:`scenario`.
    """

    def second(date: str) -> int:
        jobs = jobs_of(run_specs(study)[0].made_of)
        moment = second_of(jobs, "", date)
        assert moment is not None
        return moment

    return [scenario(text, second) for text in texts]


def scenario(text: str, second: Callable[[str], int] = int) -> Scenario:
    """
    Return the scenario that a text describes.

    Parameters
    ----------
    text
        One or several changes, such as ``add-nodes group=gpu,count=10``, ``set bf_window=2880``,
        ``scale-load 1.2``, ``max-time short=2:00:00``, ``cap-request 12:00:00``, ``dispatcher
        easy-wsept``, ``predictor gbm-log``, with ``;`` between; a name and a colon may be in
        front.
    second
        The second of the log's clock at a date.

    Raises
    ------
    ConfigError
        If it is none of these, or is invalid.
    """
    label, parts = _named(" ".join(text.split()))
    changes: list[str] = []
    settings: list[str] = []
    others: dict[str, str] = {}
    for part in parts:
        verb, _, rest = part.partition(" ")
        if verb == "set":
            if "=" not in rest:
                raise ConfigError("must be KEY=VALUE, such as bf_window=2880", where=part)
            settings.append(rest)
        elif verb in _OTHERS:
            if verb in others:
                raise ConfigError(f"a scenario has one {verb}", where=text)
            others[verb] = rest
        else:
            changes.append(_change(part, second))
    if not parts:
        raise ConfigError("changes nothing", where=label or "scenario")
    return Scenario(
        label=as_label(label or "; ".join(parts)),
        changes=tuple(changes),
        settings=tuple(settings),
        **others,
    )


def _named(text: str) -> tuple[str, list[str]]:
    """Return the name in front of changes, empty if there is none, and the changes."""
    name, colon, rest = text.partition(":")
    verbs = {*registry.names("changes"), *_OTHERS, "set"}
    # A colon may also be in a change: in a length of time, or in a specification.
    begins = rest.strip().split(" ")[0] in verbs
    named = begins or (rest.startswith(" ") and name.split(" ")[0] not in verbs)
    if not colon or "=" in name or not named:
        name, rest = "", text
    return name.strip(), [part.strip() for part in rest.split(";") if part.strip()]


def _change(text: str, second: Callable[[str], int]) -> str:
    """Return the specification of a change, which may be in its short form."""
    if registry.entries("changes").get(text.partition(":")[0]):
        return canonical("changes", text)
    verb, _, rest = text.partition(" ")
    if verb not in registry.names("changes"):
        raise UnknownNameError("change", verb, [*registry.names("changes"), *_OTHERS, "set"])
    try:
        options = registry.load("changes", verb).written(rest, second)
        return canonical("changes", f"{verb}:{options}")
    except ValueError as error:
        raise ConfigError(str(error), where=text) from error


def what_if(study: Study, wanted: Sequence[Scenario], folder: Path) -> Study:
    """
    Return the study of a baseline and of scenarios.

    Parameters
    ----------
    study
        Of one workload on one system, with one dispatcher and one predictor: the baseline.
    folder
        Of the study: changed policies are written there, to ``policies``.

    Raises
    ------
    ConfigError
        If a scenario does not fit it or the log, or two have the same name.
    TraceError
        If the log cannot be read.
    """
    (workload,), (dispatcher,) = study.workloads, study.dispatchers
    (predictor,) = workload.predictors
    choices = [replace(dispatcher, label=BASELINE)]
    workloads = [replace(workload, dispatchers=(choices[0],))]
    for changed in wanted:
        if changed.label in (own.label for own in choices):
            raise ConfigError(f"two scenarios have this name: {changed.label!r}")
        spec = _dispatcher(dispatcher.spec, changed, folder)
        choices.append(labelled_spec("dispatchers", spec, Path(), changed.label))
        chosen = predictor
        if changed.predictor is not None:
            chosen = labelled_spec("predictors", changed.predictor, Path())
        workloads.append(
            replace(
                workload, dispatchers=(choices[-1],), predictors=(chosen,), changes=changed.changes
            )
        )
    made = replace(
        study,
        workloads=tuple(workloads),
        dispatchers=tuple(choices),
        baseline=Baseline(dispatcher=BASELINE, predictor=predictor.label),
        by_group=True,
    )
    # Before anything is run: a log may lack what is to be changed.
    for task in run_specs(replace(made, seeds=made.seeds[:1])):
        jobs_of(task.made_of)
    return made


def _dispatcher(base: str, scenario: Scenario, folder: Path) -> str:
    """Return the dispatcher of a scenario."""
    if scenario.dispatcher is not None:
        if scenario.settings:
            raise ConfigError(
                "set applies to the baseline's dispatcher: give options after the name of the"
                " other one, such as easy:backfill=sjf",
                where=scenario.label,
            )
        return scenario.dispatcher
    spec = expand("dispatchers", base)
    edits = []
    for text in scenario.settings:
        key, _, value = (part.strip() for part in text.partition("="))
        outer, dot, _ = key.partition(".")
        if dot and outer not in options_of("dispatchers", spec.name):
            # It is a place in the policy.
            edits.append(text)
            continue
        _check_option(spec, key, value, text)
        spec = spec.with_options({key: value})
    if edits:
        policy = files_of("dispatchers", spec).get("policy")
        if policy is None or not follows_policy(base):
            raise ConfigError("needs --slurm-policy", where=edits[0])
        path = _written(edited_policy(policy, edits), scenario, folder)
        spec = spec.with_options({"policy": str(path)})
    return str(spec)


def _check_option(spec: Spec, key: str, value: str, text: str) -> None:
    """Raise ConfigError for an option that a dispatcher does not have, or a value it refuses."""
    if needs_policy(spec.name, key):
        raise ConfigError(
            f"is not of {spec.name}, but of a site's Slurm: it needs --slurm-policy, or -d slurm",
            where=f"set {text}",
        )
    try:
        canonical("dispatchers", str(spec.with_options({key: value})))
    except ConfigError as error:
        reason = str(error).partition(f" {key}: ")[2] or str(error)
        raise ConfigError(reason, where=f"set {text}") from None


def _written(policy: str, scenario: Scenario, folder: Path) -> Path:
    """Write the text of a changed policy; return the file."""
    # Before anything is written there: this refuses a folder that is not a study.
    Store(folder.absolute())
    name = "".join(char if char.isalnum() or char in "-_." else "-" for char in scenario.label)
    path = subfolder(folder.absolute(), "policies") / f"{name}{_ENDING}"
    with replacing(path) as partial:
        partial.write_text(policy, encoding="utf-8")
    return path
