"""What becomes of every key of Slurm: none is without an entry, and what is modelled is read."""

import re

import pytest

from cpsched.slurm.config import inventory
from cpsched.slurm.config.accounts import read_table
from cpsched.slurm.config.conf import read_conf
from cpsched.slurm.config.importer import Files, read_site
from cpsched.slurm.config.inventory import Fate, Inventory
from cpsched.slurm.config.lines import ConfigLine
from cpsched.slurm.config.policy_remarks import without_effect
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy import ASSOCIATIONS, PARTITIONS, QOS, RESERVATIONS

#: Sections of the file of names, and the inventory that has to have them.
SECTIONS = {
    "slurm.conf": inventory.SLURM_CONF,
    "node": inventory.NODE,
    "node set": inventory.NODE_SET,
    "down nodes": inventory.DOWN_NODES,
    "partition": inventory.PARTITION,
    **inventory.WORDS,
    "qos columns": inventory.QOS_COLUMNS,
    "qos flags": inventory.QOS_FLAGS,
    "association columns": inventory.ASSOCIATION_COLUMNS,
    "reservation": inventory.RESERVATION,
    "reservation flags": inventory.RESERVATION_FLAGS,
    "scontrol show config": inventory.SLURM_CONF,
    "scontrol show node": inventory.NODE,
    "scontrol show partition": inventory.PARTITION,
}


def names_of(data):
    text = (data / "slurm" / "keys-25.11.txt").read_text()
    parts = re.split(r"(?m)^\[(.*)\]$", re.sub(r"(?m)^#.*$", "", text))
    return {title: names.split() for title, names in zip(parts[1::2], parts[2::2], strict=True)}


def test_every_name_of_slurm_has_an_entry(data):
    names = names_of(data)
    assert names.keys() == SECTIONS.keys()
    for title, inventory_of in SECTIONS.items():
        without = [name for name in names[title] if inventory_of.of(name).fate is Fate.UNKNOWN]
        assert (title, without) == (title, [])
    assert len(names["slurm.conf"]) > 240


def test_a_name_is_in_one_list_and_has_a_reason():
    for title, inventory_of in SECTIONS.items():
        for name in inventory_of.names:
            treatment = inventory_of.of(name)
            assert treatment.fate is Fate.MODELLED or treatment.why, (title, name)
    with pytest.raises(ValueError, match="b is in two lists"):
        Inventory(modelled="a b", irrelevant={"why": "b"})
    assert inventory.SLURM_CONF.of("Nosuch").fate is Fate.UNKNOWN


def modelled(inventory_of):
    return {name for name in inventory_of.names if inventory_of.of(name).fate is Fate.MODELLED}


def test_parameters_that_are_modelled_are_read():
    """Those of a policy, and a few that the system file is made of."""
    read_elsewhere = {
        *("clustername", "licenses", "topologyplugin", "schedulerparameters", "preemptparameters"),
        *("downnodes", "nodename", "nodeset", "partitionname"),
        # Lists of which each word has an entry of its own.
        *("dependencyparameters", "slurmctldparameters", "topologyparam"),
    }
    own = {name.lower() for name, parameter in PARAMETERS.items() if not parameter.scheduler}
    without_effect = {"completewait", "overtimelimit"}
    assert modelled(inventory.SLURM_CONF) == (own - without_effect) | read_elsewhere
    words = {name.lower() for name, parameter in PARAMETERS.items() if parameter.scheduler}
    aliases = {"max_job_bf", "bf_res"}
    assert modelled(inventory.SCHEDULER) - aliases <= words


def test_columns_that_are_modelled_are_read():
    unenforced = {name.lower() for name in inventory.UNENFORCED}
    for table, inventory_of in (
        (QOS, inventory.QOS_COLUMNS),
        (ASSOCIATIONS, inventory.ASSOCIATION_COLUMNS),
    ):
        keys = {key.name.lower() for key in table.keys} - unenforced
        keys = {"parentname" if key == "parent" else key for key in keys}
        assert modelled(inventory_of) == keys
    keys = {key.name.lower() for key in RESERVATIONS.keys}
    assert modelled(inventory.RESERVATION) == keys


class Recording(dict):
    """Values that note which keys were looked up."""

    def __init__(self, values, seen):
        super().__init__(values)
        self.seen = seen

    def get(self, key, default=None):
        self.seen.add(key)
        return super().get(key, default)

    def __getitem__(self, key):
        self.seen.add(key)
        return super().__getitem__(key)


def test_keys_of_nodes_and_partitions_that_are_modelled_are_read(tmp_path, monkeypatch):
    # What may be done to a partition's jobs is read where partitions preempt each other.
    (tmp_path / "slurm.conf").write_text(
        "PreemptType=preempt/partition_prio\nPreemptMode=REQUEUE\n"
        "NodeName=a CPUs=2\nPartitionName=p Nodes=a QOS=q\n"
    )
    seen = {"nodes": set(), "partitions": set()}

    def recorded(path):
        conf = read_conf(path)
        for kind, keys in seen.items():
            entries = getattr(conf, kind)
            entries[:] = [
                ConfigLine(entry.name, Recording(entry.values, keys)) for entry in entries
            ]
        return conf

    monkeypatch.setattr("cpsched.slurm.config.importer.read_conf", recorded)
    read_site(Files(conf=tmp_path / "slurm.conf"))
    of_scontrol = {"cpuefctv", "cputot", "availablefeatures"}
    needed = modelled(inventory.NODE) - of_scontrol - {"nodename"}
    assert needed <= seen["nodes"]
    named = {key.name.lower() for key in PARTITIONS.keys}
    assert modelled(inventory.PARTITION) - {"partitionname"} <= seen["partitions"]
    assert named <= modelled(inventory.PARTITION)


def site(folder, text, **files):
    for name, content in {"conf": text, **files}.items():
        (folder / f"slurm.{name}").write_text(content)
    others = {name: folder / f"slurm.{name}" for name in files}
    return read_site(Files(conf=folder / "slurm.conf", **others))


NODES = "SelectType=select/cons_tres\nPriorityType=priority/multifactor\nNodeName=a[1-2] CPUs=4\n"


def gaps_of(imported):
    return {gap.name: gap.instead for gap in imported.gaps}


@pytest.mark.parametrize(
    ("line", "name", "instead"),
    [
        ("SchedulerParameters=bf_licenses", "SchedulerParameters=bf_licenses", "backfill reserves nothing"),
        ("SchedulerParameters=bf_busy_nodes", "SchedulerParameters=bf_busy_nodes", "in the usual order"),
        ("SchedulerParameters=bf_one_resv_per_job", "SchedulerParameters=bf_one_resv_per_job", "in each"),
        ("SchedulerParameters=max_switch_wait=60", "SchedulerParameters=max_switch_wait=60", "300 s"),
        ("SchedulerParameters=preempt_strict_order", "SchedulerParameters=preempt_strict_order", "tries once"),
        ("SchedulerParameters=pack_serial_at_end", "SchedulerParameters=pack_serial_at_end", "the same nodes as other jobs"),
        ("SchedulerParameters=reduce_completing_frag", "SchedulerParameters=reduce_completing_frag", "as soon as"),
        ("SchedulerParameters=bf_licences", "SchedulerParameters=bf_licences", "unknown key.*mean 'bf_licenses'"),
        ("PreemptParameters=strict_order,reorder_count=4", "PreemptParameters=strict_order, reorder_count=4", "tries once"),
        ("CompleteWait=32", "CompleteWait=32", "as soon as a job has ended"),
        ("OverTimeLimit=UNLIMITED", "OverTimeLimit=UNLIMITED", "jobs end at their time limit"),
        ("RequeueExit=1", "RequeueExit=1", "exit code"),
        ("PriorityWeightAgee=1", "PriorityWeightAgee=1", "unknown key.*mean 'PriorityWeightAge'"),
        ("PriorityFlags=MAX_TRES_GRES", "PriorityFlags=MAX_TRES_GRES", "sum of all TRES"),
        ("PreemptMode=SUSPEND,GANG", "PreemptMode=GANG", "take turns"),
        ("SelectTypeParameters=CR_Socket,CR_LLN", "SelectTypeParameters=CR_LLN", "least loaded"),
        ("PriorityType=priority/site", "PriorityType=priority/site", "priority/multifactor applies"),
        ("PartitionName=p Nodes=a1 OverTimeLimit=5", "OverTimeLimit=5 of p", "jobs end at"),
        ("PartitionName=p Nodes=a1 Topology=x", "Topology=x of p", "the topology of the cluster"),
        ("PartitionName=p Nodes=a1 Colour=x", "Colour=x of p", "unknown key"),
        ("NodeName=b Topology=default:b1", "Topology=default:b1 of 1 node", "no topology"),
        ("NodeName=b TmpDisk=900", "TmpDisk=900 of 1 node", "local disks"),
        ("NodeSet=s Nodes=a1 Size=3", "Size=3 of NodeSet s", "unknown key"),
        ("FrontendName=f", "FrontendName=f", "have no front ends"),
    ],
)  # fmt: skip
def test_what_has_no_effect_is_listed(tmp_path, line, name, instead):
    gaps = gaps_of(site(tmp_path, f"{NODES}{line}\n"))
    assert name in gaps, list(gaps)
    assert re.search(instead, gaps[name])


@pytest.mark.parametrize(
    "line",
    [
        "CompleteWait=0",
        "OverTimeLimit=0",
        "MCSPlugin=mcs/none",
        "SchedulerParameters=max_switch_wait=300,bf_continue,bf_window=60",
        "BurstBufferType=burst_buffer/none",
        "PreemptMode=OFF",
        "DebugFlags=Backfill,Priority SlurmctldDebug=debug3 LaunchParameters=send_gids",
        "PartitionName=p Nodes=a1 State=UP AllowGroups=ALL LLN=NO MaxCPUsPerNode=UNLIMITED",
        "NodeName=b TmpDisk=0 NodeAddr=10.0.0.1 State=UNKNOWN",
    ],
)
def test_what_is_off_or_irrelevant_is_not_listed(tmp_path, line):
    assert gaps_of(site(tmp_path, f"{NODES}{line}\n")) == {}


QOS_TABLE = (
    "Name|Priority|Preempt|PreemptMode|Flags|UsageThres|UsageFactor|LimitFactor|MinPrioThres|GrpTRES|"
    "GrpJobsAccrue|MaxJobsAccruePU|MaxSubmitPU|Colour\n"
    "normal|0|gone|cluster|EnforceUsageThreshold,NoDecay|0.66|1.000000|||gres/tape=2|||2|\n"
    "high|100||cluster|DenyOnLimit,OverPartQOS||1.000000|2.0|500||3|||\n"
    "low|0||within|NoReserve||0.1||||0|7||red\n"
)


def test_columns_and_flags_of_qos_are_modelled_or_listed(tmp_path):
    (tmp_path / "qos.txt").write_text(QOS_TABLE)
    assert len(list(read_table(tmp_path / "qos.txt", "Name"))) == 3
    imported = site(tmp_path, NODES, qos=QOS_TABLE)
    names = [gap.name for gap in imported.gaps]
    assert sorted(names) == sorted(
        [
            "MaxSubmitPU of QOS normal",
            "UsageThres=0.66 of QOS normal",
            "LimitFactor=2.0 of QOS high",
            "MinPrioThres=500 of QOS high",
            "GrpJobsAccrue=3, 0 of QOS high, QOS low",
            "MaxJobsAccruePU=7 of QOS low",
            "Colour=red of QOS low",
            "Preempt=gone of QOS normal",
            "Flags=EnforceUsageThreshold of QOS normal",
            "Flags=NoDecay of QOS normal",
            "Flags=DenyOnLimit of QOS high",
            "Flags=NoReserve of QOS low",
            "PreemptMode=WITHIN of QOS low",
            "GrpTRES of gres/tape of QOS normal",
        ]
    )


def test_columns_of_accounts_are_modelled_or_listed(tmp_path):
    table = (
        "Cluster|Account|User|Share|MaxJobsAccrue|GrpTRESMins|ID\n"
        "c|root||1|||1\nc| phys||1|9|cpu=5|2\nc|  phys|ann|1||cpu=1|3\nc| chem||1|||4\n"
    )
    imported = site(tmp_path, NODES, assoc=table)
    log = tmp_path / "log.txt"
    log.write_text(
        "JobID|Submit|Start|User|Account|QOS|Partition|Elapsed|AllocTRES\n"
        "1|x|y|ann|phys|normal|p|01:00:00|cpu=2\n2|x|y|bob|phys|normal|p|01:00:00|cpu=3\n"
        "3|x|y|cid|chem|normal|p|01:00:00|cpu=5K\n"
    )
    touched = inventory_count(log, imported)
    assert touched == {
        "GrpTRESMins of account phys, user ann in phys": (2, 5),
        "MaxJobsAccrue=9 of account phys": (2, 5),
    }


def inventory_count(log, imported):
    from cpsched.slurm.config.unmodelled import count

    gaps = count(log, imported.gaps, ()).gaps
    return {gap.name: (gap.jobs, gap.core_seconds // 3600) for gap in gaps}


def test_words_without_effect_have_the_jobs_they_touch(tmp_path):
    imported = site(tmp_path, f"{NODES}SchedulerParameters=bf_licenses,bf_one_resv_per_job\n")
    log = tmp_path / "log.txt"
    log.write_text(
        "JobID|Submit|Start|User|Account|Partition|ElapsedRaw|NCPUS|SubmitLine\n"
        "1|x|y|ann|phys|p|3600|2|sbatch -L matlab:1 a.sh\n"
        "2|x|y|ann|phys|p|3600|3|sbatch -p p,q a.sh\n"
        "3|x|y|ann|phys|p|3600|4|sbatch a.sh\n"
    )
    assert inventory_count(log, imported) == {
        "SchedulerParameters=bf_licenses": (1, 2),
        "SchedulerParameters=bf_one_resv_per_job": (1, 3),
    }


def test_reservations_say_what_is_not_followed(tmp_path):
    path = tmp_path / "show.txt"
    path.write_text(
        "NodeName=n1 CPUTot=4 RealMemory=10 State=IDLE\n\n"
        "ReservationName=r StartTime=2026-03-02T08:00:00 EndTime=2026-03-02T10:00:00 Nodes=n1"
        " PartitionName=p Flags=FLEX,SPEC_NODES,DAILY Users=ann TRES=cpu=4\n\n"
        "ReservationName=lic StartTime=2026-03-02T08:00:00 EndTime=2026-03-02T10:00:00"
        " Nodes=(null) Licenses=matlab:2 Users=ann\n"
    )
    imported = read_site(Files(scontrol=(path,)), "x")
    assert [gap.name for gap in imported.gaps] == [
        "PartitionName=p of reservation r",
        "Flags=FLEX of reservation r",
        "Flags=DAILY of reservation r",
        "reservation lic without nodes",
    ]


def test_settings_of_a_policy_file_without_effect_are_named():
    policy = policy_file.parse(
        "[slurm]\nCompleteWait = 32\nPriorityFlags = 'MAX_TRES_GRES,INCR_ONLY'\nPriorityWeightAge = 5\n"
        "[SchedulerParameters]\nbf_licenses = true\nbf_continue = true\nmax_switch_wait = 300\n"
        "[[qos]]\nName = 'a'\nFlags = 'NoReserve,OverPartQOS'\nGrpTRES = 'cpu=4,gres/tape=1'\n"
        "GrpWall = '1-0'\n"
        "[[reservation]]\nReservationName = 'r'\nStartTime = '2026-03-02T08:00:00Z'\n"
        "EndTime = '2026-03-02T09:00:00Z'\nNodes = ['n1']\nFlags = 'FLEX,MAINT'\n"
    )
    assert without_effect(policy, ("core", "mem", "gpu")) == [
        "CompleteWait",
        "PriorityFlags=MAX_TRES_GRES",
        "bf_licenses",
        "NoReserve of QOS a",
        "FLEX of reservation r",
        "GrpTRES of gres/tape",
        "GrpWall",
    ]
