"""Policies in files, and as dispatchers."""

import zipfile
from dataclasses import replace

import numpy as np
import pytest
from episodes import POOL, drawn, env_of, played, shortest_policy
from tiny import jobs, machine, run

from cpsched.engine.cluster import Cluster
from cpsched.engine.encoder import Request
from cpsched.errors import ConfigError
from cpsched.gym.features import FEATURES
from cpsched.gym.options import Options
from cpsched.gym.policy import PolicyNetwork, load, save
from cpsched.model.topology import Topology, TopologyKind
from cpsched.systems.mapping import fit
from cpsched.util.spec import build, spec_of
from cpsched.verification import verify


@pytest.mark.parametrize(
    ("decides", "dispatcher"),
    [
        ({"behind": "sjf"}, "easy:order=sjf"),
        ({"backfill": "none"}, "sjf"),
        ({"choose": "fitting", "backfill": "none"}, "greedy:order=sjf"),
    ],
)
def test_a_saved_policy_simulates_like_what_it_is(tmp_path, decides, dispatcher):
    """On a pool and on nodes of several cores."""
    workload = drawn(10)
    spec = shortest_policy(tmp_path / "agent.zip", **decides)
    fitted = fit(workload, POOL)
    expected = run(fitted, None, dispatcher).schedule.start.tolist()
    assert run(fitted, None, spec).schedule.start.tolist() == expected
    assert run(workload, machine(*[(4,)] * 4), spec).metrics["wait_mean_s"] > -1


@pytest.mark.parametrize(
    "decides",
    [
        {"behind": "smallest-area"},
        {"backfill": "none"},
        {"choose": "fitting", "backfill": "none", "wait": True},
        {"wait": True, "visible": 6},
        {"action": "rule"},
        {"action": "rule", "backfill": "none"},
    ],
)
def test_a_network_decides_in_the_simulator_as_in_its_episodes(tmp_path, decides):
    """Any network: what it is shown of a view is what it was shown of an episode."""
    rng = np.random.default_rng(11)
    options = Options(**decides)
    is_rule = options.action == "rule"
    shapes = [(len(FEATURES) * (1 + is_rule), 6), (6, options.num_actions if is_rule else 1)]
    layers = [
        (rng.normal(0, 3, shape).astype(np.float32), rng.normal(0, 1, shape[1]).astype(np.float32))
        for shape in shapes
    ]
    policy = PolicyNetwork(options, layers)
    save(tmp_path / "agent.zip", policy)
    workload = drawn(12)
    env = env_of(
        workload, visible=options.visible, **{k: v for k, v in decides.items() if k != "visible"}
    )
    starts, *_ = played(env, policy.choose)
    expected = run(workload, POOL, f"learned:file={tmp_path / 'agent.zip'}").schedule.start.tolist()
    assert starts == expected


def test_a_policy_decides_on_a_machine_in_use(tmp_path):
    """Which a live one is, too: the shortest of the jobs that wait goes first."""
    spec = shortest_policy(tmp_path / "agent.zip", behind="sjf")
    cluster = Cluster(POOL, spec)
    asked = [
        Request(units=units, resources={"core": 1}, requested_time=seconds)
        for units, seconds in ((10, 50), (9, 40), (7, 300), (6, 20))
    ]
    handles = [cluster.submit(request, 0) for request in asked]
    # The fourth is the shortest; then the second, which leaves one core.
    starts = cluster.decide(0).actions
    assert [start.handle for start in starts] == [handles[3], handles[1]]
    cluster.start(starts, 0)
    cluster.end(handles[3], 15)
    # The first starts at 40; the third would still run then, and leave it too little.
    assert not cluster.decide(15).actions


def test_a_policy_keeps_segments_together(tmp_path):
    """Its allocator does, on nodes of which the policy knows only how many there are."""
    spec = shortest_policy(tmp_path / "agent.zip")
    rng = np.random.default_rng(2)
    rows = [(5 * at, 2 * int(rng.integers(1, 6)), int(rng.integers(1, 90))) for at in range(60)]
    units = [row[1] for row in rows]
    workload = jobs(*rows, nodes_min=units, nodes_max=units, segment=[2] * 60)
    blocks = Topology(12, group_sizes=((5, 7),), kind=TopologyKind.BLOCK)
    schedule = run(workload, replace(machine(*[(1,)] * 12), topology=blocks), spec).schedule
    assert (schedule.start >= 0).all()
    assert verify(schedule) == []


def test_a_policy_survives_its_file(tmp_path):
    spec = shortest_policy(tmp_path / "agent.zip", wait=True, visible=9)
    loaded = load(tmp_path / "agent.zip")
    assert str(spec_of("dispatchers", build("dispatchers", spec))) == spec
    assert loaded.options == Options(wait=True, visible=9)
    (tmp_path / "again").mkdir()
    shortest_policy(tmp_path / "again" / "agent.zip", wait=True, visible=9)
    same = (tmp_path / "again" / "agent.zip").read_bytes()
    assert (tmp_path / "agent.zip").read_bytes() == same
    assert len(same) < 2000


def altered(path, old, new):
    """Write a policy's file again, with other words in its header."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    assert old in members["policy.json"]
    members["policy.json"] = members["policy.json"].replace(old, new, 1)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in members.items():
            archive.writestr(name, data)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (b'"format": 1', b'"format": 9', "is a policy of format 9, and this cpsched reads 1"),
        (b'"cpsched policy"', b'"a cake"', "not a policy of cpsched but 'a cake'"),
        (b'"is_job"', b'"is_cake"', "was trained on other features"),
        (b'"visible": 128', b'"visible": "x"', "is damaged"),
        (b'"behind": "fifo"', b'"behind": "cake"', "is damaged: behind is 'cake'"),
        (b'"layers": 1', b'"layers": 2', "is damaged"),
        (b'"layers": 1', b'"layers": 0', "is damaged"),
        (b'"kind"', b'"cake"', "is not a policy of cpsched, or is damaged"),
    ],
)
def test_files_that_are_no_policies_of_ours_are_refused(tmp_path, old, new, message):
    path = tmp_path / "agent.zip"
    spec = shortest_policy(path)
    altered(path, old, new)
    with pytest.raises(ConfigError, match=message) as error:
        build("dispatchers", spec)
    assert "\n" not in str(error.value)
    assert "agent.zip" in str(error.value)


def test_a_command_runs_a_policy_and_says_what_is_wrong_with_it(cpsched, four_cores):
    shortest_policy(four_cores / "agent.zip")
    rows = (1, 0, 50, 3, 60), (2, 5, 70, 2, 80), (3, 6, 9, 1, 10)
    line = "{0} {1} -1 {2} {3} -1 -1 {3} {4} -1 1 1 1 1 1 1 -1 -1\n"
    (four_cores / "log.swf").write_text("".join(line.format(*row) for row in rows))
    command = ("simulate", "log.swf", "--system", "four.toml")
    code, _, err = cpsched(*command, "-d", "learned:file=agent.zip", "--out", "run")
    assert code == 0, err
    (four_cores / "text.zip").write_text("no archive")
    for file, message in (
        ("no.zip", "no such policy file"),
        ("text.zip", "is not a policy"),
        (".", "is a folder"),
    ):
        code, _, err = cpsched(*command, "-d", f"learned:file={file}", "--out", "other")
        assert code != 0
        assert message in err
        assert len(err.splitlines()) == 1
