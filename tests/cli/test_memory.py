"""Commands that run out of memory: one line, and the runs that fit are made."""

import errno
import os
import subprocess
import sys

import pytest
from small_studies import swf

from cpsched.util.memory import is_out_of_memory

#: Reads a log in a process that may take hardly more memory than it has.
READ = """\
import resource
import cpsched._core, cpsched.logs.swf, numpy, pyarrow
from cpsched.cli.main import main
pages = int(open("/proc/self/statm").read().split()[0])
limit = pages * resource.getpagesize() + (8 << 20)
resource.setrlimit(resource.RLIMIT_AS, (limit, limit))
main(["log", "info", "log.swf"])
"""


@pytest.mark.slow
def test_a_log_is_too_large(four_cores):
    """It used to end in a traceback."""
    (four_cores / "log.swf").write_text(swf(300_000))
    path = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    process = subprocess.run([sys.executable, "-c", READ], env=path, capture_output=True, text=True)
    assert (process.returncode, process.stdout) == (1, "")
    assert process.stderr.startswith("error: out of memory. ")
    assert process.stderr.count("\n") == 1


def test_a_run_is_too_large(four_cores, cpsched, monkeypatch):
    """It fails, and the others are made."""
    from cpsched.study import worker

    simulate = worker.simulate

    def limited(*arguments, dispatcher, **options):
        if dispatcher == "easy":
            raise MemoryError("std::bad_alloc")
        return simulate(*arguments, dispatcher=dispatcher, **options)

    monkeypatch.setattr(worker, "simulate", limited)
    (four_cores / "log.swf").write_text(swf(20))
    words = ("compare", "log.swf", "--system", "four.toml", "--out", "out", "--no-report")
    code, out, err = cpsched(*words, "-d", "easy", "-d", "fifo")
    assert code == 1
    assert "2 runs: 1 simulated, 0 reused, 1 failed" in out
    assert " failed: out of memory (" in err
    assert err.count("\n") == 1


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (MemoryError(), True),
        (OSError(errno.ENOMEM, "Cannot allocate memory"), True),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (ImportError("libarrow.so: failed to map segment from shared object"), True),
        (ImportError("No module named 'x'"), False),
        (ValueError(), False),
    ],
)
def test_errors_of_memory(error, expected):
    assert is_out_of_memory(error) is expected
