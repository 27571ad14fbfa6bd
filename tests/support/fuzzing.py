"""
Valid inputs of every reader with something changed: each is read, or refused by one line.

The seeds are what the project's own writers and generators make, or what it ships, so that changes
reach deep code. The suite reads a few of each reader, ``benchmarks/fuzz.py`` very many.
"""

import csv
import gzip
import io
import json
import os
import re
import shutil
import signal
from collections.abc import Callable
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory

import hypothesis
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from altered import resign
from hypothesis import strategies as st
from recorded import simulator
from tiny import FOUR_CORES, jobs, machine, run

from cpsched import logs, systems
from cpsched.checks.predictor_tools import sample
from cpsched.cli.main import main
from cpsched.cli.negotiation_text import show_negotiation
from cpsched.cli.verify_run import checked_run
from cpsched.errors import CpschedError
from cpsched.logs.sacct import batch_script
from cpsched.simulation import checkpoint
from cpsched.slurm.config.importer import Files, read_site
from cpsched.slurm.dispatch import policy_file
from cpsched.study import load_run, load_study, save_run
from cpsched.study.prediction.replay import starts_of
from cpsched.study.prediction.training import save, train
from cpsched.study.scenarios import scenario
from cpsched.systems.mapping import fit
from cpsched.util.model_files import with_model
from cpsched.util.spec import build

ROOT = Path(__file__).parent.parent.parent
TRACES = ROOT / "tests/data/traces"
SLURM = ROOT / "tests/data/slurm"

#: Seconds that any input may take.
LONGEST = 10

#: What stands where a number or a name was.
NASTY = [
    *(b"nan", b"-nan", b"inf", b"-inf", b"-1", b"0", b"-0", b"1e400", b"1e308", b"0.5", b"", b" "),
    *(str(2**bits + more).encode() for bits in (31, 32, 53, 63, 64) for more in (-1, 0, 1)),
    *(b"1" + b"0" * 18, b"1000000000", b"9" * 5000, b"x" * 5000, b"1_000", b"0x10", b"1e3", b"+5"),
    *("é".encode("latin-1"), "é".encode(), b"\0", b"\xff\xfe", b"\xef\xbb\xbf", "٣".encode()),
    *("²".encode(), "\u2028".encode(), "\x85".encode(), b"\x1b[31m", b"\r", b"\x0c", b"\xed\xa0\x80"),
    *(b"true", b"null", b"None", b"NULL", b"UNLIMITED", b"Unknown", b"[]", b"{}", b'""', b"'", b'"'),
    *(b"[" * 3000, b"{" * 3000, b'{"a":' * 2000, b"((", b"))", b"n[1-999999999]", b"n[1-", b"n[3-1]"),
    *(b"2026-02-30", b"9999-12-31T23:59:59", b"0001-01-01", b"1970-01-01T00:00:00Z", b"24:00:00"),
    *(b"99999999-23:59:59", b"1-00:00:00", b"-1:00", b"1K", b"1T", b"1.5G", b"-1M", b"1kb", b"9E"),
    *(b"../../etc", b"/dev/null", b"/proc/self/mem", b"%c", b"%s", b"{0}", b"${A}", b"*", b"?", b"a:b"),
    *(b"a=b", b"a,b", b"a|b", b"a;b", b"a\nb", b"a\tb", b"\\", b"\\\n", b"#", b"--help", b"=", b":", b","),
]  # fmt: skip
#: Parts of an input that are changed; a word and a value are likelier, since most stays intact.
_WORD, _LINE, _BYTE = (re.compile(pattern) for pattern in (rb"[\w.+-]+", rb"[^\n]*\n", rb"(?s)."))
_VALUE = re.compile(rb'(?<==)\s*("[^"\n]*"|[^\s,]+)|(?<=[|,:])[^|,:\n]*')
_PARTS = st.sampled_from([_WORD, _WORD, _WORD, _VALUE, _VALUE, _VALUE, _LINE, _BYTE])
#: Of documents: values of every type, some of them of the right type and out of any range.
_VALUES = st.sampled_from([
    *(None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 0.5, 1e308, "", "x"),
    *(float("nan"), float("inf"), [], {}, [[]], [None], {"": None}, "é\ud800", "\0", "9" * 400, "-1"),
])  # fmt: skip
_ENCODINGS = st.sampled_from([
    lambda data: data.replace(b"\n", b"\r\n"), lambda data: data.replace(b"\n", b"\r"),
    lambda data: b"\xef\xbb\xbf" + data, lambda data: data.rstrip(b"\n"), lambda data: data + b"\0",
    lambda data: data.decode("utf-8", "replace").encode("utf-16"),
    lambda data: data.decode("utf-8", "replace").encode("latin-1", "replace"),
    lambda data: gzip.compress(data, 1, mtime=0),
    lambda data: gzip.compress(data, 1, mtime=0)[:-9],
])  # fmt: skip


@st.composite
def changed_bytes(draw, data):
    """Draw bytes with one to three parts of them replaced, or encoded in another way."""
    for _ in range(draw(st.sampled_from([1, 1, 1, 2, 3]))):
        if draw(st.integers(0, 14)) == 0:
            data = draw(_ENCODINGS)(data)
            continue
        part = draw(_PARTS)
        spans = [match.span() for match in part.finditer(data)] or [(0, 0)]
        first, last = spans[draw(st.integers(0, len(spans) - 1))]
        start, end = spans[draw(st.integers(0, len(spans) - 1))]
        new = draw(st.sampled_from(NASTY) | st.just(data[start:end]) | st.binary(max_size=3))
        change = draw(st.integers(0, 9))
        after = draw(st.sampled_from([b"", *_others()])) if change == 0 else data[last:]
        # Put before the part, in its place, or in place of all that follows.
        data = data[: first if change else last] + new + (data[first:] if change == 1 else after)
    return data[: 2**20]


@cache
def _others():
    """Return the ends of inputs of all readers."""
    names = (TRACES / "small.swf", TRACES / "slurm-22.sacct", TRACES / "minimal.csv")
    more = (ROOT / "data/systems/eurora.toml", SLURM / "university/slurm.conf")
    data = [path.read_bytes() for path in (*names, *more)]
    return [text[len(text) // 2 :] for text in data] + [b"PAR1" + bytes(40) + b"PAR1"]


@st.composite
def changed_document(draw, content):
    """Draw a JSON-like document with one thing in it changed, dropped or added."""
    content = json.loads(json.dumps(content))
    node, above = content, []
    while isinstance(node, dict | list) and node and (not above or draw(st.integers(0, 4))):
        keys = list(node) if isinstance(node, dict) else range(len(node))
        above.append((node, keys[draw(st.integers(0, len(keys) - 1))]))
        node = node[above[-1][1]]
    if not above:
        return draw(_VALUES)
    holder, key = above[-1]
    change = draw(st.sampled_from(["drop", "add", "shift", "replace", "replace"]))
    if change == "drop":
        del holder[key]
    elif change == "add" and isinstance(holder, list):
        holder.insert(key, draw(_VALUES))
    elif change == "shift" and isinstance(node, int):
        holder[key] = node + draw(st.sampled_from([-1, 1, 10**6, 2**40]))
    else:
        holder[draw(st.sampled_from("xyz")) if change == "add" else key] = draw(_VALUES)
    return content


@st.composite
def changed_table(draw, data):
    """Draw a Parquet file with a column, a value or the metadata of its table changed."""
    table = pq.read_table(io.BytesIO(data))
    at = draw(st.integers(0, table.num_columns - 1))
    name, column, names = table.column_names[at], table.column(at), [*table.column_names]
    row = st.integers(0, max(len(table) - 1, 0))
    change = draw(
        st.sampled_from(["drop", "add", "rename", "slice", "take", "metadata", *["value"] * 3])
    )
    if change == "drop":
        table = table.drop_columns([name])
    elif change == "add":
        table = table.append_column(draw(st.sampled_from([name, "more"])), column)
    elif change == "rename":
        names[at] = draw(st.sampled_from([*names, "", "x"]))
        table = table.rename_columns(names)
    elif change == "slice":
        table = table.slice(draw(row), draw(row))
    elif change == "take":
        table = table.take(pa.array(draw(st.lists(row, max_size=20)), pa.int64()))
    elif change == "metadata" and table.schema.metadata:
        key, value = draw(st.sampled_from([*table.schema.metadata.items()]))
        metadata = {**table.schema.metadata, key: draw(changed_bytes(value))}
        table = table.replace_schema_metadata(metadata)
    else:
        values = column.to_pylist()
        values[draw(row)] = draw(_VALUES)
        try:
            made = pa.array(values, column.type) if draw(st.booleans()) else pa.array(values)
        except (pa.ArrowException, OverflowError, UnicodeError):
            made = pa.array([repr(value) for value in values])
        table = table.set_column(at, name, made)
    file = io.BytesIO()
    pq.write_table(table, file)
    return file.getvalue()


@st.composite
def changed_archive(draw, data):
    """Draw an archive of arrays (``.npz``) with one array, or JSON in one, changed."""
    with np.load(io.BytesIO(data)) as archive:
        arrays = dict(archive)
    name = draw(
        st.sampled_from(
            [name for name in arrays if arrays[name].dtype.kind == "U"] * 9 + [*arrays, "x"]
        )
    )
    value = arrays.get(name, np.zeros(2))
    if value.dtype.kind == "U" and not value.ndim and draw(st.integers(0, 9)):
        arrays[name] = np.array(json.dumps(draw(changed_document(json.loads(str(value))))))
    else:
        arrays[name] = draw(st.sampled_from([
            value[:0] if value.ndim else value, value.astype("U8"), np.array(-1), -np.ones(3),
            np.concatenate([value, value]) if value.ndim else value[None],
            np.full(value.shape, 2**62) if value.dtype.kind in "iuf" else value.ravel(),
            np.full(value.shape, np.nan), np.full(value.shape, -1, np.int64), value[..., None],
        ]))  # fmt: skip
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


@st.composite
def changed_json(draw, data):
    """Draw a file of JSON, or a line of one, with a document in it changed."""
    lines = data.splitlines() if data.count(b"\n{") else [data]
    at = draw(st.integers(0, len(lines) - 1))
    lines[at] = json.dumps(draw(changed_document(json.loads(lines[at])))).encode()
    return b"\n".join(lines)


#: By the end of a file's name: what changes its content; each is changed as bytes too.
_FORMATS = {
    ".json": changed_json,
    ".jsonl": changed_json,
    ".parquet": changed_table,
    ".npz": changed_archive,
    ".model": changed_archive,
}


@dataclass(frozen=True, kw_only=True)
class Reader:
    """
    A reader of files, in a folder.

    Attributes
    ----------
    name
        What is read.
    seeds
        Makes valid inputs: the content of each file by its name.
    read
        The entry that commands use; takes the folder.
    modules
        The source files whose lines count as the reader's.
    fixed
        Files that are not changed.
    """

    name: str
    seeds: Callable[[], list[dict[str, bytes]]]
    read: Callable[[Path], object]
    modules: tuple[str, ...]
    fixed: tuple[str, ...] = ()

    def inputs(self):
        """Return the strategy of changed inputs."""
        return changed_files(seeds_of(self), self.fixed)

    def outcome(self, files, folder):
        """Write files into an emptied folder and return what becomes of them."""
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        for name, data in files.items():
            (folder / name).write_bytes(data)
        return outcome(self.read, folder)


@cache
def seeds_of(reader):
    """Return the seeds of a reader, made once."""
    return reader.seeds()


@st.composite
def changed_files(draw, seeds, fixed):
    """Draw files, one of which is changed."""
    files = dict(draw(st.sampled_from(seeds)))
    name = draw(st.sampled_from(sorted(files.keys() - set(fixed))))
    change = _FORMATS.get(Path(name).suffix, changed_bytes)
    strategy = draw(st.sampled_from([change, change, change, changed_bytes]))
    return files | {name: draw(strategy(files[name]))}


def try_inputs(reader, number, seed, handle):
    """Call a function with a number of changed inputs of a reader, the same for each seed."""

    @hypothesis.seed(seed)
    @hypothesis.settings(
        max_examples=number, database=None, phases=[hypothesis.Phase.generate],
        suppress_health_check=list(hypothesis.HealthCheck), deadline=None,
    )  # fmt: skip
    @hypothesis.given(reader.inputs())
    def each(files):
        handle(files)

    each()


def _of_files(name, *patterns):
    """Return seeds of one file: the content of each file of the repository."""
    return [
        {name: path.read_bytes()} for pattern in patterns for path in sorted(ROOT.glob(pattern))
    ]


@contextmanager
def _scratch(name):
    """The path of a file, or folder, in a folder for making seeds."""
    with TemporaryDirectory() as folder:
        yield Path(folder) / name


def small_log():
    """Return jobs with every column that matters, as in the tests of run folders."""
    return jobs(
        (0, 3, 4), (1, 2, 9, 4), (2, 1, 2), (2, 99, 1), (3, 1, 5, 7), (4, 2, 3),
        resources=("core", "mem"),
        user=["ann", "bob", "<script>", "", "ann", "eve"], queue=["a", "a", "b", "b", "a", "b"],
    )  # fmt: skip


def _written_log(name, form):
    with _scratch(name) as path:
        logs.write(small_log(), path, format=form)
        return {name: path.read_bytes()}


def log(name, form, file, patterns, *modules, more=list):
    """Return the reader of a format of logs, both strict and skipping bad lines."""

    def read(folder):
        path = folder / file
        size, rejects = path.stat().st_size, folder / "rejected.csv"
        try:
            logs.read(path, format=form, skip_bad_lines=size % 2 == 0, rejects=rejects)
        finally:
            with rejects.open(newline="", encoding="utf-8") as written:
                assert all(len(row) == 5 for row in csv.reader(written, strict=True))
            rejects.unlink()

    return Reader(
        name=name, seeds=lambda: [*more(), *_of_files(file, *patterns)], read=read,
        modules=("cpsched/logs/text.py", "cpsched/logs/rejects.py", *modules),
    )  # fmt: skip


def one_file(name, file, read, seeds, *modules):
    """Return the reader of one file; ``seeds`` makes contents."""
    return Reader(
        name=name, seeds=lambda: [{file: data} for data in seeds()],
        read=lambda folder: read(folder / file), modules=modules,
    )  # fmt: skip


def _sacct_lines():
    path = TRACES / "slurm-22.05.8.sacct"
    head = b"".join(path.read_bytes().splitlines(keepends=True)[:8])
    return [_written_log("log", "sacct"), {"log": head}]


def _sacct_json():
    content = json.loads((TRACES / "slurm-22.05.8.json").read_bytes())
    content["jobs"] = content["jobs"][:2]
    return [json.dumps(content).encode(), json.dumps(content, indent=1).encode()]


_TABLES = ("assoc", "qos", "sshare")
_SCONTROL = ("config.txt", "partitions.txt", "nodes.txt", "reservations.txt")


def _university():
    folder = SLURM / "university"
    names = ("slurm.conf", "partitions.conf", "topology.conf", *(f"{name}.txt" for name in _TABLES))
    files = {name: (folder / name).read_bytes() for name in names}
    files["nodes.conf"] = b"".join(
        path.read_bytes() for path in sorted((folder / "nodes.d").iterdir())
    )
    conf = re.sub(rb"(?i)(include\s+)nodes\.d/\S+", rb"\1nodes.conf", files["slurm.conf"])
    return [{**files, "slurm.conf": conf}]


def _conf_site(folder):
    tables = {name: folder / f"{name}.txt" for name in _TABLES}
    return read_site(Files(conf=folder / "slurm.conf", **tables))


def _scontrol():
    folder, names = SLURM / "22.05.8/limits", (*_SCONTROL, "assoc-tree.txt", "qos.txt")
    return [{name: (folder / name).read_bytes() for name in names}]


def _scontrol_site(folder):
    files = tuple(folder / name for name in _SCONTROL)
    read_site(Files(scontrol=files, assoc=folder / "assoc-tree.txt", qos=folder / "qos.txt"))


def _topologies():
    with _scratch("names.toml") as path:
        path.write_text(FOUR_CORES)
        a, b, c, d = (name.encode() for name in systems.load(path).node_names)
    first, second = a + b"," + b, c + b"," + d
    tree = b"SwitchName=s0 Switches=s[1-2]\nSwitchName=s1 Nodes=%b\nSwitchName=s2 Nodes=%b\n"
    blocks = b"BlockName=a Nodes=%b\nBlockName=b Nodes=%b\nBlockSizes=2,4\n"
    system = FOUR_CORES.encode() + b'\n[topology]\nslurm = "topology.conf"\n'
    return [{"topology.conf": text % (first, second), "m.toml": system} for text in (tree, blocks)]


_OUTAGES = [b"node,from,to,known\nn1,3,9,3\nn0,40,50,20\n", b"node,from,to\nn0,0,5\n"]


def _outages(path):
    build("outages", f'table:file="{path}"').outages(("n0", "n1", "n2"), 0, 10**6, 1)


def _negotiation_log():
    with _scratch("n.jsonl") as path:
        log_path, system = path.parent / "log.swf", path.parent / "four.toml"
        system.write_text(FOUR_CORES)
        rows = ((1, 0, 40, 3), (2, 1, 40, 2), (3, 2, 20, 1), (5, 9, 20, 4))
        line = "{0} {1} -1 {2} {3} -1 -1 {3} {2} -1 1 1 1 -1 1 -1 -1 -1\n"
        log_path.write_text("".join(line.format(*row) for row in rows))
        words = ["simulate", str(log_path), "--system", str(system), "-d", "dn-dbes"]
        words += ["--malleable", "least=0.5,most=2", "--observe", f"negotiation:file={path}"]
        assert _command(words) == 0
        return [path.read_bytes()]


def _show_negotiations(path):
    with redirect_stdout(io.StringIO()):
        show_negotiation(path)
        show_negotiation(path, 1)


def _models():
    fitted, contents = sample(), []
    for name in ("gbm-log", "gbm-quantile"):
        spec = f"{name}:trees=2,start=60,window=100"
        with _scratch("m.model") as path:
            save(path, train(fitted, starts_of(fitted), spec), fitted, spec)
            contents.append(path.read_bytes())
    return contents


def _simulation():
    rows = jobs((0, 1, 10), (0, 2, 5), (1, 1, 20), (3, 2, 5), user=["ann", "bob", "ann", ""])
    made = simulator(fit(rows, machine((1,), (1,))), "easy:order=wsept", predictor="last")
    made.run(until=4)
    return made


def _checkpoints():
    with _scratch("state.npz") as path:
        checkpoint.write(path, "me", _simulation().state())
        return [path.read_bytes()]


def _restore(path):
    _simulation().restore(checkpoint.read(path, "me"))


def _runs():
    with _scratch("r") as path:
        down = path.parent / "down.csv"
        down.write_bytes(_OUTAGES[0])
        system = machine((2, 4), (2, 4), resources=("core", "mem"))
        save_run(run(small_log(), system, "easy", outages=f"table:file={down}"), path)
        return [{file.name: file.read_bytes() for file in path.iterdir()}]


def _read_run(folder):
    """Read a run as ``verify``, ``compare`` and ``report`` do, also with its digests renewed."""
    with suppress(CpschedError):
        checked_run(folder)
    with suppress(ValueError, TypeError, OSError, RecursionError):
        resign(folder)
    checked_run(folder)
    dict(load_run(folder).summary)


#: By group, each of which is the name of a file with one specification.
_SPECS = {
    "dispatchers": (
        "easy", "easy:allocator=best-fit", "cph-1:limit=1", "speculative:dispatcher=easy,seconds=60",
        "preempt:dispatcher=easy,dispatcher.order=sjf", "easy-wsept:aging=3", "lookahead:seconds=1",
        "slurm", "wla:window=10", "conservative:order=expected-wait", "aucsched1", "ipsched",
        "dn-dbes:attempts=3", "malleable:strategy=common-pool", "slurm-backfill:bf_window=60",
    ),
    "predictors": ("requested", "user-history:limit=5", "last", "gbm-log:trees=3", "knn"),
    "priorities": ("fifo", "expected-wait", "wsept", "multifactor:age=1,size=2", "wfp3", "f1"),
    "allocators": ("first-fit", "contiguous", "balanced", "fgd"),
    "outages": ("random:mtbf=86400,repair=60", "during:nodes=n[1-2],start=3,end=9", "none"),
    "runtime_models": ("recorded", "amdahl:serial=0.1", "locality:alpha=0.2", "gpu-scaling"),
    "scenario": (
        "add-nodes group=gpu,count=10", "set bf_window=2880", "scale-load 1.2", "dispatcher easy",
        "max-time short=2:00:00", "cap-request 12:00:00; predictor last", "a: drop user=x", "keep queue=a",
        "outage nodes=n[1-2],start=3,end=9", "remove-nodes group=all,count=1",
        "priority-tier short=2", "default-time short=1:00:00",
    ),
}  # fmt: skip


def _text(path):
    return path.read_bytes()[:10_000].decode("utf-8", "surrogateescape")


def _build(folder):
    [path] = folder.iterdir()
    scenario(_text(path)) if path.name == "scenario" else build(path.name, _text(path))


_COMMANDS = (
    "simulate log.swf --system four.toml --dispatcher easy --predictor last --json",
    "simulate log.swf --system four.toml -d fifo --restarts share=0.5,most=2 --seed 3",
    "simulate log.swf --system four.toml --malleable least=0.5,most=2 -d malleable",
    "simulate log.swf --system four.toml --outages random:mtbf=1000,repair=60 --first 3",
    "explain log.swf --job 2 --at 3 --system four.toml -d easy --json",
    "forecast log.swf --job 3 --system four.toml -d easy --at 3",
    "log info log.swf --first 2 --json",
    "log info log.swf --input-format swf --skip-bad-lines",
    "verify r --json", "list dispatchers --json", "list systems", "show negotiation n.jsonl",
)  # fmt: skip


def _command(words):
    with redirect_stdout(io.StringIO()) as shown, redirect_stderr(io.StringIO()) as errors:
        try:
            code = main(words)
        except SystemExit as ended:
            code = ended.code or 0
    lines = errors.getvalue().splitlines()
    # A group without a command shows its help.
    usage = "Usage:" in shown.getvalue() or any(
        line.startswith(("Usage:", "Error:")) for line in lines
    )
    if code and not usage and sum(line.startswith("error:") for line in lines) != 1:
        raise AssertionError(f"{words} gave exit code {code} and not one line of error: {lines}")
    return code


def _run_command(folder):
    # Nothing is written but into the folder, and no shell takes a null character as part of a word.
    out = ("-o", "--out", "--force", "--install-completion", "--show-completion")
    words = _text(folder / "words").replace("\0", "").split()
    before = Path.cwd()
    os.chdir(folder)
    try:
        _command([word for word in words if not word.startswith(out)])
    finally:
        os.chdir(before)


def _command_files():
    [negotiation] = _negotiation_log()
    files = {
        "log.swf": (TRACES / "small.swf").read_bytes(),
        "four.toml": FOUR_CORES.encode(),
        "n.jsonl": negotiation,
    }
    return [{**files, "words": command.encode()} for command in _COMMANDS]


_SCRIPT = b"""#!/bin/bash
#SBATCH --job-name=x
#SBATCH -N 2 -n 8 --time=1-02:00:00
#SBATCH --mem-per-cpu=2G --gres=gpu:2 --partition=a,b
#SBATCH --constraint="fast&ssd" --dependency=afterok:3 --begin=now+1hour --nice=10
srun x
"""


def _policies():
    return [
        policy_file.to_toml(_conf_site(SLURM / "university").policy).encode(),
        (ROOT / "data/policies/site-152.toml").read_bytes().split(b"\n[[")[0],
    ]


def _studies():
    logs = str(ROOT / "data/logs").encode()
    files = _of_files("s.toml", "data/studies/*.toml")
    return [file["s.toml"].replace(b"../logs", logs) for file in files]


def _systems():
    files = ("data/systems/e*.toml", "data/systems/[bt]*.toml", "data/systems/site-152.toml")
    return [FOUR_CORES.encode(), *(file["m.toml"] for file in _of_files("m.toml", *files))]


def _system_json():
    from accasim_adapter.config import system_config

    system = machine((2, 4), (2, 4), resources=("core", "mem"))
    return [json.dumps(system_config(system)).encode()]


_TABLE = ("cpsched/logs/tables/*.py", "cpsched/logs/columns.py")
_CONFIG = "cpsched/slurm/config/"
_DATA = "tests/data/traces/"
READERS = (
    log("SWF log", "swf", "log", (f"{_DATA}*.swf",), "cpsched/logs/swf.py", "cpsched/logs/columns.py",
        more=lambda: [_written_log("log", "swf")]),
    log("PBS log", "pbs", "log", (f"{_DATA}*.acct",), "cpsched/logs/pbs/*.py"),
    log("sacct log", "sacct", "log", (f"{_DATA}slurm-17.sacct", f"{_DATA}slurm-22.sacct"),
        "cpsched/logs/sacct/*.py", more=_sacct_lines),
    log("CSV log", "table", "log.csv", (f"{_DATA}*.csv",), *_TABLE,
        more=lambda: [_written_log("log.csv", "table")]),
    log("Parquet log", "table", "log.parquet", (), *_TABLE,
        more=lambda: [_written_log("log.parquet", "table")]),
    one_file("sacct JSON", "log.json", lambda path: logs.read(path, format="sacct"), _sacct_json,
        "cpsched/logs/sacct/as_json.py", "cpsched/logs/sacct/job.py", "cpsched/logs/sacct/request.py"),
    one_file("system file", "m.toml", systems.load, _systems, "cpsched/systems/*.py",
        "cpsched/util/models.py", "cpsched/util/documents.py"),
    one_file("AccaSim system", "m.json", systems.load, _system_json, "accasim_adapter/config.py"),
    one_file("policy file", "p.toml", policy_file.load, _policies,
        "cpsched/slurm/dispatch/policy_file.py", "cpsched/slurm/dispatch/policy.py",
        "cpsched/slurm/dispatch/values.py"),
    one_file("study", "s.toml", load_study, _studies, "cpsched/study/study_file.py", "cpsched/study/study.py"),
    Reader(name="slurm.conf and tables", seeds=_university, read=_conf_site,
        modules=(f"{_CONFIG}conf.py", f"{_CONFIG}lines.py", f"{_CONFIG}nodes.py", f"{_CONFIG}accounts.py",
        f"{_CONFIG}policy.py", f"{_CONFIG}importer.py")),
    Reader(name="scontrol output", seeds=_scontrol, read=_scontrol_site, modules=(f"{_CONFIG}scontrol.py",)),
    Reader(name="topology.conf", seeds=_topologies, read=lambda folder: systems.load(folder / "m.toml"),
        fixed=("m.toml",), modules=(f"{_CONFIG}topology.py",)),
    one_file("outages", "down.csv", _outages, lambda: _OUTAGES, "cpsched/simulation/outages.py"),
    one_file("negotiations", "n.jsonl", _show_negotiations, _negotiation_log,
        "cpsched/papers/dn_dbes/record.py", "cpsched/cli/negotiation_text.py"),
    one_file("model", "m.model", lambda path: build("predictors", with_model(str(path))), _models,
        "predictors/model_file.py", "cpsched/util/archive.py", "cpsched/util/model_files.py"),
    one_file("checkpoint", "state.npz", _restore, _checkpoints, "cpsched/simulation/checkpoint.py"),
    Reader(name="run folder", seeds=_runs, read=_read_run,
        modules=("cpsched/study/reader.py", "cpsched/cli/verify_run.py", "cpsched/study/folder.py",
        "cpsched/verification/*.py")),
    one_file("batch script", "job.sh", lambda path: batch_script.read(path, submit=0), lambda: [_SCRIPT],
        "cpsched/logs/sacct/batch_script.py", "cpsched/logs/sacct/options.py"),
    Reader(name="specification", read=_build, seeds=lambda: [
        {group: text.encode()} for group, texts in _SPECS.items() for text in texts],
        modules=("cpsched/util/spec.py", "cpsched/study/scenarios.py", "cpsched/study/changes.py")),
    Reader(name="command line", seeds=_command_files, read=_run_command,
        fixed=("log.swf", "four.toml", "n.jsonl"), modules=("cpsched/cli/*.py",)),
)  # fmt: skip


class TooLongError(BaseException):
    """An input took longer than it may; nothing in a reader catches this."""


def _too_long(*_):
    raise TooLongError(f"took more than {LONGEST} s")


@contextmanager
def time_limit():
    """Raise :class:`TooLongError` after so many seconds."""
    before = signal.signal(signal.SIGALRM, _too_long)
    signal.setitimer(signal.ITIMER_REAL, LONGEST)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def outcome(read, folder):
    """
    Return what becomes of an input: ``read``, ``refused``, or a sentence about what is wrong.
    """
    try:
        with time_limit():
            read(folder)
    except CpschedError as error:
        message = str(error)
        lines = len(message.splitlines())
        if message.strip() and lines == 1:
            return "refused"
        return f"an error of {lines} lines: {message[:200]!r}"
    except (Exception, TooLongError) as error:
        return f"{type(error).__name__}: {str(error)[:200]!r} at {_where(error)}"
    return "read"


def _where(error):
    """Return the last line of the project's own code that an error came through."""
    at, location = error.__traceback__, ""
    while at is not None:
        path = at.tb_frame.f_code.co_filename
        if path.startswith(str(ROOT)) and ".venv" not in path and "tests/support" not in path:
            location = f"{Path(path).relative_to(ROOT)}:{at.tb_lineno}"
        at = at.tb_next
    return location
