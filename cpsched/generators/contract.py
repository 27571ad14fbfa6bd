"""What a generator of synthetic workloads promises."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, get_type_hints, runtime_checkable

if TYPE_CHECKING:
    from cpsched.model.workload import Workload


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
