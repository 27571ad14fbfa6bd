"""What the page says of the model that a run began with."""

import pytest
from tiny import run

from cpsched.checks.predictor_tools import sample
from cpsched.report.html.reproduce import model_note
from cpsched.study import load_run, save_run
from cpsched.study.prediction.replay import starts_of
from cpsched.study.prediction.training import save as write_model
from cpsched.study.prediction.training import train

pytestmark = pytest.mark.slow


def test_a_model_is_named_with_its_hash(tmp_path):
    """And with what it was trained on; a run without one says nothing."""
    path, fitted = tmp_path / "m", sample(250)
    spec = "gbm-log:trees=3,start=60,window=300"
    write_model(path, train(fitted, starts_of(fitted), spec), fitted, spec)
    save_run(run(fitted, fitted.system, "easy", f"{spec},model={path}"), tmp_path / "r")
    description = load_run(tmp_path / "r").about
    note = model_note(description)
    assert note.startswith("# model ")
    assert description["provenance"]["model_sha256"] in note
    assert '"250" jobs of "sample"' in note
    save_run(run(fitted, fitted.system, "easy"), tmp_path / "plain")
    assert model_note(load_run(tmp_path / "plain").about) is None


def test_a_hostile_model_stays_in_its_comment():
    """A line end in a path or title does not end the comment."""
    provenance = {"model": "m\nrm -rf x", "model_sha256": "ab", "trained_on": "t\r\nrm x"}
    note = model_note({"provenance": provenance})
    assert note.isprintable()
    assert note.startswith("# ")
