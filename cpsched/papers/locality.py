"""
Runtimes that depend on placement: some jobs run faster on nodes that are close together.

After Yang et al. 2014, section V: a share ``beta`` of the jobs is sensitive, and takes a share
``alpha`` less on neighbouring nodes than on others.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.errors import ConfigError, check_choice
from cpsched.simulation.runtime_models import Recorded, refuse_other_sizes

if TYPE_CHECKING:
    from cpsched.model.allocation import Allocation
    from cpsched.simulation.arrivals import JobStream
    from cpsched.simulation.runtime_models import Parts

#: On which nodes a sensitive job ran as long as the log says.
CONTIGUOUS, SCATTERED = "contiguous", "scattered"


class Locality(Recorded):
    """
    Shorter runtimes on neighbouring nodes for some jobs, recorded runtimes for others.

    Parameters
    ----------
    alpha
        Share of its runtime on scattered nodes that a sensitive job saves on neighbouring ones.
    beta
        Share of the jobs that are sensitive.
    log
        Nodes on which the recorded runtimes of sensitive jobs were measured. ``contiguous``: on
        other nodes they take ``1 / (1 - alpha)`` times as long. Or ``scattered``.

    Notes
    -----
    A sensitive job that takes t seconds on scattered nodes takes ``t (1 - alpha)`` on neighbouring
    ones, rounded up to whole seconds.

    The sensitive jobs depend only on the seed and the handle. They are the same under every
    dispatcher, and those of a small ``beta`` are among those of a larger one.

    Predictor ``actual`` knows the recorded runtimes but not these, and requested times do not
    include them. With ``log=contiguous`` a job on scattered nodes may run beyond its requested
    time, where ``--overrun kill`` ends it. Its work is then lost and not counted as longer. Use
    ``extend``.
    """

    name: ClassVar[str] = "locality"

    def __init__(self, alpha: float = 0.3, beta: float = 0.3, log: str = CONTIGUOUS) -> None:
        if not 0 <= alpha < 1:
            raise ConfigError(f"{alpha} is not between 0 and 1, 1 excluded", key="alpha")
        if not 0 <= beta <= 1:
            raise ConfigError(f"{beta} is not between 0 and 1", key="beta")
        check_choice("log", log, (CONTIGUOUS, SCATTERED))
        # As it is written: 0.3 is three tenths, so that seconds are rounded up only where they
        # are not whole.
        self._alpha = Fraction(str(alpha))
        self._beta = beta
        self._reference = 1 - self._alpha if log == CONTIGUOUS else Fraction(1)

    def reset(self, arrivals: JobStream, seed: int) -> None:
        """Select the sensitive jobs at random."""
        refuse_other_sizes(arrivals, self.name)
        super().reset(arrivals, seed)
        draws = np.random.default_rng(seed).random(len(arrivals))
        self._sensitive: list[bool] = (draws < self._beta).tolist()

    def speed(self, job: int, allocation: Allocation) -> Parts:
        """Return the speed of a job on an allocation, relative to its recorded runtime."""
        if not self._sensitive[job]:
            return 1
        nodes = allocation.node
        neighbours = int(nodes[-1]) - int(nodes[0]) + 1 == len(nodes)
        return self._reference / (1 - self._alpha if neighbours else 1)
