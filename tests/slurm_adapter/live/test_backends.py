"""What every backend does, real or fake."""

import pytest
from live_slurm import EURORA

from slurm_adapter.live.order import Order
from slurm_adapter.live.snapshot import Lease, is_closed

pytestmark = pytest.mark.slow

live = pytest.mark.slurm_live
every = pytest.mark.parametrize(
    "any_slurm",
    ["fake", pytest.param("scontrol", marks=live)],
    indirect=True,
)
#: What users may call their jobs.
HOSTILE = "a|b,c\n;release 1\nJobId=1 Nodes=node001 CPU_IDs=0-15 Mem=1 GRES= --hold"


def runs(key):
    return lambda snapshot: snapshot.jobs[key].state == "RUNNING"


@every
def test_a_job_waits_held_until_it_begins_where_it_is_told(any_slurm):
    """Not on the first nodes, which Slurm would take."""
    slurm, backend = any_slurm, any_slurm.backend
    key = slurm.submit(nodes=2, cores=20, gres="gpu:1", name=HOSTILE, comment="x\ny|")
    job = backend.snapshot().jobs[key]
    assert (job.waits, job.held, job.nodes, job.nodes_min, job.cpus) == (True, True, (), 2, 20)
    assert (job.name, job.comment, job.admin_comment) == (HOSTILE, "x\ny|", "cpsched")
    assert backend.begin([Order(key, ("node034", "node035"))]) == {}
    job = slurm.wait(runs(key)).jobs[key]
    assert job.nodes == ("node034", "node035")
    assert not job.held
    assert job.start >= job.submit


@every
def test_what_a_job_holds_on_each_node_is_known(any_slurm):
    """Slurm fills the first node, and leaves at least a core for each other one."""
    slurm, backend = any_slurm, any_slurm.backend
    key = slurm.submit(nodes=3, cores=20, gres="gpu:1", name="plain")
    backend.begin([Order(key, ("node033", "node034", "node035"))])
    held = slurm.wait(runs(key)).jobs[key].placed
    assert [(one.node, one.cores, one.gres) for one in held] == [
        ("node033", 16, {"gpu": 1}),
        ("node034", 3, {"gpu": 1}),
        ("node035", 1, {"gpu": 1}),
    ]
    assert all(one.mem == held[-1].mem * one.cores for one in held)


@every
def test_a_job_whose_nodes_are_taken_waits_until_it_is_taken_back(any_slurm):
    """Then it has the bounds and the nodes of its user again, and is held."""
    slurm, backend = any_slurm, any_slurm.backend
    first, second = (slurm.submit(cores=16) for _ in range(2))
    backend.begin([Order(first, ("node005",))])
    slurm.wait(runs(first))
    backend.begin([Order(second, ("node005",))])
    job = backend.snapshot().jobs[second]
    assert (job.waits, job.held, job.required) == (True, False, ("node005",))
    assert backend.take_back([Order(second)]) == {}
    job = backend.snapshot().jobs[second]
    assert (job.waits, job.held, job.required) == (True, True, ())
    assert backend.begin([Order(second, ("node006",))]) == {}
    assert slurm.wait(runs(second)).jobs[second].nodes == ("node006",)


@every
def test_a_job_that_an_operator_holds_stays_held_when_it_is_taken_back(any_slurm):
    """With its own request; one that is left to Slurm runs where Slurm wants."""
    slurm, backend = any_slurm, any_slurm.backend
    key = slurm.submit()
    assert backend.begin([Order(key, ("node005",))]) == {}
    assert backend.take_back([Order(key)]) == {}
    assert backend.snapshot().jobs[key].reason == "JobHeldUser"
    slurm.hold(key)
    assert backend.take_back([Order(key)], {key}) == {}
    job = backend.snapshot().jobs[key]
    assert (job.reason, job.required) == ("JobHeldAdmin", ())
    assert backend.leave([Order(key)], [key, "999999"]).keys() == {"999999"}
    assert slurm.wait(runs(key)).jobs[key].nodes == ("node001",)


@every
def test_jobs_are_told_things_in_comments(any_slurm):
    """Whatever stands in them."""
    slurm, backend = any_slurm, any_slurm.backend
    key = slurm.submit()
    assert backend.comment(key, "two words; release 1") == ""
    assert backend.comment(key, "cpsched:aside runs on node001", admin=True) == ""
    job = backend.snapshot().jobs[key]
    told = (job.comment, job.admin_comment)
    assert told == ("two words; release 1", "cpsched:aside runs on node001")
    assert backend.comment("999999", "text") != ""


@every
def test_a_lease_is_there_once_and_no_reservation_of_jobs(any_slurm):
    """It is renewed and ended."""
    backend = any_slurm.backend
    first, later = Lease(1_800_000_000, 7), Lease(1_800_000_600, 7)
    assert set(backend.partitions()) == set(EURORA.queues)
    assert backend.begin_lease("R", first) == ""
    assert backend.begin_lease("R", Lease(1_900_000_000, 8)) != ""
    assert backend.leases() == {"R": first}
    assert backend.renew_lease("R", later) == ""
    assert backend.leases() == {"R": later}
    assert backend.snapshot().reserved == ()
    assert not backend.snapshot().closed
    assert backend.end_lease("R") == ""
    assert backend.leases() == {}
    assert backend.end_lease("R") != ""
    assert backend.booted() < backend.snapshot().now


@every
def test_orders_that_cannot_be_are_refused_and_the_others_carried_out(any_slurm):
    """A job that could not be bound stays held: released, it would start anywhere."""
    slurm, backend = any_slurm, any_slurm.backend
    good, bad = slurm.submit(), slurm.submit()
    orders = [Order("999999", ("node001",)), Order(bad, ("nowhere",)), Order(good, ("node007",))]
    assert backend.begin(orders).keys() == {"999999", bad}
    assert slurm.wait(runs(good)).jobs[good].nodes == ("node007",)
    assert backend.snapshot().jobs[bad].held
    assert backend.take_back([Order("999999")]).keys() == {"999999"}


@every
def test_a_job_that_was_cancelled_is_gone_and_its_end_is_known(any_slurm):
    """Whether it ran or not."""
    slurm, backend = any_slurm, any_slurm.backend
    ran, waited = slurm.submit(), slurm.submit()
    backend.begin([Order(ran, ("node008",))])
    slurm.wait(runs(ran))
    slurm.cancel(ran)
    slurm.cancel(waited)
    slurm.wait(lambda snapshot: not snapshot.jobs)
    ended = backend.ended([ran, waited, "999999"])
    assert ended.keys() == {ran, waited}
    assert {job.state for job in ended.values()} == {"CANCELLED"}
    assert ended[ran].nodes == ("node008",)
    assert ended[ran].end >= ended[ran].start


@every
def test_nothing_starts_on_a_node_that_is_drained(any_slurm):
    """Such nodes are closed, however they are."""
    slurm, backend = any_slurm, any_slurm.backend
    assert backend.snapshot().closed == set()
    slurm.close("node009")
    try:
        assert backend.snapshot().closed == {"node009"}
        key = slurm.submit()
        backend.begin([Order(key, ("node009",))])
        slurm.wait(lambda snapshot: snapshot.jobs[key].reason.startswith("ReqNodeNotAvail"))
    finally:
        slurm.open("node009")
    # A node that is resumed does not answer at first.
    slurm.wait(lambda snapshot: not snapshot.closed)


@every
def test_reservations_are_known_before_they_begin(any_slurm):
    """And while they last their nodes are closed."""
    slurm, backend = any_slurm, any_slurm.backend
    assert backend.snapshot().reserved == ()
    now = int(backend.snapshot().now)
    with slurm.reserved("node009", after=3000, seconds=600):
        (one,) = backend.snapshot().reserved
        assert (one.nodes, one.end - one.start) == (("node009",), 600)
        assert one.start == pytest.approx(now + 3000, abs=20)
        assert not backend.snapshot().closed
    with slurm.reserved("node009", after=0, seconds=600):
        assert slurm.wait(lambda snapshot: snapshot.closed).closed == {"node009"}
    slurm.wait(lambda snapshot: not snapshot.closed)
    assert backend.snapshot().reserved == ()


@pytest.mark.parametrize(
    ("states", "closed"),
    [
        ("idle mixed allocated completing allocated+ planned MIXED+PLANNED mixed-"
         " ALLOCATED+COMPLETING", False),
        ("idle+drain mixed+drain down down* idle* idle~ idle# IDLE+DRAIN IDLE+NOT_RESPONDING"
         " reserved maint idle$ idle@ fail unknown", True),
    ],
)  # fmt: skip
def test_states_of_nodes(states, closed):
    """As sinfo writes them, and scontrol; what they mean is in sinfo's manual."""
    assert {state: is_closed(state) for state in states.split()} == dict.fromkeys(
        states.split(), closed
    )
