"""What a batch script asks for, by hand; and what sbatch would not read."""

import pytest

from cpsched.errors import TraceError
from slurm_adapter.sacct import batch_script


def script(tmp_path, *lines):
    """Write a script with these lines for sbatch."""
    path = tmp_path / "job.sh"
    path.write_text("\n".join(["#!/bin/sh", *lines, "srun ./x", "#SBATCH --time=1"]))
    return path


def test_a_script_asks_as_a_log_tells(tmp_path):
    """Two nodes with eight tasks of two cores each, 4 GB and two GPUs on each, two hours."""
    path = script(
        tmp_path,
        '#SBATCH -J "my job"   # its name',
        "#SBATCH --nodes=2 --ntasks-per-node 8 -c 2",
        "# a comment",
        "#SBATCH -t 2:00:00 --mem=4G",
        "",
        "#SBATCH -p gpu,long --account=chem --gres=gpu:2 --qos high --nice=5",
    )
    job = batch_script.read(path, submit=1000, user="me")
    assert job.resources == ("core", "gpu", "mem")
    assert (job.units[0], job.request.tolist()) == (32, [[1, 0, 0]])
    assert job.per_node.tolist() == [[0, 2, 4 * 2**20]]
    assert (job.nodes_min[0], job.nodes_max[0], job.requested_time[0]) == (2, 2, 7200)
    labels = [getattr(job, name).decode()[0] for name in ("queue", "group", "qos", "user", "name")]
    assert labels == ["gpu,long", "chem", "high", "me", "my_job"]
    assert job.nice[0] == 5


def test_a_number_of_minutes_and_memory_in_megabytes(tmp_path):
    """As sbatch reads them."""
    path = script(tmp_path, "#SBATCH -n 3 -t 90 --mem-per-cpu=500")
    job = batch_script.read(path, submit=0)
    assert job.requested_time[0] == 5400
    assert job.request.tolist() == [[1, 500 * 1024]]
    assert job.nodes_min[0] == 1


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("#SBATCH --nodes=two", "--nodes"),
        ("#SBATCH --ntasks=0", "must be at least 1"),
        ("#SBATCH --time=soon", "--time"),
        ('#SBATCH -J "open', "job.sh:2: No closing quotation"),
    ],
)
def test_a_bad_value_is_named(tmp_path, line, words):
    """With file and option."""
    with pytest.raises(TraceError, match=words):
        batch_script.read(script(tmp_path, line), submit=0)


def test_what_is_no_script(tmp_path):
    """Sbatch wants an interpreter in the first line; a file must be there."""
    path = tmp_path / "job.sh"
    with pytest.raises(TraceError, match="cannot be read"):
        batch_script.read(path, submit=0)
    path.write_text("#SBATCH -n 2\n")
    with pytest.raises(TraceError, match="must begin with #!"):
        batch_script.read(path, submit=0)
