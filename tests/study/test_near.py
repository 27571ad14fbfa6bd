"""Paths in what is handed on."""

import pytest

from cpsched.study.study import as_label, near


@pytest.mark.parametrize(("text", "shown"), [
    ("/home/ann/data/logs/e.csv.gz", "logs/e.csv.gz"),
    ("slurm:policy=/home/ann/b/site.toml,x=3", "slurm:policy=b/site.toml,x=3"),
    ('slurm:policy="/home/ann/b/s,ite.toml"', 'slurm:policy="b/s,ite.toml"'),
    ("predictor /home/ann/x/m.npz", "predictor x/m.npz"),
    ("see /tmp/x y/out/runs/z and /q/w/e.toml: no", "see runs/z and w/e.toml: no"),
    *((same, same) for same in ("/a b;c.swf", "easy", "n/a", "a / b", "1/2/3", "logs/e.csv")),
])  # fmt: skip
def test_a_path_names_its_last_folder_only(text, shown):
    assert near(text) == shown
    assert as_label(f"x {text}").count("ann") == 0
