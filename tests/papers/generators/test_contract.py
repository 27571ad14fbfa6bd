"""What holds of every generator: registered, repeatable, written whole, options checked."""

import numpy as np
import pytest

from cpsched import logs
from cpsched.errors import ConfigError
from cpsched.util import registry

#: By generator: options that make a small log.
SMALL = {
    "esp": {"size_jitter": 4},
    "esp-nodes": {"full": True},
    "eurora": {"jobs": 1000},
    "heterogeneous": {"workload": "8.5-5r"},
}


def made(name, **options):
    generator = registry.load("generators", name)
    return generator.generate(generator.options(**options))


@pytest.mark.parametrize("name", SMALL)
def test_equal_options_give_equal_workloads_and_seeds_others(name):
    digests = [made(name, **SMALL[name], seed=seed).digest() for seed in (3, 3, 4)]
    assert digests[0] == digests[1] != digests[2]


@pytest.mark.parametrize("name", SMALL)
@pytest.mark.parametrize("suffix", ["csv.gz", "parquet"])
def test_a_written_table_gives_the_workload_back(tmp_path, name, suffix):
    """With a header that says what it is and how to make it again."""
    workload = made(name, **SMALL[name])
    logs.write(workload, tmp_path / f"log.{suffix}")
    back = logs.read(tmp_path / f"log.{suffix}")
    assert back.digest() == workload.digest()
    header = dict(back.header)
    assert "generated" in header["Computer"]
    assert header["Generator"] == f"cpsched {name}, version 1"
    for key, value in SMALL[name].items():
        assert header[f"Option {key}"] == str(value)
    assert ("Option jobs" in header) == (name == "eurora")


@pytest.mark.parametrize("name", ["esp", "esp-nodes", "heterogeneous"])
def test_requested_times_follow_the_factor(name):
    workload = made(name, request_factor=1.5)
    assert np.array_equal(workload.requested_time, np.ceil(1.5 * workload.runtime))


@pytest.mark.parametrize(
    ("name", "options", "message"),
    [
        ("esp", {"gpus": -1}, "gpus: -1 is not between 0 and 1000"),
        ("esp", {"cores": 1.5}, r"cores: 1\.5 is not a whole number"),
        ("esp", {"seed": True}, "seed: True is not a whole number"),
        ("esp", {"gap": "long"}, "gap: 'long' is not a number"),
        ("esp-nodes", {"gap_deviation": float("nan")}, "gap_deviation: nan is not between"),
        ("esp-nodes", {"request_factor": 0.5}, r"request_factor: 0\.5 is not between 1\.0"),
        ("eurora", {"jobs": 1e5}, "jobs: 100000.0 is not a whole number"),
        # 1,000 jobs cannot keep the machine half busy for a year.
        ("eurora", {"jobs": 1000, "days": 365.0}, r"load: 1000 jobs in .* nearest possible is 0"),
        ("heterogeneous", {"min_time": 9, "max_time": 8}, "min_time: 9 is more than max_time, 8"),
        ("heterogeneous", {"cores_per_node": "0"}, "cores_per_node: '0' is not a list .* from 1 to 8"),
        ("heterogeneous", {"cores_per_node": "4,x"}, "cores_per_node: '4,x' is not a list"),
        ("heterogeneous", {"workload": "8.5-7"}, "unknown workload '8.5-7'. Did you mean '8.6-7'"),
        ("heterogeneous", {"workload": "8.4-7", "cores_per_node": "1"}, ".* from 2 to 12"),
    ],
)  # fmt: skip
def test_bad_options_are_refused(name, options, message):
    with pytest.raises(ConfigError, match=message):
        made(name, **options)


@pytest.mark.parametrize(
    ("arguments", "jobs"),
    [
        (("esp", "--gpus", "0"), 230),
        (("esp-nodes", "--full"), 230),
        (("heterogeneous", "--workload", "8.5-5r"), 350),
    ],
)
def test_the_command_line_writes_it(cpsched, tmp_path, arguments, jobs):
    file = tmp_path / "log.parquet"
    code, out, err = cpsched("log", "generate", *arguments, "--out", str(file))
    assert (code, err) == (0, "")
    assert f"{jobs} jobs" in out
    assert len(logs.read(file)) == jobs
