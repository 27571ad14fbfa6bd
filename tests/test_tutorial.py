"""The tutorial can be typed in as it stands, and shows what it prints."""

from __future__ import annotations

import re
import shlex
import shutil
from pathlib import Path

import pytest

from cpsched.cli.main import main

ROOT = Path(__file__).resolve().parents[1]
PAGE = "docs/tutorials/slurm.md"
RECORDED = ROOT / "tests" / "data" / "slurm" / "22.05.8" / "mixed"


def _commands() -> list[tuple[list[str], list[str]]]:
    """Return each command, and the lines shown below it."""
    found: list[tuple[list[str], list[str]]] = []
    for block in re.findall(r"```console\n(.*?)```", (ROOT / PAGE).read_text(), re.DOTALL):
        for line in block.splitlines():
            if line.startswith("$ cpsched "):
                found.append((shlex.split(line.removeprefix("$ cpsched ")), []))
            else:
                found[-1][1].append(line)
    return found


def _missing(shown: list[str], said: str) -> str | None:
    """Return the first line shown that was not printed there; ``...`` stands for any lines."""
    lines = iter(said.splitlines())
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


def test_the_tutorial_is_true(tmp_path: Path, monkeypatch, capsys) -> None:
    for file in RECORDED.iterdir():
        shutil.copy(file, tmp_path / file.name.replace("sacct.txt", "jobs.sacct"))
    monkeypatch.chdir(tmp_path)
    commands = _commands()
    assert len(commands) >= 5
    for words, shown in commands:
        with pytest.raises(SystemExit) as ended:
            main(words)
        printed = capsys.readouterr()
        assert not ended.value.code, f"cpsched {' '.join(words)}\n{printed.err[-2000:]}"
        missing = _missing(shown, printed.out)
        assert missing is None, f"cpsched {' '.join(words)}: not printed there: {missing!r}"
