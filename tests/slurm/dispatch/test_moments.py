"""Why jobs wait, and who is preempted, against what a real Slurm said at the same moments."""

import sys
from collections import Counter
from importlib import import_module
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[2]
RECORDINGS = TESTS / "data" / "slurm" / "22.05.8"

pytestmark = pytest.mark.slow


@pytest.fixture
def moments(monkeypatch):
    """The benchmark that plays recordings."""
    monkeypatch.syspath_prepend(str(TESTS.parent / "benchmarks" / "slurm"))
    yield import_module("moments")
    sys.modules.pop("moments")


#: By recording: how many jobs wait at its snapshots, and how many have which other reason here.
#: Slurm names a limit only when it comes to the job, and lets a reason stand until it finds another.
OTHERWISE = {
    "fair-tree": (584, {
        ("JobArrayTaskLimit", "nodes"): 8,
        ("JobArrayTaskLimit", "starts"): 3,
        ("nodes", "Licenses"): 5,
        ("nodes", "QOSGrpCpuLimit"): 4,
        ("nodes", "starts"): 3,
    }),
    "limits": (855, {
        ("AssocGrpCpuLimit", "AssocMaxJobsLimit"): 3,
        ("AssocGrpCpuLimit", "QOSGrpJobsLimit"): 1,
        ("AssocMaxCpuPerJobLimit", "AssocGrpJobsLimit"): 1,
        ("AssocMaxJobsLimit", "AssocGrpCpuLimit"): 3,
        ("AssocMaxJobsLimit", "QOSMaxCpuPerNode"): 1,
        ("AssocMaxJobsLimit", "nodes"): 1,
        ("AssocMaxWallDurationPerJobLimit", "MaxJobsPerAccount"): 1,
        ("BeginTime", "nodes"): 1,
        ("JobArrayTaskLimit", "starts"): 1,
        ("Licenses", "QOSGrpJobsLimit"): 2,
        ("QOSMaxCpuPerJobLimit", "MaxJobsPerAccount"): 1,
        ("QOSMaxCpuPerNode", "AssocMaxJobsLimit"): 1,
        ("QOSMaxCpuPerUserLimit", "AssocMaxJobsLimit"): 2,
        ("nodes", "AssocGrpCpuLimit"): 8,
        ("nodes", "AssocGrpNodeLimit"): 3,
        ("nodes", "AssocMaxCpuPerJobLimit"): 12,
        ("nodes", "AssocMaxJobsLimit"): 3,
        ("nodes", "MaxCpuPerAccount"): 1,
        ("nodes", "QOSGrpJobsLimit"): 2,
        ("nodes", "QOSMaxCpuPerUserLimit"): 1,
        ("nodes", "QOSMinCpuNotSatisfied"): 1,
        ("nodes", "starts"): 3,
    }),
    "tiers": (844, {
        ("AssocGrpCpuLimit", "AssocGrpNodeLimit"): 8,
        ("AssocGrpNodeLimit", "QOSGrpCpuLimit"): 1,
        ("AssocMaxCpuPerJobLimit", "MaxCpuPerAccount"): 1,
        ("BadConstraints", "AssocGrpNodeLimit"): 1,
        ("BadConstraints", "QOSGrpJobsLimit"): 4,
        ("Licenses", "AssocGrpCpuLimit"): 1,
        ("Licenses", "AssocGrpJobsLimit"): 2,
        ("Licenses", "QOSGrpJobsLimit"): 4,
        ("Licenses", "nodes"): 1,
        ("MaxJobsPerAccount", "AssocGrpCpuLimit"): 1,
        ("nodes", "AssocGrpNodeLimit"): 3,
        ("nodes", "Licenses"): 1,
        ("nodes", "QOSGrpJobsLimit"): 2,
    }),
}  # fmt: skip


@pytest.mark.parametrize("name", ["fair-tree", "limits", "tiers"])
def test_jobs_wait_for_the_reasons_that_squeue_gives(moments, name):
    recording = moments.Recording.read(RECORDINGS / name)
    compared = [
        job
        for snapshot in recording.snapshots()
        for job in moments.compared(recording, snapshot, before=())
    ]
    jobs, otherwise = OTHERWISE[name]
    assert len(compared) == jobs
    assert Counter((o.theirs, o.ours) for o in compared if o.theirs != o.ours) == otherwise


@pytest.mark.parametrize(
    ("name", "expected"), [("limits", (13, 4, 20, 12, 5)), ("tiers", (21, 6, 43, 26, 7))]
)
def test_most_jobs_are_preempted_that_slurm_preempted(moments, name, expected):
    """Within a minute; a job that starts a second earlier leaves other nodes to be taken."""
    preempted = moments.preempted(moments.Recording.read(RECORDINGS / name))
    same = sum(moment.theirs == moment.ours for moment in preempted)
    sets = [
        (moment.theirs, moment.theirs & moment.ours, moment.ours - moment.theirs)
        for moment in preempted
    ]
    theirs, both, more = (sum(map(len, column)) for column in zip(*sets, strict=True))
    assert (len(preempted), same, theirs, both, more) == expected
