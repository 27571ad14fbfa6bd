"""AccaSim's files, written by it and by us: the same bytes; and read back."""

import json

import numpy as np
import pytest
from accasim_runs import generated, in_process, needs_accasim, our_run
from tiny import jobs, machine

from accasim_adapter import files
from accasim_adapter.config import system_config, write_system_config
from accasim_adapter.files import write
from accasim_adapter.schedule import read_schedule
from cpsched import systems
from cpsched.errors import ConfigError, RunError, TraceError
from cpsched.simulation.simulate import simulate
from cpsched.study import load_run
from cpsched.verification import verify

pytestmark = pytest.mark.slow

_BOTH = """
import sys
import accasim_adapter
from cpsched import logs, systems

log, system, out = sys.argv[1:]
accasim_adapter.simulator(
    logs.read(log), systems.load(system), out=out, show_statistics=False,
    dispatcher=accasim_adapter.CpschedDispatcher("easy", system=system), LOG_LEVEL="ERROR",
    additional_data=[accasim_adapter.DispatchAgain()],
).start_simulation()
"""


@needs_accasim
def test_our_file_is_accasims_byte_for_byte(small, machine_file, tmp_path):
    """Its own writer, and a run of our simulator."""
    log = small(generated())
    theirs, mine = tmp_path / "theirs", tmp_path / "mine"
    in_process(_BOTH, log, machine_file, theirs)
    run = our_run(log, machine_file)
    mine.mkdir()
    write(run.schedule, mine, "small")
    expected = (theirs / "sched-small").read_text()
    assert len(expected.splitlines()) > 200
    assert (mine / "sched-small").read_text() == expected


def _times(schedule):
    times = zip(schedule.start.tolist(), schedule.end.tolist(), strict=True)
    return zip(schedule.workload.job_id.tolist(), times, strict=True)


def test_a_schedule_comes_back_as_the_run_it_was(small, machine_file, tmp_path):
    """Starts, ends, nodes; it verifies."""
    run = our_run(small(generated()), machine_file)
    write(run.schedule, tmp_path, "small")
    back = read_schedule(tmp_path / "sched-small", run.schedule.system).schedule
    assert verify(back) == []
    started = {job: times for job, times in _times(run.schedule) if times[0] >= 0}
    assert dict(_times(back)) == started
    for name in ("start", "end", "node", "count", "units", "amount"):
        written, original = getattr(back.segments, name), getattr(run.schedule.segments, name)
        assert np.array_equal(written, original), name


LINE = "7;ann;1970-01-01 00:00:10__1;2;0#1;2;0#2;2;0#__{start};{end};3;6;0;60;"
GOOD = {"start": "1970-01-01 00:00:20", "end": "1970-01-01 00:01:00"}


@pytest.fixture
def two_nodes():
    return machine((4, 100), (4, 100), resources=("core", "mem"))


def _schedule(tmp_path, line):
    path = tmp_path / "sched-x"
    path.write_text(line + "\n")
    return path


def test_one_line_worked_by_hand(tmp_path, two_nodes):
    """Three units of two cores, two of them on the first node."""
    schedule = read_schedule(_schedule(tmp_path, LINE.format(**GOOD)), two_nodes).schedule
    assert (schedule.start.tolist(), schedule.end.tolist()) == ([20], [60])
    assert schedule.workload.requested_time.tolist() == [60]
    assert schedule.segments.node.tolist() == [0, 1]
    assert schedule.segments.units.tolist() == [2, 1]
    assert schedule.segments.amount.tolist() == [[4, 0], [2, 0]]


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("7;ann", "7,ann", "line 1|:1: is not a line of AccaSim's schedule"),
        ("00:00:20", "99:00:20", "field start = '1970-01-01 99:00:20': is not a date"),
        ("00:00:20", "00:00:09", "starts before it is queued, .*Check the time zone"),
        ("2;2;0#", "3;2;0#", r"'1 to 3': nodes must be 1 to 2"),
        ("2;2;0#", "2;1;0#", "tasks of one job differ"),
        ("1;2;0#1;2;0#2;2;0#", "", "the job has no nodes"),
        (";3;6;", ";4;6;", "3 tasks have nodes"),
    ],
)
def test_lines_that_lie_are_named(tmp_path, two_nodes, old, new, message):
    """File, line, field and value."""
    line = LINE.format(**GOOD)
    assert old in line
    with pytest.raises(TraceError, match=message):
        read_schedule(_schedule(tmp_path, line.replace(old, new)), two_nodes)


def test_what_is_not_in_the_file_must_be_right(tmp_path, two_nodes):
    """Resources, zone, a file that is there, jobs that fit."""
    path = _schedule(tmp_path, LINE.format(**GOOD))
    with pytest.raises(ConfigError, match="has 2 amounts, but 1 are named"):
        read_schedule(path, two_nodes, resources=["core"])
    with pytest.raises(ConfigError, match="'Mars' is not a time zone"):
        read_schedule(path, two_nodes, zone="Mars")
    with pytest.raises(TraceError, match="no such file"):
        read_schedule(tmp_path / "nothing", two_nodes)
    with pytest.raises(TraceError, match="contains no job"):
        read_schedule(_schedule(tmp_path, ""), two_nodes)
    path = _schedule(tmp_path, LINE.format(**GOOD).replace(";2;0#", ";5;0#"))
    with pytest.raises(ConfigError, match="job 7 of the file can never run on the system") as error:
        read_schedule(path, two_nodes)
    assert "read as core, mem. If the file has another order, name it with" in str(error.value)


def test_resources_in_another_order_are_named(tmp_path, two_nodes, cpsched):
    """The error names the option, which helps."""
    path = _schedule(tmp_path, LINE.format(**GOOD).replace(";2;0#", ";50;2#"))
    system = tmp_path / "two.json"
    write_system_config(two_nodes, system)
    command = [
        "accasim",
        "import",
        str(path),
        "--system",
        str(system),
        "--out",
        str(tmp_path / "a"),
    ]
    code, _, message = cpsched(*command)
    assert (code, "name it with --resources" in message) == (2, True)
    assert cpsched(*command, "--resources", "mem,core")[0] == 0


def test_missing_numbers_are_noted(tmp_path, two_nodes, cpsched):
    """Jobs 7 to 10 without 8 and 9, as an interrupted simulation leaves them."""
    lines = [LINE.format(**GOOD).replace("7;ann", f"{job};ann") for job in (10, 7)]
    path = _schedule(tmp_path, "\n".join(lines))
    system = tmp_path / "two.json"
    write_system_config(two_nodes, system)
    command = [
        "accasim",
        "import",
        str(path),
        "--system",
        str(system),
        "--out",
        str(tmp_path / "a"),
    ]
    code, _, message = cpsched(*command)
    assert code == 0
    assert "note: sched-x has 2 jobs, numbered 7 to 10. Missing are 2 jobs of these" in message
    for names in ("7", "8"), ("a", "9"):
        lines = [LINE.format(**GOOD).replace("7;ann", f"{name};ann") for name in names]
        _schedule(tmp_path, "\n".join(lines))
        assert cpsched(*command, "--force")[2] == ""


def test_a_schedule_has_the_title_of_its_log(tmp_path, two_nodes):
    """So a run of ``x.swf`` and the schedule of it are compared."""
    path = tmp_path / "sched-x.swf.gz"
    path.write_text(LINE.format(**GOOD) + "\n")
    assert read_schedule(path, two_nodes).schedule.workload.title == "x"


def test_another_time_zone(tmp_path, two_nodes):
    """In winter Rome is an hour ahead: what it calls one o'clock is second 0."""
    line = LINE.format(**GOOD).replace(" 00:", " 01:")
    schedule = read_schedule(_schedule(tmp_path, line), two_nodes, zone="Europe/Rome").schedule
    assert schedule.start.tolist() == [20]


def test_hostile_names_stay_in_their_fields():
    """Whatever would end a field is replaced; nobody is -1."""
    assert files.name("a;b__c#\n\x00é") == "a_b__c____"
    assert files.name(None) == files.name("") == "-1"


def test_a_job_that_changes_its_nodes_cannot_be_said(tmp_path):
    """Exclusive jobs hold more than their units need."""
    run = simulate(jobs((0, 1, 5), exclusive=[True]), machine((4,)), dispatcher="fifo")
    with pytest.raises(RunError, match="job 0 changed its nodes, or held more or less"):
        write(run.schedule, tmp_path, "x")


def test_the_command_line_writes_them_into_the_run_and_reads_them_back(
    small, machine_file, tmp_path, cpsched
):
    """``--export accasim`` needs a folder; ``--input-format`` names the format of the log."""
    log, out, back = small(generated(60)), tmp_path / "run", tmp_path / "back"
    command = ["simulate", str(log), "--system", str(machine_file), "-d", "easy"]
    command += ["--overrun", "extend", "--input-format", "table", "--export"]
    for format_, message in (
        ("accasim", "accasim needs a folder. Add --out DIR"),
        ("nonsense", "unknown output format 'nonsense'. All names: cpsched list exports"),
        ("swf", "unknown output format 'swf'"),
    ):
        code, _, output = cpsched(*command, format_)
        assert (code, message in output) == (2, True)
    assert cpsched(*command, "accasim", "--out", str(out))[0] == 0
    (folder,) = (out / "runs").iterdir()
    schedule = str(folder / "sched-small.parquet")
    read = ["accasim", "import", schedule, "--system", str(machine_file), "--out", str(back)]
    code, output, _ = cpsched(*read, "--json")
    imported = json.loads(output)
    assert (code, imported["schema"]) == (0, "cpsched.accasim.import/1")
    assert imported["folder"] == str(back)
    assert imported["summary"] == json.loads((back / "metrics.json").read_text())
    assert cpsched("verify", str(back))[0] == 0
    code, _, output = cpsched(*read)
    assert (code, "exists. Name another folder" in output) == (2, True)
    # The log's second 0 is that of AccaSim's configuration, unless another is given.
    later = tmp_path / "later.json"
    write_system_config(systems.load(str(machine_file)), later)
    later.write_text(json.dumps(json.loads(later.read_text()) | {"start_time": 10}))
    submits = []
    for name, options in (("a", []), ("b", ["--start-time", "0"])):
        words = [
            "accasim",
            "import",
            schedule,
            "--system",
            str(later),
            "--out",
            str(tmp_path / name),
        ]
        assert cpsched(*words, *options)[0] == 0
        submits.append(load_run(tmp_path / name).schedule.workload.submit[0])
    assert submits[1] - submits[0] == 10
    code, _, message = cpsched(*words[:-1], str(tmp_path / "c"), "--start-time", "86400")
    assert (code, "before second 0 of the log (start_time is 86400)" in message) == (2, True)


# --- system configurations -----------------------------------------------------------------------


def test_a_system_goes_out_and_comes_back_node_by_node(tmp_path):
    """Groups that do not lie together become several; Eurora has such."""
    eurora = systems.load("eurora")
    path = tmp_path / "eurora.json"
    write_system_config(eurora, path)
    back = systems.load(path)
    assert back.resources == eurora.resources
    assert np.array_equal(back.capacity, eurora.capacity)
    assert back.node_names[:2] == ("node_1", "node_2")
    assert len(system_config(eurora)["groups"]) == 9


@needs_accasim
def test_accasim_reads_the_same_machine(tmp_path):
    """Its own class on the same file."""
    from accasim_adapter.machine import MachineExtras
    from accasim_adapter.package import ResourceManager, Resources

    path = tmp_path / "eurora.json"
    write_system_config(systems.load("eurora"), path)
    config = json.loads(path.read_text())
    theirs = MachineExtras().system_of(
        ResourceManager(Resources(config["groups"], config["resources"]))
    )
    ours = systems.load(path)
    assert theirs.resources == ours.resources
    assert theirs.node_names == ours.node_names
    assert np.array_equal(theirs.capacity, ours.capacity)


GOOD_CONFIG = {
    "groups": {"a": {"core": 4, "mem": 10}, "b": {"core": 8, "gpu": 1}},
    "resources": {"b": 1, "a": 2},
    "equivalence": {"processor": {"core": 2}},
    "start_time": 0,
}


def _load(tmp_path, config):
    path = tmp_path / "system.json"
    path.write_text(config if isinstance(config, str) else json.dumps(config))
    return systems.load(path)


def test_a_configuration_worked_by_hand(tmp_path):
    """Nodes in the order of resources; a processor of two cores; kinds that a group lacks are 0."""
    system = _load(tmp_path, {**GOOD_CONFIG, "node_prefix": "n_"})
    assert system.resources == ("core", "mem", "gpu")
    assert system.capacity.tolist() == [[8, 0, 1], [4, 10, 0], [4, 10, 0]]
    assert system.node_names == ("n_1", "n_2", "n_3")
    assert system.log.processor_cores == 2
    again = type(system).from_dict(json.loads(json.dumps(system.to_dict())))
    assert again.log.processor_cores == 2


def test_processors_of_two_cores_take_two(tmp_path):
    """A log of processors: three of them are six cores on any nodes."""
    system = _load(tmp_path, GOOD_CONFIG)
    workload = jobs((0, 3, 5), request=[[1]], layout="processors")
    schedule = simulate(workload, system, dispatcher="fifo").schedule
    assert schedule.segments.amount[:, 0].sum() == 6


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ("{", "is not valid JSON"),
        ("[1]", "is not a JSON object"),
        ({"groups": None}, "groups: is None, must be a table of groups"),
        ({"groups": {"a": {"core": -1}}}, "groups.a.core: is -1, must be a whole number"),
        ({"groups": {"a": {"core": True}}}, "groups.a.core: is True"),
        ({"groups": {"a": 3}}, "groups.a: is 3, must be a table"),
        ({"groups": {"a": {"mem": 1}}}, "groups: no group has cores"),
        ({"resources": {"c": 1}}, "resources.c: unknown group. Groups: a, b"),
        ({"resources": {"a": 0}}, "resources.a: is 0, must be a whole number from 1 to"),
        ({"resources": {}}, "resources: 0 nodes in all"),
        ({"equivalence": {"processor": {"mem": 1}}}, "equivalence.processor: must be cores alone"),
        ({"equivalence": {"node": {}}}, "equivalence: names node, must be processor"),
        ({"node_prefix": 3}, "node_prefix: is 3, must be text in quotes"),
    ],
)
def test_configurations_that_make_no_sense(tmp_path, change, message):
    """File and key."""
    config = change if isinstance(change, str) else {**GOOD_CONFIG, **change}
    with pytest.raises(ConfigError, match=f"system.json: {message}"):
        _load(tmp_path, config)
