"""Every example runs and prints what its recorded output says."""

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow

FOLDER = Path(__file__).resolve().parents[2] / "examples"
#: A training prints what its seconds suffice for.
EXAMPLES = sorted(set(FOLDER.glob("*.py")) - {FOLDER / "train_ppo.py"})


@pytest.mark.parametrize("script", EXAMPLES, ids=lambda path: path.name)
def test_example_prints_its_recorded_output(script):
    """To record it again: ``python examples/NAME.py > examples/NAME.out``."""
    if "accasim" in script.name and find_spec("accasim") is None:
        pytest.skip("AccaSim is not installed: pip install 'cpsched[accasim]'")
    process = subprocess.run([sys.executable, script], capture_output=True, text=True, check=False)
    assert process.returncode == 0, process.stderr
    recorded = script.with_suffix(".out")
    assert process.stdout == recorded.read_text(), (
        f"to record: python {script.name} > {recorded.name}"
    )


def test_there_are_examples():
    assert EXAMPLES
