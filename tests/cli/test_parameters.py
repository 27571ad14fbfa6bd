"""Parameters read here must be what typer itself would make of them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import pytest
import typer

from cpsched.cli.parameters import read_plainly

app = typer.Typer(rich_markup_mode=None, add_completion=False)


@app.command()
def _command(
    ctx: typer.Context,
    words: Annotated[list[Path], typer.Argument()],
    name: Annotated[str | None, typer.Option()] = None,
    many: Annotated[list[str] | None, typer.Option()] = None,
    whole: Annotated[int, typer.Option(min=1, max=9)] = 1,
    number: Annotated[float, typer.Option(min=0)] = 0.5,
    flag: Annotated[bool, typer.Option()] = False,
    seed: int = 0,
) -> None:
    ctx.obj.append((words, name, many, whole, number, flag, seed))


def _run(arguments, *, plainly):
    command = typer.main.get_command(app)
    if plainly:
        read_plainly(command)
    found: list[object] = []
    try:
        command(list(arguments), prog_name="x", obj=found)
    except SystemExit as stop:
        return stop.code, found
    raise AssertionError


@pytest.mark.parametrize(
    "arguments",
    [
        ("a",),
        ("a", "b/c", "."),
        (),
        ("a", "--name", "", "--many", "x", "--many", "y,z"),
        ("a", "--whole", "9", "--number", "3", "--flag", "--seed", "-4"),
        ("a", "--whole", "0"),
        ("a", "--whole", "10"),
        ("a", "--whole", "1.0"),
        ("a", "--whole", "x"),
        ("a", "--whole", " 3 "),
        ("a", "--whole", "1_0"),
        ("a", "--seed", "99999999999999999999999"),
        ("a", "--number", "1e3"),
        ("a", "--number", ".5"),
        ("a", "--number", "-1"),
        ("a", "--number", "nan"),
        ("a", "--number", "inf"),
        ("a", "--no-flag"),
        ("--help",),
        ("a", "--nope"),
    ],
)
def test_the_same_as_typer(arguments, capsys):
    """Values, exit codes and messages."""
    theirs = _run(arguments, plainly=False), capsys.readouterr()
    ours = _run(arguments, plainly=True), capsys.readouterr()
    assert ours == theirs


def test_every_parameter_of_every_command_is_plain():
    """None of ours needs more; typer before it used pydantic has nothing to replace."""
    from cpsched.cli.main import build

    def slots(command):
        for parameter in command.params:
            if hasattr(parameter, "_runtime_param"):
                yield parameter.name, parameter._runtime_param
        for below in getattr(command, "commands", {}).values():
            yield from slots(below)

    assert [name for name, slot in slots(build(["generate"])) if slot is None] == []
