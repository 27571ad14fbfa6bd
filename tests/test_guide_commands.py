"""The commands in the guides can be typed in as they stand."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from cpsched import resources, traces
from cpsched.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("docs/guides/explain-and-plan.md",)
#: A command: a line of an indented block (continued after a backslash), or inline code that begins
#: with it.
COMMAND = re.compile(
    r"^    (?:\.venv/bin/)?cpsched ((?:[^\n]*\\\n)*[^\n]*)$|`(?:\.venv/bin/)?cpsched ([^`]+)`", re.M
)
#: What stands for the reader's own files and names, in our folder.
OWN = {"LOG": "log.swf", "S": "eurora", "ID": "2", "TIME": "100", "DIR": "out", "FILE": "file.pb"}
#: A command named alone, or with others in its place, is not meant to be typed; nor is what changes
#: the reader's shell.
TAKE_A_LOG = ("simulate", "explain", "plan", "compare", "evaluate", "train")
NOT_TYPED = ("COMMAND", "...", "--install-completion")


def _commands(page):
    for block, inline in COMMAND.findall((ROOT / page).read_text()):
        text = re.sub(r"\s#.*", "", (block or inline).replace("\\\n", " "))
        words = text.split()
        needs_more = words[0] in TAKE_A_LOG and len(words) < 2
        if not needs_more and not any(word in NOT_TYPED for word in words):
            yield [OWN.get(word, word) for word in words]


@pytest.fixture
def folder(tmp_path, monkeypatch, four_cores):
    """The reader's folder: a log under every name the pages use, and a machine."""
    jobs = traces.read(resources.path("logs", "eurora-sample.csv.gz")).select(first=30)
    few = traces.read(resources.path("logs", "eurora-sample.csv.gz")).select(first=200)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    swf = [f"{n} {n - 1} -1 4 1 -1 -1 1 8 -1 1 1 1 -1 1 -1 -1 -1\n" for n in range(1, 9)]
    Path("log.swf").write_text("".join(swf))
    traces.write(few, Path("eurora-2014.ext.csv.gz"))
    traces.write(jobs, Path("log.csv"))
    traces.write(jobs, Path("log.swf.gz"))
    return tmp_path


@pytest.mark.parametrize("page", PAGES)
def test_every_command_of_the_page_works(page, folder, capsys):
    """In their order: later ones look at what earlier ones made."""
    commands = list(_commands(page))
    assert len(commands) >= 2
    for words in commands:
        with pytest.raises(SystemExit) as ended:
            main(words)
        said = capsys.readouterr()
        assert not ended.value.code, f"cpsched {' '.join(words)}\n{said.err[-2000:]}"
