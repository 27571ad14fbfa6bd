"""The tables of a bench, from its runs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.report.bench_tables import Scored
from cpsched.report.files import document
from cpsched.study.bench.bench import reopened, runs_of
from cpsched.util.words import counted

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

_TRUE = "true"


def scored(folder: Path) -> list[Scored]:
    """
    Return the scores of each track of a bench.

    Raises
    ------
    RunError
        If the folder is not a bench.
    """
    tracks = {track.name: track for track in reopened(folder).tracks}
    runs = dict(runs_of(folder))
    # One oracle is shown with the others.
    known = [run for run in runs.get(_TRUE, ()) if run.dispatcher == "EASY by WSEPT"]
    return [
        Scored.of(tracks[name], of, () if name == _TRUE or tracks[name].run else known)
        for name, of in runs.items()
    ]


def files_of(tracks: Sequence[Scored]) -> dict[str, bytes]:
    """Return the tables that equal benches have alike, by file name."""
    files = {}
    for track in tracks:
        name = track.track.name
        files[f"{name}.csv"] = track.rows()
        caption = (
            f"{track.track.title.capitalize()}: ratios to {track.scores.entries[0][0]} with 95 %"
            f" intervals, {counted(len(track.scores.logs), 'log')},"
            f" {counted(len(track.scores.seeds), 'repetition')}"
        )
        view = track.view(cost=False)._replace(title=f"track {name}")
        files[f"{name}.tex"] = document("tables.tex.j2", caption, [(caption, [view])])
    return {name: text.encode() for name, text in files.items()}
