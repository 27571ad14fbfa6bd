"""``cpsched when`` as somebody types it."""

import json

import pytest

LOG = "".join(
    f"{job} {60 * job} 0 {runtime} 2 -1 -1 2 {4 * runtime} -1 1 {job % 3} 1 1 1 1 -1 -1\n"
    for job, runtime in enumerate((4000, 3000, 5000, 2000, 4000, 900, 3000, 100), 1)
)
QUICK = ("when", "log.swf", "--system", "four.toml", "--at", "300")


@pytest.fixture
def files(four_cores):
    """A folder with a log of eight jobs of two processors each and a system, and we are there."""
    (four_cores / "log.swf").write_text(f"; UnixStartTime: 1000000000\n{LOG}")
    return four_cores


def test_all_jobs_that_wait(files, cpsched):
    code, out, err = cpsched(*QUICK, "--judged", "0")
    assert (code, err) == (0, "")
    assert out.startswith("3 jobs waiting at 300 s (2001-09-09 01:51:40)")
    # None has ended.
    assert "Bounds under easy, not probabilities" in out
    code, out, err = cpsched(*QUICK[:-1], "4300", "--judged", "0")
    assert (code, err) == (0, "")
    assert "20 scenarios under easy" in out


def test_one_job_as_json(files, cpsched):
    asked = ("--job", "5", "--by", "9000", "--scenarios", "4", "--json")
    code, out, _ = cpsched(*QUICK, *asked)
    told = json.loads(out)
    assert (code, told["bounds"], told["jobs"][0]["p50"]) == (0, True, None)
    code, out, _ = cpsched(*QUICK[:-1], "4300", *asked)
    told = json.loads(out)
    assert (code, told["schema"], told["scenarios"]) == (0, "cpsched.when/1", 4)
    assert [job["job"] for job in told["jobs"]] == ["5"]
    assert told["jobs"][0]["p10"] <= told["jobs"][0]["p50"] <= told["jobs"][0]["p90"]
    assert 0 <= told["jobs"][0]["chance"] <= 1


def test_a_script_that_is_not_submitted_yet(files, cpsched):
    (files / "job.sh").write_text("#!/bin/sh\n#SBATCH -n 1 -t 10\n")
    code, out, _ = cpsched(*QUICK, "--script", "job.sh", "--user", "1", "--judged", "0")
    assert code == 0
    assert "Job new of 1 asks for 1 unit for 10 min" in out
    code, _, err = cpsched(*QUICK, "--script", "job.sh", "--job", "5")
    assert code != 0
    assert "leave it out with --script" in err
