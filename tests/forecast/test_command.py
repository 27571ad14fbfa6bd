"""``cpsched forecast`` as somebody types it."""

import json

import pytest
from small_studies import swf

LOG = "".join(
    f"{job} {60 * job} 0 {runtime} 2 -1 -1 2 {4 * runtime} -1 1 {job % 3} 1 1 1 1 -1 -1\n"
    for job, runtime in enumerate((4000, 3000, 5000, 2000, 4000, 900, 3000, 100), 1)
)
QUICK = ("forecast", "log.swf", "--system", "four.toml", "--at", "300")


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
    assert "Latest starts under easy" in out
    code, out, err = cpsched(*QUICK[:-1], "4300", "--judged", "0")
    assert (code, err) == (0, "")
    assert "20 scenarios under easy" in out


def test_one_job_as_json(files, cpsched):
    asked = ("--job", "5", "--deadline", "9000", "--scenarios", "4", "--json")
    code, out, _ = cpsched(*QUICK, *asked)
    answer = json.loads(out)
    assert (code, answer["bounds"], answer["jobs"][0]["p50"]) == (0, True, None)
    code, out, _ = cpsched(*QUICK[:-1], "4300", *asked)
    answer = json.loads(out)
    assert (code, answer["schema"], answer["scenarios"]) == (0, "cpsched.forecast/1", 4)
    assert [job["job"] for job in answer["jobs"]] == ["5"]
    assert answer["jobs"][0]["p10"] <= answer["jobs"][0]["p50"] <= answer["jobs"][0]["p90"]
    assert 0 <= answer["jobs"][0]["chance"] <= 1


def test_a_script_that_is_not_submitted_yet(files, cpsched):
    (files / "job.sh").write_text("#!/bin/sh\n#SBATCH -n 1 -t 10\n")
    code, out, _ = cpsched(*QUICK, "--script", "job.sh", "--user", "1", "--judged", "0")
    assert code == 0
    assert "Job new of 1: 1 task for 10 min" in out
    code, _, err = cpsched(*QUICK, "--script", "job.sh", "--job", "5")
    assert code != 0
    assert "Leave it out with --script" in err


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ((), "--at: is missing. Give --at TIME, or --evaluate to score forecasts."),
        (
            ("--evaluate", "--at", "300"),
            "--at: asks about one moment. Leave it out with --evaluate",
        ),
        (
            ("--evaluate", "--job", "5"),
            "--job: asks about one moment. Leave it out with --evaluate",
        ),
        (("--at", "300", "--samples", "90"), "--samples: applies to --evaluate. Add --evaluate."),
        (("--evaluate",), "0 of 6 forecasts can be scored, and 20 are needed"),
    ],
)
def test_what_cannot_be_asked_is_one_line(files, cpsched, asked, words):
    code, out, err = cpsched("forecast", "log.swf", "--system", "four.toml", *asked)
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert words in err


@pytest.mark.slow
def test_forecasts_are_scored_beside_trivial_ones(files, cpsched):
    """All four forecasters are judged by the same forecasts."""
    (files / "long.swf").write_text(swf(200))
    asked = ("--system", "four.toml", "--evaluate", "--samples", "70", "--scenarios", "2")
    code, out, err = cpsched("forecast", "long.swf", *asked, "--json")
    assert (code, err) == (0, "")
    scores = json.loads(out)
    assert scores["schema"] == "cpsched.forecast-evaluation/1"
    names = [forecaster["forecaster"] for forecaster in scores["forecasters"]]
    assert names == ["cpsched forecast", "recent waits", "similar jobs", "requested times"]
    assert len({forecaster["forecasts"] for forecaster in scores["forecasters"]}) == 1
    for score in ("interval_score", "crps"):
        scores_of = {
            forecaster["forecaster"]: forecaster[score] for forecaster in scores["forecasters"]
        }
        best = min(names[1:], key=lambda name: scores_of[name]["mean_s"])
        assert scores_of[best]["ratio"] == 1
        ours = scores_of["cpsched forecast"]
        assert ours["best"] == best
        assert ours["ratio"] == pytest.approx(ours["mean_s"] / scores_of[best]["mean_s"])
        assert ours["interval"][0] <= ours["ratio"] <= ours["interval"][1]


def test_without_a_terminal_a_line_is_printed_now_and_then(files, cpsched, monkeypatch):
    """Here at every step; on stderr, so that stdout is still JSON alone."""
    monkeypatch.setattr("cpsched.cli.progress._LINE", 0)
    code, out, err = cpsched(*QUICK[:-1], "4300", "--judged", "3", "--scenarios", "2", "--json")
    assert (code, json.loads(out)["schema"]) == (0, "cpsched.forecast/1")
    assert "earlier jobs: 0 of 6, " in err
    assert "scenarios: 1 of 2, " in err
