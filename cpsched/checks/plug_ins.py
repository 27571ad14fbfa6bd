"""
Whether everything that a distribution registers keeps what its group promises.

With pytest::

    from cpsched.checks.plug_ins import check_plug_ins

    def test_my_package():
        check_plug_ins("my-package")

Predictors have a suite of their own, ``cpsched.checks.of_predictors``.
"""

from __future__ import annotations

from importlib.metadata import distribution
from inspect import isclass
from typing import Any

from cpsched.checks import CheckError, check_dispatcher, require
from cpsched.errors import ConfigError
from cpsched.util import registry
from cpsched.util.spec import build


def check_plug_ins(name: str) -> None:
    """
    Check everything that an installed distribution registers as a plug-in of cpsched.

    Each entry is loaded, and the checks of its group are run.

    Parameters
    ----------
    name
        Name of the distribution, such as ``my-package``.

    Raises
    ------
    CheckError
        At the first entry that cannot be loaded, has a name that is taken, or breaks a rule of its
        group.
    """
    points = [
        point for point in distribution(name).entry_points if point.group.startswith("cpsched.")
    ]
    require(bool(points), f"{name} registers no entry point in a group cpsched.*")
    groups = {registered: group for group, registered in registry.PLUG_INS.items()}
    for point in points:
        require(
            point.group in groups,
            f"'{point.name}' is in the unknown group {point.group}. Groups: {', '.join(groups)}",
        )
        group = groups[point.group]
        entry = registry.entries(group)[point.name]
        require(entry.target == point.value, f"'{point.name}' is hidden behind {entry.target}")
        try:
            thing = entry.load()
        except ConfigError as error:
            raise CheckError(str(error)) from error
        if group == "dispatchers":
            _check_dispatcher(point.name, thing)
        require(thing is not None, f"'{point.name}' is None")


def _check_dispatcher(name: str, thing: Any) -> None:
    require(isclass(thing), f"'{name}' is not a class")
    check_dispatcher(lambda: build("dispatchers", name))
