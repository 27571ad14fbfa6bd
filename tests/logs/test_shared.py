"""The real logs beside a developer's checkout: as many jobs as their README counts."""

import pytest

from cpsched import logs

#: Rows of each log, and what is set aside (jobs + set aside = rows).
SWF = {
    "ANL-Intrepid-2009-1": (68_936, {}),
    "CEA-Curie-2011-2.1-cln": (312_826, {"no processors": 19}),
    "CTC-SP2-1996-3.1-cln": (77_222, {}),
    "HPC2N-2002-2.2-cln": (202_871, {}),
    "KTH-SP2-1996-2.1-cln": (28_476, {"no processors": 1}),
    "LLNL-Atlas-2006-2.1-cln": (43_778, {"no processors": 4571}),
    "RICC-2010-2": (447_794, {}),
    "SDSC-BLUE-2000-4.2-cln": (243_306, {"never ran": 10_744}),
    "cerit-wagap-2013": (17_900, {"never ran": 2}),
    "eurora-2014": (5_930, {}),
    "graham-2021-sample": (133_025, {}),
    "ub-hpc-week": (19_579, {}),
}
#: Resources, what is set aside, and jobs whose equal chunks hold more cores than they had (their
#: cores cannot be divided by their nodes, or their chunks were not equal).
EXT = {
    "cerit-wagap-2013": (("core", "mem"), {"never ran": 2}, 12),
    "eurora-2014": (("core", "gpu", "mic", "mem"), {}, 0),
    "graham-2021-sample": (("core", "gpu", "mem"), {}, 15),
    "ub-hpc-week": (("core", "gpu", "mem"), {}, 0),
}

pytestmark = [pytest.mark.shared, pytest.mark.slow]


@pytest.mark.parametrize("name", SWF)
def test_a_real_swf_log_has_the_jobs_its_readme_counts(shared, name):
    rows, set_aside = SWF[name]
    workload = logs.read(shared / "traces" / f"{name}.swf.gz")
    assert workload.title == name
    assert workload.epoch is not None
    assert dict(workload.set_aside) == set_aside
    assert len(workload) + sum(set_aside.values()) == rows


@pytest.mark.parametrize("name", EXT)
def test_a_real_table_of_chunks_tells_the_same_jobs_as_its_swf(shared, name):
    resources, set_aside, rounded_up = EXT[name]
    workload = logs.read(shared / "traces" / f"{name}.ext.csv.gz")
    assert workload.resources == resources
    assert dict(workload.set_aside) == set_aside
    assert len(workload) + sum(set_aside.values()) == SWF[name][0]
    counted = logs.read(shared / "traces" / f"{name}.swf.gz")
    for column in ("job_id", "submit", "runtime", "requested_time"):
        assert (getattr(workload, column) == getattr(counted, column)).all()
    cores = workload.units * workload.request[:, 0]
    assert (cores >= counted.units).all()
    assert (cores > counted.units).sum() == rounded_up
