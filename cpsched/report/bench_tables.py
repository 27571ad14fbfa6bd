"""The scores of a track as tables: for a terminal, as CSV and LaTeX."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any

from cpsched.report.files import as_csv
from cpsched.report.outcomes import lines_of_run
from cpsched.report.views import View, mean_text, ratio_text
from cpsched.study import load_run
from cpsched.study.bench.bounds import lower_bounds
from cpsched.study.bench.scores import FEWEST_RANKED, LONGEST, SCORE, TRIPLE, Scores
from cpsched.study.paired import over_logs, ratio
from cpsched.util.words import escaped

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from cpsched.report.views import Cell
    from cpsched.study.bench.logset import Track
    from cpsched.study.bench.scores import EntryScores
    from cpsched.study.paired import Estimate
    from cpsched.study.results import RunResult

_AREA, _TAIL, _SLOWDOWN = TRIPLE
TITLES = {
    SCORE: "composite score",
    _AREA: "area-weighted response",
    _TAIL: "p99.9 wait",
    _SLOWDOWN: "mean bounded slowdown",
    LONGEST: "longest wait",
}
BOUND = "lower bound"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scored:
    """
    A track, scored.

    Attributes
    ----------
    bounds
        By figure: geometric means over logs and seeds of bounds over the baseline's figures.
    conditions
        By log: what became of its jobs under the baseline, and its offered load, in lines.
    """

    track: Track
    scores: Scores
    entries: tuple[EntryScores, ...]
    bounds: dict[str, float]
    conditions: dict[str, list[str]]

    @classmethod
    def of(
        cls, track: Track, runs: Sequence[RunResult], oracle: Sequence[RunResult] = ()
    ) -> Scored:
        """
        Score the runs of a track.

        Parameters
        ----------
        oracle
            Runs of the track where runtimes are known, of which those are shown beside that have
            the same logs and seeds.
        """
        base = (next(iter(track.dispatchers)), next(iter(track.predictors)))
        there = {(run.workload, run.seed) for run in runs}
        beside = [run for run in oracle if (run.workload, run.seed) in there]
        scores = Scores([*runs, *beside], base)
        bounds = (
            {}
            if track.run
            else dict(_bounds(scores, [run for run in runs if run.configuration == base]))
        )
        first = {run.workload: run for run in reversed(runs) if run.configuration == base}
        return cls(
            track=track,
            scores=scores,
            entries=tuple(scores.table()),
            bounds=bounds,
            conditions={
                log: lines_of_run(load_run(first[log].path).numbers) for log in scores.logs
            },
        )

    def name(self, entry: EntryScores) -> str:
        """Return the name of an entry in tables."""
        dispatcher, predictor = entry.who
        if entry.oracle and self.track.name != "true":
            return f"{dispatcher}, runtimes known"
        first = next(iter(self.track.predictors))
        return dispatcher if predictor == first else f"{dispatcher} with {predictor}"

    def view(self, *, cost: bool = True, full: bool = True) -> View:
        """
        Return a row for each entry, the best first.

        Parameters
        ----------
        cost
            With CPU time, which varies.
        full
            With the intervals of all metrics. Otherwise of rank and composite score alone.
        """
        rows: list[list[Cell]] = []
        for entry in self.entries:
            cells: list[Cell] = [escaped(self.name(entry)), _rank(entry)]
            for name in TITLES:
                text = mean_text(entry.ratios[name])
                cells.append(text if full or name == SCORE else text.partition("\n")[0])
            rows.append([*cells, f"{entry.cpu_ms:.3g} ms"] if cost else cells)
        if self.bounds:
            bounds = (self.bounds.get(name) for name in TITLES)
            texts = ("-" if bound is None else ratio_text(bound) for bound in bounds)
            rows.append([BOUND, "-", *texts, *(["-"] if cost else [])])
        headers = ["dispatcher", "mean rank", *TITLES.values()]
        return View("", "", [*headers, *(["CPU per decision"] if cost else [])], rows)

    def sentences(self) -> Iterator[str]:
        """Yield the ranking in sentences: the first entry, those level with it, exclusions."""
        ranked = [entry for entry in self.entries if entry.rank is not None]
        logs = len(self.scores.logs)
        if logs < FEWEST_RANKED:
            yield f"No winner is named: {logs} logs, and a ranking needs {FEWEST_RANKED}."
        else:
            yield from self._first(ranked)
        for entry in self.entries:
            for log, loss in entry.lost.items():
                yield f"Not ranked: {self.name(entry)}, because on {log} {loss}."
        for dispatcher, predictor in self.scores.incomplete:
            yield f"Excluded, because runs are missing: {dispatcher} with {predictor}."
        if self.scores.friedman is not None:
            yield f"Friedman test of equal entries: p = {self.scores.friedman:.2g}."

    def _first(self, ranked: Sequence[EntryScores]) -> Iterator[str]:
        """Yield the first entry, and those that do not differ significantly from it."""
        best, base = ranked[0], self.scores.entries[0][0]
        level = [self.name(entry) for entry in ranked[1:] if entry.is_level]
        sentence = f"First by mean rank over {len(self.scores.logs)} logs: {self.name(best)}"
        if best.who != self.scores.entries[0]:
            sentence += f", composite score {_plain(best.ratios[SCORE])} of {base}'s,"
            sentence += f" longest wait {_plain(best.ratios[LONGEST])}"
        yield f"{sentence}."
        if level:
            yield f"No significant difference from it: {', '.join(level)}."

    def as_data(self) -> dict[str, Any]:
        """Return it for programs."""
        return {
            "track": self.track.name,
            "logs": self.scores.logs,
            "bounds": self.bounds,
            "conditions": self.conditions,
            "friedman_p": self.scores.friedman,
            "entries": [{"name": self.name(entry), **asdict(entry)} for entry in self.entries],
        }

    def rows(self) -> str:
        """Return every run's figures as CSV, in full: what the scores are made of."""
        rows = []
        for entry in self.entries:
            at = self.scores.entries.index(entry.who)
            dispatcher, predictor = entry.who
            for log, name in enumerate(self.scores.logs):
                row = {"dispatcher": dispatcher, "predictor": predictor, "log": name}
                for figure in TITLES:
                    row[figure] = f"{self.scores.on_each(figure)[at, log]:.6g}"
                rows.append(row | {"rank": f"{entry.ranks[log]:g}" if entry.ranks else ""})
        return as_csv(rows)


def _bounds(scores: Scores, base: Sequence[RunResult]) -> Iterator[tuple[str, float]]:
    """Yield bounds of slowdown and area-weighted response, over the baseline's."""
    on_logs: dict[str, list[float | None]] = {_SLOWDOWN: [], _AREA: []}
    for log in scores.logs:
        runs = [run for run in base if run.workload == log]
        bounds = zip(*map(_bound, runs), strict=True)
        for figure, of_runs in zip(on_logs, bounds, strict=True):
            mean = ratio(of_runs, [float(run.values[figure] or 1) for run in runs])
            on_logs[figure].append(None if mean is None else mean.mean)
    for figure, ratios in on_logs.items():
        mean = over_logs(ratios)
        yield figure, float("nan") if mean is None else mean.mean


def _bound(run: RunResult) -> tuple[float, float]:
    schedule = load_run(run.path).schedule
    jobs = schedule.workload
    core = list(jobs.resources).index("core")
    ran = schedule.end - schedule.start
    machine = int(schedule.system.capacity[:, core].sum())
    return lower_bounds(jobs.submit, ran, jobs.units * jobs.request[:, core], machine)


def _rank(entry: EntryScores) -> str:
    if entry.rank is None:
        return "-"
    low_high = "" if entry.interval is None else "\n{:.1f}-{:.1f}".format(*entry.interval)
    return f"{entry.rank:.1f}{low_high}"


def _plain(mean: Estimate) -> str:
    ratio, _, interval = mean_text(mean).partition("\n")
    return f"{ratio} times ({interval})".removesuffix(" ()")
