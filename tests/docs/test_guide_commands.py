"""The commands in the pages can be typed in: all are understood, and those of some guides are run."""

import re
import shlex
from pathlib import Path

import pytest

from cpsched.cli.main import build

ROOT = Path(__file__).resolve().parents[2]
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
