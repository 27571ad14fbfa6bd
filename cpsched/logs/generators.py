"""What a generator promises, what its options have to be, and the draws they share."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from typing import TYPE_CHECKING, Any, Protocol, get_type_hints, runtime_checkable

import numpy as np

from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.model.workload import Workload
    from cpsched.util.types import AnyArray, FloatArray, IntArray

#: Seeds of NumPy's generators that fit a column of a table.
LARGEST_SEED = 2**63 - 1


@runtime_checkable
class Generator(Protocol):
    """
    Protocol of generators: workloads from options, the same at every call.

    Registered under ``cpsched.generators``. ``options`` has all data of the command line.

    Attributes
    ----------
    name
        Its registered name.
    summary
        One line for a list of generators.
    options
        A frozen dataclass. Every field has a default and is made by :func:`option`. Impossible
        values raise :class:`~cpsched.errors.ConfigError`.
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
class GeneratorOption:
    """One option of a generator, as a command line shows it."""

    name: str
    kind: Any
    default: Any
    doc: str


def option(default: Any, doc: str) -> Any:
    """Declare a field of an options dataclass: its default and one sentence on what it does."""
    return field(default=default, metadata={"doc": doc})


def describe(options: type[Any]) -> list[GeneratorOption]:
    """Return the options of an options dataclass in declared order, types resolved."""
    kinds = get_type_hints(options)
    return [
        GeneratorOption(
            name=item.name,
            kind=kinds[item.name],
            default=None if item.default is MISSING else item.default,
            doc=item.metadata.get("doc", ""),
        )
        for item in fields(options)
    ]


def check_integers(options: Any, **bounds: tuple[int, int]) -> None:
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


def streams(seed: int, count: int) -> list[np.random.Generator]:
    """Return a stream for each step of a generator: a change in one leaves the others alone."""
    seeds = np.random.SeedSequence(seed).spawn(count)
    return [np.random.Generator(np.random.PCG64(child)) for child in seeds]


def stratified(rng: np.random.Generator, weights: AnyArray) -> FloatArray:
    """
    Return a uniform in [0, 1) for each item, spread evenly by weight, in random order.

    The items are put end to end on the unit interval, each as long as its share of the weight, and
    each gets a point of its own piece: a share ``p`` of the *weight* is below ``p``, to within one
    item.
    """
    if len(weights) == 0:
        return np.empty(0)
    order = rng.permutation(len(weights))
    sorted_weights = np.asarray(weights, dtype=np.float64)[order]
    ends = np.cumsum(sorted_weights)
    uniforms = np.empty(len(order))
    uniforms[order] = (ends - sorted_weights * rng.random(len(order))) / ends[-1]
    return np.clip(uniforms, 0.0, np.nextafter(1.0, 0.0))


def pick(uniforms: FloatArray, shares: Sequence[float] | AnyArray) -> IntArray:
    """Return for each uniform the index of the share it falls into; shares need not sum to 1."""
    edges = np.cumsum(np.asarray(shares, dtype=np.float64))
    chosen = np.searchsorted(edges, uniforms * edges[-1], side="right")
    return np.asarray(np.minimum(chosen, len(edges) - 1), dtype=np.int64)


def log_normal(
    rng: np.random.Generator, median: AnyArray | float, sigma: AnyArray | float, size: int
) -> FloatArray:
    """Return log-normal draws with the given median and deviation of the logarithm."""
    return np.asarray(median * np.exp(sigma * rng.standard_normal(size)), dtype=np.float64)


def heavy_sizes(
    rng: np.random.Generator, total: int, *, median: float, sigma: float, largest: int
) -> IntArray:
    """Return log-normal sizes in [1, largest] that sum to ``total``; the last one is cut."""
    sizes: IntArray = np.empty(0, dtype=np.int64)
    while sizes.sum() < total:
        drawn = log_normal(rng, median, sigma, max(16, total // 8))
        sizes = np.concatenate([sizes, np.clip(drawn, 1, largest).astype(np.int64)])
    ends = np.cumsum(sizes)
    count = int(np.searchsorted(ends, total)) + 1 if total else 0
    sizes = sizes[:count].copy()
    if count:
        sizes[-1] -= ends[count - 1] - total
    return sizes
