"""The commands in the pages can be typed in: all are understood, and those of some guides are run."""

import re
import shlex
from pathlib import Path

import pytest

from cpsched import traces
from cpsched.base import resources
from cpsched.cli.main import build, main

ROOT = Path(__file__).resolve().parents[1]
PAGES = ("docs/guides/explain.md",)
#: A command: a line of an indented block (continued after a backslash), or inline code that begins
#: with it.
COMMAND = re.compile(
    r"^    (?:\.venv/bin/)?cpsched ((?:[^\n]*\\\n)*[^\n]*)$|`(?:\.venv/bin/)?cpsched ([^`]+)`", re.M
)
#: What stands for the reader's own files and names, in our folder.
OWN = {"LOG": "log.swf", "S": "eurora", "ID": "2", "TIME": "100", "DIR": "out", "FILE": "file.pb"}
#: A command named alone, or with others in its place, is not meant to be typed; nor is what changes
#: the reader's shell.
TAKE_A_LOG = ("simulate", "explain", "compare", "evaluate", "train")
NOT_TYPED = ("COMMAND", "...", "--install-completion")


#: Every page of the site, and those beside it; with lines of blocks continued after a backslash.
ALL = sorted(
    path.relative_to(ROOT).as_posix()
    for path in (*(ROOT / "docs").rglob("*.md"), ROOT / "README.md", ROOT / "benchmarks/README.md")
)
BLOCK = re.compile(r"^```[^\n]*\n(.*?)^```|((?:^    [^\n]*\n)+)", re.MULTILINE | re.DOTALL)
LINE = re.compile(r"^ *(?:\$ )?(?:\.venv/bin/)?cpsched ((?:[^\n]*\\\n)*[^\n]*)$", re.MULTILINE)
#: What stands for options or names, not for itself.
PLACEHOLDER = re.compile(r"\.\.\.|…|\[|\bCOMMAND\b|\$")


SHELL = ("|", ">", ">>", "&&")


def _typed(page):
    """Return the commands in the blocks of a page, in words."""
    for blocks in BLOCK.findall((ROOT / page).read_text("utf-8")):
        for line in LINE.findall("".join(blocks)):
            if PLACEHOLDER.search(line):
                continue
            words = shlex.split(line.replace("\\\n", " "), comments=True)
            # Not what the shell does with the output.
            ends = (at for at, word in enumerate(words) if word in SHELL or word.endswith(";"))
            yield words[: next(ends, len(words))]


@pytest.fixture(scope="module")
def group():
    return build(["generate"])


@pytest.mark.parametrize("page", ALL)
def test_every_command_of_the_page_is_understood(page, group):
    """By name, options and the kinds of their values; nothing is run."""
    for words in _typed(page):
        command, rest = group, list(words)
        while hasattr(command, "commands") and rest and not rest[0].startswith("-"):
            assert rest[0] in command.commands, f"{page}: cpsched {' '.join(words)}"
            command = command.commands[rest.pop(0)]
        if rest[:1] != ["--install-completion"]:
            try:
                command.make_context("cpsched", rest)
            except Exception as error:
                pytest.fail(
                    f"{page}: cpsched {' '.join(words)}: {getattr(error, 'message', error)!r}"
                )


def test_commands_are_found_in_pages():
    assert sum(len(list(_typed(page))) for page in ALL) > 60


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
    assert commands
    for words in commands:
        with pytest.raises(SystemExit) as ended:
            main(words)
        said = capsys.readouterr()
        assert not ended.value.code, f"cpsched {' '.join(words)}\n{said.err[-2000:]}"
