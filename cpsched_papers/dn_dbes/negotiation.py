"""Both sides in one process: messages go to and fro until neither has an answer."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from enum import StrEnum
from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched_papers.dn_dbes.batch import BatchSide
from cpsched_papers.dn_dbes.messages import (
    Machine,
    Message,
    NegotiationEnd,
    Offer,
    OfferResponse,
    Queue,
)
from cpsched_papers.dn_dbes.runtime import RuntimeSide

if TYPE_CHECKING:
    from collections.abc import Iterable

    from cpsched_papers.dn_dbes.settings import NegotiationSettings


class Party(StrEnum):
    """Who sends or gets a message."""

    MACHINE = "machine"
    """Not a side: whoever knows what waits and what runs."""
    BATCH = "batch"
    RUNTIME = "runtime"

    @property
    def other(self) -> Party:
        """The side that it negotiates with."""
        return Party.RUNTIME if self is Party.BATCH else Party.BATCH


class Sent(NamedTuple):
    """
    A message on its way.

    Attributes
    ----------
    second
        When; the answers of one transaction all come within one second.
    transaction
        Counts from 1 on; 0 before the first.
    attempt
        Of the offer that was made last in this transaction; 0 before the first.
    """

    second: int
    transaction: int
    attempt: int
    sender: Party
    receiver: Party
    message: Message


Listener = Callable[[Sent], object]


class Negotiation:
    """
    Drives a batch side and a runtime side.

    Parameters
    ----------
    settings
        Of all negotiations.

    Attributes
    ----------
    listener
        Is told every message, before it is answered; None: nobody.
    transaction
        The number of the last one.
    waits_for_request
        Whether the queue was empty when the runtime side made its last offer: until the batch
        side asks for one, it makes no others.
    """

    def __init__(self, settings: NegotiationSettings) -> None:
        self.listener: Listener | None = None
        self.transaction = 0
        self.waits_for_request = True
        self._batch, self._runtime = BatchSide(settings), RuntimeSide()
        self._is_open = False
        self._now = 0

    def transact(self, machine: Machine, queue: Queue) -> list[Message]:
        """
        Carry out a transaction, and return all messages of it in order.

        Raises
        ------
        DispatchError
            If a side receives an invalid message.
        """
        self._now = machine.now
        if not self._is_open:
            self._is_open = True
            self._exchange(machine.now, [(Party.BATCH, Party.RUNTIME, self._batch.start())])
        self.transaction += 1
        told: list[tuple[Party, Party, Message]] = [
            (Party.MACHINE, Party.RUNTIME, machine),
            (Party.MACHINE, Party.BATCH, queue),
        ]
        messages = self._exchange(machine.now, told)
        for message in messages:
            if isinstance(message, OfferResponse):
                self.waits_for_request = not message.jobs
        return messages

    def close(self, reason: str) -> None:
        """End the connection, if it has begun."""
        if self._is_open:
            self._is_open = False
            self._exchange(self._now, [(Party.BATCH, Party.RUNTIME, NegotiationEnd(reason))])

    def _exchange(
        self, now: int, messages: Iterable[tuple[Party, Party, Message]]
    ) -> list[Message]:
        """Deliver messages and all that follows from them."""
        sides: dict[Party, Any] = {Party.BATCH: self._batch, Party.RUNTIME: self._runtime}
        under_way, delivered, attempt = deque(messages), [], 0
        while under_way:
            sender, receiver, message = under_way.popleft()
            delivered.append(message)
            if isinstance(message, Offer):
                attempt = message.attempt
            if self.listener is not None:
                self.listener(Sent(now, self.transaction, attempt, sender, receiver, message))
            answers = sides[receiver].step(message)
            under_way.extend((receiver, receiver.other, answer) for answer in answers)
        return delivered
