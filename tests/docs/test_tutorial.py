"""
The README and the tutorials can be typed in as they stand, and show what is printed.

``make tutorials`` puts what is printed now into the pages: the same lines, by their place.
"""

import gzip
import os
import re
import shlex
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from cpsched.cli.main import main

ROOT = Path(__file__).resolve().parents[2]
RECORDED = ROOT / "tests" / "data" / "slurm" / "22.05.8" / "mixed"
#: What the reader of a Slurm has.
SLURM = {file.name.replace("sacct.txt", "jobs.sacct"): file for file in RECORDED.iterdir()}
#: Each with the files its reader has.
PAGES = {
    "README.md": {**SLURM, "data": ROOT / "data"},
    "docs/tutorials/your-log.md": {},
    "docs/tutorials/your-slurm.md": SLURM,
}
#: What a test types instead: the commands behind it, on fewer jobs.
COMPARE = (
    "cpsched compare jobs.swf.gz --system ./cluster.toml -d easy -d easy:order=slowdown"
    " -d easy-wsept --repeat 3 --out study"
)
INSTEAD = {
    "make demo": "cpsched compare demo --first 30 --out demo-out --no-report",
    COMPARE: f"{COMPARE} --first 60",
}
#: Commands of the README that the Slurm tutorial has with what they print: here on a few jobs.
SHORTER = {
    "cpsched validate": ("--first", "60"),
    "cpsched what-if": ("--first", "60", "--no-report"),
    # A search needs a log of 27 days.
    "cpsched tune": ("--list-settings",),
}
#: A log and a machine of the reader's own, where a page does not make them.
LOG = "".join(f"{n} {n - 1} -1 4 1 -1 -1 1 8 -1 1 1 1 -1 1 -1 -1 -1\n" for n in range(1, 9))
MACHINE = """\
resources = ["core"]
[[nodes]]
group = "node"
count = 2
core = 2
[log]
processors = "packed"
"""
CONSOLE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
COMMAND = re.compile(r"^\$ (?:.*\\\n)*.*\n", re.MULTILINE)
#: A file the reader is told to save, with its name in the first line.
SAVED = re.compile(r"```toml\n# (\S+\.toml)\n(.*?)```", re.DOTALL)
REWRITE = "CPSCHED_REWRITE" in os.environ


def _missing(shown, printed):
    """Return the first line shown that was not printed there; ``...`` stands for any lines."""
    lines = iter(printed)
    anywhere = False
    for wanted in shown:
        if wanted == "...":
            anywhere = True
            continue
        line = next(lines, None)
        while anywhere and line is not None and line != wanted:
            line = next(lines, None)
        if line != wanted:
            return wanted
        anywhere = False
    return None


def _shown_now(shown, printed):
    """Return what is printed in place of the lines shown: after ``...`` from the likest line on."""
    now, ahead, anywhere = [], 0, False
    for line in shown:
        if line == "...":
            now.append(line)
        elif ahead < len(printed):
            if anywhere:
                ahead = max(range(ahead, len(printed)), key=lambda at: _likeness(line, printed[at]))
            now.append(printed[ahead])
            ahead += 1
        anywhere = line == "..."
    return now


def _likeness(shown, now):
    words = [re.sub(r"\d", "0", line) for line in (shown, now)]
    return SequenceMatcher(None, *words, autojunk=False).ratio()


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_what_the_page_shows_is_true(page, tmp_path, monkeypatch, capsys):
    text = (ROOT / page).read_text("utf-8")
    if page == "README.md":
        (tmp_path / "cluster.toml").write_text(MACHINE)
        (tmp_path / "jobs.swf.gz").write_bytes(gzip.compress(LOG.encode()))
    for name, file in PAGES[page].items():
        (tmp_path / name).symlink_to(file)
    for name, content in SAVED.findall(text):
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    blocks = []
    for block in CONSOLE.findall(text):
        now = ""
        commands = COMMAND.findall(block)
        for command, output in zip(commands, COMMAND.split(block)[1:], strict=True):
            typed = command.removeprefix("$ ").replace("\\\n", " ").strip()
            words = shlex.split(INSTEAD.get(typed, typed).removeprefix("cpsched "))
            if page == "README.md" and typed.startswith(tuple(SHORTER)):
                words += next(more for start, more in SHORTER.items() if typed.startswith(start))
            with pytest.raises(SystemExit) as ended:
                main(words)
            printed = capsys.readouterr()
            assert not ended.value.code, f"{command}\n{printed.err[-2000:]}"
            lines, shown = printed.out.splitlines(), output.splitlines()
            missing = _missing(shown, lines)
            assert REWRITE or missing is None, f"{command}not printed there: {missing!r}"
            if missing is not None:
                shown = _shown_now(shown, lines)
            now += command + "".join(f"{line}\n" for line in shown)
        blocks.append(now)
    assert len(blocks) >= 4
    if REWRITE:
        replaced = iter(blocks)
        (ROOT / page).write_text(CONSOLE.sub(lambda _: next(replaced), text), "utf-8")


def test_python_of_the_readme_runs(tmp_path, monkeypatch):
    (block,) = re.findall(
        r"```python\n(.*?)```", (ROOT / "README.md").read_text("utf-8"), re.DOTALL
    )
    (tmp_path / "jobs.swf.gz").write_bytes(gzip.compress(LOG.encode()))
    monkeypatch.chdir(tmp_path)
    names = {}
    exec(compile(block, "README.md", "exec"), names)
    schedule = names["run"].schedule
    assert (schedule.start >= schedule.workload.submit).all()
