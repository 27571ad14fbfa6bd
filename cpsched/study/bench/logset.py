"""A set: its logs, and the tracks in which dispatchers and predictors are compared on them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import UnknownNameError
from cpsched.study.bench.log_windows import BenchLog
from cpsched.util.documents import read_text
from cpsched.util.toml_section import Section

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.study.bench.log_windows import LogWindow

_SETS = Path(__file__).with_name("sets")
NEWEST = "v2"
#: What is run unless tracks are named: what is known of runtimes.
KNOWLEDGE = ("requested", "predicted", "true")
_TRACK_KEYS = ("title", "predictors", "logs", "run", "dispatchers", "allocator")
_KEYS = ("title", "seeds", "jitter", "dispatchers", "tracks", "logs")
#: Repetitions of a bench that is only to try an entry.
QUICK = 2
#: Of all dispatchers of a track unless it says otherwise, so that only the order of jobs differs.
ALLOCATOR = "first-fit"
#: Of a track whose dispatchers choose nodes each in its own way.
OWN = "own"


@dataclass(frozen=True, slots=True, kw_only=True)
class Track:
    """
    A comparison of a set.

    Attributes
    ----------
    predictors, dispatchers
        Specifications by their labels. The first dispatcher with the first predictor is the
        baseline.
    logs
        Names; empty: all.
    run
        As in a study's table ``run``.
    allocator
        Of the dispatchers that name none; ``own``: each has its own.
    """

    name: str
    title: str
    predictors: Mapping[str, str]
    dispatchers: Mapping[str, str]
    logs: tuple[str, ...]
    run: Mapping[str, Any]
    allocator: str


@dataclass(frozen=True, slots=True, kw_only=True)
class LogSet:
    """
    A set of logs and tracks, which never changes under its version.

    Attributes
    ----------
    seeds
        How often each run is repeated: every submit is delayed by up to ``jitter`` seconds.
    """

    version: str
    title: str
    seeds: int
    jitter: int
    logs: tuple[BenchLog, ...]
    tracks: Mapping[str, Track]

    @classmethod
    def load(cls, version: str = NEWEST) -> LogSet:
        """
        Read a set.

        Raises
        ------
        UnknownNameError
            If there is none of this version.
        """
        known = sorted(file.stem for file in _SETS.glob("*.toml"))
        if version not in known:
            raise UnknownNameError("set", version, known)
        path = _SETS / f"{version}.toml"
        top = Section.of_text(read_text(path), str(path))
        top.expect(*_KEYS)
        dispatchers, tracks = top.plain("dispatchers"), top.table("tracks")
        return cls(
            version=version,
            title=top.text("title"),
            seeds=top.needed_count("seeds"),
            jitter=top.needed_count("jitter"),
            logs=tuple(map(BenchLog.of, top.tables("logs"))),
            tracks={name: _track(name, tracks.table(name), dispatchers) for name in tracks.names()},
        )

    def names(self, track: Track) -> tuple[str, ...]:
        """Return the names of the logs of a track."""
        return track.logs or tuple(log.name for log in self.logs)

    def track(self, name: str) -> Track:
        """
        Return a track.

        Raises
        ------
        UnknownNameError
            If there is none of this name.
        """
        if name not in self.tracks:
            raise UnknownNameError("track", name, list(self.tracks))
        return self.tracks[name]


def _track(name: str, section: Section, dispatchers: Mapping[str, str]) -> Track:
    section.expect(*_TRACK_KEYS)
    own = "dispatchers" in section
    return Track(
        name=name,
        title=section.text("title"),
        predictors=section.plain("predictors"),
        dispatchers=section.plain("dispatchers") if own else dispatchers,
        logs=section.texts("logs"),
        run=section.plain("run") if "run" in section else {},
        allocator=section.text("allocator", ALLOCATOR),
    )


def content_of(
    track: Track, of: LogSet, windows: list[LogWindow], entries: Mapping[str, Mapping[str, str]]
) -> dict[str, Any]:
    """
    Return a track as the content of a study file.

    Parameters
    ----------
    windows
        Of the logs at hand.
    entries
        Further ``dispatchers`` and ``predictors`` by their labels.
    """
    names = of.names(track)
    base = next(iter(track.dispatchers))
    content = {
        "title": f"{of.title}, {track.name}: {track.title}",
        "dispatchers": {**track.dispatchers, **entries["dispatchers"]},
        "predictors": {**track.predictors, **entries["predictors"]},
        "seeds": of.seeds,
        "jitter": of.jitter,
        "run": dict(track.run),
        "baseline": {"dispatcher": base, "predictor": next(iter(track.predictors))},
        "workloads": [
            {"name": window.log.name, "file": str(window.path), "systems": [window.log.system]}
            for window in windows
            if window.log.name in names
        ],
    }
    return content if track.allocator == OWN else content | {"allocator": track.allocator}
