"""Machines as one system, and each as one of its own."""

import pytest

from cpsched.errors import ConfigError
from cpsched.systems import load, parse
from many_machines.whole import Machines


def system(name, nodes=2, *, kinds='"core"', node="core = 2", more=""):
    """A system of some nodes n1, n2, ... in one group."""
    text = (
        f'resources = [{kinds}]\n[[nodes]]\ngroup = "g"\ncount = {nodes}\nnames = "n{{}}"\n{node}\n'
    )
    return parse(f"default_time = {60 * nodes}\n{text}{more}", where=f"{name}.toml", name=name)


def test_joined_machines_have_a_queue_each():
    """Nodes lie one behind the other, with all kinds of resources; names are told apart."""
    systems = {
        "a": system("a"),
        "b": system("b", 3, kinds='"core", "gpu"', node="core = 4\ngpu = 1"),
    }
    machines = Machines.joined(systems, "partition")
    whole = machines.whole
    assert whole.resources == ("core", "gpu")
    assert whole.capacity.tolist() == [[2, 0]] * 2 + [[4, 1]] * 3
    assert whole.node_names == ("a.n1", "a.n2", "b.n1", "b.n2", "b.n3")
    assert [(one.groups, one.default_time) for one in whole.queues.values()] == [
        (("a.g",), 120),
        (("b.g",), 180),
    ]
    assert (whole.log.queue_field, machines.spans) == ("partition", ((0, 2), (2, 5)))
    assert machines.alone(1).capacity.tolist() == [[4, 1]] * 3
    assert list(machines.alone(1).queues) == ["b"]


def test_nodes_whose_names_differ_keep_them():
    """As a log's constraints may name them."""
    other = parse(
        'resources = ["core"]\n[[nodes]]\ngroup = "g"\ncount = 1\nnames = "m{}"\ncore = 1\n',
        where="m.toml",
        name="m",
    )
    joined = Machines.joined({"a": system("a", 1), "b": other}, "queue")
    assert joined.whole.node_names == ("n1", "m1")


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        ([system("a"), load("tree-1024")], "system of machine b: has a topology"),
        (
            [system("a"), system("b", more='[[queues]]\nname = "short"\n')],
            r"system of machine b: has queues \(short\)",
        ),
        (
            [system("a"), system("b", more='[log]\nconstraints = "ignore"\n')],
            "system of machine b: log.constraints: is ignore, and honour for a",
        ),
    ],
)
def test_what_cannot_be_joined_is_named(systems, message):
    """Nothing of a system is silently left out."""
    with pytest.raises(ConfigError, match=message):
        Machines.joined(dict(zip("ab", systems, strict=True)), "queue")


def test_a_machine_in_two_pieces_is_refused():
    """Its jobs could need neighbours that are none on the whole."""
    text = "".join(
        f'[[nodes]]\ngroup = "{name}"\ncount = 1\nnames = "{name}{{}}"\ncore = 1\n'
        for name in "abc"
    )
    queues = '[[queues]]\nname = "x"\ngroups = ["a", "c"]\n[[queues]]\nname = "y"\ngroups = ["b"]\n'
    with pytest.raises(ConfigError, match="the nodes of queue 'x' are not neighbours"):
        Machines.of(parse(f'resources = ["core"]\n{text}{queues}', where="t.toml", name="t"))
