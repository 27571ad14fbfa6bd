"""What a generator of synthetic workloads promises, and what its options have to be."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, get_type_hints, runtime_checkable

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from cpsched.model.workload import Workload

#: Seeds of NumPy's generators that fit a column of a table.
LARGEST_SEED = 2**63 - 1


@runtime_checkable
class Generator(Protocol):
    """
    Makes a workload from options, the same one every time.

    Registered under ``cpsched.generators``; everything a command line needs is in ``options``.

    Attributes
    ----------
    name
        What it is registered as.
    summary
        One line for a list of generators.
    options
        A frozen dataclass, every field with a default and made by :func:`option`. Building it
        with values that make no sense raises :class:`~cpsched.errors.ConfigError`.
    """

    name: str
    summary: str
    options: type[Any]

    def generate(self, options: Any) -> Workload:
        """
        Return the workload of the given options (an instance of ``options``).

        Equal options give equal workloads, byte for byte. The header names the generator, its
        version and every option, so that a written file says what it is.

        Raises
        ------
        ConfigError
            If the options, each fine by itself, cannot be met together.
        """
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Option:
    """One option of a generator, as a command line shows it."""

    name: str
    kind: Any
    default: Any
    doc: str


def option(default: Any, doc: str) -> Any:
    """Declare a field of an options dataclass: its default and one sentence on what it does."""
    return field(default=default, metadata={"doc": doc})


def describe(options: type[Any]) -> list[Option]:
    """Return the options of an options dataclass in declared order, types resolved."""
    kinds = get_type_hints(options)
    return [
        Option(
            name=item.name,
            kind=kinds[item.name],
            default=None if item.default is MISSING else item.default,
            doc=item.metadata.get("doc", ""),
        )
        for item in fields(options)
    ]


def check_whole(options: Any, **bounds: tuple[int, int]) -> None:
    """Check that options are whole numbers; as :func:`check_number`."""
    for key in bounds:
        value = getattr(options, key)
        if value is not None and (isinstance(value, bool) or not isinstance(value, int)):
            raise ConfigError(f"{value!r} is not a whole number", key=key)
        check_number(options, **{key: bounds[key]})


def check_number(options: Any, **bounds: tuple[float, float]) -> None:
    """
    Check that options are numbers within bounds, both ends included; None is left alone.

    Raises
    ------
    ConfigError
        If one is not; names the option and what it may be.
    """
    for key, (low, high) in bounds.items():
        value = getattr(options, key)
        if value is None:
            continue
        if isinstance(value, bool) or not isinstance(value, int | float):
            raise ConfigError(f"{value!r} is not a number", key=key)
        if not low <= value <= high:
            raise ConfigError(f"{value} is not between {low} and {high}", key=key)


def header(name: str, version: int, options: Any) -> list[tuple[str, str]]:
    """Return metadata that says a workload is not a recording, and how to make it again."""
    given = [(item.name, str(getattr(options, item.name))) for item in fields(options)]
    return [
        ("Computer", "generated: no recording of any machine"),
        ("Generator", f"cpsched {name}, version {version}"),
        *((f"Option {key}", value) for key, value in given if value != "None"),
    ]
