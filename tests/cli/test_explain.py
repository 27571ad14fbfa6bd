"""``explain`` and the decision statistics as somebody types them."""

import json
import re
from pathlib import Path

import pytest

from cpsched.dispatch.wrapper import Wrapper
from cpsched.simulation.simulate import simulate
from cpsched.util.spec import build

pytestmark = pytest.mark.slow

#: A (2 cores, 10 s), B (4, 4 s) at 1, C (1, 6 s) at 3, D (1, 8 s) at 4; E never fits.
LOG = """\
; Computer: a tiny machine
; UnixStartTime: 1000000000
1 0 -1 10 2 -1 -1 2 10 -1 1 1 1 -1 1 -1 -1 -1
2 1 -1 4 4 -1 -1 4 4 -1 1 2 1 -1 1 -1 -1 -1
3 3 -1 6 1 -1 -1 1 6 -1 1 2 1 -1 1 -1 -1 -1
4 4 -1 8 1 -1 -1 1 8 -1 1 2 1 -1 1 -1 -1 -1
5 4 -1 9 99 -1 -1 99 9 -1 1 2 1 -1 1 -1 -1 -1
"""
GUIDE = Path(__file__).parents[2] / "docs" / "guides" / "explain-and-forecast.md"
EXPLAIN = ("explain", "log.swf", "--system", "four.toml")


@pytest.fixture
def files(four_cores):
    """A folder with a log and a system in it, and we are there."""
    (four_cores / "log.swf").write_text(LOG)
    return four_cores


@pytest.mark.parametrize("at", ["5", "2001-09-09T01:46:45", "2001-09-09 03:46:45+02:00"])
def test_explain_as_text(files, cpsched, at):
    """As the guide shows it, byte for byte. Seconds or a date, in any time zone."""
    block = GUIDE.read_text("utf-8").partition("```console\n$ cpsched ")[2].partition("```")[0]
    typed, _, explanation = block.partition("\n")
    words = typed.split()
    assert words.pop() == "5"
    code, out, err = cpsched(*words, at)
    assert (code, err) == (0, "")
    assert out == explanation


def test_explain_as_json(files, cpsched):
    code, out, _ = cpsched(*EXPLAIN, "--job", "2", "--at", "4", "-p", "actual", "--json")
    description = json.loads(out)
    assert code == 0
    assert (description["state"], description["rank"], description["predictor"]) == (
        "waiting",
        1,
        "actual",
    )
    assert description["waiting"]["reason"] == "no-room"
    assert description["waiting"]["planned"] == 10
    assert [job["job_id"] for job in description["waiting"]["waits_for"]] == ["3", "1"]


@pytest.mark.parametrize(
    ("dispatcher", "names"),
    [
        ("cph-2", {"start_1", "start_3"}),
        ("cp-2", {"start_1", "start_3", "units_1_0", "units_3_0"}),
    ],
)
def test_a_model_names_jobs(files, dispatcher, names):
    """Jobs 2 and 4 wait, with handles 1 and 3; 2 does not fit now, so programs leave it out."""
    assert set(re.findall(r'name: "(\w+_\d+)"', model_at(4, dispatcher))) == names


@pytest.mark.parametrize("dispatcher", ["cph-2", "cp-2"])
def test_the_model_of_a_decision_can_be_solved_by_others(files, dispatcher):
    """
    Read back and solved by CP-SAT itself.

    At 4 A holds two cores until 10 and C one until 9, so B can start at 10 at the earliest. D now
    and B at 12 is best: with weights 1 / 4 and 1 / 8, times 8, B's two seconds cost 4.
    """
    from ortools.sat.python import cp_model

    model, solver = cp_model.CpModel(), cp_model.CpSolver()
    # Else the next Ctrl-C, and a test of one, would end this process.
    solver.parameters.catch_sigint_signal = False
    assert model.proto.parse_text_format(model_at(4, dispatcher))
    assert solver.status_name(solver.solve(model)) == "OPTIMAL"
    assert solver.objective_value == 4


def model_at(second, dispatcher):
    """Return the text of the model of a decision, written as the documentation says."""
    from cpsched import logs, systems

    class Writes(Wrapper):
        name = "writes"

        def decide(self, view):
            if view.now == second:
                self.inner.build(view).dump("model.pb.txt")
            return self.inner.decide(view)

    simulate(
        logs.read("log.swf"),
        systems.load("four.toml"),
        dispatcher=Writes(build("dispatchers", dispatcher)),
    )
    return Path("model.pb.txt").read_text()


def test_the_same_command_gives_the_same_bytes(files, cpsched):
    """Explanations of a solver's decision too."""
    first = cpsched(*EXPLAIN, "--job", "4", "--at", "4", "-d", "cph-2")
    assert first == cpsched(*EXPLAIN, "--job", "4", "--at", "4", "-d", "cph-2")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            (*EXPLAIN, "--job", "44", "--at", "4"),
            "--job: none of the 5 jobs read has the id 44. Near",
        ),
        ((*EXPLAIN, "--job", "4", "--at", "3"), "--at: job 4 is not submitted until second 4"),
        (
            (*EXPLAIN, "--job", "4", "--at", "now"),
            "--at: 'now' is not a time. Give seconds or a date",
        ),
        ((*EXPLAIN, "--job", "4", "--at", "4", "-d", "esy"), "unknown dispatcher 'esy'"),
        ((*EXPLAIN, "--job", "4", "--at", "4", "-p", "x"), "unknown predictor 'x'"),
    ],
)
def test_bad_input_is_one_line_and_exit_code_2(files, cpsched, arguments, message):
    code, _, err = cpsched(*arguments)
    assert code == 2
    assert message in err
    assert err.startswith("error: ")
    assert err.count("\n") == 1


def test_simulate_shows_how_the_solver_was_used(files, cpsched):
    """The last table is of dispatchers with a solver, none without one."""
    code, out, _ = cpsched("simulate", "log.swf", "--system", "four.toml", "-d", "easy")
    assert code == 0
    assert "solver" not in out
    _, out, _ = cpsched(
        "simulate", "log.swf", "--system", "four.toml", "-d", "easy", "-d", "cph-2", "--all-tables"
    )
    _, _, solved = out.partition("solver")
    assert {line.split()[0] for line in solved.splitlines() if line[:3] in ("cph", "eas")} == {
        "cph-2"
    }
    assert "proven" in out
    _, out, _ = cpsched("simulate", "log.swf", "--system", "four.toml", "-d", "cph-2", "--json")
    (run,) = json.loads(out)["runs"]
    assert run["decisions"]["solver_calls"] == 1
    assert run["timing"]["decision_median_s"] <= run["timing"]["decision_max_s"]
