"""``cpsched train`` and the files it writes: warm starts, and files that are no models."""

import hashlib
import io
import json
import zipfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pytest
from skops import io as skops_io

from cpsched import logs
from cpsched.checks.predictor_tools import sample
from cpsched.engine.cluster import Cluster
from cpsched.errors import ConfigError
from cpsched.metrics.predictions import job_sample, not_a_forecast
from cpsched.model.jobstore import JobStore
from cpsched.model.jobtable import JobTable
from cpsched.simulation.arrivals import JobStream
from cpsched.study.prediction.evaluation import evaluate
from cpsched.study.prediction.replay import starts_of
from cpsched.study.prediction.training import save, train
from cpsched.util.model_files import with_models
from cpsched.util.spec import build
from predictors import model_file
from predictors.features import FEATURES

pytestmark = pytest.mark.slow

SMALL = "trees=3,start=60,window=300"
NAMES = ("gbm-log", "gbm-quantile")


@cache
def trained(spec):
    """Return a predictor trained on the sample, and the bytes of its file."""
    fitted = sample()
    training = train(fitted, starts_of(fitted), spec)
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model"
        save(path, training, fitted, spec)
        return training.predictor, path.read_bytes()


def written(path, spec=f"gbm-log:{SMALL}"):
    """Write the file of a model trained on the sample."""
    path.write_bytes(trained(spec)[1])
    return path


@pytest.fixture
def model(tmp_path):
    """A model of ``gbm-log``."""
    return written(tmp_path / "gbm-log.model")


@pytest.mark.parametrize("name", NAMES)
def test_a_model_answers_from_the_first_job_on(name, tmp_path):
    """Warm at once; equal runs are equal; frozen it fits nothing, else it goes on fitting."""
    path = written(tmp_path / "model", f"{name}:{SMALL}")
    fitted = sample(300, seed=5)
    starts = starts_of(fitted)
    spec = f"{name}:model={path},{SMALL}"
    frozen = evaluate(fitted, starts, f"{spec},frozen=yes")
    again = evaluate(fitted, starts, f"{spec},frozen=yes")
    going_on = evaluate(fitted, starts, f"{spec},refit=0.05")
    assert frozen.stats["answered by history"] == frozen.stats["refits"] == 0
    assert np.array_equal(frozen.runtime_estimate, again.runtime_estimate)
    assert np.array_equal(frozen.runtime_bound, again.runtime_bound)
    assert (going_on.runtime_estimate != frozen.runtime_estimate).any()
    assert going_on.stats["refits"] > 0


@pytest.mark.parametrize("name", NAMES)
def test_a_model_answers_as_the_predictor_it_was_saved_of(name, tmp_path):
    """The same jobs, asked of both at the end of the log, get the same answers."""
    predictor, _ = trained(f"{name}:{SMALL}")
    path = written(tmp_path / "a.model", f"{name}:{SMALL}")
    loaded = build("predictors", f"{name}:model={path},{SMALL}")
    loaded.reset(sample(1).system, 0)
    state, other = predictor.state(), loaded.state()
    assert same(state["models"], other["models"])
    assert same(state["window"], other["window"])
    rows = state["window"]["features"]
    answers = [predictor.restored(saved["models"])(rows) for saved in (state, other)]
    assert np.array_equal(*answers)


@pytest.mark.parametrize("window", [100, 1000])
def test_a_window_of_another_size_takes_the_newest(model, window):
    """A model trained with a window of 300 is taken up by smaller and wider ones."""
    saved = model_file.read(model, "gbm-log").state["window"]
    loaded = build("predictors", f"gbm-log:model={model},start=60,window={window}")
    loaded.reset(sample(1).system, 0)
    times = loaded.state()["window"]["times"]
    assert len(times) == min(window, 300)
    # 400 jobs in a ring of 300: the oldest lies at place 100.
    newest = np.roll(saved["times"], -100, axis=0)[-window:]
    assert np.array_equal(times, newest)


def same(value, other):
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(same(value[key], other[key]) for key in value)
    return np.array_equal(
        value, other, equal_nan=isinstance(value, np.ndarray) and value.dtype.kind == "f"
    )


def test_the_header_says_what_it_was_trained_on(model):
    """Versions, features, range and the log's hash."""
    header = model_file.read(model, "gbm-log").header
    assert header["features"] == list(FEATURES)
    assert header["trained"]["workload_sha256"] == sample().workload.digest()
    assert header["trained"]["jobs"] == 400
    assert header["trained"]["last_submit"] > header["trained"]["first_submit"]
    assert {"cpsched", "python", "numpy"} <= header["versions"].keys()


def set_to(name, **changes):
    """Change some of what is no array."""

    def change(arrays):
        arrays[name] = np.array(json.dumps({**json.loads(str(arrays[name])), **changes}))

    return change


def header(**changes):
    return set_to("/header", **changes)


def plain(**changes):
    return set_to("/plain", **changes)


def without(name):
    return lambda arrays: arrays.pop(name)


def array(name, *values):
    """Have another array."""
    return lambda arrays: arrays.update({name: np.array(values)})


def narrower(arrays):
    arrays["window/features"] = arrays["window/features"][:, 1:]


class Bomb:
    def __reduce__(self):
        return (pytest.fail, ("the model ran",))


class Fuse:
    def __init__(self):
        self.burns = True

    def __setstate__(self, state):
        pytest.fail("the model ran")


def foreign(arrays):
    """Have trees of another type."""
    arrays["models/skops"] = np.frombuffer(skops_io.dumps([Fuse()]), dtype=np.uint8)


def refuse(path, message, predictor="gbm-log"):
    with pytest.raises(ConfigError, match=message) as caught:
        build("predictors", f"{predictor}:model={path}").reset(sample(1).system, 0)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (header(format=2), "model of format 2, this cpsched reads 3. Train it again."),
        (header(format=4), "model of format 4, this cpsched reads 3. Train it again."),
        (header(kind="other"), "not a model of cpsched but 'other'"),
        (header(predictor="other"), "a model of 'other', not of 'gbm-log'"),
        (header(features=["age"]), "trained on other features"),
        (without("/header"), "header"),
        (without("/plain"), "plain"),
        (without("window/times"), "times"),
        (without("models/columns"), "columns"),
        (without("models/skops"), "skops"),
        (array("models/columns", 55), "its trees use features beyond 55"),
        (array("models/skops", 0), "trees are damaged"),
        (foreign, r"gbm-log\.model: does not fit .* holds the type '.*Fuse', which no model has"),
        (narrower, "window holds features of shape"),
        (array("bound", np.nan, 0.0), "its bounds are not finite"),
        (array("bound", 0.0, np.inf), "its bounds are not finite"),
        (array("bound/x", 0.0), "damaged|does not fit"),
        (array("window/times", Bomb()), "allow_pickle=False"),
        (plain(**{"features/drift": 10**400}), "damaged|does not fit"),
        (plain(ready="yes", **{"models/columns": 10**400}), "damaged|does not fit"),
        (plain(jobs="[" * 5000 + "]" * 5000), "damaged|does not fit"),
    ],
)
def test_what_is_no_model_is_refused(model, change, message):
    """A newer format, a part that is missing, values that no model has, a pickle: nothing runs."""
    with np.load(model, allow_pickle=False) as file:
        arrays = {name: file[name] for name in file.files}
    change(arrays)
    with model.open("wb") as file:
        np.savez(file, **arrays)
    refuse(model, message)


def test_damaged_files_are_refused(model, tmp_path, monkeypatch):
    """Cut short, a byte flipped, empty, no archive, not there, huge."""
    content_of_file = model.read_bytes()
    for content in (
        content_of_file[: len(content_of_file) // 2],
        b"",
        b"hello",
        content_of_file[:-30],
    ):
        model.write_bytes(content)
        refuse(model, "not a model of cpsched, or is damaged")
    with zipfile.ZipFile(io.BytesIO(content_of_file)) as archive:
        inside = archive.getinfo("window/features.npy").header_offset + 500
    model.write_bytes(
        content_of_file[:inside]
        + bytes([content_of_file[inside] ^ 0xFF])
        + content_of_file[inside + 1 :]
    )
    refuse(model, "damaged")
    refuse(tmp_path / "nothing", "no such model file")
    refuse(tmp_path, "is a folder, not a model file")
    # Before anything of it is read.
    monkeypatch.setattr(model_file, "_MAX_BYTES", 1000)
    model.write_bytes(content_of_file)
    refuse(model, "at most 1,000 are expected")


@pytest.mark.parametrize(
    ("epoch", "expected"),
    [
        # A day and a second after 1970 began.
        (86_400, "1970-01-02T00:00:01+00:00"),
        (None, "1"),
        (10**30, "1"),
    ],
)
def test_a_model_says_what_it_was_trained_on(epoch, expected):
    """The log and its hash, the number of jobs, and the first and last submit."""
    trained_on = {
        "workload": "a log", "workload_sha256": "ab", "jobs": 7, "first_submit": 1,
        "last_submit": 1, "epoch": epoch,
    }  # fmt: skip
    model = model_file.ModelFile("m", "cd", {"trained": trained_on}, {})
    assert model.provenance() == {
        "model": "m", "model_sha256": "cd", "trained_on": "a log", "trained_on_sha256": "ab",
        "trained_jobs": "7", "trained_from": expected, "trained_to": expected,
    }  # fmt: skip


def test_train_and_use_it_as_somebody_types_it(tmp_path, cpsched):
    """Train, evaluate with the model, refuse to write over it."""
    log, path = str(tmp_path / "log.csv"), str(tmp_path / "model")
    logs.write(sample(250).workload, Path(log))
    train_it = ("train", log, "-p", f"gbm-log:{SMALL}", "--out", path)
    status, printed, _ = cpsched(*train_it)
    assert status == 0
    *_, model, last = printed.splitlines()
    assert model == f"Model: {path} (use it with --predictor {path})"
    second = int(logs.read(log).submit[-1])
    assert last == (
        f"Last submit of the training jobs: {second}. Simulate later jobs with --from {second + 1}"
    )
    status, printed, _ = cpsched(
        "evaluate", log, "-p", f"gbm-log:model={path},frozen=yes", "--json"
    )
    [entry] = json.loads(printed)["predictors"]
    assert entry["stats"]["answered by history"] == 0
    digest, provenance = hashlib.sha256(Path(path).read_bytes()).hexdigest(), entry["provenance"]
    assert (provenance["model"], provenance["model_sha256"]) == (path, digest)
    assert provenance["trained_jobs"] == "250"
    status, answer, _ = cpsched(*train_it, "--force", "--json")
    trained = json.loads(answer)
    assert (status, trained["schema"], trained["model"]) == (0, "cpsched.train/1", path)
    assert [entry["predictor"] for entry in trained["predictors"]] == ["gbm-log"]
    # By its file alone; and it has seen these jobs.
    as_trained = f"gbm-log:model={path},start=60,trees=3,window=300"
    for more in (("-p", "last"), ("--first", "200")):
        status, printed, _ = cpsched("evaluate", log, "-p", path, *more)
        assert f"Not a forecast: {as_trained} was trained on these jobs" in printed
    simulated = ("simulate", log, "--system", "hpc2n", "-p", path, "-p", "user-history")
    status, printed, _ = cpsched(*simulated, "--first", "200", "--all-tables")
    assert status == 0
    assert "Not a forecast on log:" in printed
    assert "was trained on these jobs" in " ".join(printed.split())
    assert "Predictions of user-history for easy" in printed
    assert "answered by the model" in printed
    frozen = ("train", log, "-p", f"gbm-log:model={path},frozen=yes", "--out", f"{path}2")
    for arguments, message in (
        (train_it, "the file exists"),
        (frozen, "a frozen model learns nothing"),
        (("evaluate", log, "-p", log), "is not a model of cpsched"),
    ):
        status, _, complaint = cpsched(*arguments)
        assert status != 0
        assert message in complaint


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["-p", "user-history"], "'user-history' has no model to train"),
        (["-p", "gbm-log"], "250 jobs are too few for a model"),
        (["-p", "gbm-log", "-d", "easy"], "needs a system to simulate on"),
        (["-p", "gbm-lag"], "Did you mean 'gbm-log'"),
    ],
)
def test_what_cannot_be_trained_is_named(tmp_path, cpsched, arguments, message):
    """One line, and no file."""
    log, path = tmp_path / "log.csv", tmp_path / "model"
    logs.write(sample(250).workload, log)
    status, _, complaint = cpsched("train", str(log), "--out", str(path), *arguments)
    assert status != 0
    assert message in complaint
    assert complaint.count("\n") == 1
    assert list(tmp_path.iterdir()) == [log]


def test_a_name_is_a_name_though_a_file_is_called_so(tmp_path, monkeypatch):
    """And a path is one that no predictor is called."""
    monkeypatch.chdir(tmp_path)
    for name in ("last", "weekly"):
        written(tmp_path / name)
    given = ["last", "last:keep=1", "weekly", "nothing"]
    assert with_models(given) == [
        "last",
        "last:keep=1",
        "gbm-log:model=weekly,start=60,trees=3,window=300",
        "nothing",
    ]
    for mark in ":,":
        with pytest.raises(ConfigError, match=r"name: gbm-log:model=weekly,frozen=yes"):
            with_models(f"weekly{mark}frozen=yes")
    (tmp_path / "weekly").rename(tmp_path / "a,b")
    assert with_models("a,b") == 'gbm-log:model="a,b",start=60,trees=3,window=300'


def test_a_model_is_used_with_the_options_it_was_trained_with(tmp_path):
    """How names are cut decides what a model has learnt; it is compared."""
    system, path = sample(1).system, written(tmp_path / "model", f"gbm-log:prefix=3,{SMALL}")
    with pytest.raises(ConfigError, match="was trained with prefix=3, but is used with pre"):
        build("predictors", f"gbm-log:model={path},{SMALL}").reset(system, 0)
    build("predictors", with_models(str(path))).reset(system, 0)


def test_hours_of_a_model_are_hours_of_day_in_another_log(tmp_path):
    """Two days and five hours later by the clock is that in the features, also when saved again."""
    fitted, path = sample(), tmp_path / "model"
    at = 1_000_000_000
    first = replace(fitted, workload=replace(fitted.workload, epoch=at))
    spec = f"gbm-log:{SMALL}"
    save(str(path), train(first, starts_of(first), spec), first, spec)
    later = replace(fitted, workload=replace(fitted.workload, epoch=at + 53 * 3600))
    again = f"gbm-log:model={path},{SMALL}"
    training = train(later, starts_of(later), again)
    hour, weekday = FEATURES.index("hour"), FEATURES.index("weekday")
    [job] = training.predictor._features.read(_first_job(fitted))
    weeks = 10 * 7 * 24 * 3600
    row = training.predictor._features.row(job, weeks)
    assert (row[hour], row[weekday]) == (5, 2)
    save(f"{path}2", training, later, again)
    read = model_file.read(Path(f"{path}2"), "gbm-log")
    assert (read.hours_from, read.trained["epoch"]) == (at, at + 53 * 3600)
    # Both lessons are remembered.
    for log in (first, later):
        assert not_a_forecast(read.provenance(), log.workload) == "was trained on these jobs"
    # So that whoever embeds it is answered as in a simulation.
    for given, hours in ((None, 0), (at + 53 * 3600, 5)):
        embedded = Cluster(fitted.system, predictor=again, epoch=given).predictor
        assert embedded._features.row(job, weeks)[hour] == hours
    # Of logs without a date nothing is known.
    unknown = build("predictors", again)
    unknown.reset(fitted.system, 0)
    assert unknown._features.row(job, weeks)[hour] == 0


@pytest.mark.parametrize(
    ("change", "note"),
    [
        (lambda log: log.select(first=300), "was trained on these jobs"),
        (lambda log: _later(log.select(first=300)), "was trained on these jobs"),
        (lambda log: replace(log.select(first=300), title="x"), "was trained on these jobs"),
        (lambda log: log.select(first=50), "was trained on these jobs"),
        (lambda log: log.take(np.arange(400, 500)), None),
        # Of the last 200 jobs half, of which a sample is compared.
        (lambda log: log.take(np.arange(300, 500)), "was trained on about 53 % of these jobs"),
    ],
)
def test_a_model_is_known_by_the_jobs_it_was_trained_on(model, change, note):
    """Whatever their title, and whenever they were submitted."""
    trained = sample(500)
    remark = not_a_forecast(
        model_file.read(model, "gbm-log").provenance(), change(trained.workload)
    )
    assert remark == note


def _later(log):
    """Return jobs that are submitted a second later."""
    return log.with_columns(submit=log.submit + 1, recorded_start=log.recorded_start + 1)


def test_other_jobs_of_the_same_numbers_are_not_these():
    """Logs number their jobs from 1 and have users of the same names."""
    first, second = sample(seed=1).workload, sample(seed=2).workload
    provenance = {
        "trained_on": "one",
        "trained_jobs": "400",
        "trained_jobs_sample": job_sample(first),
    }
    assert not_a_forecast(provenance, second) is None
    assert not_a_forecast({"trained_on": "one"}, first) is None


def _first_job(fitted):
    arrivals, store = JobStream(fitted), JobStore(fitted.system.resources)
    arrivals.enter(store, 0, 1)
    return JobTable(store, np.zeros(1, dtype=np.int64))


def test_a_file_called_like_a_predictor_is_named_by_its_path(tmp_path, monkeypatch, cpsched):
    """What is printed is what works, with a comma too."""
    monkeypatch.chdir(tmp_path)
    logs.write(sample(250).workload, Path("log.csv"))
    for name, use in (("gbm-log", "./gbm-log"), ("a,b.model", "a,b.model")):
        arguments = ("train", "log.csv", "-p", "gbm-log:start=50,trees=3", "--out", name)
        status, printed, _ = cpsched(*arguments)
        line = f"Model: {name} (use it with --predictor {use})"
        assert (status, printed.splitlines()[-2]) == (0, line)
