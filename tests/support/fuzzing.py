"""
Valid inputs of every reader, changed at random: each is read, or refused by one line.

The seeds are what the project's own writers and generators make, or what it ships, so that changes
reach deep code. The suite reads a few hundred of each kind, ``benchmarks/fuzz.py`` very many.
"""

import gzip
import io
import json
import os
import random
import re
import shutil
import signal
import string
import zipfile
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from altered import resign
from tiny import FOUR_CORES, jobs, machine, run

from cpsched import logs, systems
from cpsched.cli.main import build as command_line
from cpsched.cli.negotiation_text import show_negotiation
from cpsched.cli.output import guarded
from cpsched.cli.verify_run import checked_run
from cpsched.errors import CpschedError
from cpsched.logs.sacct import batch_script
from cpsched.slurm.config.importer import Files, read_site
from cpsched.slurm.dispatch import policy_file
from cpsched.study import load_run, load_study, save_run
from cpsched.study.scenarios import scenario
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
_WORD = re.compile(rb"[\w.+-]+")
_VALUE = re.compile(rb'(?<==)\s*("[^"\n]*"|[^\s,]+)|(?<=[|,:])[^|,:\n]*')
#: Of documents: values of every type, some of them of the right type and out of any range.
_VALUES = [
    *(None, True, False, 0, -1, 1, 2**31, 2**63 - 1, 2**63, -(2**63), 10**30, 0.5, 1e308, "", "x"),
    *(
        float("nan"),
        float("inf"),
        [],
        {},
        [[]],
        [None],
        {"": None},
        "é\ud800",
        "\0",
        "9" * 400,
        "-1",
    ),
]


def _spot(rng, data):
    return rng.randrange(len(data) + 1)


def _flip(rng, data, _):
    if not data:
        return data
    at = rng.randrange(len(data))
    return data[:at] + bytes([rng.randrange(256)]) + data[at + 1 :]


def _lines(rng, data, _):
    """Delete, repeat or swap lines."""
    lines = data.splitlines(keepends=True)
    if not lines:
        return data
    one, other = rng.randrange(len(lines)), rng.randrange(len(lines))
    how = rng.randrange(3)
    if how == 0:
        del lines[one]
    elif how == 1:
        lines.insert(other, lines[one])
    else:
        lines[one], lines[other] = lines[other], lines[one]
    return b"".join(lines)


def _replaced(rng, data, pattern):
    found = [match.span() for match in pattern.finditer(data)]
    if not found:
        return data
    first, last = rng.choice(found)
    return data[:first] + rng.choice(NASTY) + data[last:]


def _word(rng, data, _):
    return _replaced(rng, data, _WORD)


def _value(rng, data, _):
    return _replaced(rng, data, _VALUE)


def _moved(rng, data, _):
    """A word of the input stands where another was: valid words in wrong places."""
    found = [match.span() for match in _WORD.finditer(data)]
    if not found:
        return data
    (first, last), (start, end) = rng.choice(found), rng.choice(found)
    return data[:first] + data[start:end] + data[last:]


def _inserted(rng, data, _):
    at = _spot(rng, data)
    return data[:at] + rng.choice(NASTY) + data[at:]


def _truncated(rng, data, _):
    return data[: _spot(rng, data)]


def _spliced(rng, data, other):
    return data[: _spot(rng, data)] + other[_spot(rng, other) :]


def _encoded(rng, data, _):
    text = data.decode("utf-8", "replace")
    return rng.choice([
        data.replace(b"\n", b"\r\n"), data.replace(b"\n", b"\r"), b"\xef\xbb\xbf" + data,
        text.encode("utf-16"), text.encode("latin-1", "replace"), gzip.compress(data, 1, mtime=0),
        gzip.compress(data, 1, mtime=0)[: -rng.randrange(1, 30)], data.rstrip(b"\n"), data + b"\0",
    ])  # fmt: skip


#: Changes of bytes; what changes one value is likelier, since it leaves the most intact.
CHANGES = (_word, _word, _word, _value, _value, _value, _moved, _moved, _lines, _lines, _flip)
CHANGES += (_inserted, _truncated, _spliced, _encoded)


def mutated(rng, data, other):
    """Return bytes with one to three changes; ``other`` is an input of another kind."""
    for _ in range(rng.choice((1, 1, 1, 2, 3))):
        data = rng.choice(CHANGES)(rng, data, other)
    return data[: 2**20]


def document(rng, content):
    """Return a JSON-like document with one thing in it changed, dropped or added."""
    content = json.loads(json.dumps(content))
    here, above = content, []
    while isinstance(here, dict | list) and here and (not above or rng.random() < 0.8):
        key = rng.choice(list(here)) if isinstance(here, dict) else rng.randrange(len(here))
        above.append((here, key))
        here = here[key]
    if not above:
        return rng.choice(_VALUES)
    holder, key = above[-1]
    how = rng.randrange(5)
    if how == 0:
        del holder[key]
    elif how == 1 and isinstance(holder, list):
        holder.insert(key, rng.choice(_VALUES))
    elif how == 1:
        holder[rng.choice(string.ascii_letters)] = rng.choice(_VALUES)
    elif isinstance(here, int) and how == 2:
        holder[key] = here + rng.choice((-1, 1, 10**6, 2**40))
    else:
        holder[key] = rng.choice(_VALUES)
    return content


def table(rng, found):
    """Return an Arrow table with a column, or a value of it, changed."""
    at = rng.randrange(found.num_columns)
    name, column = found.column_names[at], found.column(at)
    how = rng.randrange(9)
    if how == 0:
        return found.drop_columns([name])
    if how == 1:
        return found.append_column(rng.choice([name, "more"]), column)
    if how == 2:
        names = [*found.column_names]
        names[at] = rng.choice([*names, "", "x"])
        return found.rename_columns(names)
    if how == 3:
        return found.slice(rng.randrange(len(found) + 1), rng.randrange(len(found) + 1))
    if how == 4:
        return found.take(pa.array(rng.choices(range(len(found)), k=rng.randrange(1, 20))))
    if how == 5 and found.schema.metadata:
        key, value = rng.choice([*found.schema.metadata.items()])
        metadata = {**found.schema.metadata, key: mutated(rng, value, b'{"a": 1}')}
        return found.replace_schema_metadata(metadata)
    values = column.to_pylist()
    values[rng.randrange(len(values))] = rng.choice(_VALUES)
    try:
        made = pa.array(values, column.type) if how > 6 else pa.array(values)
    except (pa.ArrowException, OverflowError, UnicodeError):
        made = pa.array([repr(value) for value in values])
    return found.set_column(at, name, made)


@dataclass(frozen=True, kw_only=True)
class Reader:
    """
    One kind of input.

    Attributes
    ----------
    name
        What is read.
    seeds
        Valid inputs, of whatever ``make`` changes; made once.
    read
        The entry that commands use; takes what ``make`` returns.
    make
        Puts a changed input into a folder; returns its path, or the words themselves.
    modules
        The source files whose lines count as the reader's.
    """

    name: str
    seeds: object
    read: object
    make: object
    modules: tuple[str, ...]


def plain(name):
    """Return the maker of a file of changed bytes."""

    def make(rng, seeds, folder):
        path = folder / name
        path.write_bytes(mutated(rng, rng.choice(seeds), rng.choice(_others())))
        return path

    return make


@cache
def _others():
    """Of all kinds, to be spliced into each other."""
    names = (TRACES / "small.swf", TRACES / "slurm-22.sacct", TRACES / "minimal.csv")
    more = (ROOT / "data/systems/eurora.toml", SLURM / "university/slurm.conf")
    return [path.read_bytes() for path in (*names, *more)] + [b"PAR1" + bytes(40) + b"PAR1"]


def _files(*patterns):
    return [path.read_bytes() for pattern in patterns for path in sorted(ROOT.glob(pattern))]


def _head(path, lines):
    data = path.read_bytes()
    data = gzip.decompress(data) if path.suffix == ".gz" else data
    return b"".join(data.splitlines(keepends=True)[:lines])


def small_log():
    """Return jobs with every column that matters, as in the tests of run folders."""
    return jobs(
        (0, 3, 4), (1, 2, 9, 4), (2, 1, 2), (2, 99, 1), (3, 1, 5, 7), (4, 2, 3),
        resources=("core", "mem"),
        user=["ann", "bob", "<script>", "", "ann", "eve"], queue=["a", "a", "b", "b", "a", "b"],
    )  # fmt: skip


@contextmanager
def _scratch(name):
    """A folder for making seeds."""
    from tempfile import TemporaryDirectory

    with TemporaryDirectory() as folder:
        yield Path(folder) / name


def _as_log(name, form):
    with _scratch(name) as path:
        logs.write(small_log(), path, format=form)
        return path.read_bytes()


def log(name, form, seeds, *modules):
    """Return the reader of a format of logs, both strict and skipping bad lines."""

    def read(path):
        logs.read(path, format=form, skip_bad_lines=path.stat().st_size % 2 == 0)

    suffix = {"Parquet log": "log.parquet", "CSV log": "log.csv"}.get(name, "log")
    return Reader(
        name=name, seeds=seeds, read=read, make=plain(suffix), modules=("cpsched/logs/text.py", *modules)
    )  # fmt: skip


def _parquet(rng, seeds, folder):
    path = folder / "log.parquet"
    if rng.random() < 0.2:
        path.write_bytes(mutated(rng, seeds[0], rng.choice(_others())))
    else:
        pq.write_table(table(rng, pq.read_table(io.BytesIO(rng.choice(seeds)))), path)
    return path


def _json_file(name, share=0.5):
    """Return the maker of a file of JSON, changed as a document or as bytes."""

    def make(rng, seeds, folder):
        if rng.random() > share:
            return plain(name)(rng, seeds, folder)
        path = folder / name
        path.write_text(json.dumps(document(rng, json.loads(rng.choice(seeds)))))
        return path

    return make


def _sacct_json():
    whole = json.loads((TRACES / "slurm-22.05.8.json").read_bytes())
    whole["jobs"] = whole["jobs"][:2]
    return [json.dumps(whole).encode(), json.dumps(whole, indent=1).encode()]


def _beside(names, one_of):
    """Return the maker of a folder of files, of which one is changed."""

    def make(rng, seeds, folder):
        chosen = rng.choice(one_of)
        for name in names:
            data = seeds[name]
            if name == chosen:
                data = mutated(rng, data, rng.choice(_others()))
            (folder / name).write_bytes(data)
        return folder

    return make


_UNIVERSITY = (
    "slurm.conf",
    "partitions.conf",
    "topology.conf",
    "assoc.txt",
    "qos.txt",
    "sshare.txt",
)


def _university():
    folder = SLURM / "university"
    nodes = b"".join(path.read_bytes() for path in sorted((folder / "nodes.d").iterdir()))
    found = {name: (folder / name).read_bytes() for name in _UNIVERSITY}
    conf = re.sub(rb"(?i)(include\s+)nodes\.d/\S+", rb"\1nodes.conf", found["slurm.conf"])
    return {**found, "slurm.conf": conf, "nodes.conf": nodes}


def _conf_site(folder):
    tables = {name: folder / f"{name}.txt" for name in ("assoc", "qos", "sshare")}
    read_site(Files(conf=folder / "slurm.conf", **tables))


_SCONTROL = ("config.txt", "partitions.txt", "nodes.txt", "reservations.txt")


def _scontrol():
    folder = SLURM / "22.05.8/limits"
    return {
        name: (folder / name).read_bytes() for name in (*_SCONTROL, "assoc-tree.txt", "qos.txt")
    }


def _scontrol_site(folder):
    files = tuple(folder / name for name in _SCONTROL)
    read_site(Files(scontrol=files, assoc=folder / "assoc-tree.txt", qos=folder / "qos.txt"))


_TREE = (
    b"SwitchName=s0 Switches=s[1-2]\nSwitchName=s1 Nodes=all[0-1]\nSwitchName=s2 Nodes=all[2-3]\n"
)
_BLOCKS = b"BlockName=a Nodes=all[0-1]\nBlockName=b Nodes=all[2-3]\nBlockSizes=2,4\n"


def _topology(rng, seeds, folder):
    names = systems.load(_written(folder / "names.toml", FOUR_CORES.encode())).node_names
    data = rng.choice(seeds)
    for at, name in enumerate(names):
        data = data.replace(b"all[0-1]", f"{names[0]},{names[1]}".encode())
        data = data.replace(b"all[2-3]", f"{names[2]},{names[3]}".encode())
        assert at < 4, name
    _written(folder / "topology.conf", mutated(rng, data, rng.choice(_others())))
    return _written(
        folder / "m.toml", FOUR_CORES.encode() + b'\n[topology]\nslurm = "topology.conf"\n'
    )


def _written(path, data):
    path.write_bytes(data)
    return path


_OUTAGES = [b"node,from,to,known\nn1,3,9,3\nn0,40,50,20\nn2,60,70,\n", b"node,from,to\nn0,0,5\n"]


def _outages(path):
    build("outages", f'table:file="{path}"').outages(("n0", "n1", "n2"), 0, 10**6, 1)


def _negotiation_log():
    with _scratch("n.jsonl") as path:
        log_path, system = path.parent / "log.swf", path.parent / "four.toml"
        _written(system, FOUR_CORES.encode())
        rows = ((1, 0, 40, 3), (2, 1, 40, 2), (3, 2, 20, 1), (5, 9, 20, 4))
        line = "{0} {1} -1 {2} {3} -1 -1 {3} {2} -1 1 1 1 -1 1 -1 -1 -1\n"
        log_path.write_text("".join(line.format(*row) for row in rows))
        words = ["simulate", str(log_path), "--system", str(system), "-d", "dn-dbes"]
        words += ["--malleable", "least=0.5,most=2", "--observe", f"negotiation:file={path}"]
        assert _command(words) == 0
        return [path.read_bytes()]


def _lines_of_json(rng, seeds, folder):
    if rng.random() < 0.5:
        return plain("n.jsonl")(rng, seeds, folder)
    lines = rng.choice(seeds).splitlines()
    at = rng.randrange(len(lines))
    lines[at] = json.dumps(document(rng, json.loads(lines[at]))).encode()
    return _written(folder / "n.jsonl", b"\n".join(lines))


def _show_negotiations(path):
    with redirect_stdout(io.StringIO()):
        show_negotiation(path)
        show_negotiation(path, 1)


def _model_seeds():
    from cpsched.checks.predictor_tools import sample
    from cpsched.study.prediction.replay import starts_of
    from cpsched.study.prediction.training import save, train

    made = []
    for spec in ("gbm-log:trees=2,start=60,window=100", "gbm-quantile:trees=2,start=60,window=100"):
        fitted = sample()
        with _scratch("model") as path:
            save(path, train(fitted, starts_of(fitted), spec), fitted, spec)
            with np.load(path) as found:
                made.append((path.read_bytes(), dict(found)))
    return made


def _model(rng, seeds, folder):
    data, arrays = rng.choice(seeds)
    path = folder / "m.model"
    if rng.random() < 0.3:
        return _written(path, mutated(rng, data, rng.choice(_others())))
    arrays = dict(arrays)
    name = rng.choice(["/header", "/plain", *arrays])
    if name in ("/header", "/plain") and rng.random() < 0.9:
        changed = json.dumps(document(rng, json.loads(str(arrays[name]))))
        arrays[name] = np.array(changed)
    else:
        value = arrays[name]
        arrays[name] = rng.choice([
            value[:0] if value.ndim else value, value.astype("U8"), np.array(-1), -np.ones(3),
            np.concatenate([value, value]) if value.ndim else value[None],
            np.full(value.shape, 2**62) if value.dtype.kind in "iuf" else value.ravel(),
            np.full(value.shape, np.nan), np.full(value.shape, -1, np.int64), value[..., None],
        ])  # fmt: skip
    with path.open("wb") as file:
        np.savez(file, **arrays)
    if rng.random() < 0.1:
        with zipfile.ZipFile(path, "a") as file:
            file.writestr(rng.choice(["/header.npy", "x", "a/b.npy"]), rng.choice(NASTY))
    return path


def _use_model(path):
    build("predictors", with_model(str(path)))


def _runs():
    """Return a run folder as its files, and the copy they are in."""
    with _scratch("r") as path:
        down = _written(path.parent / "down.csv", _OUTAGES[0].replace(b"n2,60,70,\n", b""))
        system = machine((2, 4), (2, 4), resources=("core", "mem"))
        save_run(run(small_log(), system, "easy", outages=f"table:file={down}"), path)
        return {one.name: one.read_bytes() for one in path.iterdir()}


def _run(rng, seeds, folder):
    """One file of a run changed; mostly signed again, so that more than the digest is looked at."""
    path = folder / "r"
    shutil.rmtree(path, ignore_errors=True)
    path.mkdir()
    chosen = rng.choice(sorted(seeds))
    for name, data in seeds.items():
        if name != chosen:
            _written(path / name, data)
    data = seeds[chosen]
    how = rng.random()
    if how < 0.15:
        _written(path / chosen, mutated(rng, data, rng.choice(_others())))
    elif chosen.endswith(".parquet"):
        pq.write_table(table(rng, pq.read_table(io.BytesIO(data))), path / chosen)
    elif chosen.endswith(".json"):
        (path / chosen).write_text(json.dumps(document(rng, json.loads(data))))
    if how < 0.95:
        with suppress(ValueError, TypeError, OSError, RecursionError):
            resign(path)
    return path


def _read_run(path):
    """As ``verify``, and then ``compare`` and ``report`` do with each run."""
    checked_run(path)
    found = load_run(path)
    dict(found.summary)


_SPECS = {
    "dispatchers": (
        "easy", "easy:allocator=best-fit", "cph-1:limit=1", "speculative:dispatcher=easy,seconds=60",
        'preempt:inner="easy:order=sjf"', "easy-wsept:aging=3", "lookahead:seconds=1",
        "slurm", "wla:window=10", "conservative:order=expected-wait", "aucsched1", "ipsched",
        "dn-dbes:attempts=3", "malleable:strategy=common-pool", "slurm-backfill:bf_window=60",
    ),
    "predictors": ("requested", "user-history:limit=5", "last", "gbm-log:trees=3", "knn"),
    "priorities": ("fifo", "expected-wait", "wsept", "multifactor:age=1,size=2", "wfp3", "f1"),
    "allocators": ("first-fit", "contiguous", "balanced", "fgd"),
    "outages": ("random:mtbf=86400,repair=60", "during:nodes=n[1-2],start=3,end=9", "none"),
    "runtime_models": ("recorded", "amdahl:serial=0.1", "locality:alpha=0.2", "gpu-scaling"),
}  # fmt: skip
_SCENARIOS = (
    "add-nodes group=gpu,count=10", "set bf_window=2880", "scale-load 1.2", "dispatcher easy",
    "max-time short=2:00:00", "cap-request 12:00:00; predictor last", "a: drop user=x", "keep queue=a",
    "outage nodes=n[1-2],start=3,end=9", "remove-nodes group=all,count=1",
)  # fmt: skip


def _word_of(rng, text):
    data = text.encode("utf-8", "surrogateescape")
    changed = mutated(rng, data, b"easy:a=1,b=2;c 3").decode("utf-8", "surrogateescape")
    return changed[:10_000]


def _spec(rng, seeds, folder):
    group = rng.choice([*seeds, "scenario"])
    if group == "scenario":
        return group, _word_of(rng, rng.choice(_SCENARIOS))
    return group, _word_of(rng, rng.choice(seeds[group]))


def _build(words):
    group, text = words
    scenario(text) if group == "scenario" else build(group, text)


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


def _words(rng, seeds, folder):
    """A command with one or two of its words changed, repeated, dropped or swapped."""
    for name, data in seeds.items():
        if not (folder / name).exists():
            _written(folder / name, data)
    words = rng.choice(_COMMANDS).split()
    for _ in range(rng.choice((1, 1, 2))):
        at = rng.randrange(len(words))
        how = rng.randrange(5)
        if how == 0 and len(words) > 1:
            del words[at]
        elif how == 1:
            words.insert(at, words[rng.randrange(len(words))])
        elif how == 2:
            other = rng.randrange(len(words))
            words[at], words[other] = words[other], words[at]
        else:
            words[at] = _word_of(rng, words[at])
    # Nothing is written but into the folder, and no shell takes a null character as part of a word.
    words = [word.replace("\0", "") for word in words]
    out = ("-o", "--out", "--force", "--install-completion", "--show-completion")
    return folder, [word for word in words if not word.startswith(out)]


@cache
def _group():
    return command_line([])


def _command(words):
    with redirect_stdout(io.StringIO()) as shown, redirect_stderr(io.StringIO()) as said:
        try:
            code = guarded(lambda: _group()(words, prog_name="cpsched"), debug=False)
        except SystemExit as ended:
            code = ended.code or 0
    lines = said.getvalue().splitlines()
    # A group without a command shows its help.
    usage = "Usage:" in shown.getvalue() or any(
        line.startswith(("Usage:", "Error:")) for line in lines
    )
    if code and not usage and sum(line.startswith("cpsched:") for line in lines) != 1:
        raise AssertionError(f"{words} gave exit code {code} and not one line of error: {lines}")
    return code


def _run_command(made):
    folder, words = made
    before = Path.cwd()
    os.chdir(folder)
    try:
        _command(words)
    finally:
        os.chdir(before)


def _command_files():
    return {
        "log.swf": (TRACES / "small.swf").read_bytes(),
        "four.toml": FOUR_CORES.encode(),
        "n.jsonl": _negotiation_log()[0],
    }


_SCRIPT = b"""#!/bin/bash
#SBATCH --job-name=x
#SBATCH -N 2 -n 8 --time=1-02:00:00
#SBATCH --mem-per-cpu=2G --gres=gpu:2 --partition=a,b
#SBATCH --constraint="fast&ssd" --dependency=afterok:3 --begin=now+1hour --nice=10
srun x
"""


def _policies():
    site = _read_university()
    return [
        policy_file.to_toml(site).encode(),
        (ROOT / "data/policies/site-152.toml").read_bytes().split(b"\n[[")[0],
    ]


def _studies():
    logs = str(ROOT / "data/logs").encode()
    return [data.replace(b"../logs", logs) for data in _files("data/studies/*.toml")]


def _read_university():
    folder = SLURM / "university"
    tables = {name: folder / f"{name}.txt" for name in ("assoc", "qos", "sshare")}
    return read_site(Files(conf=folder / "slurm.conf", **tables)).policy


def _system_json():
    from accasim_adapter.config import system_config

    system = machine((2, 4), (2, 4), resources=("core", "mem"))
    return [json.dumps(system_config(system)).encode()]


_TABLE = ("cpsched/logs/table*.py",)
_CONFIG = "cpsched/slurm/config/"
READERS = (
    log("SWF log", "swf", lambda: [_as_log("log", "swf"), *_files("tests/data/traces/*.swf")],
        "cpsched/logs/swf.py", "cpsched/logs/swf_lines.py"),
    log("PBS log", "pbs", lambda: _files("tests/data/traces/*.acct"), "cpsched/logs/pbs/*.py"),
    log("sacct log", "sacct", lambda: [_as_log("log", "sacct"), *_files("tests/data/traces/slurm-17.sacct",
        "tests/data/traces/slurm-22.sacct"), _head(TRACES / "slurm-22.05.8.sacct", 8)],
        "cpsched/logs/sacct/*.py"),
    Reader(name="sacct JSON", seeds=_sacct_json, read=lambda path: logs.read(path, format="sacct"),
        make=_json_file("log.json"), modules=("cpsched/logs/sacct/as_json.py", "cpsched/logs/sacct/job.py",
        "cpsched/logs/sacct/request.py")),
    log("CSV log", "table", lambda: [_as_log("log.csv", "table"), *_files("tests/data/traces/*.csv")], *_TABLE),
    Reader(name="Parquet log", seeds=lambda: [_as_log("log.parquet", "table")],
        read=lambda path: logs.read(path, format="table"), make=_parquet, modules=_TABLE),
    Reader(name="system file", seeds=lambda: [FOUR_CORES.encode(), *_files("data/systems/e*.toml",
        "data/systems/[bt]*.toml", "data/systems/site-152.toml")], read=systems.load, make=plain("m.toml"),
        modules=("cpsched/systems/*.py", "cpsched/util/toml_section.py", "cpsched/util/documents.py")),
    Reader(name="AccaSim system", seeds=_system_json, read=systems.load, make=_json_file("m.json"),
        modules=("accasim_adapter/config.py",)),
    Reader(name="policy file", seeds=_policies, read=policy_file.load, make=plain("p.toml"),
        modules=("cpsched/slurm/dispatch/policy_file.py", "cpsched/slurm/dispatch/policy.py",
        "cpsched/slurm/dispatch/values.py")),
    Reader(name="study", seeds=_studies, read=load_study, make=plain("s.toml"),
        modules=("cpsched/study/study_file.py", "cpsched/study/study.py")),
    Reader(name="slurm.conf and tables", seeds=_university, read=_conf_site,
        make=_beside((*_UNIVERSITY, "nodes.conf"), (*_UNIVERSITY, "nodes.conf")),
        modules=(f"{_CONFIG}conf.py", f"{_CONFIG}lines.py", f"{_CONFIG}nodes.py", f"{_CONFIG}accounts.py",
        f"{_CONFIG}policy.py", f"{_CONFIG}importer.py")),
    Reader(name="scontrol output", seeds=_scontrol, read=_scontrol_site,
        make=_beside((*_SCONTROL, "assoc-tree.txt", "qos.txt"), (*_SCONTROL, "assoc-tree.txt", "qos.txt")),
        modules=(f"{_CONFIG}scontrol.py",)),
    Reader(name="topology.conf", seeds=lambda: [_TREE, _BLOCKS], read=systems.load, make=_topology,
        modules=(f"{_CONFIG}topology.py",)),
    Reader(name="outages", seeds=lambda: _OUTAGES, read=_outages, make=plain("down.csv"),
        modules=("cpsched/simulation/outages.py",)),
    Reader(name="negotiations", seeds=_negotiation_log, read=_show_negotiations, make=_lines_of_json,
        modules=("cpsched/papers/dn_dbes/record.py", "cpsched/cli/negotiation_text.py")),
    Reader(name="model", seeds=_model_seeds, read=_use_model, make=_model,
        modules=("predictors/model_file.py", "cpsched/util/archive.py", "cpsched/util/model_files.py")),
    Reader(name="run folder", seeds=_runs, read=_read_run, make=_run,
        modules=("cpsched/study/reader.py", "cpsched/cli/verify.py", "cpsched/study/folder.py",
        "cpsched/verification/*.py")),
    Reader(name="batch script", seeds=lambda: [_SCRIPT],
        read=lambda path: batch_script.read(path, submit=0), make=plain("job.sh"),
        modules=("cpsched/logs/sacct/batch_script.py", "cpsched/logs/sacct/command.py")),
    Reader(name="specification", seeds=lambda: _SPECS, read=_build, make=_spec,
        modules=("cpsched/util/spec.py", "cpsched/study/scenarios.py", "cpsched/study/changes.py")),
    Reader(name="command line", seeds=_command_files, read=_run_command, make=_words,
        modules=("cpsched/cli/*.py",)),
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


def outcome(reader, made):
    """
    Return what becomes of an input: ``read``, ``refused``, or a sentence about what is wrong.
    """
    try:
        with time_limit():
            reader.read(made)
    except CpschedError as error:
        said = str(error)
        lines = len(said.splitlines())
        if said.strip() and lines == 1:
            return "refused"
        return f"an error of {lines} lines: {said[:200]!r}"
    except (Exception, TooLongError) as error:
        return f"{type(error).__name__}: {str(error)[:200]!r} at {_where(error)}"
    return "read"


def _where(error):
    """Return the last line of the project's own code that an error came through."""
    at, found = error.__traceback__, ""
    while at is not None:
        path = at.tb_frame.f_code.co_filename
        if path.startswith(str(ROOT)) and ".venv" not in path and "tests/support" not in path:
            found = f"{Path(path).relative_to(ROOT)}:{at.tb_lineno}"
        at = at.tb_next
    return found


def seeds_of(reader):
    """Return the seeds of a reader, made once."""
    return _seeds(reader.name)


@cache
def _seeds(name):
    return next(reader for reader in READERS if reader.name == name).seeds()


def inputs(reader, number, seed, folder):
    """Yield changed inputs, one after the other in the same place."""
    rng = random.Random(f"{reader.name} {seed}")
    seeds = seeds_of(reader)
    for _ in range(number):
        yield reader.make(rng, seeds, folder)
