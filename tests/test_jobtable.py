"""Tables that calling code builds itself: what they hold, and what they refuse."""

from __future__ import annotations

import numpy as np
import pytest

from cpsched.errors import ConfigError
from cpsched.model.jobtable import JobTable

TWO = {
    "resources": ("core", "mem"),
    "handle": [7, 3],
    "submit": [0, 5],
    "requested_time": [60, 30],
    "units": [2, 1],
    "request": [(1, 0), (1, 4)],
}


def test_what_is_left_out():
    """Predictions are the requested time, bounds are none, optional columns say so."""
    table = JobTable.build(**TWO, strings={"user": ["ann", ""]})
    assert (
        table.runtime_estimate.tolist()
        == table.ranking_estimate.tolist()
        == table.runtime_bound.tolist()
        == [60, 30]
    )
    assert table.nodes_min.tolist() == [1, 1]
    assert table.expected_wait.tolist() == [-1, -1]
    assert table.strings("user") == ["ann", None]
    assert table.per_node.tolist() == [[0, 0], [0, 0]]


def test_rows_cannot_be_changed():
    """They used to be writable, and the kernels were compiled a second time for that."""
    table = JobTable.build(**TWO)
    with pytest.raises(ValueError, match="read-only"):
        table.rows[0] = 1


def test_what_kernels_read_cannot_be_changed():
    """Neither the store's columns nor its requests, through no array that leads to them."""
    table = JobTable.build(**TWO, per_node=[(0, 1), (0, 0)])
    store = table.store
    for array in (store.columns, store.shapes, store.columns[:, 0], store.columns[table.rows[0]]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    assert table.units.tolist() == [2, 1]


def test_columns_are_copies():
    """Writing into one, or into what the table was built from, changes nothing in the table."""
    given = {name: np.array(values) for name, values in TWO.items() if name != "resources"}
    table = JobTable.build(resources=TWO["resources"], **given)
    for array in (
        *given.values(),
        table.units,
        table.request,
        table.runtime_estimate,
        table.eligible_class,
    ):
        array[...] = 9
    for name, values in given.items():
        assert getattr(table, name).tolist() == np.array(TWO[name]).tolist()
        assert (values == 9).all()
    assert table.runtime_estimate.tolist() == [60, 30]
    assert table.eligible_class.tolist() == [0, 0]


def test_a_part_of_a_table_reads_the_same_store():
    """By positions or by a mask, in the order asked for; jobs of it are those of the whole."""
    table = JobTable.build(**TWO, strings={"name": ["a", "b"]})
    for part in (table.take(np.array([1])), table.take(np.array([False, True]))):
        assert part.store is table.store
        assert (part.handle.tolist(), part.strings("name")) == ([3], ["b"])
        assert part[0].requested_time == table[1].requested_time == 30
    assert table.take(np.array([1, 0])).submit.tolist() == [5, 0]
    assert [job.units for job in table] == [2, 1]


def test_no_jobs_at_all():
    """Also as empty lists, which numpy takes for floating point."""
    empty = {name: [] for name in ("handle", "submit", "requested_time", "units", "request")}
    assert len(JobTable.build(resources=("core",), **empty)) == 0


@pytest.mark.parametrize(
    ("column", "values", "message"),
    [
        ("units", [2, 0], "JobTable.build: units: 0 for job 1 of the table, must be at least 1"),
        ("units", [2], r"units: shape \(1,\), must be \(2,\): one row a job"),
        ("units", [2.0, 1.0], "units: float64 values, must be integers"),
        (
            "units",
            np.array([2**63, 1], dtype=np.uint64),
            "units: 9223372036854775808 is too large for int64",
        ),
        ("handle", [7, 7], "handle: 7 for job 1 of the table, must be another for each job"),
        ("request", [(1, 0), (1, -4)], "request: -4 for job 1 of the table, must be at least 0"),
        ("request", [(1,), (1,)], r"request: shape \(2, 1\), must be \(2, 2\)"),
        ("per_node", [(0, 0)], r"per_node: shape \(1, 2\), must be \(2, 2\)"),
        (
            "runtime_estimate",
            [1, -1],
            "runtime_estimate: -1 for job 1 of the table, must be at least 0",
        ),
        ("nodes_min", [0, 1], "nodes_min: 0 for job 0 of the table, must be at least 1"),
        ("nodes_max", [1, 0], "nodes_max: 0 for job 1 of the table, must be nodes_min or more"),
        ("exclusive", [0, 2], "exclusive: 2 for job 1 of the table, must be 0 or 1"),
        (
            "eligable_class",
            [0, 0],
            "eligable_class: no such column; there are: attempts, contiguous",
        ),
        ("strings", {"user": ["ann"]}, "user: 1 strings for 2 jobs"),
        ("strings", {"account": ["a", "b"]}, "account: no such strings; there are: group, name"),
    ],
)
def test_what_no_job_can_have_is_refused(column, values, message):
    """In one line that names the column and, where it is one, the job."""
    with pytest.raises(ConfigError, match=message) as caught:
        JobTable.build(**{**TWO, column: values})
    assert "\n" not in str(caught.value)
