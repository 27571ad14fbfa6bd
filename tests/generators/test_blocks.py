"""The generator of jobs for a machine of blocks."""

from __future__ import annotations

import numpy as np
import pytest

from cpsched import systems, traces
from cpsched.errors import ConfigError
from cpsched.generators.blocks import BLOCKS, BlocksOptions
from cpsched.mapping import fit
from cpsched.model.topology import TopologyKind


@pytest.fixture(scope="module")
def workload():
    return BLOCKS.generate(BlocksOptions())


def test_every_job_fits_the_machine_it_is_for(workload):
    system = systems.load("blocks-1152")
    assert system.topology.kind is TopologyKind.BLOCK
    assert np.bincount(system.topology.level_group(0)).tolist() == [18] * 64
    assert fit(workload, system).rejected == ()


def test_parts_are_exact_and_the_load_is_met(workload):
    names = np.array(workload.name.decode())
    assert {name: int((names == name).sum()) for name in ("segments", "nodes", "shared")} == {
        "segments": 1667, "nodes": 1833, "shared": 1500,
    }  # fmt: skip
    assert ((workload.segment > 0) == (names == "segments")).all()
    held = workload.units * workload.request[:, 1] / 4 * workload.runtime
    load = held.sum() / (1152 * int(workload.submit[-1]))
    assert load == pytest.approx(0.85, rel=0.01)


def test_segments_divide_the_nodes_and_lie_in_a_block(workload):
    own = workload.segment > 0
    assert set(workload.segment[own].tolist()) == {2, 3, 4, 6, 8, 9, 12, 16, 18}
    assert (workload.units[own] % workload.segment[own] == 0).all()
    assert (workload.nodes_min == workload.units).all()
    assert (workload.nodes_max == workload.units).all()
    # All of a node, but jobs on a part of one: a core for each of its GPUs' share.
    cores, gpus = workload.request.T
    assert (cores == 36 * gpus).all()
    assert set(gpus.tolist()) == {1, 2, 4}


def test_no_run_is_longer_than_requested(workload):
    assert (workload.runtime <= workload.requested_time).all()
    assert workload.runtime.min() >= 60


def test_equal_options_give_equal_files(workload, tmp_path):
    assert BLOCKS.generate(BlocksOptions()).digest() == workload.digest()
    assert BLOCKS.generate(BlocksOptions(seed=2)).digest() != workload.digest()
    traces.write(workload, path := tmp_path / "blocks.parquet")
    assert traces.read(path).segment.tolist() == workload.segment.tolist()
    assert ("Option segments", str(1 / 3)) in workload.header


@pytest.mark.parametrize(
    "options",
    [{"blocks": 1, "block_size": 2}, {"blocks": 3, "block_size": 5, "segments": 1.0, "shared": 0.0},
     {"blocks": 9, "block_size": 72, "gpus": 1, "cores": 1}, {"segments": 0.0, "shared": 1.0}],
)  # fmt: skip
def test_jobs_fit_machines_of_other_blocks(options):
    options = BlocksOptions(jobs=200, **options)
    system = systems.parse(
        f"""
        resources = ["core", "gpu"]
        [[nodes]]
        group = "a"
        count = {options.nodes}
        core = {options.cores}
        gpu = {options.gpus}
        [topology]
        block_size = {options.block_size}
        """
    )
    assert fit(BLOCKS.generate(options), system).rejected == ()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"segments": 0.8, "shared": 0.5}, "shared: 0.8 in segments and 0.5 on part of a node"),
        ({"segments": -0.1}, "segments: -0.1 is not between"),
        ({"block_size": 1}, "block_size: 1 is not between 2"),
        ({"cores": 2}, "cores: 2 is fewer than one core for each GPU"),
        ({"jobs": 1.5}, "jobs: 1.5 is not a whole number"),
    ],
)
def test_options_that_make_no_sense(options, complaint):
    with pytest.raises(ConfigError, match=complaint):
        BlocksOptions(**options)
