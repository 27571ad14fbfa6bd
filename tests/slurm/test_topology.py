"""Machines whose topology is one of Slurm's files."""

import re

import pytest

from cpsched import systems
from cpsched.errors import ConfigError
from cpsched.model.system import System
from cpsched.model.topology import Topology, TopologyKind
from cpsched.simulation.simulate import simulate
from cpsched.slurm.config.topology import read_layout
from cpsched.util.node_lists import NodeNames, compress, expand, natural

#: Nodes n01 to n08, the odd ones thin.
SYSTEM = """
resources = ["core"]
[[nodes]]
group = "thin"
ids = "1,3,5,7"
names = "n{:02d}"
core = 4
[[nodes]]
group = "fat"
ids = "2,4,6,8"
names = "n{:02d}"
core = 16
[topology]
slurm = "FILE"
"""

TREE = """\
# Three leaves under a spine of two heights
SwitchName=spine Switches=mid,s3   # root
switchname=mid switches=s[1-2] LinkSpeed=100
SwitchName=s1 Nodes=n0[5-6]
SwitchName=s2 \\
    Nodes=n01,n07
SwitchName=s3 Nodes=n[02-04,08]
"""


@pytest.fixture
def load(tmp_path):
    """Write a system with a Slurm file beside it, and read it."""

    def read(text):
        (tmp_path / "topology.conf").write_text(text)
        (path := tmp_path / "m.toml").write_text(SYSTEM.replace("FILE", "topology.conf"))
        return systems.load(path)

    return read


def test_a_tree_puts_the_nodes_in_its_order(load):
    system = load(TREE)
    # Depth-first: mid (s1, s2), then s3, whatever the order in the file is.
    names = ["n05", "n06", "n01", "n07", "n02", "n03", "n04", "n08"]
    assert list(system.node_names) == names
    assert system.capacity[:, 0].tolist() == [4 if int(name[1:]) % 2 else 16 for name in names]
    assert system.node_groups[1:3] == ("fat", "thin")
    # s3 is as high as mid at the second level: the spine is the root.
    assert system.topology == Topology(8, group_sizes=((2, 2, 4), (4, 4)))
    assert System.from_dict(system.to_dict()).digest() == system.digest()


def test_one_switch_is_one_group(load):
    topology = load("SwitchName=s Nodes=n[01-08]").topology
    assert topology.kind is TopologyKind.TREE
    assert topology.level_group(0).tolist() == [0] * 8


def test_a_block_file(load):
    conf = "BlockName=b2 Nodes=n0[3-5]\nBlockName=b1 Nodes=n0[1-2,6]\nBlockName=b3 Nodes=n07,n08\n"
    system = load(conf + "BlockSizes=2,4")
    assert system.node_names[:3] == ("n03", "n04", "n05")
    sizes = ((3, 3, 2), (6, 2))
    assert system.topology == Topology(8, kind=TopologyKind.BLOCK, group_sizes=sizes)
    assert load(conf).topology.num_levels == 2


#: From what Slurm's manual shows, to a file and line and what is wrong there.
BAD_CONF = {
    "SwitchName=a Nodes=m[01-07]": "topology.conf: SwitchName: no node of the file is a node of the system",
    "SwitchName=a Nodes=n[01-08]\nSwitchName=b Switches=c\nSwitchName=c Switches=b":
        ":2: b: the switch is below itself",
    "SwitchName=b Switches=c\nSwitchName=c Switches=b": ":1: b: the switch is below itself",
    "SwitchName=b Switches=b": ":1: b: the switch is below itself",
    "SwitchName=a Nodes=n[01-08]\n\nSwitchName=b Switches=a,x":
        ":3: b: names the switch 'x', which no line of the file defines",
    "SwitchName=a Nodes=n[01-08]\nSwitchName=b Switches=a\nSwitchName=c Switches=a":
        ":3: c: names the switch 'a', which 'b' names, too",
    "SwitchName=a Nodes=n[01-08]\nSwitchName=a Nodes=n01":
        ":2: a: line 1 defines the same name",
    "SwitchName=a Nodes=n[01-08] Switches=b": ":1: SwitchName: 'a' needs either Nodes or Switches",
    "SwitchName=a": ":1: SwitchName: 'a' needs either Nodes or Switches",
    "SwitchName= Nodes=n01": ":1: SwitchName: 'Nodes=n01' needs either",
    "SwitchName=a Nodes=n[01-08": ":1: Nodes: 'n[01-08' is not a list of hosts such as",
    "SwitchName=a Nodes=n[8-1]": ":1: Nodes: 'n[8-1]' has '8-1' in brackets, which must be",
    "SwitchName=a Nodes=n[1-999999999]": ":1: Nodes: 'n[1-999999999]' has more than 1000000 names",
    "SwitchName=a Node=n01": r":1: Node: unknown key.*Did you mean 'Nodes'\?",
    "SwitchName=a and more": ":1: 'and more' is not of the form Name=value",
    "Nodes=n01": ":1: Nodes: the line needs SwitchName or BlockName",
    "SwitchName=a Nodes=n[01-08]\nBlockName=b Nodes=n01":
        ":2: SwitchName: the file has switches and blocks",
    "# nothing": "topology.conf: no line has SwitchName or BlockName",
    "BlockName=a Nodes=n[01-08]\nBlockSizes=4,6": ":2: BlockSizes: '4,6' must be sizes each of which is 2, 4, 8, ...",
    "BlockName=a Nodes=n[01-08]\nBlockSizes=x": ":2: BlockSizes: 'x' must be whole numbers",
    "BlockName=a Nodes=n[01-06]\nBlockName=b Nodes=n[07-08]\nBlockSizes=4":
        ":2: b: the block has 2 nodes, and the base block size is 4",
}  # fmt: skip


@pytest.mark.parametrize("text", BAD_CONF)
def test_what_is_wrong_with_a_file_is_one_line(load, text):
    with pytest.raises(ConfigError) as error:
        load(text)
    message = str(error.value)
    assert "\n" not in message
    expected = BAD_CONF[text]
    assert re.search(expected if ".*" in expected else re.escape(expected), message), message


#: What Slurm warns of: a file, the order of nodes, sizes, whether groups are apart, and the notes.
WARNED = {
    # Nodes in no switch are each like one of their own.
    "SwitchName=a Nodes=n[01-03]\nSwitchName=b Nodes=n[05-06]\nSwitchName=c Switches=a,b": (
        "12356478", ((3, 2, 1, 1, 1),), False, [],
    ),
    "SwitchName=a Nodes=n[01-07]": ("12345678", ((7, 1),), True, []),
    "BlockName=a Nodes=n[05-08]\nBlockName=b Nodes=n[01-02]": (
        "56781234", ((4, 2, 1, 1),), False, [],
    ),
    "SwitchName=a Nodes=n[01-09]": ("12345678", ((8,),), False, ["unknown nodes are ignored: n09"]),
    "SwitchName=a Nodes=n[01-08]\nSwitchName=b Nodes=n08\nSwitchName=c Switches=a,b": (
        "12345678", ((8,),), False, [r"several switches or blocks counts for the first: n08 \(also in a\)"],
    ),
    # Trees that do not meet are apart, whatever is inside them.
    "SwitchName=a Nodes=n[01-04]\nSwitchName=b Nodes=n[05-08]": (
        "12345678", ((4, 4),), True, [],
    ),
    "SwitchName=a Nodes=n[05-06]\nSwitchName=b Nodes=n[07-08]\nSwitchName=c Switches=a,b\n"
    "SwitchName=d Nodes=n[01-03]": ("56781234", ((4, 3, 1),), True, []),
    "SwitchName=a Nodes=n01 Nodes=n[01-08]": ("12345678", ((8,),), False, ["Nodes is given twice"]),
}  # fmt: skip


@pytest.mark.parametrize("text", WARNED)
def test_what_slurm_warns_of_is_noted_and_read(load, text):
    order, sizes, apart, notes = WARNED[text]
    system = load(text)
    assert list(system.node_names) == [f"n0{number}" for number in order]
    kind = TopologyKind.BLOCK if text.startswith("Block") else TopologyKind.TREE
    assert system.topology == Topology(8, kind=kind, group_sizes=sizes, apart=apart)
    assert System.from_dict(system.to_dict()).digest() == system.digest()
    layout = read_layout(text, "topology.conf", [f"n0{number}" for number in range(1, 9)])
    assert len(layout.notes) == len(notes)
    assert all(re.search(*pair) for pair in zip(notes, layout.notes, strict=True))


#: Two trees of four nodes; jobs of 3, 3, 2 and 8 nodes with one core each, of 100 s.
JOBS = """; MaxProcs: 8
1 0 -1 100 3 -1 -1 3 100 -1 1 1 1 -1 1 -1 -1 -1
2 0 -1 100 3 -1 -1 3 100 -1 1 1 1 -1 1 -1 -1 -1
3 1 -1 100 2 -1 -1 2 100 -1 1 1 1 -1 1 -1 -1 -1
4 2 -1 100 8 -1 -1 8 100 -1 1 1 1 -1 1 -1 -1 -1
5 3 -1 100 1 -1 -1 1 100 -1 1 1 1 -1 1 -1 -1 -1
"""


@pytest.mark.parametrize(
    "dispatcher", ["fifo", "easy", "conservative", "sjf", "slurm-backfill", "slurm:lag=0"]
)
def test_no_job_has_nodes_of_two_trees(tmp_path, dispatcher):
    """Two nodes are free, one in each tree: the job of two waits, that of eight never starts."""
    (tmp_path / "topology.conf").write_text(
        "SwitchName=ib1 Nodes=n[1-4]\nSwitchName=ib2 Nodes=n[5-8]\n"
    )
    (tmp_path / "m.toml").write_text(
        'resources = ["core"]\n[[nodes]]\ngroup = "a"\nnames = "n[1-8]"\ncore = 1\n'
        '[topology]\nslurm = "topology.conf"\n[log]\nprocessors = "anywhere"\n'
    )
    (tmp_path / "log.swf").write_text(JOBS)
    system = systems.load(tmp_path / "m.toml")
    run = simulate(tmp_path / "log.swf", system, dispatcher=dispatcher)
    (reason,) = run.schedule.rejected.values()
    assert "do not fit in at most 1 leaf switch" in reason
    schedule = run.schedule
    start = schedule.start.tolist()
    assert start[2] >= start[0] + 100
    group = system.topology.level_group(0)
    segments = schedule.segments
    for job in range(5):
        own = segments.job == job
        nodes = [
            node
            for first, count in zip(segments.node[own], segments.count[own], strict=True)
            for node in range(first, first + count)
        ]
        assert len(set(group[nodes].tolist())) <= 1
    if dispatcher in ("easy", "conservative"):
        assert start[4] == 3


def test_a_file_that_is_not_there(tmp_path):
    (path := tmp_path / "m.toml").write_text(SYSTEM.replace("FILE", "none.conf"))
    with pytest.raises(ConfigError, match=r"none\.conf: no such file"):
        systems.load(path)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("a", ["a"]),
        ("n[1-3]", ["n1", "n2", "n3"]),
        ("n[08-10,2],m", ["n08", "n09", "n10", "n2", "m"]),
        ("r[1-2]n[1-2]x", ["r1n1x", "r1n2x", "r2n1x", "r2n2x"]),
    ],
)
def test_hosts_are_listed(text, names):
    assert expand(text, 9) == names
    assert expand(compress(names), 9) == names


def test_names_are_compressed():
    assert compress(["c08", "c09", "c10", "c12", "g9", "g10", "login"]) == (
        "c[08-10,12],g[9-10],login"
    )
    assert compress(["a1-ib", "a2-ib", "n9.site", "n10.site"]) == "a[1-2]-ib,n[9-10].site"
    assert compress(["gpu-", "gpu-8"]) == "gpu-,gpu-8"


def test_runs_of_nodes_are_written_as_their_names():
    nodes = NodeNames(["n8", "n9", "n10", "m", "n11", "n13"])
    assert nodes.folded([(0, 3)]) == "n[8-10]"
    assert nodes.folded([(0, 1), (1, 2), (4, 2)]) == "n[8-11,13]"
    assert nodes.folded([(2, 3)]) == "n10,m,n11"
    assert nodes.folded([]) == ""
    assert compress([]) == ""


def test_nodes_are_ordered_by_number():
    assert sorted(["n10", "n9", "m", "n9x2", "n9x10"], key=natural) == [
        *("m", "n9", "n9x2", "n9x10", "n10")
    ]


@pytest.mark.parametrize("text", ["", ",a", "a,", "a,,b", "n[]", "n[1", "n1]", "n[1-2]]", "a b"])
def test_lists_of_hosts_that_are_none(text):
    with pytest.raises(ValueError, match=r"is not a list of hosts|in brackets"):
        expand(text, 9)
