"""Unknown parameters, fitted on the first part of a log and scored on the rest."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from cpsched.api.errors import ConfigError
from cpsched.api.tools import Spec, canonical

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from cpsched.api.simulation import Schedule
    from slurm_adapter.fidelity.measures import Fidelity

#: Share of the log's jobs that parameters are fitted on.
FITTED_ON = 0.75
#: More combinations than this are a search, and not a fit.
MOST_TRIED = 200
#: Longest recorded wait of an immediate start, seconds: such waits are the controller's lag.
AT_ONCE = 120


@dataclass(frozen=True, slots=True, kw_only=True)
class Fit:
    """
    What was fitted.

    Attributes
    ----------
    options
        The best values by parameter.
    tried
        How many combinations were.
    before, after
        The mean absolute error of a start without and with them, on the part that they were fitted
        on, seconds.
    """

    options: Mapping[str, str]
    tried: int
    before: float
    after: float


def split(schedule: Schedule, start: int | None = None) -> int:
    """Return the second at which the first part of the jobs submitted from ``start`` on ends."""
    submit = schedule.workload.submit
    counted = submit if start is None else submit[submit >= start]
    if not len(counted):
        raise ConfigError("no job is submitted after that", key="--measure-from")
    return int(np.quantile(counted, FITTED_ON, method="inverted_cdf"))


def grid(texts: Iterable[str]) -> dict[str, list[str]]:
    """
    Read ``PriorityWeightAge=0,1000,10000``: the values that parameters may have.

    Raises
    ------
    ConfigError
        If a parameter has no values or is there twice, or there are too many combinations.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        key, equals, values = text.partition("=")
        several = [value.strip() for value in values.split(",") if value.strip()]
        if not equals or len(several) < 2 or key.strip() in found:
            raise ConfigError(
                "must be KEY=VALUE,VALUE,... with two values or more, each key once", where=text
            )
        found[key.strip()] = several
    number = int(np.prod([len(values) for values in found.values()])) if found else 0
    if number > MOST_TRIED:
        raise ConfigError(
            f"these are {number} combinations, at most {MOST_TRIED} are allowed", key="--fit"
        )
    return found


def combinations(base: str, values: Mapping[str, Sequence[str]]) -> dict[str, dict[str, str]]:
    """
    Return the dispatchers to try, and the options of each.

    Raises
    ------
    ConfigError
        If the dispatcher has no such option, or refuses a value.
    """
    spec = Spec.parse(base)
    found = {}
    for chosen in product(*values.values()):
        own = dict(zip(values, chosen, strict=True))
        options = tuple(sorted({**dict(spec.options), **own}.items()))
        found[canonical("dispatchers", str(Spec(spec.name, options)))] = own
    return found


def best(
    tried: Mapping[str, Mapping[str, str]],
    measured: Callable[[str], Fidelity],
    base: Fidelity,
) -> Fit:
    """Return the combination whose starts are off least, on average; of equals the first."""
    errors = {spec: measured(spec).overall.mean_error for spec in tried}
    chosen = min(errors, key=errors.__getitem__)
    return Fit(
        options=tried[chosen],
        tried=len(tried),
        before=base.overall.mean_error,
        after=errors[chosen],
    )


def lag(fidelity: Fidelity) -> int:
    """
    Return how many seconds a controller needs from its decision to the start.

    The median recorded wait of jobs that start as they are submitted in the simulation, and within
    :data:`AT_ONCE` of it in the record; 0 where there are none.
    """
    at_once = (fidelity.simulated == 0) & (fidelity.recorded <= AT_ONCE)
    waits = fidelity.recorded[at_once]
    return int(np.median(waits)) if len(waits) else 0
