"""Views in which jobs have started: going on from one is the same as one pass over the queue."""

import pytest
from hypothesis import given, settings
from tiny import machines, run, workloads

from cpsched.dispatch.backfilling import Easy
from cpsched.dispatch.passes import decision_of, easy_pass
from cpsched.dispatch.shadow import Shadow
from cpsched.model import columns as c


class InTwoParts(Easy):
    """EASY, which first starts the first job of the queue, and goes on as if that had started."""

    shadow = Shadow()

    def choose(self, view):
        rows = self.queues[0].rows(view)
        first = decision_of(view, easy_pass(view, rows[:1], rows[:0], self.allocator))
        held = {int(rows[0]): start.allocation for start in first.actions}
        rest = self.shadow.started(view, held)
        assert rest.running.expected_end.tolist() == sorted(rest.running.expected_end.tolist())
        assert len(rest.running) + len(rest.waiting) == len(view.running) + len(view.waiting)
        assert (rest.running.state == c.RUNNING).sum() == len(rest.running)
        rows = rows[len(held) :]
        second = decision_of(rest, easy_pass(rest, rows, rows, self.allocator))
        return second._replace(actions=[*first.actions, *second.actions])


@pytest.mark.parametrize("allocator", ["first-fit", "contiguous"])
@settings(max_examples=40)
@given(machines(), workloads())
def test_easy_in_two_parts_is_easy(allocator, system, workload):
    at_once, in_parts = (
        run(workload, system, dispatcher(allocator=allocator)).schedule
        for dispatcher in (Easy, InTwoParts)
    )
    assert at_once.start.tolist() == in_parts.start.tolist()
    assert at_once.segments.node.tolist() == in_parts.segments.node.tolist()
