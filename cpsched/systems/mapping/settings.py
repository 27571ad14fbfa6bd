"""What a user says of jobs that may be restarted or change size: ``share=0.5,cost=30``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.errors import ConfigError, check_range
from cpsched.model.workload import RESIZE_COST
from cpsched.util.spec import Spec
from cpsched.util.types import JobType

if TYPE_CHECKING:
    from collections.abc import Mapping

#: What a log says itself counts.
NONE = "none"
#: Of jobs that may change size.
KINDS = {kind.name.lower(): kind for kind in JobType if kind is not JobType.RIGID}
#: The longest time that a setting may name, seconds.
_LONGEST = 366 * 86400
_WORDS = {float: "a number", int: "a whole number of seconds", str: "a name"}


class RestartOptions(NamedTuple):
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
    def parse(cls, text: str) -> RestartOptions:
        """
        Read ``share=0.5,cost=30,checkpoint=600``; each may be left out.

        Raises
        ------
        ConfigError
            If something else is given, or a value is invalid.
        """
        bounds = {"share": (0, 1), "cost": (0, _LONGEST), "checkpoint": (0, _LONGEST)}
        return cls(**_read("restarts", text, cls._field_defaults, bounds))


class MalleableOptions(NamedTuple):
    """
    How a share of a log's jobs may change size.

    Attributes
    ----------
    share
        Of the jobs, drawn at random and always the same ones of a log; those of a smaller share
        are among those of a larger one.
    least, most
        Fewest and most units, as multiples of the job's units; rounded up and down.
    kind
        ``moldable``, ``malleable`` or ``evolving``.
    serial
        Fraction of a job's work that its units cannot share.
    cost
        Seconds without progress after each change of size.
    """

    share: float = 1.0
    least: float = 0.5
    most: float = 2.0
    kind: str = JobType.MALLEABLE.name.lower()
    serial: float = 0.0
    cost: int = RESIZE_COST

    @classmethod
    def parse(cls, text: str) -> MalleableOptions:
        """
        Read ``share=0.5,least=0.5,most=2,kind=moldable,serial=0.05,cost=10``; see the defaults.

        Raises
        ------
        ConfigError
            If something else is given, or a value is invalid.
        """
        bounds = {**dict.fromkeys(("share", "least", "serial"), (0, 1)), "most": (1, 1000)}
        bounds["cost"] = 0, _LONGEST
        settings = cls(**_read("malleable", text, cls._field_defaults, bounds))
        if settings.kind not in KINDS:
            raise ConfigError(
                f"kind is {settings.kind}, must be one of: {', '.join(KINDS)}", key="malleable"
            )
        return settings


def _read(
    key: str, text: str, defaults: Mapping[str, Any], bounds: Mapping[str, tuple[int, int]]
) -> dict[str, Any]:
    """Return what a setting says: values of the kinds of the defaults, within their bounds."""
    values = dict(defaults)
    spec = Spec.parse(f"{key}:{text}")
    if spec.name != key:
        # A word alone behind a colon reads as the name of a class.
        raise ConfigError(f"'{text}' is not an option; write key=value", key=key)
    for name, value in spec.options:
        if name not in values:
            raise ConfigError(f"has no {name}; there are: {', '.join(values)}", key=key)
        of = type(defaults[name])
        try:
            values[name] = of(value)
        except ValueError:
            raise ConfigError(f"{name} is {value}, must be {_WORDS[of]}", key=key) from None
    for name, (lowest, limit) in bounds.items():
        check_range(name, values[name], lowest, limit)
    return values
