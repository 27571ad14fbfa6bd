"""What is said of a log before it is simulated under a policy."""

import pytest
from tiny import jobs, machine

from cpsched.model.system import Preempt, Queue
from cpsched.slurm.config.policy_remarks import remarks
from cpsched.slurm.dispatch import policy_file

SITE = """
[[qos]]
Name = "normal"

[[association]]
Account = "root"

[[association]]
Account = "bio"
Parent = "root"

[[association]]
Account = "bio"
User = "ann"
"""
SYSTEM = machine((1,), queues=[Queue(name="short"), Queue(name="long")])
PREEMPTS = {"PreemptType": "preempt/qos", "PreemptMode": frozenset({"REQUEUE"})}


def warnings(policy=None, **columns):
    known = {"user": ["ann"] * 2, "group": ["bio"] * 2, "qos": ["normal"] * 2} | columns
    site = policy_file.parse(SITE).with_parameters(policy or {})
    return remarks(site, SYSTEM, jobs((0, 1, 5), (0, 1, 5), **known))


@pytest.mark.parametrize(
    ("columns", "words"),
    [
        ({"user": ["ann", "bob"]}, "users with their accounts (bob)"),
        ({"group": ["bio", "chem"]}, "users with their accounts (ann)"),
        ({"qos": ["gold", "iron"]}, "QOS (gold, iron)"),
        ({"partition": ["short,gpu", "gpu"]}, "partitions (gpu)"),
    ],
)
def test_what_the_files_do_not_have_is_counted_in_one_line(columns, words):
    assert warnings() == warnings(partition=["short", "short,long"]) == []
    (line,) = warnings(**columns)
    assert words in line


def test_whether_jobs_can_be_preempted_is_said():
    (line,) = warnings(PREEMPTS)
    assert line.startswith("No job is preempted")
    assert warnings(PREEMPTS, restartable=[True, False]) == []
    assert warnings(PREEMPTS | {"PreemptMode": frozenset({"CANCEL"})}) == []
    # A partition may have another mode than the cluster.
    tiers = policy_file.parse('[slurm]\nPreemptType = "preempt/partition_prio"')
    own = machine((1,), queues=[Queue(name="low", preempt=Preempt.REQUEUE)])
    assert len(remarks(tiers, own, jobs((0, 1, 5)))) == 1
    assert remarks(tiers, SYSTEM, jobs((0, 1, 5))) == []
