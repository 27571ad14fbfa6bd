"""Whether the record is reproduced, in words."""

from types import SimpleNamespace

import pytest

from cpsched.show.record import misfit, reproduced


def run(wait, recorded, over=0.0):
    use = {"mean": 1.38, "peak": 2.92, "over": over}
    return SimpleNamespace(
        figures={"wait_mean_s": wait},
        record={"recorded_wait_s": {"mean": recorded}, "recorded_use": use},
    )


@pytest.mark.parametrize(("wait", "recorded", "word"), [
    (100.0, 100.0, "close"), (100.0, 125.0, "close"), (125.0, 100.0, "close"), (0.0, 0.0, "close"),
    (126.0, 100.0, "not reproduced"), (0.0, 1.0, "not reproduced"), (9.0, 0.0, "not reproduced"),
])  # fmt: skip
def test_a_mean_wait_far_from_the_recorded_one_is_not_reproduced(wait, recorded, word):
    (line,) = reproduced(run(wait, recorded), "the baseline")
    assert line.startswith("mean wait of the baseline ")
    assert f": {word}" in line


def test_without_a_record_there_is_nothing_to_say():
    assert list(reproduced(run(None, 1.0), "x")) == list(reproduced(run(1.0, None), "x")) == []


def test_a_log_that_the_machine_cannot_have_run_is_named_first():
    first, second = reproduced(run(9.0, 1.0, over=0.2), "easy")
    assert first == misfit(run(9.0, 1.0, over=0.2))
    assert (
        "used 138 % of the machine's cores on average (292 % at the peak, above 100 % for 20 %"
        in first
    )
    assert "not reproduced" in second
    assert misfit(run(9.0, 1.0, over=0.049)) == ""
