"""The guides typed in as they stand: every Python block runs, the recipes pass their checks."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from accasim_runs import needs_accasim
from tiny import jobs, machine, run

import cpsched

pytestmark = pytest.mark.slow

DOCS = Path(__file__).resolve().parents[2] / "docs" / "guides"


def _text(guide):
    return (DOCS / guide).read_text()


def _blocks(guide, language):
    return re.findall(rf"```{language}\n(.*?)```", _text(guide), re.DOTALL)


def _run(folder, *command):
    process = subprocess.run(
        [sys.executable, *command],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, "PYTHONPATH": str(folder), "TZ": "UTC", "MPLBACKEND": "Agg"},
        timeout=300,
        check=False,
    )
    assert process.returncode == 0, process.stdout + process.stderr[-3000:]
    return process.stdout


@pytest.fixture
def typed(tmp_path, monkeypatch, capsys):
    """Run code as a script in an empty folder; return what it prints."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    def run(code):
        exec(compile(code, "typed.py", "exec"), {"__name__": "__main__"})
        return capsys.readouterr().out

    yield run
    sys.modules.pop("my_package", None)


@pytest.mark.parametrize("guide", ["write-a-dispatcher.md", "write-a-predictor.md"])
def test_recipes_end_in_checks_that_pass(guide, tmp_path, typed):
    """The package and its tests, as the guide has them, in a folder of their own."""
    *code, checks = _blocks(guide, "python")
    own = [block for block in code if "\nclass " in block]
    # Of a class that comes again, the last one counts.
    (tmp_path / "my_package.py").write_text("\n\n".join(own))
    (tmp_path / "test_mine.py").write_text(checks)
    output = _run(tmp_path, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py")
    assert " passed" in output
    project = tomllib.loads(_blocks(guide, "toml")[0])["project"]
    for names in project["entry-points"].values():
        for name, target in names.items():
            module, _, attribute = target.partition(":")
            code = f"import {module}; print({module}.{attribute}.name)"
            assert typed(code).strip() == name


def test_a_dispatcher_that_orders_by_priorities_passes_the_checks(tmp_path, typed):
    """With the one that learns, and with one that does not."""
    (block,) = (b for b in _blocks("write-a-dispatcher.md", "python") if "LearningDispatcher" in b)
    (tmp_path / "my_package.py").write_text(block)
    code = "from my_package import Greedy\nfrom cpsched.checks import check_dispatcher\n"
    for priority in ("wsept", "sjf"):
        code += f"check_dispatcher(lambda: Greedy('{priority}'))\n"
    typed(code)


def test_an_order_of_ones_own_is_a_priority(tmp_path, typed):
    (block,) = (b for b in _blocks("write-a-dispatcher.md", "python") if "(Priority)" in b)
    (tmp_path / "my_package.py").write_text(block)
    for spec in ("easy", "easy:backfill=sjf", "greedy", "conservative"):
        more = f"{spec}{',' if ':' in spec else ':'}order=my_package:SmallestArea"
        typed(
            "import cpsched\nfrom cpsched.util import resources\n"
            "log = cpsched.read_log(resources.path('logs', 'eurora-sample.csv.gz')).select(first=900)\n"
            "one, other = (cpsched.simulate(log, 'eurora', dispatcher=name).schedule.start\n"
            f"              for name in ({spec!r}, {more!r}))\n"
            "assert (one != other).any()"
        )


def test_a_cap_is_checked_in_a_saved_run(tmp_path, typed):
    """The recipe prints the most cores of each user at once: the two jobs of ann overlap."""
    pytest.importorskip("pandas")
    blocks = _blocks("write-a-dispatcher.md", "python")
    (recipe,) = (block for block in blocks if "allocations.parquet" in block)
    workload = jobs((0, 2, 9), (1, 1, 9), (2, 4, 5), user=["ann", "ann", "bob"])
    cpsched.save_run(run(workload, machine((4,)), "easy"), tmp_path / "study" / "runs" / "NAME")
    assert typed(recipe).splitlines()[1:3] == ["ann    3", "bob    4"]


def test_the_first_predictor_is_good_for_one_simulation(tmp_path, typed):
    """And for no more: the guide says so."""
    (tmp_path / "my_package.py").write_text(_blocks("write-a-predictor.md", "python")[0])
    output = typed(
        "from my_package import UserMean\n"
        "from cpsched.checks.of_predictors import CHECKS\n"
        "for check in CHECKS:\n"
        "    try:\n        check(UserMean)\n"
        "    except AssertionError:\n        print(check.__name__)\n",
    )
    assert output.split() == ["check_survives_saving", "check_memory_is_bounded"]


def test_the_first_dispatcher_is_compared_with_easy(typed):
    """The guide did not say how."""
    blocks = _blocks("write-a-dispatcher.md", "python")[:2]
    assert "widest-first" in typed("\n".join(blocks))


def test_training_as_the_guide_does_it(tmp_path, typed):
    """A model file comes out, under the name that is then used."""
    (block,) = (b for b in _blocks("write-a-predictor.md", "python") if "train(" in b)
    typed(block)
    assert (tmp_path / "my.model").is_file()


def test_a_regressor_as_the_guide_makes_it_a_predictor(tmp_path, typed):
    """Two small classes, and it simulates and is scored."""
    own, use = (b for b in _blocks("write-a-predictor.md", "python") if "MyForest" in b)
    (tmp_path / "my_package.py").write_text(own)
    output = typed(use)
    # It used to be the whole arrays.
    assert "<Evaluation of my-forest: 900 jobs, mean error " in output


def test_embedding_as_the_guide_does_it(tmp_path, typed):
    """A run is simulated and saved; a job is started on nodes without a simulator."""
    program, cluster = _blocks("embed.md", "python")
    output = typed(program)
    assert "[]\n" in output
    assert "easy" in output.partition("[]\n")[2]
    assert (tmp_path / "run" / "run.json").is_file()
    assert typed(cluster).startswith("0 ['node001', 'node001', 'node002', ")


@needs_accasim
@pytest.mark.parametrize("number", [0, *range(2, len(_blocks("other-simulators.md", "python")))])
def test_what_accasims_users_are_told_to_type(number, tmp_path):
    """Each block a script of its own, with a log and a system; the second is not, see below."""
    lines = [
        f"{job} {job * 7} -1 {5 * job % 60} 3 -1 -1 3 60 -1 1 {job % 3} -1 -1 -1 -1 -1 -1\n"
        for job in range(1, 30)
    ]
    (tmp_path / "log.swf").write_text("".join(lines))
    (tmp_path / "system.json").write_text('{"groups": {"g": {"core": 2}}, "resources": {"g": 4}}')
    (tmp_path / "script.py").write_text(_blocks("other-simulators.md", "python")[number])
    _run(tmp_path, "script.py")


@needs_accasim
def test_a_schedule_of_accasim_is_compared_with_a_run(tmp_path):
    """The first block, the import, and the second block, which goes on with the same log."""
    first, second, *_ = _blocks("other-simulators.md", "python")
    (command, *_) = re.findall(r"\$ cpsched (accasim import .*)", _text("other-simulators.md"))
    (tmp_path / "first.py").write_text(first)
    _run(tmp_path, "first.py")
    _run(tmp_path, "-m", "cpsched", *command.split())
    begin = [line for line in first.splitlines() if line.startswith(("from cpsched", "log = "))]
    (tmp_path / "second.py").write_text("\n".join([*begin, second]))
    assert "easy" in _run(tmp_path, "second.py")


def test_every_public_name_is_documented():
    """What is public says what it is."""
    assert sorted(cpsched.__all__) == cpsched.__all__
    for name in cpsched.__all__:
        assert getattr(cpsched, name).__doc__, name


def test_every_public_name_is_in_the_reference():
    pages = ("python.md", "plug-ins.md")
    text = "".join((DOCS.parent / "reference" / page).read_text() for page in pages)
    assert set(re.findall(r"^\.\. auto(?:class|function|exception):: (\w+)$", text, re.M)) >= set(
        cpsched.__all__
    )
