"""slurm.conf: syntax, includes, defaults, sets of nodes, and where errors are."""

import pytest

from cpsched.errors import ConfigError
from cpsched.slurm.config.conf import partition_nodes, read_conf


def write(folder, **files):
    for name, text in files.items():
        path = folder / name.replace("__", "/")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    return folder / "main"


def test_how_lines_are_written(tmp_path):
    """Keys in any case, the last value counts; lines go on; quotes and escaped number signs."""
    conf = read_conf(
        write(
            tmp_path,
            main="CLUSTERNAME=a\nClusterName = b # not c\n"
            "SchedulerParameters=bf_continue,\\\nbf_window=60\nNodeName=a \\\n  CPUs=2\n"
            'Epilog="/a b/c" Prolog=/x\\#y\n',
        )
    )
    assert (conf.text("clustername"), conf.parameters["clustername"].line) == ("b", 2)
    assert conf.words("SchedulerParameters") == ["bf_continue", "bf_window=60"]
    assert conf.nodes[0].number("CPUs", 1) == 2
    assert (conf.text("Epilog"), conf.text("Prolog")) == ("/a b/c", "/x#y")


def test_defaults_hold_from_where_they_are(tmp_path):
    text = """
    NodeName=a
    NodeName=DEFAULT CPUs=4 Feature=x
    NodeName=b Feature=y
    nodename=default RealMemory=7
    NodeName=c
    """
    nodes = read_conf(write(tmp_path, main=text)).nodes
    assert [node.number("CPUs", 1) for node in nodes] == [1, 4, 4]
    assert [node.text("Feature") for node in nodes] == ["", "y", "x"]
    assert nodes[2].number("RealMemory", 1) == 7


def test_includes_are_relative_take_patterns_and_the_cluster(tmp_path):
    main = write(
        tmp_path,
        main="ClusterName=zeus\nInclude nodes.d/*.conf\ninclude %c.conf\nNodeName=z\n",
        **{
            "nodes.d__2.conf": "NodeName=b\n",
            "nodes.d__1.conf": "NodeName=a\n",
            "zeus.conf": "PriorityWeightAge=7\n",
        },
    )
    conf = read_conf(main)
    assert [node.name.text for node in conf.nodes] == ["a", "b", "z"]
    assert conf.text("PriorityWeightAge") == "7"
    assert conf.parameters["priorityweightage"].where.endswith("zeus.conf")


def test_partitions_name_nodes_sets_and_features(tmp_path):
    text = """
    NodeName=a[1-3],b
    NodeSet=big Nodes=a3,b
    NodeSet=fast Feature=ssd
    PartitionName=all Nodes=ALL
    PartitionName=some Nodes=a1,big
    PartitionName=ssd Nodes=fast
    PartitionName=empty
    """
    conf = read_conf(write(tmp_path, main=text))
    known = {name: frozenset({"ssd"} if name == "a2" else ()) for name in ("a1", "a2", "a3", "b")}
    assert partition_nodes(conf, known) == {
        "all": ("a1", "a2", "a3", "b"),
        "some": ("a1", "a3", "b"),
        "ssd": ("a2",),
        "empty": (),
    }


def test_of_what_is_given_twice_the_last_counts_and_is_noted(tmp_path):
    """On a line, over lines and files; of some keys every value counts."""
    conf = read_conf(
        write(
            tmp_path,
            main="PriorityWeightAge=1\nSlurmctldHost=a\nSlurmctldHost=b\nInclude more.conf\n"
            "Include none.d/*.conf\n"
            "NodeName=n[1-8] CPUs=4 cpus=8\nPartitionName=p MaxTime=1-0 State=UP MaxTime=2-0\n",
            **{"more.conf": "priorityweightage=7\n"},
        )
    )
    assert conf.text("PriorityWeightAge") == "7"
    assert conf.nodes[0].number("CPUs", 1) == 8
    assert conf.partitions[0].text("MaxTime") == "2-0"
    assert [note.replace(f"{tmp_path}/", "") for note in conf.notes] == [
        "more.conf:1: priorityweightage is given in main, too. The last value counts: 7",
        "main:5: Include none.d/*.conf has no file",
        "main:6: cpus is given twice on the line. The last value counts: 8",
        "main:7: MaxTime is given twice on the line. The last value counts: 2-0",
    ]


def test_a_line_may_begin_with_other_parameters(tmp_path):
    conf = read_conf(
        write(tmp_path, main="ClusterName=Zeus NodeName=a CPUs=2\nInclude %c\n", zeus="")
    )
    assert conf.text("ClusterName") == "Zeus"
    assert [(node.name.text, node.number("CPUs", 1)) for node in conf.nodes] == [("a", 2)]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("\nPriorityMaxAge 7-0\n", r"main:2: 'PriorityMaxAge 7-0' is not of the form Name=value"),
        ("NodeName=a CPUs=2 NodeName=b\n", r"main:1: NodeName: a line has one NodeName"),
        ("Include other.conf\n", r"main:1: Include: 'other\.conf' no such file"),
        ("Include main\n", r"main:1: more than 16 files include each other"),
        (None, "no such file"),
    ],
)
def test_bad_lines_are_named(tmp_path, text, message):
    path = tmp_path / "none" if text is None else write(tmp_path, main=text)
    with pytest.raises(ConfigError, match=message):
        read_conf(path)
