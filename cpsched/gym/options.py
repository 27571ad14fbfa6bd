"""What is played: the options of the environments and of a saved policy."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from cpsched.errors import ConfigError, check_choice, check_range
from cpsched.gym.kernels import episodes
from cpsched.gym.kernels.episodes import Rules

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Rules by name.
RULES = {
    "fifo": episodes.FIFO,
    "sjf": episodes.SJF,
    "ljf": episodes.LJF,
    "slowdown": episodes.BY_SLOWDOWN,
    "wfp3": episodes.WFP3,
    "unicef": episodes.UNICEF,
    "f1": episodes.F1,
    "smallest-area": episodes.SMALLEST_AREA,
}
#: What an agent is paid by, by name: means over the jobs of a window, the lower the better.
MEASURES = {
    "bounded-slowdown": episodes.SLOWDOWN,
    "wait": episodes.WAIT,
    "area-weighted-response": episodes.RESPONSE,
}
ACTIONS = {"job": episodes.JOB, "rule": episodes.RULE}
CHOOSE = ("any", "fitting")
BACKFILL = ("none", "easy")
_LARGEST = 4096


@dataclass(frozen=True, slots=True, kw_only=True)
class Options:
    """
    What an agent decides, and what happens behind its decision.

    Parameters
    ----------
    action
        ``job``: which job goes next. One that fits starts, and the agent is asked again; behind one
        that does not, jobs are backfilled, and the agent is asked when something has happened.
        ``rule``: by which of ``rules`` the queue is started and backfilled now.
    choose
        Jobs that can be chosen: ``any`` that wait, or those ``fitting`` into what is free.
    wait
        Whether there is an action, the last, that starts nothing until something happens. It can
        be taken while a job runs.
    backfill
        ``easy``: jobs start behind one that does not fit if they do not delay it; or ``none``.
    behind
        The rule by which they are taken, where jobs are chosen.
    rules
        The rules to choose from, where rules are.
    visible
        So many jobs at most are shown, those that came first.

    Raises
    ------
    ConfigError
        If one of them is none of these.
    """

    action: str = "job"
    choose: str = "any"
    wait: bool = False
    backfill: str = "easy"
    behind: str = "fifo"
    rules: tuple[str, ...] = ("fifo", "sjf", "slowdown", "wfp3", "f1")
    visible: int = 128

    def __post_init__(self) -> None:
        check_choice("action", self.action, ACTIONS)
        check_choice("choose", self.choose, CHOOSE)
        check_choice("backfill", self.backfill, BACKFILL)
        check_choice("behind", self.behind, RULES)
        check_range("visible", self.visible, 2, _LARGEST)
        if not self.rules:
            raise ConfigError("is empty, must name a rule or more", key="rules")
        for rule in self.rules:
            check_choice("rules", rule, RULES)
        if self.action == "rule" and (self.wait or self.choose != "any"):
            raise ConfigError("'rule' goes with neither wait nor choose=fitting", key="action")
        if self.choose == "fitting" and self.backfill != "none":
            raise ConfigError(
                "'easy' backfills behind a job that does not fit, which choose=fitting never"
                " chooses: must be 'none'",
                key="backfill",
            )

    @property
    def num_rows(self) -> int:
        """The rows of an observation: one for each visible job, and one for waiting."""
        return self.visible + self.wait

    @property
    def num_actions(self) -> int:
        """How many actions there are."""
        return len(self.rules) if self.action == "rule" else self.num_rows

    def compiled(self, measure: str = "wait") -> Rules:
        """Return them as the kernels take them."""
        return Rules(
            kind=ACTIONS[self.action],
            fitting=int(self.choose == "fitting"),
            may_wait=int(self.wait),
            backfills=int(self.backfill == "easy"),
            behind=RULES[self.behind],
            choices=np.array([RULES[rule] for rule in self.rules], dtype=np.int64),
            measure=MEASURES[measure],
        )

    def as_data(self) -> dict[str, Any]:
        """Return them as JSON takes them."""
        return {**asdict(self), "rules": list(self.rules)}

    @classmethod
    def from_data(cls, data: Mapping[str, Any]) -> Self:
        """
        Return the options that :meth:`as_data` gave.

        Raises
        ------
        ValueError, TypeError, LookupError
            If they are not those.
        """
        kinds: dict[str, Any] = {each.name: type(each.default) for each in fields(cls)}
        return cls(**{name: kinds[name](value) for name, value in data.items()})
