"""The machine that is assumed for a log: from its name, its header, its record, or its load."""

import numpy as np
import pytest
from tiny import jobs

from cpsched import systems
from cpsched.study.inferred_system import infer_system
from cpsched.systems.mapping import fit
from cpsched.util.types import MISSING


def log(*rows, header=(), starts=None, layout="processors", **columns):
    start = np.full(len(rows), MISSING) if starts is None else np.array(starts)
    return jobs(*rows, layout=layout, header=header, recorded_start=start, **columns)


def made(workload):
    """Return the assumed machine, on which all jobs of the log can run."""
    inferred = infer_system(workload)
    assert not inferred.known
    system = systems.parse(inferred.system, where="machine")
    assert not fit(workload, system).rejected
    return system.total.tolist(), inferred.remarks[0]


def test_the_header_says_how_large_it_is():
    total, remark = made(log((0, 4, 9), header=[("MaxNodes", "16"), ("MaxProcs", "64 (usually)")]))
    assert (total, remark[:38]) == ([64], "64 processors, as the log's header say")


def test_or_the_most_that_was_in_use_at_once():
    """Also where the header is below what one job had."""
    rows = [(0, 3, 10), (0, 4, 10), (0, 5, 10)]
    total, remark = made(log(*rows, starts=[0, 5, 10], header=[("MaxProcs", "4")]))
    assert total == [9]
    assert remark.startswith("9 processors, the most in use at once")


def test_or_the_load():
    """Eighty core-seconds in ten seconds are four fifths of ten cores."""
    total, remark = made(log((0, 4, 10), (10, 4, 10)))
    assert total == [10]
    assert "on which the jobs would be 80 % of the system" in remark


def test_nodes_hold_the_largest_unit_of_each_kind():
    """Two units of 4 cores and a GPU, one of 8 cores: at once 16 cores, of these 8 beside GPUs."""
    workload = log(
        (0, 2, 10), (0, 1, 10), starts=[0, 0], layout="units", resources=("core", "gpu"),
        request=np.array([[4, 1], [8, 0]]),
    )  # fmt: skip
    total, remark = made(workload)
    assert total == [16, 2]
    assert (
        remark == "2 nodes with 8 core and 1 gpu, the most in use at once by the log's own starts"
    )


def test_a_known_log_runs_on_its_machine():
    workload = log((0, 2, 10)).with_columns(title="KTH-SP2-1996-2.1-cln")
    assert infer_system(workload).system == "kth-sp2"
    assert not infer_system(workload.with_columns(title="kth-sp2x")).known


@pytest.mark.shared
@pytest.mark.parametrize("name", ["ANL-Intrepid-2009-1.swf.gz", "ub-hpc-week.ext.csv.gz"])
def test_real_logs_find_a_machine(shared, name):
    from cpsched import logs

    assert infer_system(logs.read(shared / "traces" / name)).known
