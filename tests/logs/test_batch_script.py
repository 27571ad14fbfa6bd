"""What a batch script asks for, by hand; and what sbatch would not read."""

import re

import pytest

from cpsched.errors import TraceError
from cpsched.logs.sacct import batch_script
from cpsched.util.types import MISSING


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
    assert labels == ["gpu,long", "chem", "high", "me", "my job"]
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
    with pytest.raises(TraceError, match="no such file"):
        batch_script.read(path, submit=0)
    path.write_text("#SBATCH -n 2\n")
    with pytest.raises(TraceError, match="must begin with #!"):
        batch_script.read(path, submit=0)


def test_options_are_read_as_those_of_a_command(tmp_path):
    """Letters together, beginnings of names, quoted words; an option without a value ends there."""
    path = script(
        tmp_path,
        "#SBATCH --consolidate-segments --segment=4 -N8 -n8",
        "#SBATCH --comment='it is mine' --exclusive --depend=afterok:7",
        "#SBATCH -HQ --part gpu --mail-type END",
        "##SBATCH --nice=7",
    )
    job = batch_script.read(path, submit=0)
    assert (job.segment[0], job.exclusive[0], job.nodes_min[0], job.nice[0]) == (4, True, 8, 0)
    assert job.queue.decode() == ["gpu"]
    assert [text for _, text in job.header] == [
        "not modelled: --consolidate-segments (placed as other jobs)",
        "not modelled: --dependency (waits for no job)",
        "not modelled: --hold (submitted without it)",
    ]


@pytest.mark.parametrize(
    ("line", "requested"),
    [
        ("-t 90", 5400),
        ("--time=1:60:15", 7260),
        ("--time=1-0", 86400),
        ("--time=1-0:30", 88200),
        ("--time=0:30", 60),
        ("--time=UNLIMITED", MISSING),
        ("--time=INFINITE", MISSING),
        ("--time=0", MISSING),
    ],
)
def test_times_are_those_of_slurm(tmp_path, line, requested):
    job = batch_script.read(script(tmp_path, f"#SBATCH {line}"), submit=0)
    assert job.requested_time[0] == requested


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("now", MISSING),
        ("now+60", 60),
        ("now+1hour", 3600),
        ("now+2d", 2 * 86400),
        ("12:00", 7200),
        ("09:30", 86400 - 1800),
        ("9:30am", 86400 - 1800),
        ("4pm", None),
        ("noon", 7200),
        ("tomorrow", 14 * 3600),
        ("2024-03-01T11:00", 3600),
        ("2024-03-01T11:00:30", 3630),
        ("2024-03-02", 14 * 3600),
        ("03/02/24", 14 * 3600),
        ("030224", 14 * 3600),
        ("now+5fortnights", None),
        ("whenever", None),
    ],
)
def test_a_begin_time_is_read_as_slurm_reads_it(tmp_path, text, seconds):
    """Submitted on 1 March 2024 at 10:00 UTC."""
    path = script(tmp_path, f'#SBATCH --begin="{text}"')
    if seconds is None:
        with pytest.raises(TraceError, match=f"--begin = '{re.escape(text)}'"):
            batch_script.read(path, submit=1_709_287_200)
    else:
        job = batch_script.read(path, submit=1_709_287_200)
        assert job.begin[0] == seconds


def test_what_a_script_alone_does_not_tell_is_noted(tmp_path):
    path = script(
        tmp_path, "#SBATCH -n 2 --gpus-per-task=1 --array=1-9%2", "#SBATCH hetjob", "#SBATCH -n 9"
    )
    job = batch_script.read(path, submit=0)
    assert job.units[0] == 2
    assert sorted(text for _, text in job.header) == [
        "not modelled: --array (one task)",
        "not modelled: --gpus-per-task (no GPUs)",
        "not modelled: components of a heterogeneous job (the first one alone)",
    ]
