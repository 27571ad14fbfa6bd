"""Every check of one class: the suite of its kind, and the look-ahead test on the sample."""

from __future__ import annotations

import inspect
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched import logs
from cpsched.checks import CheckError, require
from cpsched.checks.look_ahead import look_ahead
from cpsched.checks.sample import SYSTEM, sample
from cpsched.errors import ConfigError, CpschedError
from cpsched.util import registry
from cpsched.util.own_code import described, fault_of
from cpsched.util.spec import Spec, build, groups_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

#: By group: the suite, and the option of EASY under which a part of a dispatcher is checked.
_SUITES = {
    "dispatchers": ("dispatcher", ""),
    "priorities": ("dispatcher", "order"),
    "allocators": ("dispatcher", "allocator"),
    "predictors": ("predictor", ""),
}
_BEGINS = "To pass: "


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckResult:
    """
    The result of one check.

    Attributes
    ----------
    kind
        What was checked: ``dispatcher``, ``priority``, ``allocator`` or ``predictor``.
    problem
        What is wrong; empty: the check is passed.
    remedy
        What to do if it is not. Empty if the problem says it.
    """

    kind: str
    check: str
    problem: str
    remedy: str


def check_class(text: str) -> Iterator[CheckResult]:
    """
    Yield the result of every check of a dispatcher, priority, allocator or predictor.

    Priorities and allocators are checked as those of EASY. A name that is registered in several
    groups is checked in each.

    Parameters
    ----------
    text
        A specification: ``module:Class``, a registered name, either with options.

    Raises
    ------
    UnknownNameError, ConfigError
        If there is no such class, it cannot be made, or it is given the truth.
    """
    spec = Spec.parse(text)
    groups = groups_of(spec.name, list(_SUITES))
    for group in groups:
        if getattr(registry.load(group, spec.name), "needs_truth", False):
            raise ConfigError(
                "reads all runtimes (needs_truth), so it looks ahead by design", where=text
            )
        build(group, spec)
    for group in groups:
        yield from _results(group, spec)


def _results(group: str, spec: Spec) -> Iterator[CheckResult]:
    suite, option = _SUITES[group]
    tested = Spec("easy", ((option, str(spec)),)) if option else spec

    def make() -> Any:
        return build(f"{suite}s", tested)

    def check_does_not_look_ahead(_: Callable[[], Any]) -> None:
        """To pass: use the arguments of its methods alone: no file of the log, no memory search."""
        starts_as_before(str(tested), suite)

    for check in (*registry.load("checks", suite), check_does_not_look_ahead):
        error = _error(check, make)
        yield CheckResult(
            kind=registry.GROUPS[group],
            check=check.__name__.removeprefix("check_"),
            problem="" if error is None else _problem(error),
            remedy="" if isinstance(error, ConfigError) else remedy(check),
        )


def starts_as_before(spec: str, suite: str) -> None:
    """
    Raise unless the sample's jobs start at the same seconds when their future is changed.

    Raises
    ------
    CheckError
        If starts depend on what happens later.
    """
    dispatcher, predictor = (spec, "requested") if suite == "dispatcher" else ("easy-wsept", spec)
    with tempfile.TemporaryDirectory(prefix="cpsched-check-") as made:
        folder = Path(made)
        (folder / "system.toml").write_text(SYSTEM, encoding="utf-8")
        logs.write(sample().workload, folder / "log.parquet")
        differences = look_ahead(
            folder / "log.parquet",
            str(folder / "system.toml"),
            dispatcher,
            predictor,
            folder / "runs",
        )
    require(not differences, next(iter(differences), ""))


def _error(
    check: Callable[[Callable[[], Any]], None], make: Callable[[], Any]
) -> BaseException | None:
    """Return the error of a check; None if it is passed."""
    try:
        check(make)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # a class of a user's own may raise anything
        return error
    return None


def _problem(error: BaseException) -> str:
    """Return the error of a check on one line."""
    kind, message = described(error)
    if isinstance(error, CpschedError | CheckError):
        return message
    return fault_of(error) or f"{kind}: {message}"


def remedy(check: Callable[..., Any]) -> str:
    """Return what a check's docstring says of how to pass it."""
    text = " ".join((inspect.getdoc(check) or "").split())
    return text.partition(_BEGINS)[2].replace("``", "")
