"""The settings that a search may change."""

import numpy as np
import pytest
from tiny import jobs, machine

from cpsched import load_system
from cpsched.errors import ConfigError
from cpsched.model.system import Queue
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.policy_edit import QUEUE_CHANGES
from cpsched.slurm.dispatch.values import WEIGHTS
from cpsched.study.changes import changed_system
from cpsched.study.scenarios import scenario
from cpsched.systems.mapping import fit
from cpsched.tuning.dispatcher_settings import dispatcher_of, dispatcher_space
from cpsched.tuning.settings import Cost, Setting, Space, digest_of
from cpsched.tuning.slurm_settings import slurm_space
from cpsched.util import resources
from cpsched.util.types import MISSING

SPACE = Space.of(
    [
        Setting(key="bf_window", values=("720", "1440"), current="1440"),
        Setting(key="bf_interval", values=("30", "60"), current="30"),
        Setting(key="qos.a.MaxJobsPU", values=("2", "4"), current="2", cost=Cost.USERS),
        Setting(key="fixed", values=("1",), current="1"),
    ]
)
BARE = """
[[partition]]
PartitionName = "p"
"""


@pytest.fixture(scope="module")
def site():
    return policy_file.load(resources.path("policies", "site-152.toml")), load_system("site-152")


def test_a_setting_of_one_value_is_not_searched():
    assert list(SPACE.settings) == ["bf_window", "bf_interval", "qos.a.MaxJobsPU"]
    assert SPACE.size == 8


def test_the_changed_part_of_a_choice_is_what_differs_from_the_site():
    choice = {"bf_window": "720", "bf_interval": "30", "qos.a.MaxJobsPU": "4"}
    assert SPACE.changed(choice) == {"bf_window": "720", "qos.a.MaxJobsPU": "4"}
    assert digest_of(choice) == digest_of(dict(reversed(choice.items())))
    assert digest_of(choice) != digest_of({**choice, "bf_interval": "60"})


def test_limits_of_users_are_searched_only_if_allowed():
    assert list(SPACE.selected((), ()).settings) == ["bf_window", "bf_interval"]
    assert list(SPACE.selected(["qos.*"], ()).settings) == ["qos.a.MaxJobsPU"]
    assert list(SPACE.selected((), ["bf_w*"]).settings) == ["bf_interval"]


@pytest.mark.parametrize(
    ("allow", "forbid", "message"),
    [
        (["bf_windw"], [], "--allow: no setting is called 'bf_windw'.*mean 'bf_window'"),
        ([], ["x*"], "--forbid: no setting is called 'x\\*'"),
        ([], ["bf_*"], "--allow: no setting is left"),
    ],
)
def test_patterns_that_select_nothing_are_errors(allow, forbid, message):
    with pytest.raises(ConfigError, match=message):
        SPACE.selected(allow, forbid)


def test_a_file_has_the_values_and_the_sites_own_is_added(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text('[settings]\nbf_window = [100, 200]\n"qos.a.MaxJobsPU" = [8]\n')
    space = SPACE.from_file(path)
    assert {key: item.values for key, item in space.settings.items()} == {
        "bf_window": ("100", "200", "1440"),
        "qos.a.MaxJobsPU": ("2", "8"),
    }


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[settings]\nbf_windw = [1]", "bf_windw: unknown setting.*mean 'bf_window'"),
        ("[settings]\nbf_window = 5", "bf_window: must be a list of 1 to 50 values"),
        ("[settings]\nbf_window = [[1]]", "must be a text or a number"),
        ("bf_window = [1]", "must have one table"),
        ("[settings", "is not TOML"),
    ],
)
def test_a_file_that_is_wrong_is_named(tmp_path, text, message):
    path = tmp_path / "space.toml"
    path.write_text(text)
    with pytest.raises(ConfigError, match=message) as caught:
        SPACE.from_file(path)
    assert str(path) in str(caught.value)


def test_the_settings_of_a_site_include_its_own_values(site):
    space = slurm_space(*site)
    weight = space.settings["PriorityWeightAge"]
    assert weight.current == "2000"
    assert weight.values == ("0", "100", "1000", "2000", "10000", "100000")
    assert space.settings["PriorityMaxAge"].current == "7-00:00:00"
    assert space.settings["qos.high.MaxJobsPU"].values == ("15", "30", "60", "")
    assert space.settings["qos.high.MaxJobsPU"].cost is Cost.USERS
    assert space.settings["max-time short"].cost is Cost.SCRIPTS
    assert all(item.current in item.values for item in space.settings.values())


def test_factors_without_a_meaning_on_a_site_are_left_out():
    space = slurm_space(policy_file.parse(BARE), load_system("kth-sp2"))
    keys = set(space.settings)
    assert {"PriorityWeightAge", "PriorityWeightJobSize", "bf_window"} <= keys
    assert not keys & {
        "PriorityWeightFairshare",
        "PriorityDecayHalfLife",
        "PriorityWeightQOS",
        "PriorityWeightPartition",
    }


def test_tiers_of_several_partitions_are_searched_if_users_may_notice(site):
    policy, system = site
    tier = slurm_space(policy, system).settings["priority-tier short"]
    assert (tier.values, tier.current, tier.cost) == (("1", "2", "3"), "2", Cost.USERS)
    alone = machine((1,), queues=[Queue(name="p")])
    assert not any("tier" in key for key in slurm_space(policy, alone).settings)


def test_a_system_without_tiers_has_them_above_slurms_default():
    """All its tiers are 0 and stand for 1, so that a change to 1 would be none in Slurm."""
    policy = policy_file.parse(BARE)
    for tiers, values in (((0, 0), ("0", "2", "3")), ((0, 7), ("0", "1", "2", "3"))):
        queues = [Queue(name=f"q{at}", priority_tier=tier) for at, tier in enumerate(tiers)]
        space = slurm_space(policy, machine((1,), queues=queues))
        assert space.settings["priority-tier q0"].values == values


@pytest.mark.parametrize(
    ("kind", "searched"), [("none", True), ("qos", True), ("partition_prio", False)]
)
def test_tiers_do_not_turn_on_preemption(kind, searched):
    policy = policy_file.parse(f'[slurm]\nPreemptType = "preempt/{kind}"\n')
    system = machine((1,), queues=[Queue(name="p"), Queue(name="q")])
    assert ("priority-tier p" in slurm_space(policy, system).settings) == searched


def test_default_times_are_searched_where_jobs_ask_for_none():
    """Such jobs are first in b, and in c, which has no default; others ask for a time."""
    policy = policy_file.parse(BARE)
    queues = [
        Queue(name="a", default_time=600, max_time=7200),
        Queue(name="b", default_time=300, max_time=400),
        Queue(name="c", max_time=7200),
    ]
    system = machine((1,), queues=queues)
    workload = jobs(
        *[(0, 1, 10)] * 4, queue=["a", "b,a", "c", "b"], requested_time=[600, MISSING, MISSING, 300]
    )
    space = slurm_space(policy, system, fit(workload, system).workload)
    assert [key for key in space.settings if key.startswith("default-time")] == ["default-time b"]
    # Half of it is rounded up to whole minutes, and its double is above the limit.
    setting = space.settings["default-time b"]
    assert (setting.values, setting.cost) == (("00:03:00", "00:05:00", "00:06:40"), Cost.SCRIPTS)
    asking = workload.with_columns(requested_time=np.array([600, 300, 10, 300]))
    unused = slurm_space(policy, system, fit(asking, system).workload)
    assert not any(key.startswith("default-time") for key in unused.settings)
    late = workload.with_columns(
        submit=np.array([0, 900, 900, 1000]), requested_time=np.array([600, MISSING, 10, 300])
    )
    unused = slurm_space(policy, system, fit(late, system).workload)
    assert not any(key.startswith("default-time") for key in unused.settings)


def test_every_value_of_every_setting_is_accepted(site):
    """As the change of a what-if, by the reader of the policy or the dispatcher."""
    from cpsched.slurm.dispatch.parameters import PARAMETERS
    from cpsched.slurm.dispatch.policy_edit import edited

    policy, system = site
    workload = jobs((0, 1, 10), queue=["short"], requested_time=[MISSING])
    settings = slurm_space(policy, system, fit(workload, system).workload).settings
    assert {key.partition(" ")[0] for key in settings} >= set(QUEUE_CHANGES.values())
    for key, item in settings.items():
        for value in item.values:
            if key in PARAMETERS:
                PARAMETERS[key].kind.read(value)
            elif key.partition(" ")[0] in QUEUE_CHANGES.values():
                assert changed_system(system, scenario(f"{key}={value}").changes)
            else:
                edited(policy, [f"{key}={value}"])


def test_zeros_and_unlimited_amounts_stay():
    limits = 'Name = "gpu"\nMaxTRESPU = "cpu=100,gres/gpu=0"\nMaxJobsPU = "UNLIMITED"\n'
    policy = policy_file.parse(f"{BARE}\n[[qos]]\n{limits}MaxTRES = 'cpu=8'\n")
    space = slurm_space(policy, load_system("kth-sp2"))
    limit = space.settings["qos.gpu.MaxTRESPU"]
    assert limit.current == "cpu=100,gres/gpu=0"
    assert limit.values == ("cpu=50,gres/gpu=0", limit.current, "cpu=200,gres/gpu=0", "")
    assert limit.cost is Cost.USERS
    assert space.settings["qos.gpu.MaxTRES"].cost is Cost.SCRIPTS
    assert "qos.gpu.MaxJobsPU" not in space.settings


def test_settings_that_the_policy_does_not_use_are_left_out():
    kinds = 'PriorityType = "priority/basic"\nSchedulerType = "sched/builtin"\n'
    space = slurm_space(policy_file.parse(f"[slurm]\n{kinds}"), load_system("kth-sp2"))
    assert list(space.settings) == ["default_queue_depth"]


def test_a_setting_without_the_one_it_needs_is_left_out():
    space = dispatcher_space()
    with pytest.raises(ConfigError, match=r"order\.aging has no effect without order=wsept"):
        space.selected(("order.aging",), ())
    assert "depth" not in space.selected((), ("dispatcher",)).settings
    assert space.selected((), ("dispatcher",)).changed({"backfill": "sjf"}) == {"backfill": "sjf"}


def test_parts_of_a_priority_count_only_with_its_weight():
    text = '[slurm]\nPriorityType = "priority/multifactor"\nPriorityWeightAge = 10\n'
    space = slurm_space(policy_file.parse(text), load_system("kth-sp2"))
    age, size = {"PriorityMaxAge": "1-00:00:00"}, {"PriorityFavorSmall": "yes"}
    assert space.changed({**age, **size}) == age
    assert space.changed({**age, "PriorityWeightAge": "0"}) == {"PriorityWeightAge": "0"}
    assert space.changed(both := {**size, "PriorityWeightJobSize": "100"}) == both


@pytest.mark.parametrize(("kind", "is_searched"), [("preempt/none", False), ("preempt/qos", True)])
def test_priorities_of_qos_order_preemption_without_a_weight(kind, is_searched):
    qos = '[[qos]]\nName = "a"\n[[qos]]\nName = "b"\n'
    text = f'[slurm]\nPriorityType = "priority/multifactor"\nPreemptType = "{kind}"\n{qos}'
    space = slurm_space(policy_file.parse(text), load_system("kth-sp2"))
    assert bool(space.changed({"qos.a.Priority": "1000"})) == is_searched


def test_weights_of_resources_are_scaled_together_or_taken_away():
    text = '[slurm]\nPriorityType = "priority/multifactor"\nPriorityWeightTRES = "CPU=100,Mem=1G"\n'
    policy = policy_file.parse(text)
    item = slurm_space(policy, load_system("kth-sp2")).settings["PriorityWeightTRES"]
    assert item.current == "cpu=100.0,mem=1.0G"
    assert item.values == ("", "cpu=10.0,mem=0.1G", "cpu=100.0,mem=1.0G", "cpu=1000.0,mem=10.0G")
    assert [WEIGHTS.shown(WEIGHTS.read(value)) for value in item.values] == list(item.values)


def test_values_of_a_file_are_in_order(tmp_path):
    path = tmp_path / "space.toml"
    path.write_text("[settings]\nbf_window = [10080, 200]\n")
    assert SPACE.from_file(path).settings["bf_window"].values == ("200", "1440", "10080")


def test_options_of_an_order_count_only_with_it():
    space = dispatcher_space()
    assert space.changed({"order": "sjf", "order.aging": "86400"}) == {"order": "sjf"}
    choice = space.changed({"order": "wsept", "order.aging": "86400", "backfill": "none"})
    assert dispatcher_of(choice) == "easy:order=wsept,order.aging=86400"


def test_a_dispatcher_has_its_own_options():
    space = dispatcher_space()
    every = {"dispatcher": "conservative", "order": "sjf", "backfill": "sjf", "depth": "5"}
    assert dispatcher_of(space.changed(every)) == "conservative:depth=5,order=sjf"
    assert dispatcher_of(space.changed({"dispatcher": "conservative"})) == "conservative:depth=20"
    assert space.changed({"depth": "5"}) == {}


def test_every_value_of_a_dispatchers_options_is_accepted():
    for key, item in (space := dispatcher_space()).settings.items():
        for value in item.values:
            needed = dict([item.needs]) if item.needs else {}
            assert dispatcher_of(space.changed({**needed, key: value}))
