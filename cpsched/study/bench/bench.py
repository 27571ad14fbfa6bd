"""The folder of a bench: its tracks as studies, and ``bench.json``, which describes it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, RunError
from cpsched.simulation.identity import file_digest
from cpsched.study import carry_out
from cpsched.study.bench.log_windows import LogWindow, find_logs, write_window
from cpsched.study.bench.logset import QUICK, LogSet, content_of
from cpsched.study.results import collect
from cpsched.study.study import LabelledSpec, as_label, file_label
from cpsched.study.study_file import parse_study
from cpsched.study.study_models import labelled_spec
from cpsched.util.atomic_files import replacing, subfolder
from cpsched.util.documents import json_text, read_json, read_text
from cpsched.util.models import Source
from cpsched.util.versions import versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from cpsched.study.bench.log_windows import BenchLog
    from cpsched.study.bench.logset import Track
    from cpsched.study.campaign import Display
    from cpsched.study.results import RunResult
    from cpsched.study.study import Study

MARK = "bench.json"
FORMAT = "cpsched.bench/3"
TRACKS, INPUTS = "tracks", "inputs"
#: The track that predictors enter.
PREDICTED = "predicted"


@dataclass(frozen=True, slots=True)
class BenchEntry(LabelledSpec):
    """
    A dispatcher or predictor that enters a bench.

    Attributes
    ----------
    group
        ``dispatchers`` or ``predictors``.
    """

    group: str

    @classmethod
    def of(cls, group: str, text: str) -> BenchEntry:
        """
        Return the entry of a specification, with paths of files relative to the current folder.

        Raises
        ------
        UnknownNameError, ConfigError
            If it cannot be made.
        """
        made = labelled_spec(group, text, Path(), as_label(text))
        return cls(made.label, made.spec, group)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """
    Tracks of a set on the logs at hand, with the entries that are compared.

    Attributes
    ----------
    missing
        Logs that were not found.
    """

    logset: LogSet
    tracks: tuple[Track, ...]
    windows: tuple[LogWindow, ...]
    missing: tuple[BenchLog, ...]
    entries: tuple[BenchEntry, ...]

    @classmethod
    def prepare(
        cls,
        folder: Path,
        logset: LogSet,
        *,
        tracks: Sequence[str],
        folders: Sequence[Path],
        entries: Sequence[BenchEntry],
        watch: Callable[[str, int, int], None] = lambda *_: None,
    ) -> Bench:
        """
        Find the logs and write their windows to a folder.

        A bench that is there grows: its tracks, windows and entries stay, but for an entry of the
        same name, which takes the place of the old one.

        Parameters
        ----------
        folders
            Folders with logs.
        watch
            Called with the name of a step, the number that is done, and the number of all.

        Raises
        ------
        ConfigError
            If a log is not that of the set.
        RunError
            If the folder holds something else, or a bench of another set.
        """
        _check(folder, logset)
        for name in tracks:
            logset.track(name)
        description = about(folder) if (folder / MARK).exists() else {"tracks": (), "entries": ()}
        chosen = tuple(
            track
            for name, track in logset.tracks.items()
            if name in {*tracks, *description["tracks"]}
        )
        new_labels = {file_label(entry.label) for entry in entries}
        present = [
            entry for entry in _entries(description) if file_label(entry.label) not in new_labels
        ]
        entries = [*present, *entries]
        _check_labels(logset, entries)
        wanted = {name for track in chosen for name in logset.names(track)}
        logs = [log for log in logset.logs if log.name in wanted]
        paths = find_logs(logs, folders)
        inputs = subfolder(folder, INPUTS)
        missing = tuple(
            log
            for log in logs
            if log.file and log.name not in paths and not LogWindow.of(log, inputs).path.exists()
        )
        at_hand = [log for log in logs if log not in missing]
        if not at_hand:
            raise ConfigError("none of the logs of these tracks is there", key="--logs")
        windows = []
        for done, log in enumerate(at_hand):
            watch("windows of logs", done, len(at_hand))
            windows.append(write_window(log, paths.get(log.name), inputs))
        return cls(
            logset=logset,
            tracks=chosen,
            windows=tuple(windows),
            missing=missing,
            entries=tuple(entries),
        )

    def carry_out(
        self,
        folder: Path,
        *,
        jobs: int = 1,
        display: Display | None = None,
        executor: str | None = None,
    ) -> list[str]:
        """
        Carry out what is missing of each track, and describe the bench in its folder.

        Parameters
        ----------
        jobs
            Processes of this machine.
        executor
            Carries the runs out instead of processes of this machine.

        Returns
        -------
        list of str
            A sentence for each run that failed.
        """
        self._describe(folder)
        failed = []
        for track in self.tracks:
            study = self.study(track, folder)
            if study is None:
                continue
            outcome = carry_out(
                study,
                folder / TRACKS / track.name,
                jobs=jobs,
                display=display,
                executor=executor,
            )
            failed += [f"{track.name}: {entry.name}: {entry.error}" for entry in outcome.failed]
        return failed

    def study(self, track: Track, folder: Path) -> Study | None:
        """Return a track as a study; None if none of its logs is at hand."""
        entries: dict[str, dict[str, str]] = {"dispatchers": {}, "predictors": {}}
        for entry in self.entries:
            if entry.group == "dispatchers" or track.name == PREDICTED:
                entries[entry.group][entry.label] = entry.spec
        content = content_of(track, self.logset, list(self.windows), entries)
        if not content["workloads"]:
            return None
        return parse_study(Source(str(folder / "bench"), content))

    def _describe(self, folder: Path) -> None:
        description = {
            "format": FORMAT,
            "set": self.logset.version,
            "seeds": self.logset.seeds,
            "tracks": [track.name for track in self.tracks],
            "logs": [
                {"name": window.log.name, "window_sha256": file_digest(window.path), "source":
                 window.log.source or window.log.bundled or f"generator {window.log.generator}",
                 "tuned": window.log.tuned}
                for window in self.windows
            ],
            "missing": [log.name for log in self.missing],
            "entries": [asdict(entry) for entry in self.entries],
            "versions": versions(),
        }  # fmt: skip
        with replacing(folder / MARK) as partial:
            partial.write_text(json_text(description, indent=1) + "\n", encoding="utf-8")


def _check_labels(logset: LogSet, entries: Sequence[BenchEntry]) -> None:
    """Raise if an entry has the name of another entry, or of a dispatcher of the set."""
    taken = {
        file_label(name)
        for track in logset.tracks.values()
        for name in (*track.dispatchers, *track.predictors)
    }
    for entry in entries:
        if file_label(entry.label) in taken:
            raise ConfigError(f"'{entry.label}' is the name of another entry or of the set's own")
        taken.add(file_label(entry.label))


def _check(folder: Path, logset: LogSet) -> None:
    """Raise unless a folder is new, empty, or that of a bench of the same set."""
    if (folder / MARK).exists():
        description = about(folder)
        if description["set"] != logset.version:
            raise RunError(
                f"{folder}: is a bench of set {description['set']}, not {logset.version}"
            )
        if description["seeds"] != logset.seeds:
            remedy = "Add --quick" if description["seeds"] == QUICK else "Leave out --quick"
            raise RunError(
                f"{folder}: is a bench of {description['seeds']} repetitions, not {logset.seeds}."
                f" {remedy} to continue, or name another folder."
            )
    # A bench that was killed before it was described has its windows.
    elif folder.exists() and any(path.name != INPUTS for path in folder.iterdir()):
        raise RunError(f"{folder}: holds something else than a bench. Name another folder")
    folder.mkdir(parents=True, exist_ok=True)


def about(folder: Path) -> Mapping[str, Any]:
    """
    Return the description of a bench, its ``bench.json``.

    Raises
    ------
    RunError
        If the folder is not a bench, or one of another format.
    """
    path = folder / MARK
    if not path.exists():
        raise RunError(f"{folder}: is not the folder of a bench ({MARK} is missing)")
    description = read_json(read_text(path))
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise RunError(
            f"{path}: is not in the format {FORMAT}. Make the bench again in a new folder."
        )
    return description


def notes(description: Mapping[str, Any]) -> list[str]:
    """Return the notes above the tables of a bench, from ``bench.json``."""
    logs = description["logs"]
    lines = [f"Logs: {', '.join(log['name'] for log in logs)}."]
    if description["seeds"] == QUICK:
        lines.insert(
            0, "Two repetitions only: a quick test of an entry, not comparable with other benches."
        )
    if description["missing"]:
        names = ", ".join(description["missing"])
        lines.append(f"Not available and excluded: {names} (cpsched bench lists their sources).")
    tuned = [log["name"] for log in logs if log["tuned"]]
    if tuned:
        lines.append(
            "Settings of dispatchers that come with cpsched were chosen on other jobs of"
            f" {', '.join(tuned)}."
        )
    return lines


def reopened(folder: Path) -> Bench:
    """Return the bench of a folder, as it was carried out."""
    description = about(folder)
    logset = LogSet.load(description["set"]).model_copy(update={"seeds": description["seeds"]})
    by_name = {log.name: log for log in logset.logs}
    return Bench(
        logset=logset,
        tracks=tuple(map(logset.track, description["tracks"])),
        windows=tuple(
            write_window(by_name[log["name"]], None, folder / INPUTS) for log in description["logs"]
        ),
        missing=tuple(by_name[name] for name in description["missing"]),
        entries=tuple(_entries(description)),
    )


def _entries(description: Mapping[str, Any]) -> list[BenchEntry]:
    return [BenchEntry(**entry) for entry in description["entries"]]


def runs_of(folder: Path) -> Iterator[tuple[str, list[RunResult]]]:
    """Yield the runs of each track that has some."""
    for name in about(folder)["tracks"]:
        path = folder / TRACKS / name
        if path.exists():
            yield name, list(collect(path).runs)
