"""What-if studies: a baseline, and scenarios in which something is changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.base import registry
from cpsched.base.atomic_files import replacing
from cpsched.base.quantities import duration
from cpsched.base.spec import Spec, canonical, files_of
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.study.policies import kind_of
from cpsched.study.study import Baseline, Study, as_label, in_utc
from cpsched.study.study_file import choice

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

#: Name of the baseline.
BASELINE = "baseline"
_ENDING = ".policy.toml"


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


def scenario(texts: Iterable[str], label: str | None = None) -> Scenario:
    """
    Return the scenario that a text describes.

    Parameters
    ----------
    texts
        Such as ``add-nodes group=gpu,count=10``, ``set bf_window=2880``, ``scale-load 1.2``,
        ``max-time short=2:00:00``, ``cap-request 12:00:00``, ``dispatcher rollout``, ``predictor
        gbm-log``.
    label
        None: the words.

    Raises
    ------
    ConfigError
        If one is none of these, or is invalid.
    """
    texts = [" ".join(text.split()) for text in texts]
    changes: list[str] = []
    settings: list[str] = []
    others: dict[str, str] = {}
    for text in texts:
        verb, _, rest = text.partition(" ")
        if verb == "set":
            if "=" not in rest:
                raise ConfigError("must be KEY=VALUE, such as bf_window=2880", where=text)
            settings.append(rest)
        elif verb in ("dispatcher", "predictor"):
            if verb in others:
                raise ConfigError(f"a scenario has one {verb}", where="; ".join(texts))
            others[verb] = rest
        else:
            changes.append(_change(verb, rest, text))
    if not (changes or settings or others):
        raise ConfigError("changes nothing", where=label or "scenario")
    return Scenario(
        label=as_label("; ".join(texts) if label is None else label),
        changes=tuple(changes),
        settings=tuple(settings),
        dispatcher=others.get("dispatcher"),
        predictor=others.get("predictor"),
    )


def _change(verb: str, rest: str, text: str) -> str:
    """Return the specification of a change from its short form."""
    known = [*registry.names("changes"), "set", "dispatcher", "predictor"]
    if verb not in known:
        raise UnknownNameError("change", verb, known)
    try:
        return canonical("changes", f"{verb}:{_SHORT.get(verb, str)(rest)}")
    except ValueError as error:
        raise ConfigError(str(error), where=text) from error


def _max_time(rest: str) -> str:
    queue, equals, time = rest.partition("=")
    return rest if "," in rest or not equals else f"queue={queue},time={time}"


def _factor(rest: str) -> str:
    factor, comma, more = rest.partition(",")
    return rest if "=" in factor else f"factor={factor}{comma}{more}"


def _cap(rest: str) -> str:
    if "=" in rest:
        return rest
    if rest.endswith("x"):
        return f"factor={rest.removesuffix('x')}"
    duration(rest)
    return f"time={rest}"


#: Changes with a short form.
_SHORT: dict[str, Callable[[str], str]] = {
    "max-time": _max_time,
    "scale-load": _factor,
    "cap-request": _cap,
}


def what_if(study: Study, scenarios: Sequence[Scenario], folder: Path) -> Study:
    """
    Return the study of a baseline and of scenarios.

    Parameters
    ----------
    study
        Of one workload on one system, with one dispatcher and one predictor: the baseline.
    folder
        Where changed policies are written.

    Raises
    ------
    ConfigError
        If a scenario does not fit it, or two have the same name.
    """
    (workload,), (dispatcher,) = study.workloads, study.dispatchers
    (predictor,) = workload.predictors
    choices = [replace(dispatcher, label=BASELINE)]
    workloads = [replace(workload, dispatchers=(choices[0],))]
    for one in scenarios:
        if one.label in (own.label for own in choices):
            raise ConfigError(f"two scenarios have this name: {one.label!r}")
        spec = _dispatcher(dispatcher.spec, one, folder)
        choices.append(choice("dispatchers", spec, Path(), one.label))
        chosen = predictor
        if one.predictor is not None:
            chosen = choice("predictors", one.predictor, Path())
        workloads.append(
            replace(workload, dispatchers=(choices[-1],), predictors=(chosen,), changes=one.changes)
        )
    return replace(
        study,
        workloads=tuple(workloads),
        dispatchers=tuple(choices),
        baseline=Baseline(dispatcher=BASELINE, predictor=predictor.label),
        by_group=True,
    )


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
    spec = Spec.parse(base)
    options = dict(spec.options)
    # A key with a dot is a place in the policy; options of a dispatcher have none.
    edits = [text for text in scenario.settings if "." in text.partition("=")[0]]
    for text in scenario.settings:
        key, _, value = text.partition("=")
        if text not in edits:
            options[key.strip()] = value.strip()
            _check_option(spec, key.strip(), value.strip(), text)
    if edits:
        kind, policy = kind_of(base), files_of("dispatchers", spec).get("policy")
        if kind is None or policy is None:
            raise ConfigError("needs --policy", where=edits[0])
        options["policy"] = str(_written(kind.edited(policy, edits), scenario, folder))
    return str(Spec(spec.name, tuple(sorted(options.items()))))


def _check_option(spec: Spec, key: str, value: str, text: str) -> None:
    """Raise ConfigError for an option that a dispatcher does not have, or a value it refuses."""
    try:
        canonical("dispatchers", str(Spec(spec.name, ((key, value),))))
    except ConfigError as error:
        reason = str(error).partition(f" {key}: ")[2] or str(error)
        kind = kind_of(str(spec))
        told = reason if kind is None else kind.refused(key, reason)
        raise ConfigError(told, where=f"set {text}") from None


def _written(policy: str, scenario: Scenario, folder: Path) -> Path:
    """Write the text of a changed policy; return the file."""
    folder.mkdir(parents=True, exist_ok=True)
    name = "".join(char if char.isalnum() or char in "-_." else "-" for char in scenario.label)
    path = (folder / f"{name}{_ENDING}").absolute()
    with replacing(path) as partial:
        partial.write_text(policy, encoding="utf-8")
    return path


def moments_as_seconds(text: str, epoch: int | None) -> str:
    """
    Return an outage with its dates as seconds of the log's clock.

    Raises
    ------
    ConfigError
        If a date is invalid, or the log does not say when its second 0 was.
    """
    verb, _, rest = text.partition(" ")
    options = []
    for key, value in Spec.parse(f"{verb}:{rest}").options:
        seconds = value
        if key in ("start", "end", "known") and not value.lstrip("-").isdigit():
            try:
                moment = int(in_utc(value).timestamp())
            except ValueError:
                raise ConfigError(
                    f"is {value!r}, must be seconds or a date such as 2024-03-01T10:00:00",
                    where=text,
                    key=key,
                ) from None
            if epoch is None:
                raise ConfigError(
                    "the log does not say when its second 0 was; give seconds instead of a date",
                    where=text,
                    key=key,
                )
            seconds = str(moment - epoch)
        options.append((key, seconds))
    return f"{verb} {str(Spec(verb, tuple(options))).partition(':')[2]}"
