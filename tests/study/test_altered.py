"""Whatever is changed in a run folder is noticed, even if digests are made again."""

import json
import shutil
from contextlib import suppress

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from altered import resign, rewrite
from tiny import jobs, machine, run

from cpsched.cli.verify_run import checked_run
from cpsched.errors import CpschedError, RunError
from cpsched.study import load_run, save_run

#: Changes to each file, at least: a column that is not tried would go unnoticed itself.
LEAST = {"jobs": 170, "allocations": 90, "queue": 55, "outages": 45, "workload": 85}
LEAST |= {"metrics": 100, "system": 40, "run": 80}
TABLES = ("jobs", "allocations", "queue", "outages", "workload")
DOCUMENTS = ("metrics", "system", "run")

#: What follows from nothing else in the folder, so that nothing contradicts it. The inputs of a
#: run are trusted: when nodes were down counts where a job is on them.
UNKNOWABLE = {
    "run.json": {
        "versions": "of the programs that made the run",
        "arguments": "the caller's own words, such as labels",
        "dispatcher": "its rules are not checked, nor that the schedule is its own",
        "predictor": "one that is not installed here is only known to answer with times",
        "decisions": "counted by the dispatcher while it decided",
        "predictions": "counted by the predictor while it predicted",
        "provenance": "what a predictor rests on besides its options",
        "settings.estimate_correction": "what dispatchers expected of jobs that ran longer than predicted",
        "settings.dispatch_interval": "when the dispatcher was asked",
        "settings.enforce_time_limits": "which jobs were rejected, with a reason",
        "settings.restarts": "which jobs are restartable is in workload.parquet",
        "settings.malleable": "which jobs are malleable is in workload.parquet",
        "settings.runtime_model": "others than recorded say less about how long jobs run",
        "settings.outages": "what the outages in outages.parquet were made of",
        "settings.seed": "what was drawn with it is in the other files",
        "files": "made again by whoever changes a file",
    },
    "outages.parquet": {
        "node": "an input",
        "from": "an input",
        "to": "an input, after from",
        "known": "an input",
    },
}


@pytest.fixture(scope="module")
def original(tmp_path_factory):
    """Jobs that are killed, rejected and interrupted by a node that fails, with memory."""
    place = tmp_path_factory.mktemp("original")
    (place / "down.csv").write_text("node,from,to,known\nn1,3,9,3\nn0,40,50,20\n")
    workload = jobs(
        (0, 3, 4), (1, 2, 9, 4), (2, 1, 2), (2, 99, 1), (3, 1, 5, 7), (4, 2, 3),
        resources=("core", "mem"),
        user=["ann", "bob", "<script>", "", "ann", "eve"],
        queue=["a", "a", "b", "b", "a", "b"],
    )  # fmt: skip
    system = machine((2, 4), (2, 4), resources=("core", "mem"))
    result = run(workload, system, "easy", outages=f"table:file={place / 'down.csv'}")
    save_run(result, place / "r")
    return place / "r"


def _number(value, step):
    return None if value is None else value + step


def _text(value):
    return None if value is None else f"{value}x"


def _other(values):
    """Change each value a little."""
    if all(value is None for value in values):
        return [1] * len(values)
    kind = next(type(value) for value in values if value is not None)
    if kind is bool:
        return [not value for value in values]
    if kind in (int, float):
        return [_number(value, 1) for value in values]
    if kind is str:
        return [_text(value) for value in values]
    return [None] * len(values)


def _first(values, value):
    return [value, *values[1:]]


def _retyped(values, _):
    """Change the type and leave the values."""
    return [None if value is None else [value] for value in values]


def _texts(values, kind):
    return [None if v is None else str(v) for v in values] if pa.types.is_integer(kind) else None


def _floats(values, kind):
    return pa.array(values, pa.float64()) if pa.types.is_integer(kind) else None


def _nan(values, kind):
    return (
        _first([*map(float, map(bool, values))], float("nan"))
        if pa.types.is_integer(kind)
        else None
    )


def _huge(values, kind):
    return _first(values, 2 ** (kind.bit_width - 2)) if pa.types.is_integer(kind) else None


#: Of a column: other values of it, None where there is no such thing.
COLUMNS = {
    "changed": lambda values, _: _other(values),
    "one changed": lambda values, _: _first(values, _other(values)[0]),
    "shifted": lambda values, _: [*values[1:], values[0]],
    "swapped": lambda values, _: [values[1], values[0], *values[2:]],
    "null": lambda values, _: _first(values, None),
    "negative": lambda values, kind: _first(values, -7) if pa.types.is_integer(kind) else None,
    "huge": lambda values, kind: _huge(values, kind),
    "list": _retyped,
    "text": _texts,
    "float": _floats,
    "nan": _nan,
}
#: Of a table.
ROWS = {
    "first row dropped": lambda table: table.slice(1),
    "last row dropped": lambda table: table.slice(0, len(table) - 1),
    "row repeated": lambda table: pa.concat_tables([table, table.slice(0, 1)]),
    "rows turned": lambda table: table.take(list(range(len(table)))[::-1]),
    "emptied": lambda table: table.slice(0, 0),
    "a column more": lambda table: table.append_column("more", pa.array(range(len(table)))),
}


def _in_columns(folder, name):
    """Yield a name for each way to change a column, and a function that does it."""
    path = folder / f"{name}.parquet"
    table = pq.read_table(path)
    for column in table.column_names:
        values, kind = table.column(column).to_pylist(), table.schema.field(column).type
        yield (
            (column, "dropped"),
            lambda path, column=column: pq.write_table(
                pq.read_table(path).drop_columns([column]), path
            ),
        )
        for how, change in COLUMNS.items():
            made = change(values, kind) if len(values) > 1 or how not in ("swapped",) else None
            if made is None:
                continue
            same = isinstance(made, list) and made == values
            made = made if isinstance(made, pa.Array) else _array(made, kind, how)
            if not same:
                yield (
                    (column, how),
                    lambda path, column=column, made=made: rewrite(path, made, column),
                )


def _array(values, kind, how):
    """Keep the type of a column unless it is what is changed."""
    return pa.array(values) if how in ("list", "text", "nan") else pa.array(values, kind)


def _in_rows(folder, name):
    table = pq.read_table(folder / f"{name}.parquet")
    for how, change in ROWS.items():
        made = change(table)
        if not made.equals(table):
            yield ("", how), lambda path, made=made: pq.write_table(made, path)


def _leaves(content, path=()):
    """Yield the way to everything in a document; of long lists and tables to the ends."""
    if isinstance(content, dict | list):
        keys = list(content if isinstance(content, dict) else range(len(content)))
        for key in keys if len(path) < 1 or len(keys) < 20 else (keys[0], keys[-1]):
            yield from _leaves(content[key], (*path, key))
    if path:
        yield path


def _in_document(folder, name):
    content = json.loads((folder / f"{name}.json").read_text())
    for path in _leaves(content):
        *above, last = path

        def edit(file, change, above=above, last=last):
            document = json.loads(file.read_text())
            inner = document
            for key in above:
                inner = inner[key]
            change(inner, last)
            file.write_text(json.dumps(document))

        for how, change in DOCUMENT.items() if len(path) < 2 else [("changed", _replace)]:
            yield (*path, how), lambda file, edit=edit, change=change: edit(file, change)


def _replace(inner, key):
    value = inner[key]
    inner[key] = "other" if isinstance(value, dict | list) or value is None else _other([value])[0]


def _drop(inner, key):
    del inner[key]


def _wrap(inner, key):
    inner[key] = [inner[key]]


DOCUMENT = {"changed": _replace, "dropped": _drop, "wrapped": _wrap}


def messages_of(folder):
    """Return what ``verify`` says, a line each; a traceback is an error of the test."""
    try:
        return checked_run(folder)["findings"]
    except CpschedError as error:
        return [str(error)]


def unnoticed(original, tmp_path, file, changes, *, again=True):
    """Make every change, and return those of which nothing was said."""
    missed = []
    folder = shutil.copytree(original, tmp_path / "r")
    for name, change in changes:
        change(folder / file)
        if again:
            resign(folder)
        lines = messages_of(folder)
        if not lines:
            missed.append(name)
        assert all("\n" not in line for line in lines), name
        for file_name in (file, "run.json"):
            shutil.copy(original / file_name, folder / file_name)
    assert messages_of(folder) == []
    return missed


def test_the_run_is_right_and_has_every_file(original):
    assert messages_of(original) == []
    names = {path.stem for path in original.iterdir()} - {"timing"}
    assert names == {*TABLES, *DOCUMENTS}


@pytest.mark.parametrize("name", TABLES)
def test_every_column_and_row_of_every_table(original, tmp_path, name):
    changes = [*_in_columns(original, name), *_in_rows(original, name)]
    missed = unnoticed(original, tmp_path, f"{name}.parquet", changes)
    assert len(changes) > LEAST[name]
    known = UNKNOWABLE.get(f"{name}.parquet", {})
    assert [change for change in missed if change[0] not in known] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_everything_in_every_document(original, tmp_path, name):
    changes = list(_in_document(original, name))
    missed = unnoticed(original, tmp_path, f"{name}.json", changes, again=name != "run")
    assert len(changes) > LEAST[name]
    known = UNKNOWABLE.get(f"{name}.json", {})
    assert [
        change for change in missed if change[0] not in known and ".".join(change[:2]) not in known
    ] == []


@pytest.mark.parametrize("name", ["system", "workload"])
def test_inputs_with_digests_made_again_are_no_traceback(original, tmp_path, name):
    """They are another machine and other jobs then, which the schedule may fit or not."""
    folder = shutil.copytree(original, tmp_path / "r")
    file = folder / f"{name}.{'json' if name == 'system' else 'parquet'}"
    in_file = _in_document if name == "system" else _in_columns
    for how, change in in_file(original, name):
        change(file)
        resign(folder)
        description = json.loads((folder / "run.json").read_text())
        with suppress(RunError):
            description[name]["digest"] = getattr(load_run(folder).schedule, name).digest()
        (folder / "run.json").write_text(json.dumps(description))
        assert all("\n" not in line for line in messages_of(folder)), how
        for file_name in (file.name, "run.json"):
            shutil.copy(original / file_name, folder / file_name)
