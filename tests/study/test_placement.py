"""Where jobs lie, in the tables of a study."""

from __future__ import annotations

from cpsched.show.readable import _placement
from cpsched.study.results import _of_places

FOUND = {
    "packing_factor": {"mean": 1.02, "std": 0.03},
    "fragmentation": {"mean": 2.4, "std": 2.3},
    "spread": {"mean": 17.4, "std": 36.0},
    "span_nodes": {"mean": 110.7, "std": 50.0},
    "lowest_common_switch": None,
    "by_switch_level": None,
}
WHO = {
    "dispatcher": "easy", "predictor": "requested", "allocator": "best-fit", "simulated": 9,
    "repetitions": 1,
}  # fmt: skip


def test_measures_become_columns():
    """Means and deviations; a machine without switches has none of their columns."""
    found = _of_places(FOUND)
    assert found["fragmentation_mean"] == 2.4
    assert found["spread_std"] == 36.0
    assert not [name for name in found if "switch" in name]
    shares = {"0": {"jobs": 0.5, "job_time": None}}
    found = _of_places(
        {**FOUND, "lowest_common_switch": {"mean": 1.0, "std": 0.5}, "by_switch_level": shares}
    )
    assert found["lowest_common_switch_mean"] == 1.0
    assert (found["switch_level_0_jobs"], found["switch_level_0_job_time"]) == (0.5, None)


def test_a_table_for_people():
    """One table where a machine has nodes, none on pools."""
    assert _of_places({}) == {}
    assert _placement("log on pool", [dict(WHO)]) == []
    (titled,) = _placement("log on nodes", [{**WHO, **_of_places(FOUND)}])
    assert titled.title == "placement of jobs"
    assert titled.table.caption == "allocator: best-fit"
    headers = [column.header for column in titled.table.columns]
    assert "fragmentation" in headers
    assert "span nodes, deviation" in headers
