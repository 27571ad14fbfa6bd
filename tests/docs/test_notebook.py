"""The notebook of the documentation runs from its first cell to its last, and is quick."""

import re
from pathlib import Path

import matplotlib as mpl
import pytest

PAGE = Path(__file__).resolve().parents[2] / "docs" / "tutorials" / "notebook.md"

pytestmark = pytest.mark.slow


def test_every_cell_runs():
    mpl.use("Agg")
    cells = re.findall(r"```\{code-cell\} python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(cells) >= 8
    names = {"__name__": "notebook"}
    for cell in cells:
        exec(compile(cell, PAGE.name, "exec"), names)
    assert repr(names["own"]).startswith("<Run widest-first on eurora: 1,000 jobs, mean wait ")
    assert "widest-first" in names["cpsched"].compare_runs([names["run"], names["own"]]).finding
