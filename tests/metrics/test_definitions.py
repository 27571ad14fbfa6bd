"""Every metric is defined once: name, title, unit, direction, definition, place in a summary."""

import pytest

from cpsched.metrics.definitions import ALL, LEADING, METRICS, leading, leading_text, metric, read
from cpsched.metrics.predictions import knows_runtimes

STATISTICS = ("mean", "median", "p95", "p99", "p99.9", "max")
PLACEMENT = {
    "fragmentation": {"mean": 2.4, "std": 2.3},
    "spread": {"mean": 17.4, "std": 36.0},
    "lowest_common_switch": None,
}


def summary(**changes):
    """Return the parts of a summary that metrics need."""
    of_jobs = {"all": {**dict.fromkeys(STATISTICS, 9.0), "jobs": 4, "p99.9": 99000.5}}
    return {
        "counts": {"in_log": 9, "set_aside": {"bad line": 2, "never ran": 3}, "rejected": 0},
        "wait_s": of_jobs,
        "slowdown": of_jobs,
        "bounded_slowdown": of_jobs,
        "wait_by_size_s": {"serial": of_jobs["all"]},
        "utilization": {"core": 0.4565, "gpu": None},
        "makespan_s": 368248,
        **changes,
    }


def test_each_metric_is_described():
    """Names are unique, a definition is one line, and times end in their unit."""
    names = [known.name for known in METRICS]
    assert len(set(names)) == len(names)
    for known in METRICS:
        assert known.title
        assert known.definition
        assert "\n" not in known.definition
        assert known.section
        assert (known.unit == "s") == known.name.endswith("_s"), known.name


def test_a_metric_of_a_resource_type_has_its_name():
    assert metric("utilization_gpu").title == "utilization, gpu"
    assert metric("steady_utilization_gpu").title == "utilization in the steady window, gpu"
    assert metric(LEADING[-1]).title == "utilization"
    with pytest.raises(KeyError):
        metric("wait_mean")


def test_a_summary_becomes_metrics_by_group():
    """Means and deviations; a system without switches has none of their metrics."""
    values = read(summary(placement=PLACEMENT))
    assert values[ALL]["fragmentation_mean"] == 2.4
    assert values[ALL]["utilization_core"] == 0.4565
    assert values[ALL]["utilization_gpu"] is None
    assert values[ALL]["excluded"] == 5
    assert not [name for name in values[ALL] if "switch" in name]
    assert values["size", "serial"]["wait_p99.9_s"] == 99000.5
    with pytest.raises(ValueError, match="'x' is not a number"):
        read(summary(makespan_s="x"))


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("wait_mean_s", 5040.0, "1 h 24 min"),
        ("wait_mean_s", None, "-"),
        ("utilization_core", 0.5833, "58.3 %"),
        ("bounded_slowdown_mean", 12.4, "12.40"),
        ("bounded_slowdown_mean", 1234.5, "1,234"),
        ("simulated", 5000, "5,000"),
    ],
)
def test_a_value_is_shown_by_its_unit(name, value, text):
    assert metric(name).text(value) == text


def test_leading_metrics_are_one_row():
    assert leading(summary())["wait_max_s"] == 9.0
    head, row = leading_text(summary()).splitlines()
    assert "mean bounded slowdown" in head
    assert "longest wait" in head
    assert "9 s" in row


@pytest.mark.parametrize(
    ("predictor", "seen", "knows"),
    [
        ("actual", None, True),
        ("actual:factor=2", None, True),
        ("requested", None, False),
        ("user-history", None, False),
        ("gbm-log:model=a.npz", "was trained on these jobs", True),
        ("of-somebody-else", None, False),
        ("of-somebody-else", "was trained on about 3 % of these jobs", True),
    ],
)
def test_predictors_that_know_the_runtimes(predictor, seen, knows):
    """By being given or by having seen the jobs; one that is not installed counts as a forecast."""
    assert knows_runtimes({"predictor": predictor, "not_a_forecast": seen}) is knows
