"""
Runtimes that depend on placement: some jobs run faster on nodes that are close together.

After Yang et al. 2014, section V: a share ``beta`` of the jobs is sensitive, and takes a share
``alpha`` less on neighbouring nodes than on others. There is also a graded form for switches and
blocks.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, ClassVar

import numpy as np

from cpsched.errors import ConfigError, check_choice
from cpsched.simulation.runtime_models import Recorded, refuse_other_sizes

if TYPE_CHECKING:
    from collections.abc import Callable

    from cpsched.base.types import IntArray
    from cpsched.model.allocation import Allocation
    from cpsched.model.topology import Topology
    from cpsched.simulation.arrivals import Arrivals
    from cpsched.simulation.runtime_models import Parts

#: On which nodes a sensitive job ran as long as the log says.
CONTIGUOUS, SCATTERED = "contiguous", "scattered"


class Locality(Recorded):
    """
    Some jobs run faster on nodes that are close together; all others as the log says.

    Parameters
    ----------
    alpha
        Share of its runtime on scattered nodes that a sensitive job saves on neighbouring ones.
    beta
        Share of the jobs that are sensitive.
    log
        Nodes on which the log's runtimes of sensitive jobs were measured: ``contiguous``, so that
        others take ``1 / (1 - alpha)`` times as long, or ``scattered``.
    by
        The loss on distant nodes: ``runs``: all, unless the nodes are consecutive (the paper);
        ``levels``: more with every level up to the lowest switch or group above all nodes;
        ``groups``: more with every group of the lowest level used.

    Notes
    -----
    With a loss p between 0 (as close as that many nodes can be) and 1, a job that takes t seconds
    on scattered nodes takes

        ``t (1 - alpha (1 - p))``

    rounded up to whole seconds. ``runs``: p is 0 for consecutive nodes, 1 for others. ``levels``:
    with the lowest level that holds the nodes, the lowest that could hold as many, and the root,
    ``p = (level - lowest) / (root - lowest)``, 0 where these two are one. ``groups``: with the
    groups touched and the fewest that can hold as many nodes, ``p = 1 - fewest / touched``.

    Which jobs are sensitive depends only on the seed and the handle: the same jobs under every
    dispatcher, and those of a small ``beta`` are among those of a larger one.

    Predictor ``actual`` knows the log's runtimes but not these, and requested times do not include
    them: with ``log=contiguous`` a job on scattered nodes may run beyond it, where ``--overrun
    kill`` ends it. Its work is then lost and not counted as longer: use ``extend``.
    """

    name: ClassVar[str] = "locality"

    def __init__(
        self, alpha: float = 0.3, beta: float = 0.3, log: str = CONTIGUOUS, by: str = "runs"
    ) -> None:
        if not 0 <= alpha < 1:
            raise ConfigError(f"{alpha} is not between 0 and 1, 1 excluded", key="alpha")
        if not 0 <= beta <= 1:
            raise ConfigError(f"{beta} is not between 0 and 1", key="beta")
        check_choice("log", log, (CONTIGUOUS, SCATTERED))
        check_choice("by", by, _LOSSES)
        # As it is written: 0.3 is three tenths, so that seconds are rounded up only where they
        # are not whole.
        self._alpha = Fraction(str(alpha))
        self._beta = beta
        self._reference = 1 - self._alpha if log == CONTIGUOUS else Fraction(1)
        self._by = by
        self._loss = _LOSSES[by]

    def reset(self, arrivals: Arrivals, seed: int) -> None:
        """
        Draw the sensitive jobs.

        Raises
        ------
        ConfigError
            If the machine has no levels of groups, and the loss depends on them.
        """
        refuse_other_sizes(arrivals, self.name)
        self._topology = arrivals.system.topology
        if self._loss is not _by_runs and self._topology.num_levels < 2:
            raise ConfigError(
                f"by={self._by} needs a machine with switches or blocks; this one has none, use"
                " by=runs",
                where=f"system {arrivals.system.name}",
            )
        super().reset(arrivals, seed)
        draws = np.random.default_rng(seed).random(len(arrivals))
        self._sensitive: list[bool] = (draws < self._beta).tolist()

    def speed(self, job: int, allocation: Allocation) -> Parts:
        """Return how many of these seconds pass in one on these nodes."""
        if not self._sensitive[job]:
            return 1
        loss = self._loss(self._topology, allocation.node)
        return self._reference / (1 - self._alpha * (1 - loss))


def _by_runs(topology: Topology, nodes: IntArray) -> Fraction:  # noqa: ARG001
    return Fraction(int(nodes[-1]) - int(nodes[0]) + 1 != len(nodes))


def _by_levels(topology: Topology, nodes: IntArray) -> Fraction:
    root = topology.num_levels - 1
    level = int(topology.common_level(nodes[:1], nodes[-1:])[0])
    holding = (level for level in range(root) if topology.fewest_groups(level, len(nodes)) == 1)
    lowest = next(holding, root)
    return Fraction(level - lowest, root - lowest) if root > lowest else Fraction(0)


def _by_groups(topology: Topology, nodes: IntArray) -> Fraction:
    touched = len(np.unique(topology.level_group(0)[nodes]))
    return 1 - Fraction(topology.fewest_groups(0, len(nodes)), touched)


_LOSSES: dict[str, Callable[[Topology, IntArray], Fraction]] = {
    "runs": _by_runs,
    "levels": _by_levels,
    "groups": _by_groups,
}
