"""Figures of ``cpsched evaluate``: drawn where matplotlib is, refused in one line where it is not."""

import numpy as np
import pytest

from cpsched import traces
from predictors import plots
from predictors.check_tools import sample
from predictors.evaluation import evaluate
from predictors.replay import starts_of

pytestmark = pytest.mark.slow


@pytest.fixture
def log(tmp_path, monkeypatch):
    """A log in the folder we are in."""
    monkeypatch.chdir(tmp_path)
    traces.write(sample(120).workload, tmp_path / "log.csv")
    return "log.csv"


def test_without_matplotlib_there_is_one_line(log, tmp_path, cpsched, monkeypatch):
    """Before anything is predicted, and without a folder left behind."""
    monkeypatch.setattr("predictors.plots.find_spec", lambda name: None)
    code, out, err = cpsched("evaluate", log, "--plots", "figures")
    assert (code, out) == (2, "")
    assert err.count("\n") == 1
    assert "--plots: needs matplotlib, which is not installed" in err
    assert not (tmp_path / "figures").exists()


def test_draws_the_figure(log, tmp_path, cpsched):
    """Two files a figure; nothing is replaced unasked."""
    pytest.importorskip("matplotlib", reason="matplotlib, an extra, is not installed")
    some = ("-p", "requested", "-p", "last", "-p", "jobs-alike")
    arguments = ("evaluate", log, *some, "--plots", "figures")
    code, out, err = cpsched(*arguments)
    assert (code, err) == (0, "")
    folder = tmp_path / "figures"
    assert {path.name for path in folder.iterdir()} == set(plots.FILES)
    assert out.count(": figure") == len(plots.FILES)
    assert "requested" in (folder / "learning-curve.svg").read_text()
    # Axes have plain numbers, no formulas that are not typeset.
    assert not any("math" in path.read_text() for path in folder.glob("*.svg"))
    code, _, err = cpsched(*arguments)
    assert code == 2
    assert "the file exists; choose another name, or add --overwrite" in err
    assert cpsched(*arguments, "--overwrite", "--json")[0] == 0


def test_equal_evaluations_are_equal_files(tmp_path):
    """No dates, no random names."""
    pytest.importorskip("matplotlib", reason="matplotlib, an extra, is not installed")
    fitted = sample(60)
    found = [evaluate(fitted, starts_of(fitted), "last")]
    texts = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        texts.append([path.read_bytes() for path in plots.draw(folder, fitted, found)])
    assert texts[0] == texts[1]


def test_one_job_and_many_predictors_can_be_drawn(tmp_path):
    """More predictors than colours; no job of some lengths."""
    pytest.importorskip("matplotlib", reason="matplotlib, an extra, is not installed")
    fitted = sample(1)
    found = [evaluate(fitted, starts_of(fitted), f"last:count={n}") for n in range(1, 10)]
    assert len(plots.draw(tmp_path, fitted, found)) == len(plots.FILES)


@pytest.mark.parametrize(
    ("folder", "message"),
    [
        ("log.csv", "is a file, must be a folder"),
        ("no/where", "its folder does not exist"),
    ],
)
def test_impossible_folders_are_named(log, cpsched, monkeypatch, folder, message):
    """Before anything is predicted."""
    monkeypatch.setattr("predictors.plots.find_spec", lambda name: True)
    code, _, err = cpsched("evaluate", log, "--plots", folder)
    assert code == 2
    assert message in err
    assert err.count("\n") == 1


def test_lines_show_the_newest_tenth():
    """The mean of the last tenth of what has been seen so far, less at the beginning."""
    ends, values = plots.lately(np.arange(100.0))
    assert (ends[0], ends[-1]) == (1, 100)
    assert values[0] == 0
    assert values[-1] == np.arange(90, 100).mean()
