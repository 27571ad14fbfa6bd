"""Job tables: what they hold, and what cannot be changed."""

import numpy as np
import pytest
from jobtables import job_table

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
    table = job_table(**TWO, strings={"user": ["ann", ""]})
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


def test_what_dispatchers_read_cannot_be_changed():
    """Neither the store's columns nor its requests, through no array that leads to them."""
    table = job_table(**TWO, per_node=[(0, 1), (0, 0)])
    store = table.store
    for array in (store.columns, store.shapes, store.columns[:, 0], store.columns[table.rows[0]]):
        with pytest.raises(ValueError, match="read-only"):
            array[...] = 1
    assert table.units.tolist() == [2, 1]


def test_columns_are_copies():
    """Writing into one, or into what the table was built from, changes nothing in the table."""
    given = {name: np.array(values) for name, values in TWO.items() if name != "resources"}
    table = job_table(resources=TWO["resources"], **given)
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
    table = job_table(**TWO, strings={"name": ["a", "b"]})
    for part in (table.take(np.array([1])), table.take(np.array([False, True]))):
        assert part.store is table.store
        assert (part.handle.tolist(), part.strings("name")) == ([3], ["b"])
        assert part[0].requested_time == table[1].requested_time == 30
    assert table.take(np.array([1, 0])).submit.tolist() == [5, 0]
    assert [job.units for job in table] == [2, 1]
