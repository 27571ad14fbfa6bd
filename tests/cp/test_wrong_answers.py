"""A solver that answers 'infeasible' where a list plan is a solution: counted, and said."""

from dataclasses import replace

import pytest
from small_studies import swf

from cpsched.cp import cpsat
from cpsched.report.decisions import solver_notes

pytestmark = pytest.mark.slow

SIMULATE = ("simulate", "log.swf", "--system", "four.toml", "-d", "cp-pool", "--json")


@pytest.fixture
def wrong(four_cores, monkeypatch):
    (four_cores / "log.swf").write_text(swf(40))
    real = cpsat.solve

    def solve(*given):
        solved = real(*given)
        return replace(solved, status=cpsat.SolverStatus.INFEASIBLE, values=(), objective=0.0)

    monkeypatch.setattr(cpsat, "solve", solve)


def test_a_wrong_answer_is_counted_under_its_own_name(wrong, cpsched):
    """It used to be one of those without a solution before the limit."""
    import json

    _, out, _ = cpsched(*SIMULATE)
    (run,) = json.loads(out)["runs"]
    counts = run["decisions"]
    assert counts["wrongly_infeasible"] == counts["solver_calls"] > 0
    assert counts["no_solution"] == counts["limit_hits"] == 0


@pytest.mark.parametrize("command", ["simulate", "compare"])
def test_it_is_printed(wrong, cpsched, command):
    rest = ("--out", "out", "--no-report") if command == "compare" else ()
    code, out, _ = cpsched(command, *SIMULATE[1:-1], "-d", "fifo", *rest)
    assert code == 0
    text = " ".join(out.split())
    assert text.count("Wrong solver answers: in ") == 1
    assert "of cp-pool the solver reported no solution, although the list plan is one" in text


def test_right_answers_are_not_mentioned(four_cores, cpsched):
    (four_cores / "log.swf").write_text(swf(40))
    _, out, _ = cpsched(*SIMULATE)
    assert "wrongly_infeasible" not in out
    counts = {"solver_calls": 3, "no_solution": 1}
    assert not list(solver_notes([("cp-pool", counts)]))
