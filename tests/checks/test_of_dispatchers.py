"""The checks of dispatchers: each of them can fail."""

import numpy as np
import pytest

from cpsched import checks
from cpsched.checks import CHECKS, CheckError, check_dispatcher, check_keeps_promises
from cpsched.checks.sample import sample
from cpsched.dispatch.allocators import make_allocator
from cpsched.dispatch.backfilling import Easy
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.rules import Fifo, Greedy
from cpsched.model.decision import Decision, PlannedStarts, Start
from cpsched.verification import verify

pytestmark = pytest.mark.slow


def test_the_sample_has_everything_in_it():
    """And no job that cannot run."""
    jobs = sample().workload
    assert not sample().rejected
    assert jobs.contiguous.any()
    assert jobs.exclusive.any()
    assert jobs.split.any()
    assert (jobs.runtime == 0).any()
    assert (jobs.runtime > jobs.requested_time).any()
    assert (np.diff(jobs.submit) == 0).any()
    assert len(sample().eligible) == 2
    assert jobs.restartable.any()
    assert jobs.job_type.any()
    assert verify(checks._Simulation(Fifo(), sample()).run()) == []


@pytest.mark.parametrize(("dispatcher", "least"), [(Fifo, 0.85), (Easy, 0.75), (Greedy, 0.5)])
def test_most_jobs_of_the_sample_wait(dispatcher, least):
    """In two queues, the second of which begins when the first is empty."""
    submit = sample().workload.submit
    start = checks._Simulation(dispatcher(), sample()).run().start
    assert (start > submit).mean() > least
    waiting = np.array([((submit <= now) & (start > now)).sum() for now in submit])
    assert (np.diff((waiting > 0).astype(int)) == -1).sum() == 1
    for burst in waiting.reshape(2, -1):
        assert burst[0] == 0
        assert burst.max() > 10


class Nameless(Fifo):
    name = ""


class SaysNothing(Fifo):
    def decide(self, view):
        super().decide(view)


class TakesTwice(Fifo):
    """Gives the second job what the first has got."""

    def decide(self, view):
        decision = super().decide(view)
        if len(decision.actions) < 2:
            return decision
        first, second = decision.actions[:2]
        return Decision([first, Start(second.handle, first.allocation)])


class Lazy(Fifo):
    def decide(self, view):
        return Decision()


class Remembers(Greedy):
    """Counts on over resets, and starts nothing at every seventh decision."""

    count = 0

    def decide(self, view):
        type(self).count += 1
        if type(self).count % 7 == 0 and len(view.running):
            return Decision()
        return super().decide(view)


class Forgets(Greedy):
    """Starts nothing at every seventh decision, and does not save how many there were."""

    def reset(self, system, seed):
        super().reset(system, seed)
        self.count = 0

    def decide(self, view):
        self.count += 1
        if self.count % 7 == 0 and len(view.running):
            return Decision()
        return super().decide(view)


class SavesObjects(Fifo):
    def state(self):
        return {"all": {1, 2}}


class Writes(Fifo):
    def decide(self, view):
        if len(view.waiting):
            view.waiting.store.writable[view.waiting.rows[0], 16] = 1
        return super().decide(view)


class Knows(Greedy):
    """Orders by what it was told of the future."""

    def decide(self, view):
        if len(view.running) and checks.truth_for_test[int(view.running.handle[0])] % 2:
            return Decision()
        return super().decide(view)


class Promises(Fifo):
    """Promises every head this very second."""

    def decide(self, view):
        decision = super().decide(view)
        heads = view.waiting.handle.tolist()
        return decision._replace(planned_starts=PlannedStarts(heads, [view.now] * len(heads)))


class BackfillsAll(Easy):
    """Plans a start for the head, and starts whatever fits now."""

    def reset(self, system, seed):
        super().reset(system, seed)
        self.other = Greedy()
        self.other.reset(system, seed)

    def decide(self, view):
        return super().decide(view)._replace(actions=self.other.decide(view).actions)


class RanksTwice(Fifo):
    def ranking(self, view):
        return np.repeat(view.waiting.rows, 2)


class ConsidersAll(Fifo):
    def considered(self, view):
        return np.arange(view.waiting.store.size)


class ReservesThePast(Easy):
    def reservations(self, view, decision):
        return [
            reservation._replace(start=-1) for reservation in super().reservations(view, decision)
        ]


class ReservesElsewhere(Easy):
    def reservations(self, view, decision):
        return [
            reservation._replace(nodes=[99]) for reservation in super().reservations(view, decision)
        ]


class GivesWords(Fifo):
    def wait_reason(self, view, decision, row, derived):
        return "later"


class MindsQuestions(Fifo):
    """Starts nothing in the first decision after it was first asked for its order."""

    asked = skipped = False

    def ranking(self, view):
        self.asked = True
        return super().ranking(view)

    def decide(self, view):
        if self.asked and not self.skipped:
            self.skipped = True
            return Decision(again_at=view.now + 1)
        return super().decide(view)


class Minimal(Dispatcher):
    """Says nothing about itself: places the first job, on first-fit nodes."""

    name = "minimal"

    def reset(self, system, seed):
        self.allocator = make_allocator("first-fit")
        self.allocator.reset(system)

    def decide(self, view):
        rows = view.waiting.rows
        place = self.allocator.place(view, int(rows[0]), view.free) if len(rows) else None
        if place is None:
            return Decision()
        return Decision([Start(int(view.waiting.handle[0]), place)], again_at=view.now + 1)


def test_a_dispatcher_that_only_decides_keeps_the_contract():
    check_dispatcher(Minimal)


@pytest.mark.parametrize(
    ("make", "check", "message"),
    [
        (Nameless, checks.check_answers_in_kind, "has no name"),
        (SaysNothing, checks.check_answers_in_kind, "decide returns NoneType"),
        (TakesTwice, checks.check_schedules_are_valid, "job .* is given"),
        (Lazy, checks.check_schedules_are_valid, "deadlocked"),
        (Remembers, checks.check_same_seed_same_schedule, "differ after reset: job"),
        (Forgets, checks.check_survives_saving, "differ after save and load: job"),
        (SavesObjects, checks.check_survives_saving, "not an array, number or string"),
        (Writes, checks.check_leaves_its_input_alone, "decide changes the view: job table"),
        (Promises, check_keeps_promises, "was planned for second"),
        (BackfillsAll, check_keeps_promises, "was planned for second"),
        (Greedy, check_keeps_promises, "never plans a start"),
        (RanksTwice, checks.check_describes_itself, "ranking names a row twice"),
        (ConsidersAll, checks.check_describes_itself, "considered names a row that does not wait"),
        (ReservesThePast, checks.check_describes_itself, "it reserves second -1 at"),
        (ReservesElsewhere, checks.check_describes_itself, "nodes that do not exist"),
        (GivesWords, checks.check_describes_itself, "wait_reason returns 'later'"),
        (MindsQuestions, checks.check_describes_itself, "differ when it is asked about them"),
    ],
)
def test_checks_find_what_is_wrong(make, check, message):
    """One bad dispatcher for each promise."""
    with pytest.raises(CheckError, match=message):
        check(make)


def test_knowing_the_future_is_found_out(monkeypatch):
    """Given the truth of whichever world is shown, decisions differ between the worlds."""
    real = checks.Simulator

    def telling(fitted, *rest, **more):
        checks.truth_for_test = fitted.workload.runtime
        return real(fitted, *rest, **more)

    monkeypatch.setattr(checks, "Simulator", telling)
    monkeypatch.setattr(checks, "truth_for_test", None, raising=False)
    with pytest.raises(CheckError, match="depend on what happens later|deadlocked"):
        checks.check_knows_no_future(Knows)


def test_all_checks_are_run():
    """``check_dispatcher`` stops at the first that fails."""
    assert len(CHECKS) == 7
    with pytest.raises(CheckError, match="has no name"):
        check_dispatcher(Nameless)
