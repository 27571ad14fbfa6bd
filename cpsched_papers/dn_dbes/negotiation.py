"""A transaction of both sides: offers and answers until both accept (Figure 4.2 of the thesis)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched_papers.dn_dbes.batch import BatchSide
from cpsched_papers.dn_dbes.messages import Offer, StatusReport
from cpsched_papers.dn_dbes.runtime import RuntimeSide

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched_papers.dn_dbes.messages import Machine, Message, NegotiationSettings, WaitingJob


class Negotiation:
    """
    A batch side and a runtime side.

    Attributes
    ----------
    waits_for_request
        Whether the queue was empty when the runtime side made its last offer: until the batch
        side asks for one, it makes no others.
    """

    def __init__(self, settings: NegotiationSettings) -> None:
        self.waits_for_request = True
        self._batch, self._runtime = BatchSide(settings), RuntimeSide(settings)

    def transact(self, machine: Machine, queue: Sequence[WaitingJob]) -> list[Message]:
        """Return all that both sides say; the jobs are in order of priority."""
        self._runtime.begin(machine)
        self._batch.begin(job for job in queue if not job.urgent)
        if machine.offers:
            return self._agreed(self._runtime.offer(()))
        if machine.expands:
            return [self._runtime.expand()]
        messages: list[Message] = [self._runtime.start_urgent(job) for job in queue if job.urgent]
        if self._batch.queue:
            messages += self._agreed(self._runtime.offer(self._batch.request()))
        return messages

    def _agreed(self, offer: Offer) -> list[Message]:
        """Let both sides answer each other until what was offered is done."""
        said: Offer | StatusReport = offer
        messages: list[Message] = [said]
        while isinstance(said, Offer):
            answer = self._batch.answer(said)
            said = self._runtime.answer(answer)
            messages += [answer, said]
            self.waits_for_request = not answer.jobs
        return messages
