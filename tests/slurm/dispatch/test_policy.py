"""Policy files: every key is read, checked, and written so that it reads back."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched.errors import ConfigError
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy import (
    LIMITS,
    Association,
    Partition,
    Qos,
    SlurmPolicy,
    SlurmReservation,
)
from cpsched.slurm.dispatch.values import tres

FULL = """
[slurm]
PriorityWeightAge = 1000
PriorityMaxAge = "14-0"
PriorityFlags = "NO_FAIR_TREE,MAX_TRES"
PriorityWeightTRES = "CPU=1000,GRES/gpu=3000"
PriorityFavorSmall = true

[SchedulerParameters]
bf_window = 2880
bf_continue = true

[licenses]
matlab = 10

[[partition]]
PartitionName = "gpu"
PriorityJobFactor = 10
TRESBillingWeights = "CPU=1.0,Mem=0.25G,GRES/gpu=8"
QOS = "gpu"
AllowAccounts = "physics,bio"

[[qos]]
Name = "normal"

[[qos]]
Name = "gpu"
Priority = 50
UsageFactor = 2
GrpTRES = "cpu=100,mem=2T"
MaxWall = "1-00:00:00"
MaxJobsPU = 4
Preempt = "normal"
PreemptMode = "requeue"
GraceTime = 60

[[association]]
Account = "root"

[[association]]
Account = "physics"
Parent = "root"
Share = 60
GrpTRES = "gres/gpu=4"

[[association]]
Account = "physics"
User = "ann"
Share = "parent"
QOS = "normal,gpu"
DefaultQOS = "normal"
RawUsage = 12.5

[[reservation]]
ReservationName = "course"
StartTime = "2024-03-01T10:00:00"
EndTime = "2024-03-01T12:00:00"
Nodes = ["n1", "n2"]
Users = "ann"
"""


def test_every_key_is_read():
    policy = policy_file.parse(FULL)
    assert policy["PriorityWeightAge"] == 1000
    assert policy["PriorityMaxAge"] == 14 * 86400
    assert policy["PriorityFlags"] == {"NO_FAIR_TREE", "MAX_TRES"}
    assert policy["PriorityWeightTRES"] == {"cpu": 1000, "gres/gpu": 3000}
    assert policy["PriorityFavorSmall"] is True
    assert policy["bf_window"] == 2880
    assert policy["bf_continue"] is True
    # What is not said has Slurm's default.
    assert policy["bf_max_job_test"] == 500
    assert policy.licenses == {"matlab": 10}
    assert policy.partitions["gpu"] == Partition(
        name="gpu",
        job_factor=10,
        billing={"cpu": 1.0, "mem": 0.25 / 1024, "gres/gpu": 8.0},
        qos="gpu",
        allow_accounts=("physics", "bio"),
    )
    assert policy.qos["gpu"] == Qos(
        name="gpu",
        priority=50,
        usage_factor=2.0,
        limits={
            "GrpTRES": {"cpu": 100, "mem": 2 << 30},
            "MaxJobsPU": 4,
            "MaxWall": 86400,
        },
        preempt=("normal",),
        preempt_mode="REQUEUE",
        grace=60,
    )
    assert policy.associations[1:] == (
        Association(
            account="physics", parent="root", shares=60, limits={"GrpTRES": {"gres/gpu": 4}}
        ),
        Association(
            account="physics",
            user="ann",
            shares=None,
            qos=("normal", "gpu"),
            default_qos="normal",
            usage=12.5,
        ),
    )
    assert policy.reservations["course"] == SlurmReservation(
        name="course", start=1709287200, end=1709294400, nodes=("n1", "n2"), users=("ann",)
    )


def test_a_policy_reads_back_equal():
    policy = policy_file.parse(FULL)
    assert policy_file.parse(policy_file.to_toml(policy)) == policy
    # A person can read it: not 0.000244140625 for a MB.
    assert "mem=0.25G" in policy_file.to_toml(policy)
    assert policy_file.parse(policy_file.to_toml(SlurmPolicy())) == SlurmPolicy()


_TRES = st.dictionaries(st.sampled_from(["cpu", "mem", "node"]), st.integers(0, 2**40), max_size=3)


def _values(kind):
    words = kind.choices or ("CR_LLN", "CR_Core")
    weights = st.dictionaries(
        st.sampled_from(["cpu", "mem", "gres/gpu"]), st.floats(0, 1e6), max_size=3
    )
    return {
        "count": st.integers(1, 1000),
        "flag": st.booleans(),
        "time": st.integers(0, 10**9),
        "length": st.integers(0, 10**9),
        "choice": st.sampled_from(words),
        "words": st.frozensets(st.sampled_from(words)),
        "tres": _TRES,
        "weights": weights,
    }[kind.name]


@settings(max_examples=60)
@given(
    parameters=st.fixed_dictionaries(
        {}, optional={name: _values(parameter.kind) for name, parameter in PARAMETERS.items()}
    ),
    limits=st.fixed_dictionaries(
        {}, optional={name: _values(kind) for name, kind in LIMITS.items()}
    ),
)
def test_any_parameters_and_limits_read_back_equal(parameters, limits):
    policy = SlurmPolicy(parameters=parameters, qos={"q": Qos(name="q", limits=limits)})
    back = policy_file.parse(policy_file.to_toml(policy))
    assert back.parameters == parameters
    # A limit of no TRES is none.
    assert back.qos["q"].limits == {name: value for name, value in limits.items() if value != {}}


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("PriorityWeightAge =", "PriorityWeightAges =", "mean 'PriorityWeightAge'"),
        ("bf_window =", "bf_windows =", "mean 'bf_window'"),
        ("PriorityWeightAge = 1000", 'PriorityWeightAge = "x"', r"toml:3.*'x' is not a whole"),
        ('"14-0"', '"soon"', "'soon' must be a time as Slurm"),
        (
            '"NO_FAIR_TREE,MAX_TRES"',
            '"FAIR"',
            "has the unknown word 'FAIR'. Known words: ACCRUE_ALWAYS",
        ),
        ('"CPU=1000,GRES/gpu=3000"', '"CPU"', "must list weights such as .* 'CPU' is none"),
        ("PriorityFavorSmall = true", "PriorityFavorSmall = 7", "must be yes or no"),
        ("bf_window = 2880", "bf_window = 0", "must be a whole number from 1 to 43200"),
        ("matlab = 10", "matlab = 0", "matlab: is 0"),
        ('GrpTRES = "cpu=100,mem=2T"', 'GrpTRES = "cpu"', "'cpu' has none"),
        (
            'GrpTRES = "gres/gpu=4"',
            'GrpTRES = "cpu=x"',
            "has 'cpu=x', whose value is not an amount",
        ),
        ("MaxJobsPU = 4", 'MaxJobsPU = "four"', "is not a whole number"),
        ('Preempt = "normal"', 'Preempt = "norml"', "unknown QOS 'norml'.*mean 'normal'"),
        ('QOS = "gpu"\nAllow', 'QOS = "cpu"\nAllow', "unknown QOS 'cpu'"),
        ('[[qos]]\nName = "gpu"', '[[qos]]\nName = "normal"', "the qos 'normal' is given twice"),
        ('Parent = "root"', 'Parent = "rot"', "unknown account 'rot'"),
        ('Parent = "root"', 'Parent = "physics"', "'physics' is below itself"),
        ('User = "ann"', 'Parent = "root"', "are those of an earlier association"),
        ('Share = "parent"', "Share = -1", "must be a whole number, 0 or more"),
        ('DefaultQOS = "normal"', 'DefaultQOS = "none"', "unknown QOS 'none'"),
        ("RawUsage = 12.5", 'RawUsage = "much"', "must be a number, 0 or more"),
        ('"2024-03-01T12:00:00"', '"2024-03-01T09:00:00"', "must be after StartTime"),
        ('"2024-03-01T12:00:00"', '"noon"', "'noon' is not a date"),
        ('Nodes = ["n1", "n2"]', "Nodes = []", "Nodes: is empty"),
        ("[licenses]", "[licences]", "unknown key"),
    ],
)
def test_what_makes_no_sense_is_named(old, new, message):
    assert old in FULL
    with pytest.raises(ConfigError, match=message) as caught:
        policy_file.parse(FULL.replace(old, new, 1), where="site.toml")
    assert str(caught.value).startswith("site.toml")
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_there_is_one_line(tmp_path):
    with pytest.raises(ConfigError, match="no such file"):
        policy_file.load(tmp_path / "none.toml")


def test_memory_is_in_mb_unless_it_says_so():
    assert tres("mem=1000,cpu=2") == {"mem": 1024000, "cpu": 2}
    assert tres("mem=1000K") == {"mem": 1000}


def test_a_policy_is_read_once_as_long_as_its_file_says_the_same(tmp_path):
    """A forecast makes the dispatcher for each scenario; a file that has changed is read again."""
    path = tmp_path / "policy.toml"
    path.write_text("[slurm]\nPriorityWeightAge = 7\n")
    first = policy_file.load(path)
    assert policy_file.load(path) is first
    path.write_text("[slurm]\nPriorityWeightAge = 8\n")
    assert policy_file.load(path)["PriorityWeightAge"] == 8
