"""
Commands that are killed, run out of disk or are interrupted, and what is there afterwards.

``faults.py`` runs each command undisturbed, twice: the second gives its
duration and its bytes. Then it disturbs the command at moments drawn over that duration, repeats it
as a user would, and compares all bytes. A moment counts as a hit only if the process lived and had
read its input. It runs in a mount namespace of its own, so it needs root or user namespaces.
"""

from __future__ import annotations

import argparse
import csv
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, field
from itertools import zip_longest
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

HERE = Path(__file__).parent
TABLE = HERE / "results" / "data" / "faults.csv"
CPSCHED = (sys.executable, "-m", "cpsched")
#: Kills a trial, each at a moment of its own, before the command is left alone.
IN_A_ROW = 5
#: CPU and wall seconds, which differ between equal runs: files, and a table of the report.
_TIMING = re.compile(r"(^|/)timing\.(json|csv|md|tex)$")
_TIMING_TABLE = re.compile(rb'<table [^>]*aria-label="what the runs cost".*?</table>', re.DOTALL)
#: In a statement of the last days: until when, and how many of its runs were there already.
_MOMENT = re.compile(rb"^(Jobs submitted from .*|\d+ runs: \d+ made, .*)$", re.MULTILINE)
#: Imported by Python when it starts: a clock that is wrong by the seconds in a file.
CLOCK = """
import os, time
def _wrong():
    with open(os.environ["FAULTS_CLOCK"]) as file:
        return int(file.read() or 0)
time.time = lambda right=time.time: right() + _wrong()
time.time_ns = lambda right=time.time_ns: right() + _wrong() * 10**9
"""
_DAY = 86400
#: The lock, which is empty; and what a finished command has emptied.
_OWN = re.compile(r"(^|/)\.lock$")
#: What is written before a campaign is whole, or of what went wrong, and says so: it may differ
#: until then.
_UNTIL_WHOLE = re.compile(r"(^|/)(study\.json$|\.|state$|record\.sqlite|failed/)|\.err$")


@dataclass(kw_only=True)
class Row:
    """
    A line of the table.

    Attributes
    ----------
    lost
        Trials whose result was not there, or not whole, after the command was repeated; and files
        that passed as whole before.
    differing
        Bytes that differ from the undisturbed result.
    unclear
        Trials that ended with a traceback, or without a line of error where one is due.
    """

    command: str
    fault: str
    tried: int = 0
    hit: int = 0
    lost: int = 0
    differing: int = 0
    unclear: int = 0
    answer: str = ""
    notes: list[str] = field(default_factory=list)

    @property
    def good(self) -> bool:
        """Whether faults were hit, and nothing was wrong."""
        return self.hit > 0 and not (self.lost or self.differing or self.unclear)


@dataclass(frozen=True)
class Command:
    """
    A command that writes below the folder ``out``.

    Attributes
    ----------
    reads
        What it reads first, an absolute path or one in its folder; with this it has begun its work.
    prepare
        Puts into a new folder what the command finds.
    kills
        Hits of ``kill -9``: few where it takes long.
    """

    name: str
    words: tuple[str, ...]
    reads: str
    prepare: Callable[[Path], None]
    kills: int

    def start(self, place: Path, *before: str, **more: Any) -> subprocess.Popen[str]:
        """Start it in a folder, in a process group of its own."""
        read = place / self.reads
        # Linux then notes when it is read; where it can be written to.
        with suppress(OSError):
            os.utime(read, (0, read.stat().st_mtime))
        return subprocess.Popen(
            [*before, *CPSCHED, *self.words], cwd=place, text=True, start_new_session=True,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, **more,
        )  # fmt: skip

    def has_begun(self, place: Path) -> bool:
        """Return whether its input was read since it was started."""
        return (place / self.reads).stat().st_atime > 0


def ended(process: subprocess.Popen[str]) -> str:
    """Wait for a process; return what it says on stderr."""
    try:
        errors = process.communicate(timeout=300)[1]
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        return f"{process.communicate()[1]}\nTraceback: it did not end"
    return str(errors)


def tree(out: Path) -> dict[str, bytes]:
    """Return the contents of all files below a folder, without seconds that were measured."""
    contents = {}
    for path in sorted(out.rglob("*")):
        name = path.relative_to(out).as_posix()
        if path.is_file() and not _TIMING.search(name) and not _OWN.search(name):
            content = path.read_bytes()
            left_out = _TIMING_TABLE if name.endswith(".html") else _MOMENT
            contents[name] = (
                left_out.sub(b"", content) if name.endswith((".html", ".txt")) else content
            )
    return contents


def apart(undisturbed: dict[str, bytes], repeated: dict[str, bytes]) -> dict[str, int]:
    """Return how many bytes differ in which files; a file that is only in one differs wholly."""
    differences = {}
    for name in sorted({*undisturbed, *repeated}):
        left, right = undisturbed.get(name), repeated.get(name)
        if left != right:
            pairs = zip_longest(left or b"", right or b"")
            differences[name] = max(sum(a != b for a, b in pairs), 1)
    return differences


class Trials:
    """
    A command, disturbed.

    Parameters
    ----------
    places
        Folder for the folders of trials.
    """

    def __init__(self, command: Command, places: Path, seed: int) -> None:
        self.command, self._places = command, places
        self._chance = random.Random(f"{seed} {command.name}")
        self._count = 0
        self.rows: dict[str, Row] = {}
        for _ in ("cold", "warm"):
            place = self.place()
            began = time.monotonic()
            process = command.start(place)
            while process.poll() is None and not command.has_begun(place):
                time.sleep(0.005)
            read = time.monotonic()
            errors = ended(process)
            if process.returncode:
                raise RuntimeError(f"{command.name}, undisturbed: {errors}")
            self.seconds, self.files = time.monotonic() - read, tree(place / "out")
        say(f"{command.name}: {read - began:.1f} s to begin, then {self.seconds:.1f} s undisturbed")

    def place(self) -> Path:
        """Return a new folder with what the command finds: of one name, which outputs may hold."""
        place = self._places / "here"
        if place.exists():
            self._count += 1
            place.rename(self._places / f"{self._count:04}")
        (place / "out").mkdir(parents=True)
        self.command.prepare(place)
        return place

    def row(self, fault: str) -> Row:
        """Return the line of a fault."""
        return self.rows.setdefault(fault, Row(command=self.command.name, fault=fault))

    def signalled(self, fault: str, send: Callable[[int], bool], count: int, row_of: int) -> None:
        """Disturb it until a signal has hit it so many times, so often in a row in one folder."""
        row = self.row(fault)
        while row.hit < count and row.tried < 5 * count:
            place = self.place()
            for _ in range(min(row_of, count - row.hit)):
                process = self.command.start(place)
                hit = self._at_a_moment(process, place, send)
                row.tried, row.hit = row.tried + 1, row.hit + hit
                errors = ended(process)
                self._wholly_there(row, place)
                if fault.startswith("SIG") and hit:
                    self._answer(row, process.returncode, errors)
                elif fault == "kill -9 of a worker" and process.returncode:
                    row.lost += 1
                    row.notes.append(errors)
            self._repeat(row, place)

    def _at_a_moment(
        self, process: subprocess.Popen[str], place: Path, send: Callable[[int], bool]
    ) -> bool:
        """Send a signal at a moment drawn over the warm run; return whether that hit."""
        while process.poll() is None and not self.command.has_begun(place):
            time.sleep(0.002)
        time.sleep(self._chance.uniform(0, self.seconds))
        with suppress(ProcessLookupError):
            return process.poll() is None and send(process.pid)
        return False

    def disk_full(self, shares: tuple[float, ...]) -> None:
        """Let it write to a file system that is too small; then to one that is not."""
        row = self.row("disk full")
        size = sum(map(len, self.files.values()))
        for share in shares:
            place = self.place()
            written = sum(map(len, tree(place / "out").values()))
            space = written + max(int(share * (size - written)), 4096)
            with mounted(place / "out", f"size={space}", self.command):
                process = self.command.start(place)
                self._answer(row, *reversed((ended(process), process.returncode)))
                row.tried, row.hit = row.tried + 1, row.hit + (process.returncode != 0)
                self._verify(row, place)
                mount("-o", "remount,size=1g", place / "out")
                self._repeat(row, place)

    def read_only(self) -> None:
        """Let it write to a folder that is read-only; then to the same folder."""
        row, place = self.row("read-only folder"), self.place()
        with mounted(place / "out", "size=1g", self.command):
            mount("-o", "remount,ro", place / "out")
            process = self.command.start(place)
            errors = ended(process)
            self._answer(row, process.returncode, errors)
            row.tried, row.hit = row.tried + 1, row.hit + (process.returncode != 0)
            mount("-o", "remount,rw", place / "out")
            self._repeat(row, place)

    def clock_set_back(self, count: int) -> None:
        """Set its clock back by two days in the middle; then kill it, and go on a month earlier."""
        row = self.row("clock set back")
        while row.hit < 2 * count and row.tried < 10 * count:
            place = self.place()
            clock = place / "clock"

            def back(_: int, clock: Path = clock) -> bool:
                other_clock(clock, -2 * _DAY)
                return True

            process = self.command.start(place, env=os.environ | other_clock(clock, 0))
            hit = self._at_a_moment(process, place, back)
            errors = ended(process)
            if process.returncode:
                row.lost += 1
                row.notes.append(errors)
            self._compare(row, place)
            row.tried, row.hit = row.tried + 1, row.hit + hit
            place = self.place()
            process = self.command.start(place)
            hit = self._at_a_moment(process, place, kill_group)
            ended(process)
            row.tried, row.hit = row.tried + 1, row.hit + hit
            earlier = other_clock(place / "clock", -30 * _DAY)
            self._repeat(row, place, env=os.environ | earlier)

    def two_writers(self, count: int) -> None:
        """Start it twice at a time in one folder."""
        row = self.row("two writers")
        for _ in range(count):
            place = self.place()
            both = [self.command.start(place) for _ in range(2)]
            with ThreadPoolExecutor(2) as waiting:
                errors = list(waiting.map(ended, both))
            row.tried, row.hit = row.tried + 1, row.hit + 1
            for process, words in zip(both, errors, strict=True):
                if process.returncode:
                    self._answer(row, process.returncode, words)
            if all(process.returncode for process in both):
                row.lost += 1
                row.notes.append("neither wrote")
            self._verify(row, place)
            self._repeat(row, place)

    def _answer(self, row: Row, code: int, errors: str) -> None:
        """Judge what a command says that could not do its work."""
        lines = [line for line in errors.splitlines() if line.strip()]
        row.answer = lines[-1] if lines else row.answer
        if (
            code <= 0
            or not lines
            or not all(line.startswith(("error: ", "warning: ")) for line in lines)
        ):
            row.unclear += 1
            row.notes.append(f"exit code {code}: {errors[-3000:]}")

    def _wholly_there(self, row: Row, place: Path) -> None:
        """Check that what has its real name is as in the undisturbed result."""
        contents = {n: c for n, c in tree(place / "out").items() if not _UNTIL_WHOLE.search(n)}
        expected = {name: self.files.get(name, b"") for name in contents}
        for name, count in apart(contents, expected).items():
            row.lost += 1
            row.notes.append(f"{place}: {name} passes as whole, {count} bytes differ")

    def _verify(self, row: Row, place: Path) -> None:
        """Check that ``cpsched verify`` finds nothing wrong with the runs that are there."""
        self._wholly_there(row, place)
        runs = [path for path in (place / "out").glob("**/runs") if any(path.iterdir())]
        if runs:
            checked = subprocess.run([*CPSCHED, "verify", *runs], capture_output=True, text=True)
            if checked.returncode:
                row.lost += 1
                row.notes.append(f"verify: {checked.stdout}{checked.stderr}")

    def _repeat(self, row: Row, place: Path, **more: Any) -> None:
        """Repeat the command as a user would, and compare."""
        process = self.command.start(place, **more)
        errors = ended(process)
        known = "exists; choose another name" in errors and (place / "out" / "model").exists()
        if process.returncode and not known:
            row.lost += 1
            row.notes.append(f"{place}, repeated: {errors}")
        self._compare(row, place)

    def _compare(self, row: Row, place: Path) -> None:
        for name, count in apart(tree(place / "out"), self.files).items():
            row.differing += count
            row.notes.append(f"{place}: {count} bytes differ in {name}")


def kill_group(process: int) -> bool:
    """Kill a command with all its processes."""
    os.killpg(process, signal.SIGKILL)
    return True


def kill_parent(process: int) -> bool:
    """Kill a command, but none of its workers."""
    os.kill(process, signal.SIGKILL)
    return True


def kill_worker(process: int) -> bool:
    """Kill one of a command's workers, if it has one."""
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    for child in map(int, children):
        with suppress(OSError):
            if b"popen_loky_posix" in Path(f"/proc/{child}/cmdline").read_bytes():
                os.kill(child, signal.SIGKILL)
                return True
    return False


def terminate(process: int) -> bool:
    """Send SIGTERM to a command alone, as ``kill`` does."""
    os.kill(process, signal.SIGTERM)
    return True


def interrupt(process: int) -> bool:
    """Send SIGINT to a command with all its processes, as a terminal does."""
    os.killpg(process, signal.SIGINT)
    return True


def mount(*words: str | Path) -> None:
    """Mount something."""
    subprocess.run(["mount", *words], check=True)


@contextmanager
def mounted(folder: Path, options: str, command: Command) -> Iterator[None]:
    """Have a file system of its own in a folder, with what the command finds."""
    mount("-t", "tmpfs", "-o", options, "none", folder)
    try:
        command.prepare(folder.parent)
        yield
    finally:
        subprocess.run(["umount", "-l", folder], check=True)


def other_clock(folder: Path, seconds: int) -> dict[str, str]:
    """
    Return the environment in which Python has another clock.

    Writing another number of seconds to the file ``offset`` in the folder changes it. faketime(1)
    breaks ``time.sleep``, which sleeps until a moment of the monotonic clock.
    """
    folder.mkdir(exist_ok=True)
    (folder / "sitecustomize.py").write_text(CLOCK)
    (folder / "offset").write_text(str(seconds))
    return {"PYTHONPATH": str(folder), "FAULTS_CLOCK": str(folder / "offset")}


def commands(log: Path) -> list[Command]:
    """Return the commands that read a log."""
    # Its path is in the runs, so it is the same for all of them.
    given = (str(log), "--system", "eurora")
    two = ("--out", "out/study", "--workers", "2", "--no-report")
    checkpointing = ("--checkpoint", "out/state", "--checkpoint-interval", "0.05")
    dispatchers = ("-d", "easy", "-d", "greedy", "-d", "fifo")
    changes = ("-c", "scale-load 1.2", "-c", "dispatcher fifo")
    simulate = ("simulate", *given, "-d", "greedy", "--out", "out/study", *checkpointing)
    compare = ("compare", *given, *dispatchers, *two)
    known = {
        "simulate": simulate,
        "train": ("train", *given, "--out", "out/model"),
        "compare --workers 2": compare,
        "what-if": ("what-if", *given, *changes, "--out", "out/study"),
    }
    kills = {"simulate": 30, "train": 20, "compare --workers 2": 10, "what-if": 8}
    return [
        Command(name, words, str(log), lambda _: None, kills[name]) for name, words in known.items()
    ]


def disturb(command: Command, places: Path, given: argparse.Namespace) -> list[Row]:
    """Disturb a command in every way; return its lines."""
    trials = Trials(command, places, given.seed)
    count = command.kills * given.times
    kills = {"kill -9": (kill_group, count)}
    if "--workers" in command.name:
        kills["kill -9 of the parent"] = (kill_parent, count // 2)
        kills["kill -9 of a worker"] = (kill_worker, count // 2)
    for fault, (send, count) in kills.items():
        trials.signalled(fault, send, count, 1 if send is kill_worker else IN_A_ROW)
    trials.signalled("SIGTERM", terminate, given.signals, 2)
    trials.signalled("SIGINT (Ctrl-C)", interrupt, given.signals, 2)
    trials.disk_full((0.02, 0.6))
    trials.read_only()
    if "--report" not in command.name:
        # A report is about the last days before now: with another clock, about other jobs.
        trials.clock_set_back(1)
    trials.two_writers(1)
    return report(trials.rows)


def report(rows: dict[str, Row]) -> list[Row]:
    """Print lines, and what was wrong in them."""
    for row in rows.values():
        numbers = (row.tried, row.hit, row.lost, row.differing, row.unclear)
        say(f"| {row.command} | {row.fault} | {' | '.join(map(str, numbers))} | {row.answer} |")
        for note in row.notes:
            say(f"    {note}")
    return list(rows.values())


_lines = threading.Lock()


def say(line: str) -> None:
    """Print a line; several threads do."""
    with _lines:
        print(line, flush=True)


def on_logs(given: argparse.Namespace, scratch: Path, *names: str) -> list[Row]:
    """Disturb commands that read a log."""
    log = scratch / f"log-{names[0]}.csv"
    draw = ("log", "generate", "eurora", "--jobs", str(given.jobs), "--seed", "1", "--out")
    subprocess.run([*CPSCHED, *draw, log], check=True, stdout=subprocess.DEVNULL)
    rows = []
    for command in commands(log):
        name = command.name.split()[0]
        if name in names and (not given.only or name in given.only):
            rows += disturb(command, scratch / command.name.replace(" ", ""), given)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description="Kill commands, and compare what is there.")
    parser.add_argument("--times", type=int, default=1, help="so many times as many kills")
    parser.add_argument("--signals", type=int, default=3, help="hits of SIGTERM and of SIGINT")
    parser.add_argument("--jobs", type=int, default=2000, help="jobs of the log")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="*", help="simulate, compare, what-if, train")
    parser.add_argument("--keep", type=Path, help="keep all folders in this one")
    parser.add_argument("--table", type=Path, default=TABLE, help="CSV file to write")
    given = parser.parse_args()
    if "FAULTS_INSIDE" not in os.environ:
        os.environ["FAULTS_INSIDE"] = "1"
        apart_from = ("unshare", "-m") if os.geteuid() == 0 else ("unshare", "-rm")
        os.execvp("unshare", [*apart_from, sys.executable, *sys.argv])
    # In the background it is ignored, and so it would be by what is started from here.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    began = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="cpsched-faults-") as folder:
        scratch = given.keep or Path(folder)
        scratch.mkdir(exist_ok=True)
        with ThreadPoolExecutor(2) as threads:
            done = [
                threads.submit(on_logs, given, scratch, "simulate", "compare", "what-if", "train")
            ]
            rows = [row for lane in done for row in lane.result()]
    write(rows, given.table)
    hits: dict[str, int] = defaultdict(int)
    for row in rows:
        hits["kill -9" if row.fault.startswith("kill -9") else "other faults"] += row.hit
    say(f"hits: {dict(hits)}; {time.monotonic() - began:.0f} s")
    sys.exit(not all(row.good for row in rows))


def write(rows: list[Row], table: Path) -> None:
    """Write the table."""
    with table.open("w", encoding="utf-8", newline="") as file:
        lines = [{k: v for k, v in asdict(row).items() if k != "notes"} for row in rows]
        writer = csv.DictWriter(file, lines[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(lines)


if __name__ == "__main__":
    main()
