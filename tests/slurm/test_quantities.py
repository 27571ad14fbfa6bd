"""
Numbers and times as Slurm reads them.

Sources: ``src/common/parse_value.c``, ``src/common/parse_time.c`` and ``src/common/proc_args.c`` of
SchedMD/slurm. What is expected here was worked out by hand from the rules of these files.
"""

import pytest

from cpsched.slurm.config.importer import Files, read_site
from cpsched.util import slurm_quantities as q


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("100", 100),
        ("10k", 10_240),
        ("10K", 10_240),
        ("0x100", 256),
        ("0X1f", 31),
        ("010", 8),
        ("0x1k", 1024),
        ("+5", 5),
        ("-1", -1),
        ("UNLIMITED", 2**32 - 1),
        ("infinite", 2**32 - 1),
    ],
)
def test_numbers(text, value):
    assert q.number(text) == value


@pytest.mark.parametrize("text", ["", "many", "10m", "10kb", "1.5", "09", "0x", "1_000", "5 5"])
def test_what_is_no_number(text):
    with pytest.raises(ValueError, match="is not a whole number"):
        q.number(text)


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("60", 3_600),
        ("1:30", 90),
        ("1:60:15", 7_215),
        ("36:00:00", 36 * 3_600),
        ("0:90", 90),
        ("2-", 2 * 86_400),
        ("1-12", 36 * 3_600),
        ("1-12:30", 36 * 3_600 + 1_800),
        ("1-30:00:05", 86_400 + 30 * 3_600 + 5),
        ("7-0", 7 * 86_400),
        ("00:00:00", 0),
        ("-1", q.ENDLESS),
        ("UNLIMITED", q.ENDLESS),
        ("Infinite", q.ENDLESS),
    ],
)
def test_times(text, seconds):
    assert q.seconds(text) == seconds


@pytest.mark.parametrize(
    "text", ["", "-", "-5", ":30", "1:", "1::2", "1:2:3:4", "1-2-3", "1:2-3", "4h", "1.5", "ever"]
)
def test_what_is_no_time(text):
    with pytest.raises(ValueError, match="is not a length of time"):
        q.seconds(text)


def test_a_number_alone_is_minutes_in_files_and_seconds_in_output():
    assert (q.seconds("90"), q.printed_seconds("90")) == (5_400, 90)
    # Slurm keeps time limits in minutes and rounds up.
    assert (q.whole_minutes("0:30"), q.whole_minutes("1:01")) == (60, 120)
    assert q.whole_minutes("UNLIMITED") == q.ENDLESS
    with pytest.raises(ValueError, match="is not a length"):
        q.elapsed("UNLIMITED")


def test_sizes():
    assert [q.memory(text) for text in ("1", "1M", "1g", "2T", "1.50G", "100K", "1GB")] == [
        *(1024, 1024, 2**20, 2**31, 3 * 2**19, 100, 2**20)
    ]
    assert [q.amount(text) for text in ("4", "1k", "1.5K", "1kb", "2MiB")] == [
        *(4, 1024, 1536, 1000, 2**21)
    ]


def test_booleans():
    assert [q.flag(text) for text in ("YES", "up", "True", "1")] == [True] * 4
    assert [q.flag(text) for text in ("no", "Down", "FALSE", "0")] == [False] * 4
    with pytest.raises(ValueError, match="must be yes or no"):
        q.flag("maybe")


def test_a_configuration_with_every_form_of_number_is_read(tmp_path):
    path = tmp_path / "slurm.conf"
    path.write_text(
        "OverTimeLimit=UNLIMITED\nPriorityWeightAge=10k\nPriorityWeightQOS=0x100\n"
        "PriorityWeightJobSize=INFINITE\nPriorityMaxAge=1:60:15\nPriorityDecayHalfLife=UNLIMITED\n"
        "PreemptExemptTime=-1\nPriorityFavorSmall=up\n"
        "NodeName=a CPUs=0x10 RealMemory=10k\n"
        "PartitionName=p Nodes=a MaxTime=1:60:15 DefaultTime=0:30 MaxNodes=UNLIMITED\n"
        "PartitionName=q Nodes=a MaxTime=infinite DefaultTime=1-12 MaxNodes=INFINITE\n"
    )
    site = read_site(Files(conf=path))
    policy, system = site.policy, site.system
    assert policy["OverTimeLimit"] == 65_535
    assert policy["PriorityWeightAge"] == 10_240
    assert policy["PriorityWeightQOS"] == 256
    assert policy["PriorityWeightJobSize"] == 2**32 - 1
    # Kept in minutes, rounded up: 2 h 15 s is 121 minutes.
    assert policy["PriorityMaxAge"] == 121 * 60
    assert policy["PriorityDecayHalfLife"] == q.ENDLESS
    assert policy["PriorityFavorSmall"] is True
    assert system.capacity.tolist() == [[16, 10 * 2**20]]
    assert (system.queues["p"].max_time, system.queues["p"].default_time) == (121 * 60, 60)
    assert (system.queues["q"].max_time, system.queues["q"].default_time) == (None, 36 * 3_600)
    assert (system.queues["p"].max_nodes, system.queues["q"].max_nodes) == (0, 0)
