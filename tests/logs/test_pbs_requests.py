"""What PBS records ask for and got: nothing of it is lost, and what is not read is counted."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpsched import logs
from cpsched.errors import TraceError
from cpsched.logs.collect import NotAJobError
from cpsched.logs.pbs.request import Allocated, allocated_of, request_of
from cpsched.logs.text import FilePosition
from cpsched.util.types import MISSING, UNBOUNDED

PLACE = FilePosition(Path("log"), 1)
HEAD = "03/02/2026 09:00:00;E;"
TIMES = "user=ann queue=batch ctime=100 qtime=100 etime=100 start=160 end=760 Exit_status=0 "


def record(job_id="1.srv", **keys):
    """Return an E record; ``R__x`` is ``Resource_List.x``."""
    words = [f"{key.replace('R__', 'Resource_List.')}={value}" for key, value in keys.items()]
    return f"{HEAD}{job_id};{TIMES}{' '.join(words)}\n"


@pytest.fixture
def read(log):
    """Read records of a log."""
    return lambda *records: logs.read(log("a.pbs", "".join(records)))


def notes(workload):
    """Return the notes in a workload's header."""
    return [text for key, text in workload.header if key == "Note"]


def amounts(shape):
    """Return the total of each resource type that an allocation of the shape holds."""
    assert not shape.per_node or shape.nodes_min == shape.nodes_max
    kinds = {*shape.request, *shape.per_node}
    return {
        kind: shape.units * shape.request.get(kind, 0)
        + shape.nodes_min * shape.per_node.get(kind, 0)
        for kind in kinds
    }


@pytest.mark.parametrize(
    ("resources", "units", "each"),
    [
        ({"nodes": "1:ppn=4", "gpu": "2"}, 1, {"core": 4, "gpu": 2}),
        ({"nodes": "1:gpu=1"}, 1, {"core": 1, "gpu": 1}),
        ({"select": "1:gpu=1"}, 1, {"core": 1, "gpu": 1}),
        ({"select": "2:ncpus=4:naccelerators=1"}, 2, {"core": 4, "gpu": 1}),
        ({"ncpus": "4", "ngpus": "2"}, 1, {"core": 4, "gpu": 2}),
        ({"nodes": "2:ppn=4", "gpus": "4"}, 2, {"core": 4, "gpu": 2}),
        ({"nodes": "2:ppn=4:gpus=1:feature"}, 2, {"core": 4, "gpu": 1}),
        ({"nodect": "2:ppn=32:gpu=2"}, 2, {"core": 32, "gpu": 2}),
        ({"neednodes": "2:ppn=2", "nodect": "2"}, 2, {"core": 2}),
        ({"procs": "8", "gpus": "2"}, 2, {"core": 4, "gpu": 1}),
        ({"ncpus": "4", "mics": "2"}, 1, {"core": 4, "mic": 2}),
        ({"size": "24"}, 24, {"core": 1}),
        ({"mppwidth": "8", "mppdepth": "2", "mppnppn": "4"}, 8, {"core": 2}),
        ({"select": "2:ncpus=1", "ngpus": "0"}, 2, {"core": 1}),
    ],
)
def test_every_way_to_ask_for_cores_and_gpus_is_read(resources, units, each):
    asked = request_of(resources, PLACE)
    assert (asked.resources.units, asked.resources.request) == (units, each)
    assert asked.unread == ()
    assert asked.notes == ()


def test_cray_elements_lie_on_as_many_nodes_as_they_need():
    shape = request_of({"mppwidth": "9", "mppnppn": "4"}, PLACE).resources
    assert (shape.nodes_min, shape.nodes_max) == (3, 3)


@pytest.mark.parametrize(
    ("key", "text", "cores", "nodes", "counted"),
    [
        ("exec_host", "c1/0+c1/1+c2/0", 3, 2, {}),
        ("exec_host", "c1/0-3+c2/0-7", 12, 2, {}),
        ("exec_host", "c1/0-3,6,8-9", 7, 1, {}),
        ("exec_host", "c1/0*4+c2/0*8", 12, 2, {}),
        ("exec_host", "c1/7+c1/6+c2/0-3", 6, 2, {}),
        ("exec_vnode", "(g1:ncpus=4:ngpus=2)", 4, 1, {"gpu": 2}),
        ("exec_vnode", "(g1:ncpus=4:ngpus=2:mem=10kb)+(g2:ncpus=2)", 6, 2, {"gpu": 2}),
        ("exec_vnode", "(g1[0]:ncpus=4+g1[1]:ncpus=4:ngpus=1)", 8, 1, {"gpu": 1}),
        ("exec_gpus", "g1-gpu/0+g1-gpu/1", 0, 0, {"gpu": 2}),
    ],
)
def test_what_a_job_got_is_read(key, text, cores, nodes, counted):
    assert allocated_of({key: text}, PLACE) == Allocated(cores, nodes, counted)


@pytest.mark.parametrize("text", ["c1", "c1/", "c1/x", "/0", "c1/3-1", "c1/0*x", "c1/0++c1/1"])
def test_hosts_that_cannot_be_read_are_named(read, text):
    workload = read(record(R__ncpus=4, exec_host=text))
    assert notes(workload) == [
        "not modelled: exec_host: 100.0 % of the jobs, 100.0 % of the core-hours"
    ]


def test_a_job_without_a_request_is_what_it_got(read):
    workload = read(record("1.srv", exec_host="c1/0+c1/1+c2/0"), record("2.srv", R__ncpus=2))
    assert workload.units.tolist() == [3, 1]
    assert workload.request.tolist() == [[1], [2]]
    assert workload.nodes_min.tolist() == [2, 1]
    assert workload.nodes_max.tolist() == [2, UNBOUNDED]
    assert notes(workload) == [
        "jobs that request no cores (those of exec_host are taken): 50.0 %"
        " of the jobs, 60.0 % of the core-hours"
    ]


def test_a_job_without_a_request_that_got_vnodes_keeps_their_gpus(read):
    workload = read(record(exec_vnode="(g1:ncpus=4:ngpus=2)+(g2:ncpus=4:ngpus=2)"))
    assert workload.resources == ("core", "gpu")
    assert workload.units.tolist() == [8]
    assert workload.request.tolist() == [[1, 0]]
    assert workload.per_node.tolist() == [[0, 2]]
    assert (workload.nodes_min.tolist(), workload.nodes_max.tolist()) == ([2], [2])


def test_a_job_of_which_nothing_is_known_is_excluded_and_the_log_is_read(read):
    workload = read(record("1.srv"), record("2.srv", R__ncpus=2))
    assert workload.job_id.tolist() == ["2.srv"]
    assert workload.set_aside == (("no request and no cores in exec_host", 1),)


def test_cores_on_several_nodes_are_not_one_unit(read):
    workload = read(record(R__ncpus=12, R__nodect=2, exec_host="c1/0-3+c2/0-7"))
    assert workload.units.tolist() == [12]
    assert (workload.nodes_min.tolist(), workload.nodes_max.tolist()) == ([2], [2])


def test_gpus_that_a_job_got_and_does_not_name_are_taken(read):
    workload = read(record(R__ncpus=4, exec_vnode="(g1:ncpus=4:ngpus=2)"))
    assert workload.request.tolist() == [[4, 2]]
    assert notes(workload) == [
        "jobs that got gpus that they did not request (taken as requested): 100.0 % of the"
        " jobs, 100.0 % of the core-hours"
    ]


@pytest.mark.parametrize(
    ("resources", "nodes", "note"),
    [
        ({"nodes": "2:ppn=4", "gpus": "3"}, 2, True),
        ({"nodes": "2:ppn=4", "gpus": "3"}, 0, True),
        ({"select": "3", "ncpus": "7"}, 0, True),
        ({"ncpus": "12", "nodect": "2", "ngpus": "3"}, 2, False),
        ({"nodes": "4:ppn=1", "gpus": "2"}, 2, False),
        ({"procs": "8", "gpus": "3"}, 1, False),
    ],
)
def test_an_amount_that_does_not_divide_is_exact_or_counted(resources, nodes, note):
    asked = request_of(resources, PLACE, Allocated(0, nodes) if nodes else None)
    assert any("do not divide evenly" in text for text in asked.notes) == note
    if not note:
        assert amounts(asked.resources)["gpu"] == int(resources.get("gpus") or resources["ngpus"])


COUNTS = st.integers(1, 40)


@given(
    form=st.sampled_from(["select", "nodes", "procs", "ncpus", "host"]),
    units=COUNTS,
    cores=COUNTS,
    gpus=st.integers(0, 40),
    nodes=st.integers(1, 8),
    known=st.booleans(),
)
def test_an_allocation_is_what_was_asked_for_or_is_counted(form, units, cores, gpus, nodes, known):
    nodes = min(nodes, units)
    resources = {
        "select": {"select": f"{units}:ncpus={cores}"},
        "nodes": {"nodes": f"{units}:ppn={cores}"},
        "procs": {"procs": f"{units}"},
        "ncpus": {"ncpus": f"{units}"},
        "host": {},
    }[form]
    total = units * cores if form in ("select", "nodes") else units
    got = Allocated(total, nodes) if known or form == "host" else None
    asked = request_of({**resources, "ngpus": str(gpus)}, PLACE, got)
    uneven = any("do not divide evenly" in note for note in asked.notes)
    allocated = amounts(asked.resources)
    assert allocated["core"] == total
    assert allocated.get("gpu", 0) >= gpus
    assert (allocated.get("gpu", 0) == gpus) != uneven
    assert asked.resources.nodes_min <= asked.resources.units


def test_every_key_that_is_not_modelled_is_named_with_its_jobs(read):
    workload = read(
        record("1.srv", R__ncpus=1, R__vmem="1gb", R__software="matlab", depend="afterok:7.srv"),
        record("2.srv", R__ncpus=1, R__vmem="2gb", account="A1", R__place="free:group=switch"),
        record("3.srv", R__select="1:ncpus=1:mem=1gb", R__pmem="1gb", R__cput="01:00:00"),
        record("4.srv", R__ncpus=1, resources_used__x=1),
    )
    assert notes(workload) == [
        "not modelled: Resource_List.vmem: 50.0 % of the jobs, 50.0 % of the core-hours",
        "not modelled: Resource_List.cput: 25.0 % of the jobs, 25.0 % of the core-hours",
        "not modelled: Resource_List.place=group: 25.0 % of the jobs, 25.0 % of the core-hours",
        "not modelled: Resource_List.pmem: 25.0 % of the jobs, 25.0 % of the core-hours",
        "not modelled: Resource_List.software: 25.0 % of the jobs, 25.0 % of the core-hours",
        "not modelled: account: 25.0 % of the jobs, 25.0 % of the core-hours",
        "not modelled: depend: 25.0 % of the jobs, 25.0 % of the core-hours",
        "not modelled: resources_used__x: 25.0 % of the jobs, 25.0 % of the core-hours",
    ]


def test_keys_that_say_nothing_of_scheduling_are_not_named(read):
    workload = read(
        record(
            R__select="2:ncpus=2:ngpus=1:mem=1gb:scratch=10gb",
            R__ncpus=4,
            R__ngpus=2,
            R__mem="2gb",
            R__nodect=2,
            R__scratch="20gb",
            **{"R__place": "scatter", "resources_used.cput": "00:10:00", "session": 7},
            project="_pbs_project_default",
            run_count=1,
            exec_host="c1/0*2+c2/0*2",
            exec_vnode="(c1:ncpus=2:ngpus=1)+(c2:ncpus=2:ngpus=1)",
        )
    )
    assert notes(workload) == []
    assert workload.constraint.decode() == ["scratch=10gb"]


@pytest.mark.parametrize(
    ("keys", "note"),
    [
        ({"R__select": "2:ncpus=4", "R__ncpus": 4}, "have other cores in Resource_List.ncpus"),
        ({"R__nodes": "2:ppn=1:gpus=1", "R__gpus": 4}, "another amount in Resource_List.gpus"),
        ({"R__ncpus": 4, "exec_host": "c1/0-1"}, "other cores in exec_host"),
        ({"R__ncpus": 4, "run_count": 3}, "ran more than once"),
    ],
)
def test_contradictions_are_counted(read, keys, note):
    assert note in "".join(notes(read(record(**keys))))


def test_a_job_that_became_eligible_later_begins_then(read):
    workload = read(
        record("1.srv", R__ncpus=1).replace("etime=100", "etime=130"),
        record("2.srv", R__ncpus=1).replace("etime=100", "etime=0"),
        record("3.srv", R__ncpus=1).replace("etime=100", "etime=170"),
    )
    assert workload.begin.tolist() == [30, MISSING, MISSING]


def test_subjobs_name_their_array(read):
    workload = read(record("12[4].srv", R__ncpus=1), record("13.srv", R__ncpus=1))
    assert workload.array.decode() == ["12[]", None]


def test_jobs_without_a_record_of_their_end_are_counted(read):
    started, queued = (f"03/02/2026 08:00:00;{kind};" for kind in "SQ")
    workload = read(
        *(f"{queued}{n}.srv;queue=batch\n" for n in range(1, 6)),
        *(f"{started}{n}.srv;user=ann\n" for n in (1, 2, 3)),
        "03/02/2026 08:10:00;R;3.srv;user=ann\n",
        "03/02/2026 08:10:00;D;4.srv;requestor=ann\n",
        record("1.srv", R__ncpus=1),
    )
    assert workload.set_aside == (
        ("deleted, without a record of its end", 1),
        ("still running", 1),
        ("still waiting", 2),
    )


def test_a_number_that_is_used_again_is_another_job(read):
    again = f"{HEAD}1.srv;ctime=900 start=950 end=990 Resource_List.ncpus=2\n"
    workload = read(record("1.srv", R__ncpus=1), again, record("1.srv", R__ncpus=1))
    assert workload.job_id.tolist() == ["1.srv", "1.srv#2"]
    assert workload.set_aside == (("repeated record", 1),)
    assert notes(workload) == [
        "jobs with the number of an earlier job (named id#2, id#3): 50.0 % of the jobs,"
        " 11.8 % of the core-hours"
    ]


def test_exclusive_nodes_by_any_key():
    for resources in ({"place": "excl"}, {"naccesspolicy": "singlejob"}):
        assert request_of({"ncpus": "1", **resources}, PLACE).resources.exclusive


def test_a_host_asked_for_is_a_condition():
    shape = request_of({"ncpus": "1", "host": "n1", "arch": "linux"}, PLACE).resources
    assert shape.constraint == "host=n1:arch=linux"


def test_chunks_that_differ_in_gpus_are_excluded_and_counted(read):
    with pytest.raises(NotAJobError, match="heterogeneous"):
        request_of({"select": "1:ngpus=2+1:ngpus=1"}, PLACE)
    with pytest.raises(TraceError, match="1 heterogeneous chunks"):
        read(record(R__select="1:ngpus=2+1:ngpus=1", exec_host="c1/0+c2/0"))
