"""What is played: the options of the environments and of a saved policy."""

from __future__ import annotations

from dataclasses import asdict, dataclass, fields
from typing import TYPE_CHECKING, Any, Self

from cpsched import _core
from cpsched.errors import ConfigError, check_choice, check_range

if TYPE_CHECKING:
    from collections.abc import Mapping

#: Numbers of rules in the native core, by name.
RULES = {
    "fifo": 0,
    "sjf": 1,
    "ljf": 2,
    "slowdown": 3,
    "wfp3": 4,
    "unicef": 5,
    "f1": 6,
    "smallest-area": 7,
}
#: Numbers of what an agent is paid by, by name: means over the jobs of a window, the lower the
#: better.
MEASURES = {"bounded-slowdown": 0, "wait": 1, "area-weighted-response": 2}
ACTIONS = ("job", "rule")
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
            raise ConfigError("is empty, must name at least one rule", key="rules")
        for rule in self.rules:
            check_choice("rules", rule, RULES)
        if self.action == "rule" and (self.wait or self.choose != "any"):
            raise ConfigError("'rule' cannot be combined with wait or choose=fitting", key="action")
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

    def native(self, measure: str = "wait") -> _core.EpisodeOptions:
        """Return them as the native core takes them."""
        return _core.EpisodeOptions(
            by_rule=self.action == "rule",
            only_fitting=self.choose == "fitting",
            may_wait=self.wait,
            backfills=self.backfill == "easy",
            behind=RULES[self.behind],
            rules=[RULES[rule] for rule in self.rules],
            visible=self.visible,
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
