"""``cpsched check``: a line for each check of a class, and an exit code."""

import json
import sys
from pathlib import Path

import pytest

from cpsched.checks import look_ahead
from cpsched.checks.of_class import check_class, remedy
from cpsched.util import registry
from cpsched.util.spec import groups_of

pytestmark = pytest.mark.slow

LEAKY = Path(__file__).parents[1] / "study" / "bench" / "leaky"
OWN = '''\
import sys
import numpy as np
from cpsched import Prediction, RuntimePredictor, read_log
from cpsched import Allocator, Priority
from cpsched.cp.cp_pool import CpPool
from cpsched.cp.pool import Limit
from cpsched.dispatch.rules import Fifo


class Smallest(Priority):
    """The smallest area first."""

    name = "smallest"
    static = True

    def __init__(self, power: float = 1.0) -> None:
        self.power = power

    def keys(self, jobs, now):
        return ((jobs.units * jobs.runtime_estimate) ** self.power,)


class NotANumber(Priority):
    """Divides nothing by nothing."""

    name = "not-a-number"

    def keys(self, jobs, now):
        return (jobs.submit * np.nan,)


class ReadsTheLog(RuntimePredictor):
    """The runtimes in the file that the command simulates."""

    name = "reads-the-log"

    def predict(self, jobs, now):
        log = [word for word in sys.argv if word.endswith("log.parquet")]
        known = read_log(log[0]).runtime[jobs.rows] if log else jobs.requested_time
        return Prediction.point(np.maximum(known, 1))


class Raises(Fifo):
    """Fails in every decision."""

    def choose(self, view):
        raise KeyError("no queue")


class FourTasks(CpPool):
    """Has a limit on all tasks that is smaller than some jobs."""

    def own_limits(self, view, jobs):
        return [Limit(jobs.units, view.running.units, 4, "tasks")]


class Plain:
    """Derived from nothing."""
'''


@pytest.fixture(autouse=True)
def one_position(monkeypatch):
    """Change the future once, which takes half of the time."""
    monkeypatch.setattr(look_ahead, "POSITIONS", (0.8,))


@pytest.fixture
def own(tmp_path, monkeypatch):
    (tmp_path / "own_check.py").write_text(OWN)
    monkeypatch.delitem(sys.modules, "own_check", raising=False)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.syspath_prepend(LEAKY)


def failed_of(text):
    return {result.check: result for result in check_class(text) if result.problem}


def test_a_dispatcher_that_keeps_its_contract(own, cpsched):
    code, out, err = cpsched("check", "leaky:Honest")
    assert (code, err) == (0, "")
    lines = out.splitlines()
    assert lines[-1] == "8 checks passed."
    assert lines[-2] == "passed  dispatcher: does not look ahead"
    assert all(line.startswith("passed  dispatcher: ") for line in lines[:-1])


def test_who_reads_the_log_looks_ahead(own, cpsched):
    """In-process checks cannot see it: no file holds their log."""
    code, out, err = cpsched("check", "leaky:ReadsTheLog")
    assert code == 1
    assert err == "error: leaky:ReadsTheLog: 1 of 8 checks failed\n"
    [failed] = [line for line in out.splitlines() if not line.startswith("passed")]
    assert failed.startswith("failed  dispatcher: does not look ahead: with other jobs after")
    assert "To pass: use the arguments of its methods alone" in failed


def test_a_predictor_is_shown_to_the_look_ahead_test_too(own):
    assert set(failed_of("own_check:ReadsTheLog")) == {"does_not_look_ahead"}


def test_a_priority_is_checked_as_that_of_easy(own, cpsched):
    code, out, _ = cpsched("check", "own_check:Smallest:power=0.5", "--json")
    assert code == 0
    content = json.loads(out)
    assert (content["schema"], content["failed"]) == ("cpsched.check/1", 0)
    assert {check["kind"] for check in content["checks"]} == {"priority"}
    assert all(check["passed"] for check in content["checks"])
    problem = failed_of("own_check:NotANumber")["schedules_are_valid"].problem
    assert "own_check:NotANumber.keys" in problem


def test_a_name_of_several_groups_is_checked_in_each():
    """Results come as the checks are made: those of the dispatcher are first."""
    among = ["dispatchers", "priorities", "allocators", "predictors"]
    assert groups_of("fifo", among) == ["dispatchers", "priorities"]
    assert groups_of("best-fit", among) == ["allocators"]
    assert next(check_class("best-fit")).kind == "allocator"


def test_what_a_class_raises_is_one_line_with_its_place(own, tmp_path):
    failed = failed_of("own_check:Raises")
    assert "answers_in_kind" in failed
    for result in failed.values():
        assert f"KeyError: 'no queue' ({tmp_path / 'own_check.py'}, line " in result.problem


def test_an_error_that_says_what_to_do_has_no_other_advice(own, cpsched):
    """A job of the sample asks for more than the limit, which no other advice mends."""
    code, out, _ = cpsched("check", "own_check:FourTasks")
    assert code == 1
    (line,) = [line for line in out.splitlines() if "schedules are valid" in line]
    assert line.startswith("failed  dispatcher: schedules are valid: tasks: the job submitted at ")
    assert line.endswith(" and would wait forever. Exclude such jobs, or raise the limit.")


@pytest.mark.parametrize("kind", ["dispatcher", "predictor"])
def test_every_check_says_what_to_do(kind):
    assert all(remedy(check).endswith(".") for check in registry.load("checks", kind))


def test_what_cannot_be_checked_is_an_error(own, cpsched):
    for name, message in (
        (
            "own_check:Plain",
            "is not a dispatcher, priority, allocator or predictor. Derive it from",
        ),
        ("own_check:Smallest:depth=3", "has no option '"),
        ("own_check:Gone", "has no 'Gone'"),
        ("actual", "reads all runtimes (needs_truth), so it looks ahead by design"),
        ("essy", "unknown dispatcher, priority, allocator or predictor 'essy'. Did you mean"),
    ):
        code, out, err = cpsched("check", name)
        assert (code, out) == (2, ""), name
        assert message in err
        assert len(err.splitlines()) == 1
