"""What both sides of a negotiation agree on before they begin."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from cpsched.api.errors import check_choice, check_least, check_range


class UrgentPolicy(StrEnum):
    """How far the runtime side goes to make room for an urgent job; each includes those before."""

    SHRINK = "shrink"
    """Malleable jobs shrink, down to their minimum."""
    SUSPEND = "suspend"
    """Restartable jobs are suspended, too."""
    KILL = "kill"
    """Any job that is not urgent itself is killed, if nothing else makes enough room."""


@dataclass(frozen=True, slots=True, kw_only=True)
class NegotiationSettings:
    """
    Settings of a negotiation; none of them is published.

    Attributes
    ----------
    attempts
        ``MAX_NEGOTIATION_ATTEMPTS``: the answer to the last offer is accepted by both sides,
        whatever it is.
    depth, mapped_share, urgent
        As for :class:`~cpsched_papers.dn_dbes.dispatcher.DnDbes`.

    Raises
    ------
    ConfigError
        If a value is invalid.
    """

    attempts: int = 6
    depth: int = 10
    mapped_share: float = 1 / 3
    urgent: str = UrgentPolicy.SHRINK

    def __post_init__(self) -> None:
        check_least("attempts", self.attempts, 1)
        check_least("depth", self.depth, 1)
        check_range("mapped_share", self.mapped_share, 0, 1)
        check_choice("urgent", self.urgent, [*UrgentPolicy])

    def step(self, units: int, least: int) -> int:
        """Return by how many units a job gives way at a time, at least one (section 5.2)."""
        return max((units - least) // self.attempts, 1)

    def is_early(self, attempt: int) -> bool:
        """Return whether an attempt is in the first half, in which both sides are demanding."""
        return 2 * attempt <= self.attempts
