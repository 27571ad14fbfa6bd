"""The rooms of the code: floors as import-linter checks them, a sentence and the size of each."""

from __future__ import annotations

import ast
import tomllib
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

from texts import markdown

ROOT = Path(__file__).parents[2]
#: Of the picture, in pixels.
WIDTH, HEIGHT, GAP = 760, 40, 4
LARGEST_NAME = 7.5


class Room(NamedTuple):
    """A package, or a module that stands alone: what it is for, and its lines."""

    name: str
    sentence: str
    lines: int


def rooms(_: str, __: int) -> str:
    """Return a table of all rooms, from the uppermost floor down, then the packages beside."""
    rows = ["| floor | room | lines | what it is for |", "| --: | --- | --: | --- |"]
    floors = _floors()
    for number, floor in zip(range(len(floors), 0, -1), floors, strict=True):
        rows += [_row(str(number), room) for room in floor]
    for package in _beside():
        rows += [_row("", room) for room in package]
    return "\n".join(rows)


def picture(_: str, __: int) -> str:
    """Return the floors as boxes, each as wide as its share of the lines on its floor."""
    floors = _floors()
    boxes = []
    for level, floor in enumerate(floors):
        left, total = 0.0, sum(_weight(room) for room in floor)
        for room in floor:
            width = WIDTH * _weight(room) / total
            boxes.append(_box(room, left, level * (HEIGHT + GAP), width - GAP))
            left += width
    height = len(floors) * (HEIGHT + GAP)
    return "\n".join(
        [
            "```{raw} html",
            f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="The floors of cpsched"'
            ' style="max-width: 100%; font: 12px sans-serif">',
            *boxes,
            "</svg>",
            "```",
        ]
    )


def _weight(room: Room) -> float:
    """Return the room's lines, or what its name needs in a small room."""
    return max(room.lines, 1000)


def _box(room: Room, left: float, top: float, width: float) -> str:
    middle = left + width / 2
    short = room.name.removeprefix("cpsched.")
    lines = [(16, short), (31, f"{room.lines:,}")]
    text = "".join(
        f'<text x="{middle:.0f}" y="{top + y}" text-anchor="middle" fill="currentColor">'
        f"{escape(word)}</text>"
        for y, word in lines
        if len(word) * LARGEST_NAME < width
    )
    return (
        f"<g><title>{escape(f'{short}: {room.sentence}')}</title>"
        f'<rect x="{left:.0f}" y="{top}" width="{width:.0f}" height="{HEIGHT}" rx="3"'
        f' fill="none" stroke="currentColor"/>{text}</g>'
    )


def _row(floor: str, room: Room) -> str:
    return f"| {floor} | `{room.name}` | {room.lines:,} | {room.sentence} |"


def _floors() -> list[list[Room]]:
    """Return the rooms of the core by floor, as the first contract in pyproject.toml has them."""
    layers = _contracts()["contracts"][0]["layers"]
    return [[_room(name.strip()) for name in layer.split(":")] for layer in layers]


def _beside() -> list[list[Room]]:
    """Return each package beside the core: itself, then the packages in it."""
    return [
        [_room(".".join(one.parent.relative_to(ROOT).parts)) for one in sorted(_packages(name))]
        for name in _contracts()["root_packages"]
        if name != "cpsched"
    ]


def _packages(name: str) -> list[Path]:
    return [*(ROOT / name).glob("__init__.py"), *(ROOT / name).glob("*/__init__.py")]


def _contracts() -> dict[str, Any]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]


def _room(name: str) -> Room:
    path = ROOT / name.replace(".", "/")
    if not path.is_dir():
        path = path.with_suffix(".py")
        return Room(name, _sentence(path), _lines(path))
    return Room(name, _sentence(path / "__init__.py"), sum(map(_lines, path.rglob("*.py"))))


def _sentence(path: Path) -> str:
    """Return the first sentence of a module's docstring as Markdown."""
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    return markdown(text.split("\n\n")[0])


def _lines(path: Path) -> int:
    return path.read_text().count("\n")
