"""What a paper needs of a bench: definitions, versions, hashes, citation; and an RO-Crate."""

from __future__ import annotations

from hashlib import sha256
from typing import TYPE_CHECKING, Any

from arena.bench import ENTRIES, INPUTS, MARK, about
from arena.logset import QUICK
from cpsched.api.tools import counted, json_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

CRATE = "ro-crate-metadata.json"
_DEFINITIONS = (
    "Wait: start minus submit. Response: end minus submit. Seconds, half-open intervals.",
    "Bounded slowdown: max(1, response / max(runtime, 10 s)) (Feitelson and Rudolph 1998).",
    "Area-weighted response: responses weighted by cores times runtime (Schwiegelshohn and"
    " Yahyapour 2000).",
    "p99.9 wait: the 99.9th percentile of the waits, linearly interpolated.",
    "Triple: geometric mean of the three ratios to the baseline's, waits plus 60 s, paired by"
    " seed; geometric means over seeds, then over logs.",
    "Rank: by the triple on each log; mean over the logs; 95 % interval by 2,000 paired resamples"
    " of logs and, in each, of seeds (seed 0).",
    "Repetitions: every submit is delayed by a whole number of seconds drawn from 0 to the jitter.",
)


def lines(folder: Path) -> Iterator[str]:
    """
    Yield the card.

    Raises
    ------
    RunError
        If the folder is not a bench.
    """
    told = about(folder)
    yield f"cpsched bench, set {told['set']}: {', '.join(told['tracks'])}"
    yield f"{counted(told['seeds'], 'repetition')}{' (--quick)' * (told['seeds'] == QUICK)}"
    yield ""
    yield "Definitions"
    yield from (f"  {one}" for one in _DEFINITIONS)
    yield ""
    yield f"Logs ({counted(len(told['logs']), 'window')}, SHA-256 of the file in {INPUTS})"
    for one in told["logs"]:
        yield f"  {one['window_sha256']}  {one['name']}; {one['source']}"
    if told["missing"]:
        yield f"  not at hand: {', '.join(told['missing'])}"
    yield ""
    yield "Entries"
    for one in told["entries"] or ():
        spec = " with ".join(filter(None, (one["dispatcher"], one["predictor"])))
        yield f"  {one['name']}: {spec}"
        for path in sorted((folder / ENTRIES / one["code"]).rglob("*")) if one["code"] else ():
            if path.is_file():
                yield f"    {_digest(path)}  {path.relative_to(folder / ENTRIES)}"
    if not told["entries"]:
        yield "  none but those of the set"
    yield ""
    yield "Versions"
    yield from (f"  {name} {version}" for name, version in told["versions"].items())
    yield ""
    yield "Tables as they lie there (SHA-256; equal on every machine with these versions)"
    for path in tables(folder):
        yield f"  {_digest(path)}  {path.name}"
    yield ""
    yield "Cite cpsched as CITATION.cff says, the logs as their archive asks (Feitelson, Tsafrir"
    yield "and Krakov 2014 for the Parallel Workloads Archive), and whoever wrote each dispatcher."


def tables(folder: Path) -> list[Path]:
    """Return the files of the bench that equal benches have alike."""
    return sorted(folder.glob("*.csv")) + sorted(folder.glob("*.tex"))


def crate(folder: Path) -> str:
    """
    Return an RO-Crate 1.1 description of the folder (https://w3id.org/ro/crate/1.1), as JSON.

    Named are the bench, its windows, its tables and its page.
    """
    told = about(folder)
    files = [folder / MARK, *tables(folder), folder / "index.html"]
    files += sorted((folder / INPUTS).glob("*.parquet"))
    parts = [path for path in files if path.exists()]
    kinds = {".csv": "text/csv", ".tex": "application/x-tex", ".html": "text/html",
             ".json": "application/json", ".parquet": "application/vnd.apache.parquet"}  # fmt: skip
    graph: list[dict[str, Any]] = [
        {
            "@id": CRATE,
            "@type": "CreativeWork",
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
            "about": {"@id": "./"},
        },
        {
            "@id": "./",
            "@type": "Dataset",
            "name": f"cpsched bench, set {told['set']}",
            "description": f"Dispatchers compared on {counted(len(told['logs']), 'log')}; tracks:"
            f" {', '.join(told['tracks'])}",
            "datePublished": _date(folder),
            "license": "see the headers of the logs",
            "hasPart": [{"@id": path.relative_to(folder).as_posix()} for path in parts],
        },
        *(
            {
                "@id": path.relative_to(folder).as_posix(),
                "@type": "File",
                "name": path.name,
                "encodingFormat": kinds[path.suffix],
                "contentSize": str(path.stat().st_size),
                "sha256": _digest(path),
            }
            for path in parts
        ),
    ]
    whole = {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}
    return json_text(whole, indent=1) + "\n"


def _date(folder: Path) -> str:
    from datetime import UTC, datetime

    return datetime.fromtimestamp((folder / MARK).stat().st_mtime, UTC).date().isoformat()


def _digest(path: Path) -> str:
    return sha256(path.read_bytes()).hexdigest()
