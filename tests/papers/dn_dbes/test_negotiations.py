"""
Negotiations worked out by hand, attempt by attempt: the scenarios of section 4.2.1 of the thesis.

In all of them runtimes are shared perfectly, a change of size costs nothing, and a unit is a slot,
so that a job of 8 units that would end in 100 s does so in 160 s on 5 units. There are at most four
attempts unless said otherwise: in the first two both sides are demanding.
"""

from cpsched.papers.dn_dbes.batch import BatchSide
from cpsched.papers.dn_dbes.messages import (
    ForwardedJob,
    JobReservation,
    JobStatus,
    Machine,
    NegotiationSettings,
    Offer,
    OfferResponse,
    Queue,
    RequestOffer,
    RunningJob,
    StatusReport,
    UrgentJob,
    UrgentJobResponse,
    WaitingJob,
)
from cpsched.papers.dn_dbes.negotiation import Negotiation
from cpsched.papers.dn_dbes.runtime import RuntimeSide

#: Running job A: 8 units, 2 to 8 of them, ends at 100.
A = RunningJob(1, 8, 2, 8, preferred=8, end=100)


def waiting(job, least, most, seconds=50, **more):
    """Return a job that takes so long on its most units; the smaller its number, the earlier."""
    return WaitingJob(job, 1000 - job, least, most, preferred=most, seconds=seconds, **more)


def conversation(machine, queue, attempts=4, **settings):
    """Return what the sides say to each other in one transaction."""
    negotiation = Negotiation(NegotiationSettings(attempts=attempts, **settings))
    return negotiation.transact(machine, queue)[2:]


def mapped(response):
    """Return units and constraint of each job of a response."""
    return [(plan.job, plan.units, plan.least, plan.most) for plan in response.jobs]


def test_rejected_twice_then_agreed():
    """Figures 4.3 and 4.4: the batch side rejects and asks for less, the runtime side gives more."""
    rigid = RunningJob(2, 6, 6, 6, preferred=6, end=200)
    machine = Machine(0, 16, 2, (A, rigid), offers=True)
    first, second = waiting(10, 2, 6), waiting(11, 4, 4)
    offer1, answer1, offer2, answer2, offer3, answer3, report = conversation(
        machine, Queue((first, second))
    )

    # Attempt 1: the 2 idle slots. Job 10 begins with 6 - (6 - 2) // 4 = 5 to 6 units, so that
    # neither fits: reject, the first job has nothing.
    assert offer1 == Offer(1, (), idle=2)
    assert not answer1.accepted
    assert mapped(answer1) == [(10, 0, 5, 6), (11, 0, 4, 4)]

    # Attempt 2: job A gives way by 2 steps of (8 - 2) // 4 = 1 and has 6. That makes 4 slots: too
    # few for job 10; enough for job 11, but A would then end at 134, and not give job 10 its units
    # at 100. So both are promised units when A ends.
    assert offer2.reservations == (
        JobReservation(10, 0, start=100, end=160),  # 50 s on 6 units are 60 s on 5
        JobReservation(11, 0, start=100, end=150),
    )
    assert offer2.idle == 2
    # Job 10 does with 4 now, which are too many still; the rigid job cannot do with fewer.
    assert not answer2.accepted
    assert mapped(answer2) == [(10, 0, 4, 6), (11, 0, 4, 4)]

    # Attempt 3, from the first state again: A gives 3 steps and has 5. With the 2 idle slots job 10
    # gets 5, until 60. A could give job 11 another 3 and no more, so it is promised 60.
    assert offer3 == Offer(
        3, (JobReservation(10, 5, start=0, end=60), JobReservation(11, 0, start=60, end=110)), 0
    )
    # The first job has units, and the demanding half is over: accept.
    assert answer3.accepted
    assert mapped(answer3) == [(10, 5, 4, 6), (11, 0, 4, 4)]

    # The runtime side does attempt 3 once more: nothing is idle. That one job starts of two would
    # not do in the first half.
    assert report == StatusReport(
        attempt=3,
        jobs=(JobStatus(1, "resized", 5, end=160), JobStatus(10, "started", 5, end=60)),
        dependencies=(),
        planned=((11, 60),),
        idle=0,
    )


def test_the_runtime_side_rejects_what_the_batch_side_accepts():
    """Figures 4.3 and 4.4, the other way round."""
    machine = Machine(0, 12, 4, (A,), offers=True)
    first, second = waiting(10, 4, 4), waiting(11, 3, 3)
    offer1, answer1, offer2, answer2, offer3, answer3, report = conversation(
        machine, Queue((first, second))
    )
    # Attempt 1: job 10 takes the 4 idle slots. It is the first, and half of the queue: accept.
    assert offer1 == Offer(1, (), idle=4)
    assert answer1.accepted
    assert mapped(answer1) == [(10, 4, 4, 4), (11, 0, 3, 3)]
    # With one step A gives 1 slot. One job of two is too few: reject. With two steps A gives 2.
    assert offer2.reservations == (
        JobReservation(10, 4, start=0, end=50),
        JobReservation(11, 0, start=50, end=100),
    )
    # As good as before: the batch side accepts again. Still one job of two, in the first half.
    assert answer2.accepted
    # Attempt 3: A gives 3 slots, which are enough.
    assert offer3.reservations == (
        JobReservation(10, 4, start=0, end=50),
        JobReservation(11, 3, start=0, end=50),
    )
    assert answer3.accepted
    # Two jobs start, one more than when the runtime side rejected: agreed.
    assert report.attempt == 3
    assert report.jobs == (
        JobStatus(1, "resized", 5, end=160),
        JobStatus(10, "started", 4, end=50),
        JobStatus(11, "started", 3, end=50),
    )


def test_the_queue_becomes_empty_and_new_jobs_arrive():
    """Figure 4.5: an offer that nobody wants is the last one until the batch side requests one."""
    negotiation = Negotiation(NegotiationSettings(attempts=4))
    running = A._replace(units=3)

    # Job 10 wants 3 to 4 of the 5 idle slots and gets 4; the one that is left goes to A, which
    # then ends after 100 * 3 / 4 = 75 s.
    *_, report = negotiation.transact(
        Machine(0, 8, 5, (running,), offers=True), Queue((waiting(10, 2, 4, 60),))
    )
    assert report.jobs == (
        JobStatus(10, "started", 4, end=60),
        JobStatus(1, "resized", 4, end=75),
    )
    assert not negotiation.waits_for_request

    # At 60 job 10 ends. The queue is empty, so A gets its 4 slots: 15 s on 4 units are 8 on 8.
    running = A._replace(units=4, end=75)
    _, _, offer, answer, report = negotiation.transact(
        Machine(60, 8, 4, (running,), offers=True), Queue(())
    )
    assert offer == Offer(1, (), idle=4)
    assert answer == OfferResponse(1, accepted=True, jobs=())
    assert report.jobs == (JobStatus(1, "resized", 8, end=68),)
    assert negotiation.waits_for_request

    # At 62 job 20 arrives, and the batch side asks.
    running = A._replace(end=68)
    _, _, request, offer1, answer1, offer2, answer2, report = negotiation.transact(
        Machine(62, 8, 0, (running,)), Queue((waiting(20, 2, 2, 30),))
    )
    assert request == RequestOffer((ForwardedJob(waiting(20, 2, 2, 30), 0, least=2, most=2),))
    # One step of A, 1 slot, is too little; two steps are enough.
    assert offer1.reservations == (JobReservation(20, 0, start=68, end=98),)
    assert not answer1.accepted
    assert offer2.reservations == (JobReservation(20, 2, start=62, end=92),)
    assert answer2.accepted
    assert report.jobs == (
        JobStatus(1, "resized", 6, end=70),  # 6 s on 8 units are 8 on 6
        JobStatus(20, "started", 2, end=92),
    )
    assert not negotiation.waits_for_request


def test_the_last_attempt_is_accepted_whatever_it_is():
    """With three attempts; nothing can be done for job 10, and both accept that."""
    rigid = RunningJob(2, 6, 6, 6, preferred=6, end=200)
    machine = Machine(0, 8, 2, (rigid,), offers=True)
    messages = conversation(machine, Queue((waiting(10, 4, 4),)), attempts=3)
    # Attempt 1 is in the first half and rejected; 2 is accepted, since having nothing for the
    # first job will do then, but the runtime side would leave 2 slots idle while a job waits.
    answers = [message.accepted for message in messages if isinstance(message, OfferResponse)]
    assert answers == [False, True, True]
    assert messages[-1] == StatusReport(
        attempt=3, jobs=(), dependencies=(), planned=((10, 200),), idle=2
    )


def test_a_job_that_blocks_another_is_expanded():
    """DBES: the job whose end is waited for gets what is idle, and ends sooner."""
    running = A._replace(units=4, units_max=6)
    rigid = RunningJob(2, 2, 2, 2, preferred=2, end=500)
    machine = Machine(0, 8, 2, (running, rigid), offers=True)
    *_, report = conversation(machine, Queue((waiting(10, 5, 5),)), attempts=1)
    # Job 10 needs 5: 2 are idle, and A can give no more than 2. It waits for A, which takes the
    # idle slots and ends at 100 * 4 / 6 = 67.
    assert report.jobs == (JobStatus(1, "resized", 6, end=67),)
    assert report.dependencies == ((1, 10),)


def test_no_job_overtakes_the_first_one_to_its_harm():
    """A job that starts by shrinking others may not delay the first that waits."""
    machine = Machine(0, 10, 2, (A,), offers=True)
    wide, small = waiting(10, 10, 10), waiting(11, 4, 4, 1000)
    *_, report = conversation(machine, Queue((wide, small)), attempts=1)
    # A would give 6 slots for job 11, which then would keep job 10 from the whole machine at 100.
    assert [job for job in report.jobs if job.state == "started"] == []
    assert dict(report.planned)[10] == 100


def test_mapped_jobs_shrink_for_others():
    """Algorithms 2 and 3: the last mapped job gives way first, by a step within its constraint."""
    side = BatchSide(NegotiationSettings(attempts=4))
    side.begin((waiting(10, 1, 9), waiting(11, 1, 9), waiting(12, 2, 2)))
    # Both begin with 9 - (9 - 1) // 4 = 7 to 9 units. 17 slots: 9 for job 10, 8 for job 11, none
    # for job 12, which needs 2. Job 11 gives max((8 - 7) // 4, 1) = 1, then job 10 max(2 // 4, 1).
    answer = side.answer(Offer(1, (), idle=17))
    assert mapped(answer) == [(10, 8, 7, 9), (11, 7, 7, 9), (12, 2, 2, 2)]


def test_no_more_jobs_without_units_than_the_depth():
    """Those behind are forwarded only if there are units for them."""
    side = BatchSide(NegotiationSettings(attempts=4, depth=2))
    queue = [waiting(10 + number, 4, 4) for number in range(4)]
    side.begin((*queue, waiting(20, 1, 1), waiting(21, 3, 3)))
    answer = side.answer(Offer(1, (), idle=2))
    assert mapped(answer) == [(10, 0, 4, 4), (11, 0, 4, 4), (20, 1, 1, 1)]


def test_a_third_of_the_queue_is_wanted_at_first():
    """Section 5.2.1: until half of the attempts are over, and whatever the first job has."""
    side = BatchSide(NegotiationSettings(attempts=4))
    side.begin(waiting(10 + number, 2, 2) for number in range(7))
    accepted = []
    for attempt, idle in enumerate((4, 6, 4), start=1):
        accepted.append(side.answer(Offer(attempt, (), idle)).accepted)
    # Two of seven are too few, three are enough; then two are fewer than in the attempt before.
    assert accepted == [False, True, False]


# --- urgent jobs ---------------------------------------------------------------------------------


def urgent(machine, job):
    """Return the answer of a runtime side."""
    side = RuntimeSide(NegotiationSettings())
    side.begin(machine)
    return side.start_urgent(job)


def test_running_jobs_shrink_for_an_urgent_one():
    """It gets the units it prefers, from what is idle and from those with the most to give."""
    small = RunningJob(2, 4, 2, 4, preferred=4, end=300)
    machine = Machine(0, 14, 2, (A, small))
    # 6 of A's 8, besides the 2 that are idle: A is left with 2 and ends after 400 s; the other job
    # keeps what it has.
    assert urgent(machine, waiting(9, 4, 8, urgent=True)) == UrgentJobResponse(
        9, 8, (JobStatus(1, "resized", 2, end=400), JobStatus(9, "started", 8, end=50))
    )


def test_an_urgent_job_does_with_less_than_it_prefers():
    """Rather than to wait, as long as it has its minimum."""
    machine = Machine(0, 8, 0, (A,))
    answer = urgent(machine, waiting(9, 4, 8, urgent=True))
    assert (answer.units, answer.jobs[0].units) == (6, 2)
    # Its minimum of 7 is more than A can give: nothing changes.
    assert urgent(machine, waiting(9, 7, 8, urgent=True)) == UrgentJobResponse(9, 0, ())


def test_urgent_and_rigid_jobs_give_nothing():
    """Nor those that have changed in this second."""
    other = RunningJob(2, 6, 2, 6, preferred=6, end=900, fixed=True)
    rigid = RunningJob(3, 6, 6, 6, preferred=6, end=50)
    machine = Machine(0, 12, 0, (other, rigid))
    assert urgent(machine, waiting(9, 1, 5, urgent=True)).units == 0


def test_urgent_jobs_come_before_the_negotiation():
    """In one transaction: what is left after the urgent job is negotiated about."""
    machine = Machine(0, 8, 0, (A,))
    jobs = (waiting(9, 4, 4, urgent=True), waiting(10, 2, 2))
    messages = conversation(machine, Queue(jobs))
    assert isinstance(messages[0], UrgentJob)
    assert messages[1].units == 4
    assert isinstance(messages[2], RequestOffer)
    # A has changed and cannot change once more in this second, so that job 10 waits until job 9
    # ends.
    assert messages[-1].jobs == ()
    assert messages[-1].planned == ((10, 50),)
