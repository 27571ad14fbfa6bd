"""
Whether everything that a distribution registers keeps what its group promises.

With pytest::

    from cpsched.checks.plug_ins import check_plug_ins

    def test_my_package():
        check_plug_ins("my-package")

Predictors have a suite of their own, ``predictors.checks``.
"""

from __future__ import annotations

import tempfile
from importlib.metadata import distribution
from inspect import isclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.base import registry
from cpsched.base.spec import build
from cpsched.base.tables import Table
from cpsched.checks import CheckError, check_dispatcher, require
from cpsched.checks.sample import sample
from cpsched.errors import ConfigError
from cpsched.generators.contract import Generator, describe
from cpsched.simulation.observers import RunObserver
from cpsched.simulation.simulate import simulate
from cpsched.study import make_tables, save_run

if TYPE_CHECKING:
    from collections.abc import Callable


def check_plug_ins(name: str) -> None:
    """
    Load all that an installed distribution registers, and run the checks of each group.

    Parameters
    ----------
    name
        Of the distribution.

    Raises
    ------
    CheckError
        At the first that cannot be loaded, is hidden behind another of its name, or does not keep
        what its group promises.
    """
    points = [
        point for point in distribution(name).entry_points if point.group.startswith("cpsched.")
    ]
    require(bool(points), f"{name} registers nothing in a group cpsched.*")
    for point in points:
        group = point.group.removeprefix("cpsched.")
        if group == "aliases":
            _check_aliases(point.name, point.load())
            continue
        require(group in registry.GROUPS, f"there is no group {point.group}")
        entry = registry.entries(group)[point.name]
        require(entry.target == point.value, f"'{point.name}' is hidden behind {entry.target}")
        try:
            thing = entry.load()
        except ConfigError as error:
            raise CheckError(str(error)) from error
        _CHECKS.get(group, _check_is_callable)(point.name, thing)


def _check_is_callable(name: str, thing: Any) -> None:
    """For groups of which only names are known here: a class, a function or an object."""
    require(thing is not None, f"'{name}' is None")


def _check_dispatcher(name: str, thing: Any) -> None:
    require(isclass(thing), f"'{name}' is not a class")
    check_dispatcher(lambda: build("dispatchers", name))


def _check_generator(name: str, thing: Any) -> None:
    """The same options give the same workload, and each option says what it does."""
    require(isinstance(thing, Generator), f"'{name}' is not a Generator")
    require(all(one.doc for one in describe(thing.options)), f"an option of '{name}' has no words")
    first, second = (thing.generate(thing.options()) for _ in range(2))
    require(len(first) > 0, f"'{name}' makes no jobs")
    one, other = ((made.digest(), made.title, made.header) for made in (first, second))
    require(one == other, f"'{name}' makes different workloads of equal options")


def _check_command(name: str, thing: Callable[..., object]) -> None:
    """It adds a command or a group of them, each with words of help."""
    import typer

    app = typer.Typer()
    thing(app)
    require(bool(app.registered_commands or app.registered_groups), f"'{name}' adds no command")
    command: Any = typer.main.get_command(app)
    # A single command stands for the whole app.
    added = list(getattr(command, "commands", {}).values()) or [command]
    require(all(one.help for one in added), f"a command of '{name}' has no help")


def _check_section(name: str, thing: Callable[..., Any]) -> None:
    """It makes tables of the runs of a study, the same each time."""
    with tempfile.TemporaryDirectory() as folder:
        save_run(simulate(sample()), Path(folder) / "run")
        runs = make_tables(folder).results.runs
        first, second = (list(thing(runs)) for _ in range(2))
    require(all(isinstance(one, Table) for one in first), f"'{name}' gives what is not a Table")
    require(first == second, f"'{name}' gives different tables of the same runs")


def _check_observer(name: str, thing: Any) -> None:
    found = isclass(thing) and issubclass(thing, RunObserver)
    require(found, f"'{name}' is not a RunObserver")


def _check_aliases(name: str, listed: Any) -> None:
    """Each can be built with the options that it settles."""
    for group, aliases in listed.items():
        for alias in aliases:
            require(alias in registry.names(group), f"'{alias}' of '{name}' is left out")
            build(group, alias)


_CHECKS: dict[str, Callable[[str, Any], None]] = {
    "dispatchers": _check_dispatcher,
    "generators": _check_generator,
    "commands": _check_command,
    "report_sections": _check_section,
    "observers": _check_observer,
}
