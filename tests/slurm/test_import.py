"""From a site's files to a machine and a policy."""

import pytest

from cpsched import systems
from cpsched.errors import ConfigError
from cpsched.model.system import MemoryMapping, Preempt
from cpsched.slurm.config.importer import Files, read_site
from cpsched.slurm.config.lines import Setting
from cpsched.slurm.config.nodes import NodeGres, read_gres
from cpsched.slurm.config.unmodelled import count, of_jobs
from cpsched.slurm.dispatch import policy_file

MB = 1024


@pytest.fixture
def campus(data):
    folder = data / "slurm" / "university"
    return read_site(
        Files(
            conf=folder / "slurm.conf",
            assoc=folder / "assoc.txt",
            qos=folder / "qos.txt",
            sshare=folder / "sshare.txt",
        )
    )


def site(folder, text, **files):
    for name, content in {"conf": text, **files}.items():
        (folder / f"slurm.{name}").write_text(content)
    others = {name: folder / f"slurm.{name}" for name in files}
    return read_site(Files(conf=folder / "slurm.conf", **others))


def nodes_of(system, queue):
    groups = system.queues[queue].groups or tuple(system.node_groups)
    return {
        name
        for name, group in zip(system.node_names, system.node_groups, strict=True)
        if group in groups
    }


def row(system, name):
    at = system.node_names.index(name)
    return dict(zip(system.resources, system.capacity[at].tolist(), strict=True))


def test_nodes_are_those_of_the_files(campus):
    system = campus.system
    assert system.num_nodes == 61  # new[1-4] are not there yet
    # 2 x 32 cores of two threads; of 515,000 MB Slurm keeps 11,000.
    assert row(system, "cn001") == {"core": 128, "mem": 504_000 * MB, "gpu": 0, "gpu:a100": 0}
    # Two cores, of two threads each, are kept for the system.
    assert row(system, "fat1")["core"] == 124
    # CPUs=16 on 16 cores of two threads: Slurm counts cores.
    old, gpu = row(system, "old7"), row(system, "gpu10")
    assert old == {"core": 16, "mem": 64_000 * MB, "gpu": 0, "gpu:a100": 0}
    # Of what type these are is not in slurm.conf.
    assert gpu == {"core": 64, "mem": 1_030_000 * MB, "gpu": 8, "gpu:a100": 0}
    assert row(system, "gpu01")["gpu:a100"] == row(system, "gpu01")["gpu"] == 4
    features = dict(zip(campus.system.node_names, campus.system.features, strict=True))
    assert features["gpu01"] == {"zen3", "a100"}
    assert features["gpu09"] == {"zen4"}
    names = campus.system.node_names
    assert names[:45] == (*tuple(f"cn{number:03d}" for number in range(1, 45)), "fat1")
    assert names[-6:] == ("old7", "old8", "old9", "old10", "old11", "old12")
    assert campus.system.topology.levels[0].tolist() == [0] * 45 + [1] * 16


def test_partitions_are_unions_of_groups_with_limits(campus):
    system = campus.system
    everything = set(system.node_names)
    gpus = {f"gpu{number:02d}" for number in range(1, 11)}
    old = {f"old{number}" for number in range(7, 13)}
    assert nodes_of(system, "main") == everything - gpus - old - {"fat1"}
    assert nodes_of(system, "gpu") == gpus
    assert nodes_of(system, "scavenge") == everything
    assert nodes_of(system, "epyc") == everything - {"gpu09", "gpu10"} - (old - {"old7", "old8"})
    assert nodes_of(system, "whole") == {"fat1", "cn041", "cn042", "cn043", "cn044"}
    queues = campus.system.queues
    assert (queues["main"].max_time, queues["main"].default_time) == (172_800, 3_600)
    assert [name for name, queue in queues.items() if queue.default] == ["main"]
    assert [name for name, queue in queues.items() if queue.exclusive] == ["whole"]
    assert (queues["teach"].max_time, queues["teach"].max_nodes) == (None, 2)
    assert campus.system.default_time == 365 * 86_400
    assert (queues["main"].priority_tier, queues["scavenge"].priority_tier) == (10, 1)
    assert (queues["scavenge"].preempt, queues["scavenge"].grace) == (Preempt.KILL, 120)
    assert queues["main"].preempt == Preempt.REQUEUE


def test_policy_has_the_parameters_and_accounts(campus):
    policy = campus.policy
    assert policy["PriorityDecayHalfLife"] == 14 * 86_400
    assert policy["PriorityWeightTRES"] == {"cpu": 100, "mem": 50, "gres/gpu": 2000}
    assert policy["PriorityFlags"] == {"ACCRUE_ALWAYS"}
    assert (policy["bf_window"], policy["bf_max_job_user"], policy["bf_continue"]) == (
        4320,
        20,
        True,
    )
    assert policy.licenses == {"matlab": 25, "comsol@lic1": 4, "ansys": 1}
    gpu = policy.partitions["gpu"]
    assert gpu.billing == {"cpu": 1.0, "mem": 0.25 / 1024, "gres/gpu": 16.0}
    epyc = policy.partitions["epyc"]
    assert (epyc.allow_accounts, epyc.deny_qos) == (("chem", "bio"), ("low",))
    assert policy.partitions["main"].qos == "part_main"
    associations = {
        (association.account, association.user): association
        for association in campus.policy.associations
    }
    assert associations["organic", ""].parent == "chem"
    assert associations["organic", ""].shares is None
    assert (associations["chem", "ada"].usage, associations["chem", ""].usage) == (1200, 0)
    assert associations["chem", "ada"].limits == {"MaxJobs": 50}
    assert campus.policy.qos["high"].limits["MaxTRESPU"] == {
        "cpu": 256, "mem": 2**30, "gres/gpu": 8,
    }  # fmt: skip


def test_what_is_not_modelled_is_named(campus):
    assert [gap.name for gap in campus.gaps] == [
        "SchedulerParameters=nohold_on_prolog_fail",
        "SchedulerParameters=max_rpc_cnt=150",
        "PriorityFlags=FUTURE_FLAG",
        "Prolog=/etc/slurm/prolog.sh",
        "Epilog=/etc/slurm/epilog.sh",
        "JobSubmitPlugins=lua",
        "SiteNotes=room 2.14, phone 4711",
        "power saving (SuspendTime, ResumeTimeout)",
        "MaxCPUsPerNode=60 of gpu",
        "OverSubscribe=FORCE of teach",
        "1 node down or drained: cn040",
        "resources that are not used up (no_consume): nvme",
        "Preempt=gone of QOS high",
        "Flags=DenyOnLimit of QOS high",
        "Flags=NoDecay of QOS high",
    ]
    assert campus.notes == []


@pytest.mark.parametrize(
    ("text", "gap"),
    [
        ("NodeName=a\nPartitionName=p Nodes=a QOS=small\n", "QOS small (partition p)"),
        ("TopologyPlugin=topology/tree\nNodeName=a\n", "TopologyPlugin=topology/tree"),
    ],
)
def test_what_is_not_there_is_said(tmp_path, text, gap):
    imported = site(tmp_path, text)
    assert [entry.name for entry in imported.gaps] == [gap]
    assert all(entry.limits == {} for entry in imported.policy.qos.values())


def test_limits_that_are_not_enforced_are_named(tmp_path):
    """Of QOS and of accounts; and minutes beyond a limit."""
    qos = "Name|Priority|GrpTRESMins|MaxWall\nlong|1|cpu=900000|1-00:00:00\n"
    imported = site(tmp_path, "NodeName=a\nOverTimeLimit=60\n", qos=qos)
    named = [(gap.name, gap.instead) for gap in imported.gaps]
    assert ("OverTimeLimit=60", "jobs end at their time limit") in named
    assert ("GrpTRESMins of QOS long", "the limit is not enforced") in named
    assert not any("MaxWall" in name for name, _ in named)


def test_reservations_of_scontrol(tmp_path):
    path = tmp_path / "show.txt"
    path.write_text(
        "NodeName=n1 CPUTot=4 CPUEfctv=3 RealMemory=10 State=IDLE OS=Linux 6 #1 Weight=2\n"
        "NodeName=n2 CPUTot=4 RealMemory=10 MemSpecLimit=3 Gres=gpu:t:2 State=DOWN+DRAIN\n"
        "\n"
        "ReservationName=maint StartTime=2026-03-02T08:00:00 EndTime=2026-03-02T10:00:00\n"
        "   Nodes=n[1-2] NodeCnt=2 Features=(null) PartitionName=(null) Flags=MAINT,SPEC_NODES\n"
        "   Users=root Accounts=(null) Licenses=(null) State=INACTIVE\n"
        "\n"
        "LicenseName=matlab\n    Total=6 Used=0 Free=6 Reserved=0 Remote=no\n"
    )
    imported = read_site(Files(scontrol=(path,)), "x")
    assert imported.system.capacity.tolist() == [[3, 10 * MB, 0], [4, 7 * MB, 2]]
    assert imported.system.weights.tolist() == [2, 1]
    maint = imported.policy.reservations["maint"]
    assert (maint.end - maint.start, maint.nodes, maint.users) == (7200, ("n1", "n2"), ("root",))
    assert maint.flags == {"MAINT", "SPEC_NODES"}
    assert imported.policy.licenses == {"matlab": 6}
    assert [gap.name for gap in imported.gaps] == ["1 node down or drained: n2"]
    path.write_text(path.read_text().replace("StartTime", "Start"))
    with pytest.raises(ConfigError, match="show.txt:4: ReservationName: 'maint' has no StartTime"):
        read_site(Files(scontrol=(path,)), "x")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nNodeName=a[1-2\n", r"conf:2: NodeName: 'a\[1-2' is not a list of hosts"),
        ("NodeName=a CPUs=many\n", r"conf:1: CPUs: 'many' is not a whole number"),
        ("NodeName=a Gres=nvme:1,4:gpu\n", r"conf:1: Gres: .*'4:gpu', which is not like gpu:4"),
        ("NodeName=a1\nPartitionName=p Nodes=a[1-2]\n", r"conf:2: Nodes: 'a\[1-2\]' has 'a2', which is not a node. The nodes are a1$"),
        ("PartitionName=p Nodes=ALL\n", r"has no nodes. Give the output of scontrol show node"),
        ("NodeName=a\nNodeName=a[]\n", r"slurm\.conf:2: NodeName: 'a\[\]' has ''"),
        ("NodeName=a\nNodeName=b,a\n", r"slurm\.conf:2: NodeName: 'b,a' names 'a', which another"),
        ("NodeName=a CPUs=2 CoreSpecCount=2\n", r"slurm\.conf:1: NodeName: 'a' has 2 CPUs, and CoreSpecCount"),
        ("NodeName=a\nPartitionName=p Nodes=a MaxTime=ever\n", r"slurm\.conf:2: MaxTime: 'ever' is"),
        ("NodeName=a\nPartitionName=p\nPartitionName=q,p\n", r"slurm\.conf:3: .*'p' is on two lines"),
        ("NodeName=a\nPartitionName=p Nodes=a MinNodes=2 MaxNodes=1\n", r":2: MaxNodes: '1' is less"),
        ("NodeName=a\nPriorityWeightAge=-1\n", r"slurm\.conf:2: PriorityWeightAge: '-1' must be a"),
        ("NodeName=a\nSchedulerParameters=bf_window=x\n", r"slurm\.conf:2: .*bf_window: 'x' is not"),
        ("NodeName=a\nLicenses=a:b:c\n", r"slurm\.conf:2: Licenses: .*'a:b:c', which is not like"),
    ],
)  # fmt: skip
def test_bad_values_are_named(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        site(tmp_path, text)
    assert "\n" not in str(caught.value)


def test_jobs_that_are_touched_are_counted(data, tmp_path, campus):
    log = tmp_path / "log.txt"
    log.write_text(
        "JobID|Submit|Start|User|Account|QOS|Partition|ElapsedRaw|AllocTRES|ReqTRES|NodeList|"
        "Constraints|SubmitLine\n"
        "1|x|y|ada|chem|high|gpu|3600|cpu=8|cpu=8,gres/gpu:l4=1|gpu09||sbatch x\n"
        "1.batch|x|y|||||3600|cpu=8||gpu09||\n"
        "2|x|y|ada|chem|high|teach,main|3600|cpu=2||old7||sbatch -x old8 x\n"
        "3+0|x|y|eve|chem|odd|lost|3600|cpu=30||n1|[a*2&b*1]|srun x\n"
    )
    touched = count(log, campus.gaps, of_jobs(campus.cluster))
    assert (touched.total.jobs, touched.total.core_seconds) == (3, 40 * 3600)
    gaps = {gap.name: (gap.jobs, gap.core_seconds // 3600) for gap in touched.gaps if gap.touches}
    assert gaps == {
        "MaxCPUsPerNode=60 of gpu": (1, 8),
        "OverSubscribe=FORCE of teach": (1, 2),
        "Preempt=gone of QOS high": (2, 10),
        "Flags=DenyOnLimit of QOS high": (2, 10),
        "Flags=NoDecay of QOS high": (2, 10),
        "heterogeneous jobs": (1, 30),
        "features with counts ([a*2&b*4])": (1, 30),
        "types of GRES that no node has": (1, 8),
        "--exclude": (1, 2),
    }


def test_command_writes_files_that_are_read_back(data, tmp_path, cpsched):
    folder, out = data / "slurm" / "university", tmp_path / "site"
    log = tmp_path / "log.txt"
    log.write_text(
        "JobID|Submit|Start|User|Account|Partition|ElapsedRaw|NCPUS\n"
        "1|x|y|ada|chem|teach|3600|8\n"
        "2|x|y|ada|chem|main|3600|24\n"
    )
    code, printed, _ = cpsched(
        *("slurm", "import", "--conf", str(folder / "slurm.conf"), "--name", "campus"),
        *("--assoc", str(folder / "assoc.txt"), "--qos", str(folder / "qos.txt")),
        *("--out", str(out), "--log", str(log)),
    )
    assert code == 0
    assert (
        "campus: 61 nodes in 7 groups (6,476 cores, 48 GPUs, 32 gpu:a100), 6 partitions" in printed
    )
    groups = list(dict.fromkeys(systems.load(str(out / "campus.system.toml")).node_groups))
    assert f"\nNode groups: {', '.join(groups[:6])} and 1 more\n" in printed
    (line,) = (line for line in printed.splitlines() if "OverSubscribe=FORCE" in line)
    assert line.split()[-4:] == ["50.0", "%", "25.0", "%"]
    system = systems.load(str(out / "campus.system.toml"))
    assert system.num_nodes == 61
    policy = policy_file.load(out / "campus.policy.toml")
    assert set(policy.qos) == {"normal", "high", "low", "part_main"}


def test_command_overwrites_nothing_unasked(data, tmp_path, cpsched):
    conf = str(data / "slurm" / "university" / "slurm.conf")
    (tmp_path / "Campus.policy.toml").write_text("mine")
    arguments = ["slurm", "import", "--conf", conf, "--out", str(tmp_path)]
    code, _, errors = cpsched(*arguments)
    assert code == 2
    assert "the file exists" in errors
    assert (tmp_path / "Campus.policy.toml").read_text() == "mine"
    assert cpsched(*arguments, "--force")[0] == 0


def test_one_source_is_needed(tmp_path):
    with pytest.raises(ConfigError, match="give either --conf"):
        read_site(Files())


def test_what_files_say_about_memory_and_whole_nodes_or_nothing(tmp_path):
    node = "NodeName=a RealMemory=10\nSelectType=select/cons_tres\n"
    counted = site(tmp_path, f"{node}SelectTypeParameters=CR_Core_Memory\n")
    assert counted.system.log.memory == MemoryMapping.REQUESTED
    ignored = site(tmp_path, f"{node}SelectTypeParameters=CR_Core\n")
    assert ignored.system.log.memory == MemoryMapping.IGNORED
    # Where nothing says what is counted: cores and memory, or whole nodes.
    assert site(tmp_path, node).system.log.memory == MemoryMapping.REQUESTED
    more = "SelectTypeParameters=CR_LLN\n"
    assert site(tmp_path, f"{node}{more}").system.log.memory == MemoryMapping.REQUESTED
    linear = "NodeName=a RealMemory=10\nSelectType=select/linear\n"
    assert site(tmp_path, linear).system.log.memory == MemoryMapping.IGNORED
    linear += "SelectTypeParameters=CR_Memory\n"
    assert site(tmp_path, linear).system.log.memory == MemoryMapping.REQUESTED
    # No memory; nothing is enforced unasked; defaults that have changed are said.
    imported = site(tmp_path, "NodeName=a\n")
    assert imported.system.resources == ("core",)
    assert imported.policy["AccountingStorageEnforce"] == {"none"}
    notes = [note.partition(" ")[0] for note in imported.notes]
    assert notes == ["SelectType", "PriorityType"]
    imported = site(tmp_path, "SelectType=select/linear\nNodeName=a\nPartitionName=p Nodes=a\n")
    assert imported.system.queues["p"].exclusive


def test_words_of_lists_are_read_as_slurm_reads_them(tmp_path):
    """A flag is on if it is named; of a number the digits at its beginning count."""
    imported = site(
        tmp_path,
        "SelectType=select/cons_tres\nPriorityType=priority/multifactor\nNodeName=a\n"
        "SchedulerParameters=assoc_limit_stop=no,bf_interval=45s,max_job_bf=010,"
        "bf_window=99999,bf_max_job_array_resv=5000,sched_interval=-1\nLicenses=a*2,b:3,c=4,d\n"
        "PreemptParameters=youngest_first,reorder_count=3\n"
        "PriorityFlags=DEPTH_OBLIVIOUS,INCR_ONLY\nAccountingStorageEnforce=2\n",
    )
    policy = imported.policy
    assert policy["assoc_limit_stop"] is True
    assert (policy["bf_interval"], policy["bf_max_job_test"]) == (45, 10)
    assert policy["preempt_youngest_first"] is True
    assert (policy["bf_window"], policy["bf_max_job_array_resv"]) == (1440, 20)
    assert policy["sched_interval"] == -1
    assert policy.licenses == {"a": 2, "b": 3, "c": 4, "d": 1}
    assert policy["PriorityFlags"] == {"NO_FAIR_TREE", "INCR_ONLY"}
    assert policy["AccountingStorageEnforce"] == {"limits"}
    assert [note.partition(":")[0] for note in imported.notes] == [
        "SchedulerParameters assoc_limit_stop=no is on, because Slurm ignores the value of this word",
        "SchedulerParameters bf_interval=45s counts as 45, because Slurm reads the digits only",
        "SchedulerParameters bf_window=99999 is out of bounds, so Slurm keeps its default, 1440",
        "SchedulerParameters bf_max_job_array_resv=5000 is out of bounds, so Slurm keeps its default, 20",
    ]
    assert [gap.name for gap in imported.gaps] == [
        "PreemptParameters=reorder_count=3",
        "PriorityFlags=DEPTH_OBLIVIOUS",
    ]


TREE = "TopologyPlugin=topology/tree\nSelectType=select/cons_tres\nPriorityType=priority/basic\n"


def test_topology_that_makes_no_sense_is_left_out(tmp_path):
    (tmp_path / "topology.conf").write_text("SwitchName=s Nodes=a[1-2] Switches=t\n")
    imported = site(tmp_path, f"{TREE}NodeName=a[1-3]\n")
    assert "topology.conf" not in imported.texts
    (gap,) = imported.gaps
    assert gap.name.endswith("topology.conf:1: SwitchName: 's' needs either Nodes or Switches")


def test_topology_is_kept_where_slurm_only_warns(tmp_path):
    """Of a node in no switch, and of trees that do not meet."""
    switches = "SwitchName=s1 Nodes=a[1-2]\nSwitchName=s2 Nodes=a[3-4]\n"
    (tmp_path / "topology.conf").write_text(f"{switches}SwitchName=top Switches=s[1-2]\n")
    imported = site(tmp_path, f"{TREE}NodeName=a[1-4],login\n")
    assert imported.system.topology.group_sizes == ((2, 2, 1),)
    assert [(gap.name, gap.instead) for gap in imported.gaps] == [
        (
            "topology.conf: 1 node in no switch: login",
            "each is a switch of its own, and jobs may use several of them",
        )
    ]
    (tmp_path / "topology.conf").write_text(switches)
    imported = site(tmp_path, f"{TREE}NodeName=a[1-4]\n")
    assert imported.system.topology.apart
    assert imported.gaps == []
    assert imported.notes == [
        "topology.conf: the trees of s1, s2 are separate, and no job has nodes of two"
    ]
    # Jobs that do not ask for few switches may span all.
    imported = site(tmp_path, f"{TREE}TopologyParam=TopoOptional\nNodeName=a[1-4]\n")
    assert not imported.system.topology.apart
    assert imported.system.topology.group_sizes == ((2, 2),)
    assert [gap.name for gap in imported.gaps] == ["TopologyParam=TopoOptional"]


def test_files_that_are_not_read_are_reported(tmp_path):
    (tmp_path / "topology.yaml").write_text("- topology: default\n  cluster_default: true\n")
    nodes = "NodeName=a[1-2] Topology=default:b1\nNodeName=a[3-4] Topology=default:b2\n"
    (tmp_path / "resources.yaml").write_text("- resource: power\n")
    (tmp_path / "gres.conf").write_text("Name=gpu File=/dev/nvidia0\n")
    flat = TREE.replace("topology/tree", "topology/flat")
    imported = site(tmp_path, f"{flat}{nodes}")
    assert imported.notes == [
        "gres.conf is ignored: resources of nodes come from Gres= of slurm.conf"
    ]
    assert [(gap.name, gap.instead) for gap in imported.gaps] == [
        ("Topology=default:b1, default:b2 of 4 nodes", "the node has no topology of its own"),
        ("resources.yaml", "the file is ignored, so there are no hierarchical resources"),
        ("topology.yaml", "the file is ignored, so there is no topology"),
    ]
    files = Files(conf=tmp_path / "slurm.conf", topology=tmp_path / "topology.yaml")
    with pytest.raises(ConfigError, match="topology.yaml is not supported. Give the same"):
        read_site(files)


@pytest.mark.parametrize(
    ("line", "cores"),
    [
        ("CPUs=32 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 32),
        # Slurm counts cores, or sockets.
        ("CPUs=16 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 16),
        ("CPUs=2 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 2),
        # Sockets are what is missing.
        ("CPUs=48 CoresPerSocket=12 ThreadsPerCore=2", 48),
        ("CPUs=4", 4),
        ("Boards=2 SocketsPerBoard=2 CoresPerSocket=4", 16),
        ("CPUs=20 Sockets=2 CoresPerSocket=8 ThreadsPerCore=2", 32),
        ("CPUs=40 CoresPerSocket=16 ThreadsPerCore=2", 32),
    ],
)
def test_cpus_that_contradict_sockets_are_their_product_as_in_slurm(tmp_path, line, cores):
    imported = site(tmp_path, f"NodeName=n[1-2] {line}\nPartitionName=p Nodes=ALL\n")
    assert row(imported.system, "n1")["core"] == cores


def gres(text):
    return read_gres(Setting(text, "Gres", "slurm.conf", 3))


def test_what_slurm_conf_lists():
    assert gres("gpu:a100:4(S:0-1),nvme,bandwidth:lustre:no_consume:4G,x:no_consume:2") == (
        NodeGres("gpu", "a100", 4),
        NodeGres("nvme", "", 1),
        NodeGres("bandwidth", "lustre", 4 * 2**30, consumed=False),
        NodeGres("x", "", 2, consumed=False),
    )
    assert gres("gpu:2(S:0,1),mps:100K") == (NodeGres("gpu", "", 2), NodeGres("mps", "", 102400))
