"""``cpsched list`` and ``cpsched show``: what is said of each name, and how it is laid out."""

import json
import re

import pytest

from cpsched import systems
from cpsched.cli.options import names_of
from cpsched.cli.registered import KINDS
from cpsched.model.system import System
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.study.scenarios import scenario
from cpsched.util import registry

ADVICE = ("good for: ", "goes wrong when: ")


@pytest.fixture
def of_width(monkeypatch, cpsched):
    """Return the lines that a terminal of a width shows."""

    def lines(kind, width):
        monkeypatch.setattr("cpsched.cli.registered.width", lambda: width)
        code, out, _ = cpsched("list", kind, "--all")
        assert code == 0
        return [line for line in out.splitlines() if line and not re.match(r"\S.*:$", line)]

    return lines


def _by_name(lines):
    """Return the lines of each name, the first of them without it."""
    lines_of = {}
    for line in lines:
        if not line.startswith(" "):
            name, _, line = line.partition(" ")
            lines_of[name] = []
        lines_of[name].append(line.strip())
    return lines_of


def test_each_dispatcher_says_when_to_use_it_and_when_not(of_width):
    """Both, in a line each, before its options; an alias is said to be what it settles."""
    lines_of = _by_name(of_width("dispatchers", 120))
    for name, entry in registry.entries("dispatchers").items():
        if entry.preset_options:
            assert lines_of[name] == [f"{entry.of} with {_settled(entry)}."]
            continue
        labels = [line.partition(": ")[0] + ": " for line in lines_of[name][1:]]
        assert tuple(labels[:2]) == ADVICE, name
        assert labels[2] == "options: ", name


def _settled(entry):
    return ", ".join(f"{key}={value}" for key, value in entry.preset_options.items())


def test_the_list_of_dispatchers_begins_with_six(cpsched):
    """When to use each, and what a preset stands for; all are there by family with --all."""
    _, out, _ = cpsched("list", "dispatchers")
    names = [line.split()[0] for line in out.splitlines()[:-2] if not line.startswith(" ")]
    assert names == ["easy", "easy-wsept", "easy-slowdown", "conservative", "slurm"]
    assert "short for easy:estimate=requested,order=wsept\n" in out
    assert "--all" in out.splitlines()[-1]
    _, out, _ = cpsched("list", "dispatchers", "--all")
    families = dict(re.findall(r"^(\S.*):\n(\S+)", out, re.MULTILINE))
    assert families["backfilling"] == "conservative"
    assert families["co-allocation, Soner and Ozturan 2012"] == "ipsched"
    assert "others" not in families


def test_a_preset_lists_the_options_of_the_priority_that_it_sets(cpsched):
    code, out, _ = cpsched("show", "dispatchers", "easy-wsept")
    assert code == 0
    assert {"allocator=first-fit", "aging=43200", "width_exponent=0.5"} <= set(out.split())
    assert "aging" not in cpsched("show", "dispatchers", "easy-slowdown")[1]


@pytest.mark.parametrize("width", [80, 100])
def test_slurms_parameters_have_their_default_and_meaning(cpsched, monkeypatch, width):
    monkeypatch.setattr("cpsched.cli.registered.width", lambda: width)
    code, out, _ = cpsched("show", "dispatchers", "slurm")
    lines = out.splitlines()
    assert code == 0
    assert max(map(len, lines)) <= width
    assert "options: policy=none, topology=line, lag=0, parameters of slurm.conf" in out
    shown = lines[lines.index("Parameters of slurm.conf, with Slurm's defaults:") + 1 :]
    names = [line.split()[0].partition("=")[0] for line in shown if re.match(r"  \S", line)]
    assert names == list(PARAMETERS)
    meaning = "minutes into the future that backfill plans"
    assert f"  bf_window=1440                {meaning}" in shown
    assert "  PriorityFlags=none            changes to the computation of priorities" in shown
    assert "Parameters" not in cpsched("show", "dispatchers", "slurm-backfill")[1]


def test_what_is_said_is_of_the_dispatcher_itself(of_width):
    """Nobody says the same of itself as another, but for when the three auctions go wrong."""
    lines_of = _by_name(of_width("dispatchers", 1000))
    good, bad = ([line for lines in lines_of.values() for line in lines if line.startswith(label)]
                 for label in ADVICE)  # fmt: skip
    own = [entry for entry in registry.entries("dispatchers").values() if not entry.preset_options]
    assert len(good) == len(bad) == len(own)
    assert len(set(good)) == len(good)
    assert len(set(bad)) == len(bad) - 2


@pytest.mark.parametrize("width", [80, 120])
@pytest.mark.parametrize("kind", ["dispatchers", "priorities", "allocators", "systems"])
def test_a_list_keeps_within_the_terminal_in_aligned_columns(of_width, kind, width):
    """Names at the left, summaries behind the longest, details two columns further, wrapped four."""
    lines = of_width(kind, width)
    assert max(map(len, lines)) <= width
    margin = 2 + max(len(line.split()[0]) for line in lines if not line.startswith(" "))
    for line in lines:
        start = len(line) - len(line.lstrip())
        if start:
            assert start in (margin, margin + 2, margin + 4)
            assert (start == margin + 2) == line.lstrip().startswith((*ADVICE, "options: "))
        else:
            assert line[margin - 1] == " "
            assert line[margin] != " "


def test_wrapping_loses_no_word(of_width):
    """A narrow terminal shows the same words as a wide one."""
    narrow, wide = (" ".join(of_width("dispatchers", width)).split() for width in (80, 1000))
    assert narrow == wide


def test_a_dispatcher_that_says_nothing_of_itself_has_its_options_alone(of_width, monkeypatch):
    """As those of plug-ins that were written before there was anything to say."""
    monkeypatch.setattr("cpsched.dispatch.rules.Fifo.good_for", "")
    monkeypatch.setattr("cpsched.dispatch.rules.Fifo.goes_wrong_when", "")
    _, *details = _by_name(of_width("dispatchers", 120))["fifo"]
    assert details == ["options: allocator=first-fit"]


SYSTEM = """\
title = "My cluster"
resources = ["core", "gpu", "mem"]

[[nodes]]
group = "thin"
count = 60
core = 16
mem = "64 GB"

[[nodes]]
group = "gpu"
count = 4
core = 32
gpu = 4
mem = "128 GB"

[[queues]]
name = "batch"
max_time = "2-00:00:00"
groups = ["thin"]

[log]
processors = "packed"
"""


@pytest.fixture
def file(tmp_path):
    """A system file."""
    path = tmp_path / "mine.toml"
    path.write_text(SYSTEM)
    return path


def test_a_system_file_is_shown_as_it_was_read(file, cpsched):
    """Groups with names and amounts, queues with what they say, how a log is read."""
    code, out, _ = cpsched("show", "systems", str(file))
    assert code == 0
    lines = [line.split() for line in out.splitlines()]
    assert out.startswith("My cluster: 64 nodes, 1,088 cores, 16 GPUs, 4.25 TB memory\n")
    assert ["thin", "node[01-60]", "60", "16", "0", "64", "GB"] in lines
    assert ["gpu", "node[61-64]", "4", "32", "4", "128", "GB"] in lines
    assert ["batch", "thin", "2", "d"] in lines
    assert "expected" not in out
    assert "of a log that only counts them: packed" in out
    assert max(map(len, out.splitlines())) <= 80


def test_a_system_file_as_data_is_that_of_a_run(file, cpsched):
    """As system.json has it, which can be read again."""
    code, out, _ = cpsched("show", "systems", str(file), "--json")
    assert code == 0
    assert System.from_dict(json.loads(out)["system"]) == systems.load(file)


def test_what_is_wrong_in_a_system_file_is_said_with_its_line(file, cpsched):
    """In one line, and the exit code says so."""
    file.write_text(SYSTEM.replace("core = 16", "cor = 16"))
    code, out, err = cpsched("show", "systems", str(file))
    assert (code, out) == (2, "")
    assert f"{file}:7: nodes[1].cor: unknown key" in err
    assert err.count("\n") == 1


def test_check_says_in_one_line_what_a_system_file_has(file, cpsched):
    assert cpsched("check", str(file)) == (
        0, f"{file}: 64 nodes, 1,088 cores, 16 GPUs, 1 queue.\n", "",
    )  # fmt: skip
    description = json.loads(cpsched("check", str(file), "--json")[1])
    assert (description["schema"], description["nodes"], description["queues"]) == (
        "cpsched.check/1",
        64,
        1,
    )
    assert description["total"]["gpu"] == 16


def test_check_names_the_line_of_a_fault_in_a_system_file(file, cpsched):
    file.write_text(SYSTEM.replace("core = 16", "cor = 16"))
    code, out, err = cpsched("check", str(file))
    assert (code, out, err.count("\n")) == (2, "", 1)
    assert f"{file}:7: nodes[1].cor: unknown key" in err


@pytest.mark.parametrize("name", systems.names())
def test_every_machine_that_comes_with_cpsched_is_shown(name, cpsched):
    code, out, _ = cpsched("show", "systems", name)
    assert code == 0
    assert systems.load(name).title in out.splitlines()[0]


@pytest.mark.parametrize("kind", list(KINDS))
def test_each_name_can_be_asked_for(cpsched, kind):
    """Of every kind, also of those that take no options."""
    for name in names_of(kind):
        code, out, _ = cpsched("show", kind, name)
        assert (code, out.split()[0]) == (0, name) or kind == "systems"


@pytest.mark.parametrize("name", ["set", "dispatcher", "predictor"])
def test_changes_of_what_decides_can_be_asked_for(cpsched, name):
    """The list of changes names them, although they are not registered."""
    assert f"{name} " in cpsched("list", "changes")[1].splitlines()[-1]
    code, out, err = cpsched("show", "changes", name)
    assert (code, err) == (0, "")
    summary, example = out.splitlines()
    assert summary.startswith(f"{name}  ")
    assert "the baseline's" in summary
    change = re.search("--change '(.*)'", example)[1]
    assert scenario(change).label == change
    (row,) = json.loads(cpsched("show", "changes", name, "--json")[1])["names"]
    assert row["name"] == name
    assert "Did you mean 'predictor'" in cpsched("show", "changes", "predictr")[2]


def test_the_options_of_a_generator_are_told(cpsched):
    """With their defaults, as those of a dispatcher."""
    _, out, _ = cpsched("show", "generators", "heterogeneous")
    assert "\n  seed=1  seed of all random choices" in out
