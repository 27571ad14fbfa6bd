"""
The tutorials can be typed in as they stand, and show what is printed.

``make tutorials`` puts what is printed now into the pages: the same lines, by their place.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
from difflib import SequenceMatcher
from pathlib import Path

import pytest

from cpsched.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
RECORDED = ROOT / "tests" / "data" / "slurm" / "22.05.8" / "mixed"
#: Each with the files its reader has.
TUTORIALS = {
    "docs/tutorials/first-answer.md": {},
    "docs/tutorials/slurm.md": {
        file.name.replace("sacct.txt", "jobs.sacct"): file for file in RECORDED.iterdir()
    },
}
CONSOLE = re.compile(r"(?<=```console\n).*?(?=```)", re.DOTALL)
COMMAND = re.compile(r"^\$ .*(?:\\\n.*)*\n", re.MULTILINE)
#: A file the reader is told to save, with its name in the first line.
SAVED = re.compile(r"```toml\n# (\S+\.toml)\n(.*?)```", re.DOTALL)
REWRITE = "CPSCHED_REWRITE" in os.environ


def _missing(shown: list[str], said: list[str]) -> str | None:
    """Return the first line shown that was not printed there; ``...`` stands for any lines."""
    lines = iter(said)
    anywhere = False
    for wanted in shown:
        if wanted == "...":
            anywhere = True
            continue
        found = next(lines, None)
        while anywhere and found is not None and found != wanted:
            found = next(lines, None)
        if found != wanted:
            return wanted
        anywhere = False
    return None


def _shown_now(shown: list[str], said: list[str]) -> list[str]:
    """Return what is printed in place of the lines shown: after ``...`` from the likest line on."""
    now, ahead, anywhere = [], 0, False
    for line in shown:
        if line == "...":
            now.append(line)
        elif ahead < len(said):
            if anywhere:
                ahead = max(range(ahead, len(said)), key=lambda at: _likeness(line, said[at]))
            now.append(said[ahead])
            ahead += 1
        anywhere = line == "..."
    return now


def _likeness(one: str, other: str) -> float:
    words = [re.sub(r"\d", "0", line) for line in (one, other)]
    return SequenceMatcher(None, *words, autojunk=False).ratio()


@pytest.mark.slow
@pytest.mark.parametrize("page", TUTORIALS)
def test_the_tutorial_is_true(page: str, tmp_path: Path, monkeypatch, capsys) -> None:
    text = (ROOT / page).read_text("utf-8")
    for name, file in TUTORIALS[page].items():
        shutil.copy(file, tmp_path / name)
    for name, content in SAVED.findall(text):
        (tmp_path / name).write_text(content)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "100")
    blocks = []
    for block in CONSOLE.findall(text):
        now = ""
        commands = COMMAND.findall(block)
        for command, output in zip(commands, COMMAND.split(block)[1:], strict=True):
            words = shlex.split(command.removeprefix("$ cpsched "))
            with pytest.raises(SystemExit) as ended:
                main(words)
            printed = capsys.readouterr()
            assert not ended.value.code, f"{command}\n{printed.err[-2000:]}"
            said, shown = printed.out.splitlines(), output.splitlines()
            missing = _missing(shown, said)
            assert REWRITE or missing is None, f"{command}not printed there: {missing!r}"
            if missing is not None:
                shown = _shown_now(shown, said)
            now += command + "".join(f"{line}\n" for line in shown)
        blocks.append(now)
    assert len(blocks) >= 5
    if REWRITE:
        replaced = iter(blocks)
        (ROOT / page).write_text(CONSOLE.sub(lambda _: next(replaced), text), "utf-8")
