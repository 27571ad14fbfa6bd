"""The compiled event loop on what Slurm's dispatcher knows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from cpsched.slurm.kernels.jobs import NO_PLACE, UNKNOWN_KIND
from cpsched.slurm.kernels.loop import slurm_loop

if TYPE_CHECKING:
    from cpsched.model.view import View
    from cpsched.slurm.dispatch.passes import Passes
    from cpsched.util.types import AnyArray


class Loop:
    """Simulates as the simulator would under :class:`~cpsched.slurm.dispatch.passes.Passes`."""

    def __init__(self, passes: Passes) -> None:
        self._passes = passes

    def is_ready(self) -> bool:
        """Say whether all is known of the jobs that wait and run."""
        return self._passes.is_up_to_date

    def go_on(
        self,
        view: View,
        counters: AnyArray,
        limit: int,
        until: int,
        *given: Any,
    ) -> tuple[int, AnyArray, AnyArray]:
        """
        Go on until the simulator has to do something.

        Parameters
        ----------
        view
            The present; counters go on from there.
        counters, limit, until, given
            As :func:`cpsched.slurm.kernels.loop.slurm_loop` takes them.

        Returns
        -------
        why, packed, seconds
            As from :func:`cpsched.kernels.event_loop.event_loop`.
        """
        passes = self._passes
        passes.hand_over(view)
        while True:
            desk, rules, limits, nodes = passes.parts(view)
            found: tuple[int, AnyArray, AnyArray] = slurm_loop(
                desk, rules, limits, nodes, counters, limit, until, *given
            )
            if found[0] not in (UNKNOWN_KIND, NO_PLACE):
                return found
            given = *given[:-2], given[-2]._replace(seconds=found[2]), found[1]
            passes.help(found[0], view, counters["rows_first"].item(), given[0].rows)
