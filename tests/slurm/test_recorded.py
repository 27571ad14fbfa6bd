"""The cluster of a recording: its files and what its controller shows give one machine."""

from dataclasses import replace

import numpy as np
import pytest

from cpsched import logs
from cpsched.simulation.simulate import simulate
from cpsched.slurm.config.importer import Files, read_site


@pytest.fixture
def folder(data):
    return data / "slurm" / "22.05.8" / "fair-tree"


@pytest.fixture
def by_files(folder):
    files = Files(
        conf=folder / "slurm.conf", assoc=folder / "assoc-tree.txt", qos=folder / "qos.txt"
    )
    return read_site(files, "one")


@pytest.fixture
def by_scontrol(folder):
    shown = tuple(folder / f"{what}.txt" for what in ("config", "nodes", "partitions"))
    files = Files(scontrol=shown, assoc=folder / "assoc-parents.txt", qos=folder / "qos.txt")
    return read_site(files, "one")


def test_the_machine_is_that_of_the_files(by_files):
    system = by_files.system
    assert system.resources == ("core", "mem", "gpu")
    assert system.capacity.sum(axis=0).tolist() == [
        *(32 * 16, (16 * 64_000 + 16 * 128_000) * 1024, 8 * 4)
    ]
    assert sorted(set(system.node_groups)) == ["c-1", "c-2", "c-3", "g"]
    assert system.weights.tolist() == [10] * 16 + [20] * 8 + [100] * 8
    assert system.queues["long"].groups == ("c-2", "c-3")
    assert by_files.gaps == []


def test_scontrol_shows_the_same_machine_parameters_and_accounts(by_files, by_scontrol):
    of_files, of_scontrol = by_files.system, by_scontrol.system
    assert np.array_equal(of_files.capacity, of_scontrol.capacity)
    assert (of_files.node_names, of_files.features) == (
        of_scontrol.node_names,
        of_scontrol.features,
    )
    assert of_files.queues == of_scontrol.queues
    # Those of slurm.conf are the same; the controller shows the defaults, too.
    of_files, of_scontrol = by_files.policy, by_scontrol.policy
    differ = {
        name: (of_files[name], of_scontrol[name])
        for name in of_files.parameters
        if of_files[name] != of_scontrol[name] and name != "SelectTypeParameters"
    }
    assert differ == {}
    assert (of_files.partitions, of_files.qos) == (of_scontrol.partitions, of_scontrol.qos)
    # The table with ParentName was taken without most limits.
    of_files, of_scontrol = by_files.policy.associations, by_scontrol.policy.associations
    assert [replace(a, limits={}) for a in of_files] == [replace(a, limits={}) for a in of_scontrol]
    assert {a.account: a.parent for a in of_files if not a.user} == {
        "root": "", "bio": "root", "genomics": "bio", "physics": "root", "astro": "physics",
        "particle": "physics",
    }  # fmt: skip


def test_accounting_names_nothing_that_is_missing(folder, by_files):
    """The queue asked for nothing that is not followed, but for how tasks lie on nodes."""
    from cpsched.slurm.config.unmodelled import count, of_jobs

    touched = count(folder / "sacct.txt.gz", by_files.gaps, of_jobs(by_files.cluster))
    assert touched.total.jobs == 448
    assert touched.bad == 0
    assert [(gap.name, gap.jobs) for gap in touched.gaps] == [("--ntasks-per-node", 124)]


def waits(folder, out, **files):
    """Return recorded and simulated waits, from the files of a site and its accounting alone."""
    site = read_site(Files(conf=folder / "slurm.conf", **files), "site")
    site.write(out, overwrite=False)
    log = logs.read(folder / "sacct.txt.gz")
    run = simulate(log, site.system, dispatcher=f"slurm:policy={out / 'site.policy.toml'}")
    return log.recorded_start - log.submit, run.schedule.start - log.submit


@pytest.mark.parametrize(
    ("name", "jobs", "wait", "bias"),
    [("esp", 228, 3498, 0.05), ("esp_gpu", 458, 5556, 0.05), ("mixed", 370, 750, 0.2)],
)
def test_waits_are_those_under_slurm(data, tmp_path, name, jobs, wait, bias):
    """
    Half the jobs wait as long as they did, but for less than a twentieth of the mean wait.

    The mean of ``mixed`` is held loosely: who waits hours there turns on seconds, and a start that
    differs changes what comes after it.
    """
    folder = data / "slurm" / "22.05.8" / name
    given = {"assoc": folder / "assoc-tree.txt", "qos": folder / "qos.txt"}
    files = {key: path for key, path in given.items() if path.exists()}
    recorded, simulated = waits(folder, tmp_path, **files)
    assert len(recorded) == jobs
    assert recorded.mean() == pytest.approx(wait, abs=1)
    assert np.median(abs(simulated - recorded)) < 0.05 * recorded.mean()
    assert simulated.mean() == pytest.approx(recorded.mean(), rel=bias)
