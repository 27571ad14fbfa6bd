"""GPUs that do not divide among the nodes of a Slurm job are allocated exactly, or counted."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cpsched import logs
from cpsched.logs.sacct.request import resource_request
from cpsched.logs.text import FilePosition


def request(cores, nodes, gpus, options=None, **row):
    """Return the shape of a job and what of it is rounded up."""
    uneven = []
    tres = f"cpu={cores},node={nodes}" + (f",gres/gpu={gpus}" if gpus else "")
    row = {"reqtres": tres, "alloctres": tres, **row}
    return resource_request(row, options or {}, FilePosition(Path("log"), 1), uneven), uneven


def total(resources, kind):
    """Return what an allocation of a shape holds of a resource type."""
    assert resources.nodes_min == resources.nodes_max
    return resources.units * resources.request.get(
        kind, 0
    ) + resources.nodes_min * resources.per_node.get(kind, 0)


def test_three_gpus_on_two_nodes_are_three():
    resources, uneven = request(12, 2, 3)
    assert (resources.units, resources.request, resources.per_node) == (
        3,
        {"core": 4, "gpu": 1},
        {},
    )
    assert (resources.nodes_min, resources.nodes_max) == (2, 2)
    assert not uneven


def test_memory_of_cores_goes_with_them():
    resources, _ = request(12, 2, 3, reqmem="1Gc")
    assert resources.request == {"core": 4, "gpu": 1, "mem": 4 * 2**20}


def test_gpus_of_a_type_go_with_them():
    tres = "cpu=6,node=2,gres/gpu=3,gres/gpu:v100=3"
    resources, uneven = request(6, 2, 3, reqtres=tres, alloctres=tres)
    assert resources.request == {"core": 2, "gpu": 1, "gpu:v100": 1}
    assert not uneven


def test_gpus_in_the_command_alone_are_exact_too():
    resources, uneven = request(6, 2, 0, options={"gpus": "3"})
    assert total(resources, "gpu") == 3
    assert not uneven


@given(
    cores=st.integers(1, 60), nodes=st.integers(1, 8), gpus=st.integers(0, 40), each=st.booleans()
)
def test_an_allocation_is_what_was_asked_for_or_is_counted(cores, nodes, gpus, each):
    nodes = min(nodes, cores)
    memory = {"reqmem": "8Mc"} if each else {}
    resources, uneven = request(cores, nodes, gpus, **memory)
    assert total(resources, "core") == cores
    assert total(resources, "gpu") >= gpus
    assert (total(resources, "gpu") == gpus) == (not uneven)
    assert total(resources, "mem") == (8192 * cores if each else 0)
    assert resources.units >= resources.nodes_min == resources.nodes_max == nodes


@pytest.mark.parametrize(("cores", "noted"), [(12, False), (4, True)])
def test_jobs_whose_gpus_are_rounded_up_are_counted(log, cores, noted):
    tres = f"cpu={cores},node=2,gres/gpu=3"
    header = "JobID|Submit|Start|ElapsedRaw|State|ReqTRES|AllocTRES|NNodes"
    row = f"|2024-01-01T00:00:00|2024-01-01T00:01:00|60|COMPLETED|{tres}|{tres}|2"
    workload = logs.read(log("a.sacct", f"{header}\n1{row}\n2{row}\n"))
    held = (
        workload.units * workload.request[:, 1] + workload.nodes_min * workload.per_node[:, 1]
    ).tolist()
    assert held == ([4, 4] if noted else [3, 3])
    notes = [text for key, text in workload.header if key == "Note"]
    expected = "jobs with GPUs or the like that do not divide among their nodes, rounded up: 2"
    assert (expected in notes) == noted
