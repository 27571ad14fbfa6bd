"""A set: its logs, and the tracks in which dispatchers and predictors are compared on them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from pydantic import Field, model_validator

from cpsched.errors import UnknownNameError
from cpsched.study.bench.log_windows import BenchLog
from cpsched.util.documents import read_text
from cpsched.util.models import Count, Model, Must, Source, Text, Texts, entries_of

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.study.bench.log_windows import LogWindow

_SETS = Path(__file__).with_name("sets")
NEWEST = "v2"
#: What is run unless tracks are named: what is known of runtimes.
KNOWLEDGE = ("requested", "predicted", "true")
#: Repetitions of a bench that is only to try an entry.
QUICK = 2
#: Of all dispatchers of a track unless it says otherwise, so that only the order of jobs differs.
ALLOCATOR = "first-fit"
#: Of a track whose dispatchers choose nodes each in its own way.
OWN = "own"


_Specs = Annotated[dict[str, Text], Must("a table of specifications by their labels")]


class Track(Model):
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

    name: Text
    title: Text
    predictors: _Specs
    dispatchers: _Specs
    logs: Texts = ()
    run: Annotated[dict[str, Any], Must("a table")] = Field(default_factory=dict)
    allocator: Text = ALLOCATOR


class LogSet(Model):
    """
    A set of logs and tracks, which never changes under its version.

    Attributes
    ----------
    seeds
        How often each run is repeated: every submit is delayed by up to ``jitter`` seconds.
    """

    version: Text
    title: Text
    seeds: Count
    jitter: Count
    logs: Annotated[tuple[BenchLog, ...], *entries_of("logs")]
    tracks: Annotated[dict[str, Track], Must("a table of tracks")]

    @model_validator(mode="before")
    @classmethod
    def _shared(cls, content: dict[str, Any]) -> dict[str, Any]:
        """Give tracks their names, and the dispatchers of the set unless they have their own."""
        content = dict(content)
        shared = content.pop("dispatchers")
        tracks = content["tracks"].items()
        return content | {
            "tracks": {
                name: {"name": name, "dispatchers": shared, **track} for name, track in tracks
            }
        }

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
        source = Source.of_toml(read_text(path), str(path))
        with source.blamed():
            return cls.model_validate({"version": version, **source.content})

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
        "repeat": of.seeds,
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
