"""A bench's folder: its tracks carried out as studies, and what was run written beside them."""

from __future__ import annotations

import hashlib
import os
import sys
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, RunError
from cpsched.study import carry_out, make_tables
from cpsched.study.bench.entry import BenchEntry
from cpsched.study.bench.log_windows import LogWindow, find_logs, write_window
from cpsched.study.bench.logset import QUICK, LogSet, content_of
from cpsched.study.study import file_label
from cpsched.study.study_file import labelled_spec, parse_study
from cpsched.util.atomic_files import replacing, subfolder
from cpsched.util.documents import json_text, read_json, read_text
from cpsched.util.versions import versions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from pathlib import Path

    from cpsched.study.bench.log_windows import BenchLog
    from cpsched.study.bench.logset import Track
    from cpsched.study.campaign import Display
    from cpsched.study.executor import Backend
    from cpsched.study.results import RunResult
    from cpsched.study.study import Study

MARK = "bench.json"
FORMAT = "cpsched.bench/2"
TRACKS, INPUTS, MODELS, ENTRIES = "tracks", "inputs", "models", "entries"
#: Where predictors enter.
PREDICTED = "predicted"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """
    What is compared: tracks of a set on the logs at hand, with what enters.

    Attributes
    ----------
    missing
        Logs that were not found.
    """

    logset: LogSet
    tracks: tuple[Track, ...]
    windows: tuple[LogWindow, ...]
    missing: tuple[BenchLog, ...]
    submissions: tuple[BenchEntry, ...]

    @classmethod
    def prepare(
        cls,
        folder: Path,
        logset: LogSet,
        *,
        tracks: Sequence[str],
        folders: Sequence[Path],
        submissions: Sequence[BenchEntry],
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
            Called with what is done, how many of it, and of how many.

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
        again = {file_label(entry.name) for entry in submissions}
        present = [
            entry for entry in _entries(folder, description) if file_label(entry.name) not in again
        ]
        submissions = [*present, *submissions]
        _check_names(logset, submissions)
        _check_modules(submissions)
        wanted = {name for track in chosen for name in logset.names(track)}
        logs = [log for log in logset.logs if log.name in wanted]
        paths = find_logs(logs, folders)
        inputs = subfolder(folder, INPUTS)
        missing = tuple(
            log
            for log in logs
            if log.file and log.name not in paths and not LogWindow.of(log, inputs).exists()
        )
        at_hand = [log for log in logs if log not in missing]
        if not at_hand:
            raise ConfigError("none of the logs of these tracks is there", key="--logs")
        windows = []
        for done, log in enumerate(at_hand):
            watch("windows of logs", done, len(at_hand))
            windows.append(write_window(log, paths.get(log.name), inputs))
        submissions = [entry.copied(subfolder(folder, ENTRIES)) for entry in submissions]
        return cls(
            logset=logset,
            tracks=chosen,
            windows=tuple(windows),
            missing=missing,
            submissions=tuple(submissions),
        )

    def carry_out(
        self,
        folder: Path,
        *,
        jobs: int = 1,
        display: Display | None = None,
        backend: Backend | None = None,
    ) -> list[str]:
        """
        Carry out what is missing of each track, and describe the bench in its folder.

        Parameters
        ----------
        jobs
            Processes of this machine.
        backend
            What carries the runs out instead.

        Returns
        -------
        list of str
            What failed, a sentence for each run.
        """
        for entry in self.submissions:
            if entry.code is not None:
                sys.path.insert(0, str(entry.code))
        os.environ["PYTHONPATH"] = os.pathsep.join(
            [*(str(entry.code) for entry in self.submissions if entry.code),
             *filter(None, [os.environ.get("PYTHONPATH")])]
        )  # fmt: skip
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
                backend=backend,
            )
            failed += [f"{track.name}: {entry.name}: {entry.error}" for entry in outcome.failed]
        return failed

    def study(self, track: Track, folder: Path) -> Study | None:
        """Return a track as a study; None if none of its logs is at hand."""
        entries: dict[str, dict[str, str]] = {"dispatchers": {}, "predictors": {}}
        learning = []
        for entry in self.submissions:
            if entry.train:
                learning.append(entry)
                continue
            if entry.dispatcher:
                entries["dispatchers"][entry.name] = entry.dispatcher
            if entry.predictor and track.name == PREDICTED:
                entries["predictors"][entry.name] = entry.predictor
        content = content_of(track, self.logset, list(self.windows), entries)
        if not content["workloads"]:
            return None
        study = parse_study(content, folder / "bench")
        for entry in learning:
            study = self._with(study, entry, track, folder)
        return study

    def _with(self, study: Study, entry: BenchEntry, track: Track, folder: Path) -> Study:
        """Return a study in which an entry has learnt something else for each log."""
        workloads = []
        for workload in study.workloads:
            window = next(w for w in self.windows if w.log.name == workload.label)
            models = subfolder(subfolder(folder, MODELS), entry.name)
            # Other code learns something else, which other runs are made with.
            trained = entry.trained(
                models, window.before, f"{window.path.stem}-{entry.digest()}.model"
            )
            dispatchers = workload.dispatchers or study.dispatchers
            predictors = workload.predictors
            if trained.dispatcher:
                made = labelled_spec("dispatchers", trained.dispatcher, folder, entry.name)
                dispatchers = (*dispatchers, made)
            if trained.predictor and track.name == PREDICTED:
                made = labelled_spec("predictors", trained.predictor, folder, entry.name)
                predictors = (*predictors, made)
            workloads.append(replace(workload, dispatchers=dispatchers, predictors=predictors))
        return replace(study, workloads=tuple(workloads))

    def _describe(self, folder: Path) -> None:
        about = {
            "format": FORMAT,
            "set": self.logset.version,
            "seeds": self.logset.seeds,
            "tracks": [track.name for track in self.tracks],
            "logs": [
                {"name": window.log.name, "window_sha256": _sha256(window.path), "source":
                 window.log.source or window.log.bundled or f"generator {window.log.generator}",
                 "tuned": window.log.tuned, "earlier": window.before is not None}
                for window in self.windows
            ],
            "missing": [log.name for log in self.missing],
            "entries": [
                {**asdict(entry), "code": entry.code.name if entry.code else None,
                 "train": list(entry.train)}
                for entry in self.submissions
            ],
            "versions": versions(),
        }  # fmt: skip
        with replacing(folder / MARK) as partial:
            partial.write_text(json_text(about, indent=1) + "\n", encoding="utf-8")


def _check_names(logset: LogSet, submissions: Sequence[BenchEntry]) -> None:
    """Raise if an entry would stand for another one, or for a dispatcher of the set."""
    taken = {
        file_label(name): name
        for track in logset.tracks.values()
        for name in (*track.dispatchers, *track.predictors)
    }
    for entry in submissions:
        if file_label(entry.name) in taken:
            raise ConfigError(f"'{entry.name}' is the name of another entry or of the set's own")
        taken[file_label(entry.name)] = entry.name


def _check_modules(submissions: Sequence[BenchEntry]) -> None:
    """
    Raise if two entries bring different modules of one name.

    The code of all is on one path, where the first module of a name stands for both.
    """
    taken: dict[str, tuple[BenchEntry, str]] = {}
    for entry in submissions:
        for name, digest in entry.modules().items():
            other, known = taken.setdefault(name, (entry, digest))
            if known != digest:
                raise ConfigError(
                    f"'{other.name}' and '{entry.name}' both have a module '{name}'; rename it in"
                    " one of them"
                )


def _check(folder: Path, logset: LogSet) -> None:
    """Raise unless a folder is new, empty, or that of a bench of the same set."""
    if (folder / MARK).exists():
        description = about(folder)
        if description["set"] != logset.version:
            raise RunError(
                f"{folder}: is a bench of set {description['set']}, not {logset.version}"
            )
        if description["seeds"] != logset.seeds:
            raise RunError(
                f"{folder}: is a bench of {description['seeds']} repetitions, not {logset.seeds}"
                " (--quick); name another folder"
            )
    # A bench that was killed before it was described has its windows.
    elif folder.exists() and any(path.name not in (INPUTS, ENTRIES) for path in folder.iterdir()):
        raise RunError(f"{folder}: holds something else than a bench; name another folder")
    folder.mkdir(parents=True, exist_ok=True)


def about(folder: Path) -> Mapping[str, Any]:
    """
    Return what a bench's folder says of itself.

    Raises
    ------
    RunError
        If it is not a bench.
    """
    path = folder / MARK
    if not path.exists():
        raise RunError(f"{folder}: is not the folder of a bench ({MARK} is missing)")
    description = read_json(read_text(path))
    if not isinstance(description, dict) or description.get("format") != FORMAT:
        raise RunError(f"{path}: is not in the format {FORMAT}")
    return description


def notes(description: Mapping[str, Any]) -> list[str]:
    """Return what a reader must know of a bench before its tables, from ``bench.json``."""
    logs = description["logs"]
    lines = [f"Logs: {', '.join(log['name'] for log in logs)}."]
    if description["seeds"] == QUICK:
        lines.insert(0, "Two repetitions only: to try an entry, not to compare with other benches.")
    if description["missing"]:
        names = ", ".join(description["missing"])
        lines.append(f"Not at hand, and left out: {names} (cpsched bench says where they are).")
    learns = [log["name"] for log in description["entries"] if log["train"]]
    new = [log["name"] for log in logs if not log["earlier"]]
    if learns and new:
        lines.append(f"No earlier jobs, so nothing was learnt: on {', '.join(new)}.")
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
    logset = replace(LogSet.load(description["set"]), seeds=description["seeds"])
    by_name = {log.name: log for log in logset.logs}
    return Bench(
        logset=logset,
        tracks=tuple(map(logset.track, description["tracks"])),
        windows=tuple(
            write_window(by_name[log["name"]], None, folder / INPUTS) for log in description["logs"]
        ),
        missing=tuple(by_name[name] for name in description["missing"]),
        submissions=tuple(_entries(folder, description)),
    )


def _entries(folder: Path, description: Mapping[str, Any]) -> list[BenchEntry]:
    return [
        BenchEntry(**{**entry, "code": folder / ENTRIES / entry["code"] if entry["code"] else None,
                      "train": tuple(entry["train"])})
        for entry in description["entries"]
    ]  # fmt: skip


def runs_of(folder: Path) -> Iterator[tuple[str, list[RunResult]]]:
    """Yield the runs of each track that has some."""
    for name in about(folder)["tracks"]:
        path = folder / TRACKS / name
        if path.exists():
            yield name, list(make_tables(path).results.runs)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()
