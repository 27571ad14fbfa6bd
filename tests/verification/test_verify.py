"""The verifier: a valid schedule passes, and every way to break it is found as what it is."""

from dataclasses import replace
from functools import reduce

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched.model.schedule import JobOutcome, Leaving, Outages, Segments
from cpsched.model.topology import Topology, TopologyKind
from cpsched.model.workload import Labels
from cpsched.util.types import MAX_TIME, MISSING, JobType
from cpsched.verification import Rule, Violation, verify

#: Rows of the workload by hand, and the positions of their segments.
NAMES = ("plain", "even", "exclusive", "gpu", "killed", "empty", "too wide", "withdrawn", "after",
         "later")  # fmt: skip
ROW = {name: row for row, name in enumerate(NAMES)}
AT = {name: at for at, name in enumerate(name for name in NAMES if name not in NAMES[6:8])}


def job(name, **values):
    """Change a job's own columns."""

    def change(schedule):
        columns = {column: getattr(schedule, column).copy() for column in values}
        for column, value in values.items():
            columns[column][ROW[name]] = value
        return replace(schedule, **columns)

    return change


def segment(name, **values):
    """Change columns of a job's segment."""

    def change(schedule):
        columns = {column: getattr(schedule.segments, column).copy() for column in values}
        for column, value in values.items():
            columns[column][AT[name]] = value
        return replace(schedule, segments=replace(schedule.segments, **columns))

    return change


def moved(name, start, end, **values):
    """Move a job and its segment in time alike."""

    def change(schedule):
        schedule = job(name, start=start, end=end, **values)(schedule)
        return segment(name, start=start, end=end)(schedule) if name in AT else schedule

    return change


def rows_of(segments):
    """Return segments as one dictionary each."""
    return [
        {name: getattr(segments, name)[at].tolist() for name in Segments.__slots__}
        for at in range(len(segments.job))
    ]


def resegmented(schedule, rows):
    """Return the schedule with other segments."""
    columns = {name: np.array([row[name] for row in rows]) for name in Segments.__slots__}
    return replace(schedule, segments=Segments(**columns))


def split_up(name, *parts):
    """Replace a job's segment by several, each like it but for what is given."""

    def change(schedule):
        rows = rows_of(schedule.segments)
        old = rows.pop(AT[name])
        return resegmented(schedule, [*rows, *(old | part for part in parts)])

    return change


def column(name, **values):
    """Change what a job asked for."""

    def change(schedule):
        workload = schedule.workload
        columns = {}
        for key, value in values.items():
            old = getattr(workload, key)
            new = (old.codes if isinstance(old, Labels) else old).copy()
            new[ROW[name]] = old.values.index(value) if isinstance(old, Labels) else value
            columns[key] = replace(old, codes=new) if isinstance(old, Labels) else new
        return replace(schedule, workload=workload.with_columns(**columns))

    return change


def on(topology):
    """Lay the nodes in a topology."""
    return lambda schedule: replace(schedule, system=replace(schedule.system, topology=topology))


def rules(schedule, **options):
    """Return the rules a schedule breaks, each once."""
    return list(dict.fromkeys(violation.rule for violation in verify(schedule, **options)))


def cut_short(name, start, end):
    """Let a job that may be restarted have been on node 5 before."""
    once = split_up(name, {}, {"start": start, "end": end, "node": 5, "leaving": Leaving.REQUEUED})
    return lambda schedule: column(name, restartable=True, dependency=-1)(once(schedule))


def changed(**values):
    """Change the schedule as a whole."""
    return lambda schedule: replace(schedule, **values)


def rejected(reasons):
    return lambda schedule: replace(schedule, rejected={**schedule.rejected, **reasons})


def outages(*rows):
    return changed(outages=Outages.of(rows))


def in_turn(*changes):
    """Change several things."""
    return lambda schedule: reduce(lambda schedule, change: change(schedule), changes, schedule)


OVERRUN = changed(overrun="extend")
HALVES = split_up("even", {"node": 2, "count": 1}, {"node": 1, "count": 1})
FIXED = column("after", restartable=False)
WITHDRAWN = column("later", dependency=ROW["withdrawn"])
ANY_RUNTIME = {"recorded": False}


@pytest.mark.parametrize(
    ("change", "options", "broken"),
    [
        (in_turn(), {}, []),
        # The order of segments does not matter, nor whether two say the same as one.
        (lambda schedule: resegmented(schedule, rows_of(schedule.segments)[::-1]), {}, []),
        (HALVES, {}, []),
        (cut_short("after", 8, 9), {}, []),
        # Another one is, if its node fails; of another node's failure that says nothing.
        (in_turn(cut_short("after", 8, 9), FIXED, outages((5, 9, 11))), {}, []),
        (in_turn(cut_short("after", 8, 9), FIXED, outages((4, 9, 11))), {}, [Rule.COVER]),
        # A rejected job holds nobody; one that is cancelled ends then, at 9 or 13.
        (column("later", dependency=ROW["too wide"]), {}, []),
        (WITHDRAWN, {}, []),
        (in_turn(WITHDRAWN, job("withdrawn", end=13)), {}, [Rule.DEPENDENCY]),
        # Under extend killed would have run 50 s to 53, and nobody times out.
        (OVERRUN, {}, [Rule.RUNTIME, Rule.TIMEOUT]),
        (in_turn(OVERRUN, moved("killed", 3, 53, outcome=JobOutcome.COMPLETED)), {}, []),
        # Other runtime models are only limited by kill: after asks for 9 s and runs for 5.
        (moved("after", 10, 14), {}, [Rule.RUNTIME]),
        (moved("after", 10, 14), ANY_RUNTIME, []),
        (moved("after", 10, 20), ANY_RUNTIME, [Rule.RUNTIME]),
        (in_turn(moved("after", 10, 20), OVERRUN), ANY_RUNTIME, [Rule.TIMEOUT]),
        (moved("killed", 3, 7), ANY_RUNTIME, [Rule.TIMEOUT]),
        # Whatever the runtime model, no job ends before it starts.
        (moved("gpu", 7, 1), ANY_RUNTIME, [Rule.RUNTIME, Rule.COVER]),
        # The queue takes nodes 4 and 5 only, whatever the features say.
        (column("later", queue="gpus"), {}, [Rule.ELIGIBLE]),
        # Violations come in the order of the rules.
        (
            in_turn(job("withdrawn", end=1), segment("plain", amount=(1, 0))),
            {},
            [Rule.SUBMIT, Rule.AMOUNT],
        ),
        (
            lambda schedule: replace(
                schedule, system=replace(schedule.system, resources=("core", "mic"))
            ),
            {},
            [Rule.SHAPE],
        ),
    ],
)
def test_which_rules_are_broken(schedule, change, options, broken):
    assert rules(change(schedule), **options) == broken


ALONG = ", and must have nodes without a gap from its start 1 to its end 7"
#: By rule, what is said of a schedule that is broken so.
BROKEN = {
    Rule.OUTCOME: {
        "job plain has the outcome 9, and outcomes are 0 to 5": job("plain", outcome=9),
        "job gpu is completed, but has a start and no end": job("gpu", end=MISSING),
        "job withdrawn is cancelled, but has a start and an end": job("withdrawn", start=3),
        "job withdrawn is cancelled, but has no start and no end": job("withdrawn", end=MISSING),
        "job too wide is rejected, but has a start and an end": job("too wide", start=3, end=4),
        "job withdrawn has not ended, although the run has": job(
            "withdrawn", end=MISSING, outcome=JobOutcome.NOT_ENDED
        ),
    },
    Rule.REJECTED: {
        "job too wide is rejected, and no reason is recorded": changed(rejected={}),
        "job plain has a recorded reason to be rejected (too big), but has another outcome": rejected(
            {0: "too big"}
        ),
        "a reason is given for row 99, and the rows of jobs are 0 to 9": rejected({99: "too big"}),
    },
    Rule.SUBMIT: {
        "job gpu starts at 0, before it is submitted at 1": moved("gpu", 0, 6),
        "job withdrawn leaves the queue at 1, before it is submitted at 2": job("withdrawn", end=1),
    },
    Rule.BEGIN: {
        "job later starts at 11, before its begin time 12": moved("later", 11, 12),
    },
    Rule.CANCEL: {
        "job after ends at 15, but is cancelled at 14 in the log": column("after", cancel=14),
    },
    Rule.DEPENDENCY: {
        "job later starts at 12 before its dependency is met: afterany after, which ends at 15": column(
            "later", dependency=8
        ),
    },
    Rule.RUNTIME: {
        "job after is cut short after 5 s, but its work was done after 5 s": in_turn(
            moved("after", 13, 18), cut_short("after", 8, 13)
        ),
        "job after runs for 4 s. Its runtime in the log is 5 s, its requested time 9 s": moved(
            "after", 10, 14
        ),
        "job killed runs for 6 s. Its runtime in the log is 50 s, its requested time 5 s": moved(
            "killed", 3, 9
        ),
        "overrun is 'pray', must be kill or extend": changed(overrun="pray"),
    },
    Rule.TIMEOUT: {
        "job killed is completed. Its runtime in the log is 50 s, its requested time 5 s": job(
            "killed", outcome=JobOutcome.COMPLETED
        ),
        "job even is timeout. Its runtime in the log is 5 s, its requested time 5 s": job(
            "even", outcome=JobOutcome.TIMEOUT
        ),
    },
    Rule.RESTART: {
        (
            "job after runs from 8 to 12 before it is cut short. It must start at 3 or later, run for"
            " 1 s or more, and end before its next start"
        ): cut_short("after", 8, 12),
    },
    Rule.ALLOCATION: {
        "job gpu ran, but no nodes are recorded for it": split_up("gpu"),
        "job withdrawn never ran, but nodes are recorded for it": split_up(
            "later", {}, {"job": 7, "node": 5}
        ),
        "job too wide never ran, but nodes are recorded for it": split_up(
            "later", {}, {"job": 6, "node": 5}
        ),
    },
    Rule.COVER: {
        f"job after has nodes from 8 to 9{ALONG.replace('1 to', '10 to').replace('7', '15')}": in_turn(
            cut_short("after", 8, 9), FIXED
        ),
        f"job gpu has nodes from 1 to 8{ALONG}": segment("gpu", end=8),
        f"job gpu has nodes from 2 to 7{ALONG}": segment("gpu", start=2),
        f"job gpu has nodes from 4 to 7{ALONG}": split_up("gpu", {"end": 3}, {"start": 4}),
        "job gpu changes its nodes at 3, but jobs of its type keep their nodes": split_up(
            "gpu", {"end": 3}, {"start": 3, "node": 5}
        ),
    },
    Rule.NODES: {
        "job later is on 1 nodes from node 6 on, and the system has the nodes 0 to 5": segment(
            "later", node=6
        ),
        "job later is on 1 nodes from node -1 on, and the system has the nodes 0 to 5": segment(
            "later", node=-1
        ),
        "job later is on 1 nodes from node 9223372036854775807 on, and the system has the nodes 0 to 5": segment(
            "later", node=2**63 - 1
        ),
        "job plain has node n0 twice at the same time": split_up(
            "plain", {"units": 1, "amount": [1, 0]}, {"units": 1, "amount": [1, 0]}
        ),
    },
    Rule.UNITS: {
        "job plain has 1 tasks, but asks for 2": segment("plain", units=1, amount=(1, 0)),
        "job plain has 0 tasks on a node, must have at least 1": split_up(
            "plain", {}, {"node": 5, "units": 0, "amount": [0, 0]}
        ),
    },
    Rule.BOUNDS: {
        "job plain is on 1 nodes, but may use 2 to 100": column("plain", nodes_min=2),
        "job even is on 2 nodes, but may use 1 to 1": column("even", nodes_min=1, nodes_max=1),
    },
    Rule.SPLIT: {
        "job even has 3 tasks on one node and 1 on another, but asks for equal numbers": split_up(
            "even",
            {"count": 1, "units": 3, "amount": [3, 0]},
            {"node": 2, "count": 1, "units": 1, "amount": [1, 0]},
        ),
    },
    Rule.CONTIGUOUS: {
        "job even needs consecutive nodes, but n5 does not follow n1": split_up(
            "even", {"count": 1}, {"node": 5, "count": 1}
        ),
    },
    Rule.SEGMENT: {
        "job even has 1 + 1 nodes leaf switch by leaf switch, in segments of 2": in_turn(
            on(Topology(6, (2,))), column("even", segment=2)
        ),
    },
    Rule.MAX_SWITCHES: {
        "job even touches 2 leaf switches, but may touch at most 1": in_turn(
            on(Topology(6, (2,))), column("even", max_switches=1)
        ),
        "job even touches 2 blocks, but may touch at most 1": in_turn(
            on(Topology(6, (2,), kind=TopologyKind.BLOCK)),
            column("even", max_switches=1, switch_wait=1),
        ),
    },
    Rule.ELIGIBLE: {
        "job later is on node n2, which its queue or constraint excludes": column(
            "later", constraint="fast"
        ),
    },
    Rule.AMOUNT: {
        "job plain takes 1 core of node n0, but its tasks need 2": segment("plain", amount=(1, 0)),
        "job gpu takes 0 gpu of node n4, but its tasks need 1": segment("gpu", amount=(2, 0)),
        "job exclusive takes 1 core of node n3, but its tasks need 1, and an exclusive job takes all 4": segment(
            "exclusive", amount=(1, 0)
        ),
        "job after takes 0 core of node n0, but its tasks need 18446744073709551616": in_turn(
            column("after", request=(2**53, 0), units=2**11, units_max=2**11),
            segment("after", amount=(0, 0), units=2**11),
        ),
    },
    Rule.OUTAGE: {
        "job after is on node n0, which is down from 14 to 20": outages((0, 14, 20)),
    },
    Rule.PLANNED_OUTAGE: {
        (
            "job after starts at 10 on node n0, which is known to go down at 18, within its requested"
            " time"
        ): changed(outages=Outages.of([(0, 18, 20)], [10])),
    },
    Rule.CAPACITY: {
        "job killed starts at 3 on node n4, where jobs then use 5 core of 4": in_turn(
            column("killed", units=3, units_max=3),
            segment("killed", node=4, amount=(3, 0), units=3),
        ),
        "job after starts at 9 on node n0, where jobs then use 6 core of 4": in_turn(
            column("after", dependency=-1), moved("after", 9, 14)
        ),
        "job empty starts at 4 on node n0, where jobs then use 5 core of 4": in_turn(
            column("empty", units=5, units_max=5), segment("empty", amount=(5, 0), units=5)
        ),
    },
}


@pytest.mark.parametrize(
    ("rule", "message", "corrupt"),
    [
        (rule, message, corrupt)
        for rule, cases in BROKEN.items()
        for message, corrupt in cases.items()
    ],
)
def test_one_corruption_breaks_one_rule(schedule, rule, message, corrupt):
    violations = verify(corrupt(schedule))
    assert {violation.rule for violation in violations} == {rule}, violations
    assert message in [violation.message for violation in violations]
    assert {violation.total for violation in violations} == {len(violations)}


@pytest.mark.parametrize(
    ("asked", "good"),
    [
        # Submitted at 1, it starts at 7 under two switches.
        ({"switch_wait": 6}, True),
        ({"switch_wait": 7}, False),
        # What it waits for besides does not count.
        ({"switch_wait": 4, "begin": 3}, True),
        ({"switch_wait": 5, "begin": 3}, False),
        ({"switch_wait": 0, "dependency": ROW["gpu"]}, True),
        ({"switch_wait": 1, "dependency": ROW["gpu"]}, False),
        ({"max_switches": 2}, True),
        ({}, False),
        ({"max_switches": 0, "segment": 1}, True),
    ],
)
def test_a_limit_of_switches_counts_until_the_job_has_waited(schedule, asked, good):
    change = in_turn(on(Topology(6, (2,))), column("even", **({"max_switches": 1} | asked)))
    broken = rules(in_turn(moved("even", 7, 12), change)(schedule))
    assert broken == ([] if good else [Rule.MAX_SWITCHES])


@pytest.mark.parametrize(("start", "known"), [(18, 11), (19, 1), (18, 18)])
def test_an_outage_that_nobody_has_run_into(schedule, start, known):
    """Known a second after the job started, due as its requested time is up, and not planned."""
    planned = replace(schedule, outages=Outages.of([(0, start, 20)], [known]))
    assert rules(planned) == []


def test_every_rule_is_tested():
    assert BROKEN.keys() == set(Rule) - {Rule.SHAPE, Rule.PREDICTION}


@pytest.mark.parametrize(
    ("predictor", "predicted", "expected"),
    [
        ("requested", 19, "20"),
        ("actual", 11, "10"),
        ("actual:factor=0.55", 6, "5"),
        ("last", 21, "from 1 to 20"),
        ("last", 0, "from 1 to 20"),
        ("actual:sigma=1", -7, f"from 0 to {MAX_TIME}"),
        ("of-somebody-else", MAX_TIME + 1, f"from 0 to {MAX_TIME}"),
    ],
)
def test_predictions_are_what_the_predictor_may_have_answered(
    schedule, predictor, predicted, expected
):
    """Of plain, which asks for 20 s and runs for 10; a rejected job was not asked about."""
    names = ("ranking_estimate", "runtime_estimate", "runtime_bound")
    workload = schedule.workload
    answers = {"actual": workload.runtime, "actual:factor=0.55": workload.runtime * 55 // 100}
    asked = np.where(
        schedule.outcome == JobOutcome.REJECTED,
        MISSING,
        answers.get(predictor, workload.requested_time),
    )
    answered = replace(schedule, **dict.fromkeys(names, asked))
    assert verify(answered, predictor=predictor) == []
    for name in names:
        wrong = job("plain", **{name: predicted})(answered)
        assert verify(wrong) == []
        (violation,) = verify(wrong, predictor=predictor)
        message = f"has {name}={predicted}, but predictor {predictor} answers {expected}"
        assert (violation.rule, violation.message) == (Rule.PREDICTION, f"job plain {message}")
        assert rules(job("too wide", **{name: 1})(answered), predictor=predictor) == [
            Rule.PREDICTION
        ]


def test_a_dependency_that_never_ends_holds_for_ever(schedule):
    waits = job("withdrawn", end=MISSING, outcome=JobOutcome.NOT_ENDED)(
        column("later", dependency=ROW["withdrawn"])(schedule)
    )
    assert [violation.message for violation in verify(waits, complete=False)] == [
        "job later starts at 12 before its dependency is met: afterany withdrawn, which never ends"
    ]


def test_a_resized_job_may_change_its_nodes(schedule):
    """Malleable, 1 to 4 units: two on node 4, then four on nodes 4 and 5, without a gap."""
    # Two seconds on the two units it prefers, and three twice as fast.
    size = {"units": 2, "units_min": 1, "units_max": 4, "resize_cost": 0}
    resized = column("killed", job_type=JobType.MALLEABLE, runtime=8, requested_time=8, **size)(
        job("killed", outcome=JobOutcome.COMPLETED)(schedule)
    )
    two = {"end": 5, "units": 2, "amount": [2, 0], "leaving": Leaving.RESIZED}
    four = {"start": 5, "units": 4}
    grows = split_up("killed", two, four | {"amount": [4, 0]})(resized)
    assert verify(grows) == []
    five = split_up("killed", two, {"start": 5, "units": 5, "amount": [5, 0]})(resized)
    assert rules(five) == [Rule.UNITS, Rule.CAPACITY]
    assert rules(split_up("killed", two)(resized)) == [Rule.RUNTIME, Rule.COVER]


def test_a_job_alone_on_nodes_that_differ_needs_a_segment_for_each():
    """Nodes of 2 and 4 cores; one segment over both cannot say what it takes."""
    system = machine((2,), (4,))
    workload = jobs((0, 6, 5), exclusive=[True])
    schedule = run(workload, system, "fifo").schedule
    assert verify(schedule) == []
    rows = rows_of(schedule.segments)
    folded = resegmented(schedule, [rows[0] | {"count": 2, "units": 3}])
    assert [violation.message for violation in verify(folded)] == [
        "job 0 takes equal amounts of 2 nodes from n0 on, but is exclusive, and these nodes differ in size",
        "job 0 takes 2 core of node n0, but its tasks need 3, and an exclusive job takes all 2",
    ]


def test_cut_schedules_are_valid_if_that_is_said(schedule):
    """Plain, exclusive and gpu run at the cut, after and later wait."""
    cut = schedule
    for name in ("plain", "exclusive", "gpu", "withdrawn"):
        cut = job(name, end=MISSING, outcome=JobOutcome.NOT_ENDED)(cut)
    for name in ("after", "later"):
        cut = job(name, start=MISSING, end=MISSING, outcome=JobOutcome.NOT_ENDED)(cut)
    for name in ("plain", "exclusive", "gpu"):
        cut = segment(name, end=6)(cut)
    cut = moved("killed", 1, 6)(cut)
    cut = resegmented(cut, rows_of(cut.segments)[:6])
    assert rules(cut) == [Rule.OUTCOME]
    assert verify(cut, complete=False) == []
    # A job that still runs must hold its nodes to the cut, and not have run too long.
    assert rules(segment("gpu", end=5)(cut), complete=False) == [Rule.COVER]
    short = column("gpu", runtime=4)(cut)
    assert rules(short, complete=False) == [Rule.RUNTIME]
    assert rules(short, complete=False, recorded=False) == []
    impatient = column("gpu", requested_time=4)(cut)
    assert rules(impatient, complete=False, recorded=False) == [Rule.RUNTIME]
    # Nor may it have an end already.
    assert rules(job("gpu", end=6)(cut), complete=False) == [Rule.OUTCOME]


def test_only_the_first_of_many_are_listed_and_all_counted():
    """Thirty jobs, all a second before their submit."""
    schedule = run(jobs(*[(1, 1, 5)] * 30), machine((30,)), "fifo").schedule
    segments = schedule.segments
    early = replace(
        schedule,
        start=schedule.start - 1,
        end=schedule.end - 1,
        segments=replace(segments, start=segments.start - 1, end=segments.end - 1),
    )
    violations = verify(early)
    assert len(violations) == 20
    assert violations[0] == Violation(
        Rule.SUBMIT, "0", "job 0 starts at 0, before it is submitted at 1", 30
    )
    assert [violation.job_id for violation in verify(early, limit=2)] == ["0", "1"]
    with pytest.raises(ValueError, match="limit is 0, must be at least 1"):
        verify(early, limit=0)


def test_hostile_job_names_stay_on_one_line(schedule):
    names = schedule.workload.job_id.astype("U200")
    names[0], names[1] = "a\x1b[2J\nb", "c" * 100
    workload = schedule.workload.with_columns(job_id=names)
    broken = segment("even", units=1)(segment("plain", units=1)(schedule))
    violations = verify(replace(broken, workload=workload))
    assert violations[0].message == r"job a\x1b[2J\nb has 1 tasks, but asks for 2"
    assert violations[1].message.startswith("job cccc")
    assert all(len(violation.message) < 150 for violation in violations)


@pytest.mark.parametrize("name", ["start", "end", "outcome", "runtime_estimate"])
def test_a_job_column_of_another_length_is_all_that_is_said(schedule, name):
    cut = replace(schedule, **{name: getattr(schedule, name)[:-1]})
    assert [violation.message for violation in verify(cut)] == [
        f"{name} has shape (9,), must be (10,)"
    ]


def test_segments_that_do_not_belong_together_are_all_that_is_said(schedule):
    segments = schedule.segments
    cut = replace(segments, node=segments.node[1:], amount=segments.amount[:, :1])
    assert [violation.message for violation in verify(replace(schedule, segments=cut))] == [
        "segments.node has shape (7,), must be (8,)",
        "segments.amount has shape (8, 1), must be (8, 2)",
    ]
    stray = segment("plain", job=10)(schedule)
    assert [violation.message for violation in verify(stray)] == [
        "1 segments are of unknown jobs, the first of row 10. The rows of jobs are 0 to 9."
    ]


def test_no_jobs_break_no_rule():
    assert verify(run(jobs(), machine((1,)), "fifo").schedule) == []
