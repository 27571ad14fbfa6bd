"""GPUs of several types: read from files, logs and a live queue, and given to whom they serve."""

import pytest
from fake_slurm import FakeSlurm

from cpsched import logs, simulate
from cpsched.slurm.config.importer import Files, read_site
from cpsched.slurm.config.unmodelled import count, of_jobs
from cpsched.slurm.live.mirror import LiveMirror, Stage
from cpsched.verification import verify

#: Two nodes of each type, and one of both, which comes first.
CONF = """\
GresTypes=gpu
NodeName=both CPUs=16 Gres=gpu:a100:2,gpu:v100:2
NodeName=a[1-2] CPUs=16 Gres=gpu:a100:4
NodeName=v[1-2] CPUs=16 Gres=gpu:v100:2(S:0-1)
PartitionName=gpu Nodes=ALL Default=YES
"""
HEADER = "JobID|Submit|Start|End|Partition|State|TimelimitRaw|NNodes|ReqTRES|SubmitLine\n"


def site_of(folder, conf=CONF):
    (folder / "slurm.conf").write_text(conf)
    return read_site(Files(conf=folder / "slurm.conf"), "x")


def log_of(folder, *asked):
    """Write a log of jobs of an hour that come together, each asking for GPUs on a node."""
    times = "2026-01-01T00:00:00|2026-01-01T00:00:00|2026-01-01T01:00:00"
    rows = [
        f"{number}|{times}|gpu|COMPLETED|60|1|cpu=1,node=1,{tres}|sbatch {options}\n"
        for number, (tres, options) in enumerate(asked, start=1)
    ]
    path = folder / "log.sacct"
    path.write_text(HEADER + "".join(rows))
    return path


def nodes_in(schedule):
    """Return the node of each job that started."""
    segments, names = schedule.segments, schedule.system.node_names
    jobs = schedule.workload.job_id[segments.job].tolist()
    return {job: names[node] for job, node in zip(jobs, segments.node.tolist(), strict=True)}


def test_a_machine_of_several_types_counts_each(tmp_path):
    """All together, as for requests without a type; kinds of one type stay as they are."""
    system = site_of(tmp_path).system
    assert system.resources == ("core", "gpu", "gpu:a100", "gpu:v100")
    assert system.capacity[:, 1:].tolist() == [
        [4, 4, 0], [4, 4, 0], [4, 2, 2], [2, 0, 2], [2, 0, 2],
    ]  # fmt: skip
    single_type = site_of(tmp_path, CONF.replace("v100", "a100")).system
    assert single_type.resources == ("core", "gpu")


def test_jobs_of_a_log_get_the_type_that_they_name(tmp_path):
    """It is in ReqTRES, or in the command alone; three v100 are on no node, an l4 is nowhere."""
    log = log_of(
        tmp_path,
        ("gres/gpu=2,gres/gpu:v100=2", ""),
        ("gres/gpu=2", "--gres=gpu:v100:2"),
        ("gres/gpu=2", "--gpus-per-node=v100:2"),
        ("gres/gpu=3", "--gres=gpu:v100:3"),
        ("gres/gpu=1", "--gres=gpu:l4:1"),
        ("gres/gpu=4", ""),
    )
    schedule = simulate(logs.read(log), site_of(tmp_path).system, dispatcher="fifo").schedule
    assert verify(schedule) == []
    nodes = nodes_in(schedule)
    assert sorted(nodes) == ["1", "2", "3", "6"]
    assert sorted(nodes[job] for job in "123") == ["both", "v1", "v2"]
    assert nodes["6"] in ("a1", "a2")
    assert [schedule.start[row] for row in (0, 1, 2, 5)] == [0, 0, 0, 0]


def test_a_machine_that_tells_no_types_apart_counts_all_alike(tmp_path):
    log = log_of(tmp_path, ("gres/gpu=2", "--gres=gpu:v100:2"))
    plain = CONF.replace(":a100", "").replace(":v100", "").replace("gpu:2,gpu:2", "gpu:4")
    schedule = simulate(logs.read(log), site_of(tmp_path, plain).system, dispatcher="fifo").schedule
    assert schedule.start.tolist() == [0]


@pytest.mark.slow
def test_live_jobs_get_the_type_that_they_name(tmp_path):
    """Three of two v100 take both nodes of them and the mixed one, while a100 nodes are idle."""
    slurm = FakeSlurm(site_of(tmp_path).system)
    typed = {"gres_per_node": "gres:gpu:v100:2", "mem": 1, "partition": "gpu"}
    typed["held"] = False
    jobs = [slurm.submit(**typed) for _ in range(4)]
    never = slurm.submit(**{**typed, "gres_per_node": "gres:gpu:v100:3"})
    mirror = LiveMirror(slurm.system, "easy")
    mirror.enter(slurm.snapshot())
    chosen = {start.key: start.nodes for start in mirror.decide(slurm.now)}
    assert sorted(chosen[key] for key in jobs[:3]) == [("both",), ("v1",), ("v2",)]
    assert jobs[3] not in chosen
    assert mirror.known[never].stage is Stage.UNFIT


def test_what_is_counted_otherwise_is_named(tmp_path):
    """Instances and shards of GPUs, nodes of several types, types that nodes do not tell."""
    conf = (
        "NodeName=m CPUs=16 Gres=gpu:a100:2,gpu:1g.5gb:7\n"
        "NodeName=s CPUs=16 Gres=gpu:a100:2,shard:8\n"
        "NodeName=u CPUs=16 Gres=gpu:2\nPartitionName=gpu Nodes=ALL Default=YES\n"
    )
    site = site_of(tmp_path, conf)
    assert site.system.resources == ("core", "gpu", "gpu:a100", "gpu:1g.5gb", "shard")
    log = log_of(
        tmp_path,
        ("gres/gpu:1g.5gb=1", ""),
        ("gres/shard=2", ""),
        ("gres/gpu=1", "--gres=gpu:l4:1"),
        ("gres/gpu=1", "--gres=gpu:a100:1"),
    )
    touched = count(log, site.gaps, of_jobs(site.cluster))
    assert {gap.name: gap.jobs for gap in touched.gaps if "node=" not in gap.name} == {
        "1 node with several types of a resource: m": 0,
        "MIG profiles 1g.5gb": 1,
        "shards of GPUs (shard, mps)": 1,
        "types of GRES that no node has": 1,
    }


def test_gpu_hours_stand_beside_core_hours(tmp_path, cpsched):
    """A job of one core and four GPUs is most of the work, of ten cores and none little of it."""
    site_of(tmp_path)
    log = tmp_path / "log.txt"
    log.write_text(
        "JobID|Submit|Start|Partition|ElapsedRaw|AllocTRES|SubmitLine\n"
        "1|x|y|gpu|3600|cpu=1,gres/gpu=4,gres/gpu:a100=4|sbatch -x a1 x\n"
        "2|x|y|gpu|3600|cpu=9,gres/gpu:v100=1|sbatch x\n"
    )
    code, printed, _ = cpsched(
        *("slurm", "import", "--conf", str(tmp_path / "slurm.conf"), "--name", "x"),
        *("--out", str(tmp_path / "site"), "--log", str(log)),
    )
    assert code == 0
    (line,) = (line for line in printed.splitlines() if "--exclude" in line)
    assert line.split()[-6:] == ["50.0", "%", "10.0", "%", "80.0", "%"]
    assert "with 10 core-hours and 5 GPU-hours" in printed
