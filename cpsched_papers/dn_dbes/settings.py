"""What both sides of a negotiation agree on before they begin."""

from __future__ import annotations

from dataclasses import dataclass

from cpsched.api.errors import check_least, check_range


@dataclass(frozen=True, slots=True, kw_only=True)
class NegotiationSettings:
    """
    Settings of a negotiation; none of them is published.

    Attributes
    ----------
    attempts
        ``MAX_NEGOTIATION_ATTEMPTS``: the answer to the last offer is accepted by both sides,
        whatever it is.
    depth, mapped_share
        As for :class:`~cpsched_papers.dn_dbes.dispatcher.DnDbes`.

    Raises
    ------
    ConfigError
        If a value is invalid.
    """

    attempts: int = 6
    depth: int = 10
    mapped_share: float = 1 / 3

    def __post_init__(self) -> None:
        check_least("attempts", self.attempts, 1)
        check_least("depth", self.depth, 1)
        check_range("mapped_share", self.mapped_share, 0, 1)

    def step(self, units: int, least: int) -> int:
        """Return by how many units a job gives way at a time, at least one (section 5.2)."""
        return max((units - least) // self.attempts, 1)

    def is_early(self, attempt: int) -> bool:
        """Return whether an attempt is in the first half, in which both sides are demanding."""
        return 2 * attempt <= self.attempts
