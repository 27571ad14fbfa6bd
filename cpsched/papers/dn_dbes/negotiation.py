"""A transaction of both sides: offers and answers until both accept (Figure 4.2 of the thesis)."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from cpsched.papers.dn_dbes.batch import BatchSide
from cpsched.papers.dn_dbes.messages import Machine, Message, Offer, Queue, UrgentJob
from cpsched.papers.dn_dbes.runtime import RuntimeSide

if TYPE_CHECKING:
    from cpsched.papers.dn_dbes.messages import NegotiationSettings, StatusReport

#: Is told a second, the number of a transaction, and all its messages.
Listener = Callable[[int, int, list[Message]], object]


class Negotiation:
    """
    A batch side and a runtime side.

    Attributes
    ----------
    settings
        Of all negotiations.
    listener
        Is told every transaction; None: nobody.
    transaction
        The number of the last one.
    waits_for_request
        Whether the queue was empty when the runtime side made its last offer: until the batch
        side asks for one, it makes no others.
    """

    def __init__(self, settings: NegotiationSettings) -> None:
        self.settings = settings
        self.listener: Listener | None = None
        self.transaction = 0
        self.waits_for_request = True
        self._batch, self._runtime = BatchSide(settings), RuntimeSide(settings)

    def transact(self, machine: Machine, queue: Queue) -> list[Message]:
        """Carry out a transaction, and return all messages of it in order."""
        self.transaction += 1
        messages: list[Message] = [machine, queue]
        self._runtime.begin(machine)
        self._batch.begin(job for job in queue.jobs if not job.urgent)
        if machine.expands and not machine.offers:
            messages.append(self._runtime.expand())
        elif machine.offers:
            self._agree(self._runtime.offer(()), messages)
        else:
            for job in queue.jobs:
                if job.urgent:
                    messages += [UrgentJob(job), self._runtime.start_urgent(job)]
            if self._batch.queue:
                request = self._batch.request()
                messages.append(request)
                self._agree(self._runtime.offer(request.jobs), messages)
        if self.listener is not None:
            self.listener(machine.now, self.transaction, messages)
        return messages

    def _agree(self, offer: Offer, messages: list[Message]) -> None:
        """Let both sides answer each other until what was offered is done."""
        message: Offer | StatusReport = offer
        messages.append(message)
        while isinstance(message, Offer):
            answer = self._batch.answer(message)
            message = self._runtime.answer(answer)
            messages += [answer, message]
            self.waits_for_request = not answer.jobs
