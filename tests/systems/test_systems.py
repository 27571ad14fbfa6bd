"""System files: the shipped machines, the format, and every way to get it wrong."""

import json
from pathlib import Path

import pytest

from cpsched import systems
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.model.system import MemoryMapping, Preempt, ProcessorMapping, System
from cpsched.model.topology import Topology, TopologyKind
from cpsched.util.models import Source
from cpsched.util.node_lists import listed, named_nodes

SMALL = """
resources = ["core", "mem"]

[[nodes]]
group = "a"
count = 2
core = 4
mem = 1000
"""

#: Nodes and the sum of every resource, from the logs' headers and the papers.
SHIPPED = {
    "anl-intrepid": (40960, {"core": 163840}),
    "blocks-1152": (1152, {"core": 165888, "gpu": 4608}),
    "cea-curie": (5544, {"core": 93312, "gpu": 288}),
    "cerit-wagap": (68, {"core": 2176, "mem": 20 * 529426432 + 48 * 94035968}),
    "ctc-sp2": (338, {"core": 338}),
    "esp-16": (16, {"core": 16}),
    "esp-1024": (1024, {"core": 8192, "gpu": 2048}),
    "eurora": (64, {"core": 1024, "gpu": 64, "mic": 64, "mem": 59 * 16294372 + 5 * 32841176}),
    "graham-gpu": (32, {"core": 1024, "gpu": 88, "mem": 3145728000 + 6 * 196608000 + 786432000}),
    "graham-sample": (264, {"core": 8448, "gpu": 96, "mem": 248 * 131072000 + 16 * 524288000}),
    "hpc2n": (120, {"core": 240, "mem": 120 * 1048576}),
    "kth-sp2": (100, {"core": 100}),
    "llnl-atlas": (1152, {"core": 9216}),
    "ricc": (1024, {"core": 8192, "mem": 1024 * 12000000}),
    "sdsc-blue": (144, {"core": 1152, "mem": 144 * 4194304}),
    "site-152": (152, {"core": 9728, "gpu": 64, "mem": (128 * 256 + 16 * 512 + 8 * 2048) * 2**20}),
    "tree-1024": (1024, {"core": 16384, "gpu": 3072}),
    "tsubame2": (1408, {"core": 16896, "gpu": 4224}),
    "ub-hpc": (217, {"core": 7968, "gpu": 20, "mem": 193 * 191488000 + 24 * 772096000}),
}


def parse(text, head=""):
    return systems.parse(head + SMALL + text, where="x.toml", name="x")


def test_names_are_the_shipped_machines():
    assert systems.names() == sorted(SHIPPED)


@pytest.mark.parametrize("name", SHIPPED)
def test_shipped_machine_has_the_known_totals(name):
    system = systems.load(name)
    nodes, totals = SHIPPED[name]
    assert system.name == name
    assert system.num_nodes == nodes
    assert dict(zip(system.resources, system.total.tolist(), strict=True)) == totals
    assert system.source != "not stated"
    assert system.default_expected_wait is not None


def test_unknown_name_lists_the_machines():
    with pytest.raises(UnknownNameError, match=r"unknown system 'eurorra'.*Did you mean 'eu"):
        systems.load("eurorra")


def test_path_is_read_as_a_path(tmp_path):
    file = tmp_path / "mine.toml"
    file.write_text(SMALL, encoding="utf-8")
    assert systems.load(file).name == "mine"
    assert systems.load(str(file)).total.tolist() == [8, 2000]


def test_a_misspelt_key_at_the_top_is_not_a_missing_one():
    with pytest.raises(ConfigError, match=r"resource: .*Did you mean 'resources'"):
        systems.parse('resource = ["core"]\n[[nodes]]\ngroup = "a"\ncount = 1\ncore = 1\n')


def test_missing_file_is_named(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.toml: no such file"):
        systems.load(str(tmp_path / "none.toml"))
    with pytest.raises(ConfigError, match="cannot be read"):
        systems.load(tmp_path)
    file = tmp_path / "x.toml"
    file.write_bytes(b"name = '\xff'")
    with pytest.raises(ConfigError, match=r"is not UTF-8 text \(byte 8\)"):
        systems.load(file)


def test_broken_toml_says_where():
    with pytest.raises(ConfigError, match=r"x\.toml: is not valid TOML: .*line 2, column"):
        systems.parse("a = 1\nb =\n", where="x.toml")


def test_capacity_is_read_only():
    with pytest.raises(ValueError, match="read-only"):
        parse("").capacity[0, 0] = 5


def test_ids_and_counts_share_the_line():
    """Counted entries take the positions that ids leave, in file order."""
    system = systems.parse(
        """
        resources = ["core"]
        [[nodes]]
        group = "few"
        count = 2
        core = 1
        [[nodes]]
        group = "some"
        ids = "2-3, 5"
        names = "s{:02d}.x"
        core = 2
        [[nodes]]
        group = "last"
        count = 1
        names = "z{}"
        core = 3
        """
    )
    assert system.node_groups == ("few", "some", "some", "few", "some", "last")
    # ids number by position, count numbers in its entry, plain names by position.
    assert system.node_names == ("node1", "s02.x", "s03.x", "node4", "s05.x", "z1")
    assert system.capacity[:, 0].tolist() == [1, 2, 2, 1, 2, 3]


def test_features_of_all_and_of_an_entry_add_up():
    system = parse(
        '[[nodes]]\ngroup = "b"\ncount = 1\ncore = 1\nfeatures = ["fast"]\n',
        head='features = ["linux"]\n',
    )
    assert system.features == (
        frozenset({"linux"}),
        frozenset({"linux"}),
        frozenset({"linux", "fast"}),
    )


@pytest.mark.parametrize(
    ("value", "kb"),
    [("7", 7), ('"7 KB"', 7), ('"2MB"', 2048), ('"16 GB"', 16 << 20), ('"1 TB"', 1 << 30)],
)
def test_memory_takes_units(value, kb):
    system = systems.parse(SMALL.replace("mem = 1000", f"mem = {value}"))
    assert system.capacity[:, 1].tolist() == [kb, kb]


@pytest.mark.parametrize(
    ("value", "seconds"),
    [("90", 90), ('"0:01:30"', 90), ('"6:00:00"', 21600), ('"1-00:00:00"', 86400)],
)
def test_times_take_clock_and_days(value, seconds):
    assert parse("", head=f"default_time = {value}\n").default_time == seconds


def test_memory_counts_only_where_there_is_some():
    assert parse("").log.memory is MemoryMapping.REQUESTED
    bare = systems.parse('resources = ["core"]\n[[nodes]]\ngroup = "a"\ncount = 1\ncore = 1\n')
    assert bare.log.memory is MemoryMapping.IGNORED


def test_log_section_is_read():
    system = parse(
        """
        [[queues]]
        name = "q"
        groups = ["a"]
        users = ["ann"]
        [log]
        processors = "packed"
        memory = "ignored"
        queue_field = "partition"
        constraints = "ignore"
        [log.queues]
        "1" = "q"
        """
    )
    assert system.log.processors is ProcessorMapping.PACKED
    assert system.log.memory is MemoryMapping.IGNORED
    assert system.log.queue_field == "partition"
    assert system.log.constraints == "ignore"
    assert system.log.queues == {"1": "q"}
    assert system.queues["q"].users == ("ann",)


def test_everything_optional_has_its_neutral_value():
    system = parse("")
    assert (system.name, system.title, system.source) == ("x", "x", "not stated")
    assert system.default_time is system.default_expected_wait is None
    assert system.log.processors is None


BAD_HEADS = {
    "resourcs = 1": r"resourcs: unknown key.*Did you mean 'resources'\?",
    "name = 3": r"name: is 3, must be text in quotes",
    'name = ""': r"name: is '', must be text",
    'default_time = "6h"': r"default_time: is '6h', must be seconds.*\"6:00:00\"",
    "default_time = 0": r"default_time: is 0, must be seconds",
    "default_time = true": r"default_time: is True, must be",
    'default_time = "0:60:00"': r"default_time: is '0:60:00', must be",
    "default_expected_wait = -5": r"default_expected_wait: is -5, must be",
    "default_expected_wait = 10000000000000": r"default_expected_wait: is 1000",
    'placements = ["any"]': r"placements: unknown key",
    'features = ["a", "a"]': r"features: 'a' is listed twice",
    'features = "a"': r"features: is 'a', must be a list of texts",
    "features = [1]": r"features\[1\]: is 1, must be text in quotes",
    "topology = 3": r"topology: is 3, must be a table",
    '"two\\nlines" = 3': r"two\\nlines: unknown key",
    "queues = 3": r"queues: is 3, must be entries of the form \[\[queues\]\]",
}


@pytest.mark.parametrize("head", BAD_HEADS)
def test_bad_top_level_key_is_named(head):
    with pytest.raises(ConfigError, match=r"^x\.toml(:1)?: " + BAD_HEADS[head]):
        parse("", head=head + "\n")


BAD_TABLES = {
    "[[queues]]\nexpected_wait = 5": r"queues\[1\]\.name: is missing. It must be text",
    '[[queues]]\nname = "q"\nmaxtime = 5': r"queues\[1\]\.maxtime: .*Did you mean 'max_time'\?",
    '[[queues]]\nname = "q"\ngroups = ["b"]': r"queues\[1\]\.groups: unknown node group 'b'",
    '[[queues]]\nname = "q"\n[[queues]]\nname = "q"': r"queues\[2\]\.name: the queue 'q' is given twice",
    '[[queues]]\nname = "q"\nmax_time = 5\ndefault_time = 6': r"default_time: 6 s is more than",
    '[[queues]]\nname = "q"\nusers = "ann"': r"queues\[1\]\.users: is 'ann', must be a list",
    '[[queues]]\nname = "q"\ndefault = true\n[[queues]]\nname = "r"\ndefault = true': r"true for two queues",
    '[[queues]]\nname = "q"\nmin_nodes = 3\nmax_nodes = 2': r"max_nodes: is less than min_nodes",
    '[[queues]]\nname = "a,b"': r"queues\[1\]\.name: contains a comma",
    '[[queues]]\nname = "q"\nexclusive = 1': r"exclusive: is 1, must be true or false",
    '[[queues]]\nname = "q"\npriority_tier = -1': r"priority_tier: is -1, must be a whole number",
    '[[queues]]\nname = "q"\npreempt = "cancel"': r"one of: off, requeue, suspend, kill",
    '[[queues]]\nname = "q"\npreempt = "kill"\ngrace = -5': r"grace: is -5, must be seconds as",
    '[[queues]]\nname = "q"\ngrace = 5': r"grace: needs preempt in the same queue",
    "[topology]\nlevel_sizes = [16, 24]": r"topology\.level_sizes: switch level of 24 nodes must",
    "[topology]\nlevel_sizes = 16": r"topology\.level_sizes: is 16, must be a list of whole",
    "[topology]\nlevels = [16]": r"topology\.levels: .*Did you mean 'level_sizes'\?",
    "[topology]\nsides = [2, 2]": r"topology\.sides: sides 2 x 2 are 4 nodes, there are 2",
    "[topology]\ngroup_size = 2": r"topology\.group_size: needs router_size",
    "[topology]\nblock_size = 2\nsides = [1, 2]": r"topology\.sides: block_size describes a topology, too",
    "[topology]\nswitches = [2]": r"topology\.switches\[1\]: is 2, must be a list of whole",
    "[topology]\nswitches = [[1]]": r"topology\.switches: the groups of level 0 hold 1 nodes",
    "[topology]\nblock_size = 0": r"topology\.block_size: is 0, must be a whole number from 1",
    "[topology]\nrouter_size = 2": r"topology\.group_size: is missing. It must be a whole number",
    '[log]\nprocessors = "packet"': r"log\.processors: .*one of: pool, whole-nodes, packed",
    '[log]\nmemory = "all"': r"log\.memory: is 'all', must be one of: requested, ignored",
    '[log]\nqueue_field = "user"': r"log\.queue_field: .*one of: queue, partition",
    '[log]\nconstraints = "no"': r"log\.constraints: .*one of: honour, ignore",
    "[log]\nprocessor = 3": r"log\.processor: .*Did you mean 'processors'\?",
    '[log.queues]\n"1" = "q"': r"log\.queues\.1: unknown queue 'q'. Known: none",
    '[[queues]]\nname = "q"\n[log.queues]\na = 3': r"log\.queues\.a: is 3, must be text",
    '[[nodes]]\ngroup = "b"\ncore = 1': r"nodes\[2\]: give either count = 32 or ids = \"1-32\"",
    '[[nodes]]\ngroup = "b"\ncore = 1\ncount = 1\nids = "3"': r"nodes\[2\]: give either",
    '[[nodes]]\ngrp = "b"\ncount = 1\ncore = 1': r"nodes\[2\]\.grp: .*Did you mean 'group'\?",
    '[[nodes]]\ngroup = "b"\ncuont = 1\ncore = 1': r"nodes\[2\]\.cuont: .*you mean 'count'\?",
    '[[queues]]\nnam = "q"': r"queues\[1\]\.nam: unknown key.*Did you mean 'name'\?",
    "[[nodes]]\ncount = 1\ncore = 1": r"nodes\[2\]\.group: is missing",
    '[[nodes]]\ngroup = "b"\ncount = 0\ncore = 1': r"nodes\[2\]\.count: is 0, must be a whole",
    '[[nodes]]\ngroup = "b"\ncount = 2000000\ncore = 1': r"nodes\[2\]\.count: is 2000000, must",
    '[[nodes]]\ngroup = "b"\ncount = 1.5\ncore = 1': r"nodes\[2\]\.count: is 1\.5, must",
    '[[nodes]]\ngroup = "b"\ncount = 1': r"nodes\[2\]\.core: is missing. Every node has",
    '[[nodes]]\ngroup = "b"\ncount = 1\ncore = true': r"nodes\[2\]\.core: is True, must be a whole",
    '[[nodes]]\ngroup = "b"\ncount = 1\ncore = -1': r"nodes\[2\]\.core: is -1, must be a whole",
    '[[nodes]]\ngroup = "b"\ncount = 1\ncore = 1\nmem = 0': r"nodes\[2\]\.mem: is 0, must be KB",
    '[[nodes]]\ngroup = "b"\ncount = 1\ncore = 1\nmem = "1.5 GB"': r"mem: is '1\.5 GB', must be",
    '[[nodes]]\ngroup = "b"\ncount = 1\ncore = 1\ngpu = 2': r"nodes\[2\]\.gpu: unknown key",
    '[[nodes]]\ngroup = "b"\nids = "4"\ncore = 1': r"ids: position 4 is beyond the 3 nodes",
    '[[nodes]]\ngroup = "b"\nids = "3,3"\ncore = 1': r"ids: position 3 is given twice",
    '[[nodes]]\ngroup = "b"\nids = "3-1"\ncore = 1': r"ids: '3-1' is not a range of positions",
    '[[nodes]]\ngroup = "b"\nids = "x"\ncore = 1': r"ids: 'x' is not a range of positions",
    '[[nodes]]\ngroup = "b"\nids = 3\ncore = 1': r"ids: is 3, must be text",
    '[[nodes]]\ngroup = "b"\ncount = 2\ncore = 1\nnames = "n"': r"names: 1 names are given for 2 nodes",
    '[[nodes]]\ngroup = "b"\ncore = 1\nnames = "n[3-1]"': r"names: 'n\[3-1\]' has '3-1' in brackets",
    '[[nodes]]\ngroup = "b"\ncore = 1\nnames = "node[2-3]"': r"nodes 2 and 3 would both be called 'node2'",
    '[[nodes]]\ngroup = "b"\ncount = 1\ncore = 1\nnames = "{0.x}"': r"names: '{0\.x}' must contain",
    '[[nodes]]\ngroup = "b"\ncount = 1\ncore = 1\nnames = "node{}"': r"nodes 1 and 3 would both be called",
}


@pytest.mark.parametrize("text", BAD_TABLES)
def test_bad_table_is_named(text):
    with pytest.raises(ConfigError, match=r"^x\.toml:\d+: .*" + BAD_TABLES[text]):
        parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"resources: is missing. It must be a list that begins with \"core\""),
        ('resources = ["gpu", "core"]', r"resources: must be a list that begins with \"core\""),
        ('resources = ["core", "count"]', r"resources: a resource cannot be called 'count'"),
        ('resources = ["core"]', r"nodes: is missing. Give at least one \[\[nodes\]\]"),
        (
            'resources = ["core", "gpu"]\n[[nodes]]\ngroup = "a"\ncount = 1\ncore = 1',
            r"resources: 'gpu' is listed, but every node has 0 of it",
        ),
        (
            'resources = ["core"]\n[[nodes]]\ngroup = "a"\ncount = 9\ncore = 9007199254740992',
            r"nodes\[1\]\.core: 81064793292668928 in all are more than",
        ),
        (
            'resources = ["core"]\n[[nodes]]\ngroup = "a"\ncount = 1\ncore = 1\n'
            '[log]\nmemory = "requested"',
            r"log\.memory: \"requested\" needs nodes with mem",
        ),
    ],
)
def test_machine_without_its_essentials_is_refused(text, message):
    with pytest.raises(ConfigError, match=message):
        systems.parse(text)


LINES = """\
# [nodes] in a comment, and ''' too
resources = ["core",
  "\u2028gpu"]
title = '''
name = "not this one"'''
name = "x"

[[nodes]]
count = 3
[[ nodes ]]
core = 4
"two words" = { count = 5 }
[nodes.extra]
note = 1
[[queues]] # all
[[queues.limits]]
user = "a"
[[queues.limits]]
user = "b"
[log]
queues."1" = "q"
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        ("resources", 2), ("title", 4), ("name", 6), ("nodes", 8), ("nodes[1]", 8),
        ("nodes[1].count", 9), ("nodes[1].core", 8), ("nodes[2]", 10), ("nodes[2].core", 11),
        ("nodes[2].two words", 12), ("nodes[2].two words.count", 12), ("nodes[2].extra.note", 14),
        ("queues[1].limits[2].user", 19), ("queues[1].limits[1].none", 16), ("log.queues.1", 21),
        ("log.memory", 20), ("topology", None), ("", None),
    ],
)  # fmt: skip
def test_the_line_of_a_key_or_of_the_table_it_is_missing_from(place, line):
    assert Source.of_toml(LINES, "x").error(place, "").line == line


def test_documented_example_is_a_machine():
    """The example of docs/reference/system-file.md."""
    text = (
        Path(__file__).resolve().parents[2] / "docs" / "reference" / "system-file.md"
    ).read_text("utf-8")
    example = text.split("```toml\n")[1].split("```")[0]
    system = systems.parse(example)
    assert system.num_nodes == 64
    assert system.node_names[0] == "node1"
    assert system.node_names[3] == "thin001"
    assert system.node_names[63] == "node64"


def test_queues_have_tiers_and_say_how_they_are_preempted():
    """And what a queue does not say is not in the file of a run, so that digests stay."""
    low = '[[queues]]\nname = "low"\npreempt = "suspend"\ngrace = "0:02:00"\n'
    system = parse(low + '[[queues]]\nname = "high"\npriority_tier = 3\n')
    first, second = system.queues.values()
    assert (first.priority_tier, first.preempt, first.grace) == (0, Preempt.SUSPEND, 120)
    assert (second.priority_tier, second.preempt, second.grace) == (3, Preempt.OFF, 0)
    saved = json.loads(json.dumps(system.to_dict()))
    assert System.from_dict(saved) == system
    assert isinstance(System.from_dict(saved).queues["low"].preempt, Preempt)
    assert saved["queues"][1].keys() & {"priority_tier", "preempt", "grace"} == {"priority_tier"}


TOPOLOGIES = {
    "": Topology(2),
    "level_sizes = [2]": Topology(2, (2,)),
    "switches = [[1, 1], [2]]": Topology(2, group_sizes=((1, 1), (2,))),
    "block_size = 2": Topology(2, (2,), kind=TopologyKind.BLOCK),
    "block_sizes = [2, 4]": Topology(2, (2, 4), kind=TopologyKind.BLOCK),
    "router_size = 2\ngroup_size = 4": Topology(2, (2, 4), kind=TopologyKind.DRAGONFLY),
    "sides = [1, 2]": Topology(2, sides=(1, 2)),
}


@pytest.mark.parametrize("section", TOPOLOGIES)
def test_topology_is_as_its_section_says(section):
    system = parse("[topology]\n" + section)
    assert system.topology == TOPOLOGIES[section]
    assert System.from_dict(json.loads(json.dumps(system.to_dict()))) == system
    assert (system == parse("")) is (not section)


#: Digests stay what they were, or runs would no longer be found by what they ran.
DIGESTS = {
    "tree-1024": "f84245ecb4d4062b",
    "tsubame2": "9b466124be588ebd",
    "eurora": "de1b2015bf12f92c",
}


@pytest.mark.parametrize("name", DIGESTS)
def test_digest_of_a_shipped_machine_is_what_it_was(name):
    assert systems.load(name).digest()[:16] == DIGESTS[name]


def test_names_may_be_listed():
    text = """
    resources = ["core"]
    [[nodes]]
    group = "g"
    names = "g[08-09]"
    core = 2
    [[nodes]]
    group = "c"
    ids = "1,4"
    names = "login,c7"
    core = 1
    """
    assert systems.parse(text).node_names == ("login", "g08", "g09", "c7")


def test_a_node_that_is_not_there_is_answered_with_those_that_are():
    """As a short list, which is cut off where it gets long; a similar name would say little."""
    names = [f"g{number:02}" for number in range(1, 65)]
    with pytest.raises(ConfigError, match=r"unknown node 'g65'. Nodes: g\[01-64\]"):
        named_nodes("g01,g[60-70]", names)
    many = listed([f"n{number}" for number in range(0, 1000, 2)])
    assert many.startswith("n[0,2,4,6,")
    assert many.endswith("...")
    assert len(many) < 200


def test_a_file_beside_that_is_named_without_its_ending_is_proposed(tmp_path, monkeypatch):
    """``--system mine`` where mine.toml is."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.toml").write_text("")
    with pytest.raises(ConfigError, match=r"unknown system 'mine'. Did you mean \./mine.toml"):
        systems.load("mine")
