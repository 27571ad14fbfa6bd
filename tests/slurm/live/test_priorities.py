"""Forecasts follow Slurm's own priorities, and a policy that is up to date."""

import os
import time

import pytest
from fake_slurm import FakeSlurm

from cpsched import systems
from cpsched.forecast.live_queue import LiveQueue
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.live.plan import plan
from cpsched.slurm.live.policy_now import up_to_date

pytestmark = pytest.mark.slow

#: bob has used much, as far as the file knows; ada nothing.
POLICY = """\
[slurm]
PriorityType = "priority/multifactor"
PriorityWeightAge = 1000
PriorityWeightFairshare = 10000
[[association]]
Account = "root"
[[association]]
Account = "root"
User = "ada"
[[association]]
Account = "root"
User = "bob"
RawUsage = 900000.0
"""
SSHARE = """\
Account|User|RawShares|RawUsage
root||1|1000
 root|ada|1|800
 root|bob|1|200
"""
CONFIG = """\
Configuration data as of 2026-01-01T00:00:00
ClusterName             = tiny
PriorityType            = priority/multifactor
PriorityWeightAge       = 77
SelectType              = select/cons_tres
"""
NODES = "NodeName=a CPUTot=16 RealMemory=1000 State=IDLE\n"
PARTITIONS = "PartitionName=p Nodes=a Default=YES\n"


class FakeSlurmWithPriorities(FakeSlurm):
    """A Slurm that also describes itself."""

    sshare = SSHARE

    def accounts(self):
        return {"sshare": self.sshare} if self.sshare else {}

    def configuration(self):
        return {"config": CONFIG, "node": NODES, "partition": PARTITIONS}


@pytest.fixture
def policy(tmp_path):
    path = tmp_path / "site.policy.toml"
    path.write_text(POLICY)
    return path


@pytest.fixture
def slurm():
    """One node is taken; ada's job came first, but Slurm has bob's before it."""
    slurm = FakeSlurmWithPriorities(systems.load("eurora"))
    usual = {"held": False, "cpus": 16, "mem": 1024, "required": ("node001",), "account": "root"}
    slurm.submit(seconds=3600, user="ada", priority=1, **usual)
    slurm.advance(1)
    slurm.submit(user="ada", priority=5000, **usual)
    slurm.advance(60)
    slurm.submit(user="bob", priority=9000, **usual)
    slurm.advance(60)
    return slurm


def starts(slurm, dispatcher):
    answer = LiveQueue(slurm.snapshot(), slurm.system, dispatcher).when(scenarios=2)
    return {job.job: job.planned - answer.now for job in answer.jobs}


@pytest.mark.parametrize("options", ["policy={}", "PriorityType=priority/basic", ""])
def test_the_present_queue_is_in_slurms_order(slurm, policy, options):
    """Whatever the file says of shares, and also where there are no weights."""
    dispatcher = f"slurm:{options.format(policy)}".rstrip(":")
    start = starts(slurm, dispatcher)
    assert start["3"] < start["2"]
    slurm.change("2", priority=9001)
    start = starts(slurm, dispatcher)
    assert start["2"] < start["3"]


def test_priorities_of_another_magnitude_keep_their_order(slurm, policy):
    """Those of priority/basic are above 4 billion: more than a nice value can be."""
    slurm.change("2", priority=4_294_901_750)
    slurm.change("3", priority=4_294_901_755)
    start = starts(slurm, f"slurm:policy={policy}")
    assert start["3"] < start["2"]


def test_another_dispatcher_is_no_site_s_own(slurm):
    assert starts(slurm, "fifo")["2"] < starts(slurm, "fifo")["3"]


def test_a_held_job_has_the_priority_of_the_policy(slurm, policy):
    """For Slurm it has none: bob's shares are worse, and the first job is long."""
    slurm.change("3", priority=0, held=True)
    dispatcher = f"slurm:policy={policy}"
    queue = LiveQueue(slurm.snapshot(), slurm.system, dispatcher)
    assert [job.job for job in queue.when(scenarios=2).jobs] == ["2", "3"]


def test_a_plan_goes_by_them_too(slurm, policy):
    slurm.cancel("1")
    slurm.advance(2)
    slurm.change("2", required=("node001",), state="PENDING", nodes=(), placed=(), start=-1, end=-1)
    slurm.change("3", state="PENDING", nodes=(), placed=(), start=-1, end=-1)
    result = plan(slurm, slurm.system, f"slurm:policy={policy}")
    assert [job["job"] for job in result["jobs"] if job["starts_now_on"]] == ["3"]


def test_usage_is_that_of_sshare_and_the_age_of_the_file_is_said(slurm, policy):
    then = time.time() - 12 * 86400
    os.utime(policy, (then, then))
    with up_to_date(f"slurm:policy={policy},lag=2", slurm) as (dispatcher, remark):
        made = policy_file.load(dict_of(dispatcher)["policy"])
        assert dict_of(dispatcher)["lag"] == "2"
    assert {
        association.user: association.usage for association in made.associations if association.user
    } == {
        "ada": 800,
        "bob": 200,
    }
    assert remark == (
        "policy site.policy.toml, written 12 d ago, with the usage that sshare shows now"
    )


@pytest.mark.parametrize("sshare", ["", SSHARE[: SSHARE.index(" root|bob")]])
def test_usage_that_one_may_not_see_is_that_of_the_file(slurm, policy, sshare):
    slurm.sshare = sshare
    with up_to_date(f"slurm:policy={policy}", slurm) as (dispatcher, remark):
        made = policy_file.load(dict_of(dispatcher)["policy"])
    assert {
        association.user: association.usage for association in made.associations if association.user
    }["bob"] == 900000
    assert remark.endswith("written 0 s ago, its usage too")


def test_without_a_policy_it_is_that_of_the_controller(slurm):
    with up_to_date("slurm", slurm) as (dispatcher, remark):
        made = policy_file.load(dict_of(dispatcher)["policy"])
    assert made["PriorityWeightAge"] == 77
    assert remark.startswith("policy of the controller, read now")
    with up_to_date("easy", slurm) as (dispatcher, remark):
        assert (dispatcher, remark) == ("easy", "")


@pytest.mark.parametrize(
    ("times", "words"), [(1, "with accounts and QOS"), (2, "without accounts")]
)
def test_accounts_that_cannot_be_read_are_left_out(slurm, monkeypatch, times, words):
    """An association is there twice, as with two clusters: the weights are there all the same."""
    assoc = "Account|User|Share\nroot||1\n chem||1\n" + times * "  chem|ada|3\n"
    tables = {"qos": "Name|Priority\nnormal|7\n", "assoc": assoc}
    monkeypatch.setattr(FakeSlurmWithPriorities, "accounts", lambda _: tables)
    with up_to_date("slurm", slurm) as (dispatcher, remark):
        made = policy_file.load(dict_of(dispatcher)["policy"])
    assert words in remark
    assert made["PriorityWeightAge"] == 77
    assert [association.shares for association in made.associations if association.user] == (
        [3] if times == 1 else []
    )


def dict_of(dispatcher):
    from cpsched.util.spec import Spec

    return dict(Spec.parse(dispatcher).options)
