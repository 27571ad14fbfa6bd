"""``cpsched list``: what there is to choose from."""

from __future__ import annotations

import inspect
import re
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Annotated, Any, Literal, NamedTuple

import typer

from cpsched.cli.options import AsJson, names_of
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.cli.report import totals, width
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.util.words import brief, memory

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from cpsched.model.system import Queue, System
    from cpsched.util.tables import Table

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
#: What each kind is, in the order of the overview.
_KINDS = {
    "dispatchers": "decide which waiting jobs start (-d)",
    "predictors": "say how long jobs will run (-p)",
    "allocators": "choose the nodes of a job that starts (--allocator)",
    "priorities": "order the queue (-d easy:priority=NAME)",
    "systems": "machines that come with cpsched (--system); NAME may be a file of yours",
    "traces": "formats for reading job logs (--format)",
    "formats": "extra formats for writing runs (simulate --format)",
    "generators": "make synthetic job logs (log generate)",
    "runtime_models": "say how long jobs run on other nodes (--runtime-model)",
    "outages": "say when nodes are down (--outages)",
    "changes": "changes of a scenario (what-if --change)",
    "observers": "watch a run (simulate --observe)",
}
if TYPE_CHECKING:
    Kind = str
else:
    Kind = Literal[tuple(_KINDS)]

#: The dispatchers to begin with, and when to use each.
_FIRST = {
    "easy": "what most sites run; compare everything else with it",
    "easy-urgency": "many short jobs and rough requested times: lower slowdowns, longer tails",
    "easy-slowdown": "a machine that is overloaded for days, GPU jobs in bursts",
    "conservative": "tails of the wait matter more than means; slow if hundreds of jobs wait",
    "slurm": "what Slurm does: with its defaults, or as your site does with --policy",
}
_BEGIN = """\
Where to begin, on your own log: cpsched list dispatchers shows five, and when to use each.
Whatever you choose, look at the longest wait before the mean: means improve if a few jobs wait
very long."""


#: A reference in a docstring: its last word is the name.
_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")


class _Row(NamedTuple):
    """The description of a name: a summary, lines of details below it, and what it belongs to."""

    name: str
    summary: str
    details: tuple[str, ...] = ()
    family: str = ""


def command(
    kind: Annotated[
        Kind | None, typer.Argument(help="What to list; without it, the kinds are listed.")
    ] = None,
    name: Annotated[
        str | None,
        typer.Argument(
            help="One of them: what its options mean; of a system, or of your system's file, what"
            " is in it.",
        ),
    ] = None,
    everything: Annotated[
        bool, typer.Option("--all", help="All dispatchers, by family, not only five to begin with.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """
    List dispatchers, predictors, systems and the rest, with their options and when to use them.
    """
    if kind is None:
        _overview(as_json=as_json)
        return
    if kind == "systems" and name is not None:
        _system(name, as_json=as_json)
        return
    rows = _systems() if kind == "systems" else _registered(kind)
    if name is not None:
        rows = [row for row in rows if row.name == name]
        if not rows:
            raise UnknownNameError(kind.removesuffix("s").replace("_", " "), name, names_of(kind))
    if as_json:
        print_json("list", {"kind": kind, "names": [row._asdict() for row in rows]})
        return
    if name is not None:
        _show(rows[0]._replace(family=""))
        for option, words in _meanings(kind, name):
            for line in _aligned(_Row(f"  {option}", words), 4 + len(option)):
                echo(line)
    elif kind == "dispatchers" and not everything:
        _show(*_first({row.name for row in rows}))
        echo("\ncpsched list dispatchers --all shows the others, by family.")
    else:
        _show(*rows)
        if kind == "changes":
            echo("\nAlso: set KEY=VALUE, dispatcher NAME, predictor NAME (of the baseline).")


def _show(*rows: _Row) -> None:
    """Print rows, those of a family together."""
    margin = max((len(row.name) for row in rows), default=0) + 2
    for family, some in groupby(sorted(rows, key=lambda row: row.family), lambda row: row.family):
        if family:
            echo(f"\n{escaped(family)}:")
        for line in (line for row in some for line in _aligned(row, margin)):
            echo(line)


def _first(there: Collection[str]) -> list[_Row]:
    """Return the dispatchers to begin with: when to use each, and what a preset stands for."""
    from cpsched.util.spec import whole

    rows = []
    for name, when in _FIRST.items():
        if name in there:
            spec = str(whole("dispatchers", name))
            rows.append(_Row(name, when, () if spec == name else (f"short for {spec}",)))
    return rows


def _overview(*, as_json: bool) -> None:
    names = {kind: names_of(kind) for kind in _KINDS}
    if as_json:
        print_json("list", {"kinds": names})
        return
    for kind, words in _KINDS.items():
        echo(f"cpsched list {kind:<15} {len(names[kind]):>3}  {words}")
    echo("\ncpsched list KIND NAME explains the options of one of them.")
    echo(f"cpsched list systems FILE checks a system file and shows what is in it.\n\n{_BEGIN}")


def _system(name: str, *, as_json: bool) -> None:
    """Describe a machine; a file that is wrong is an error that says where."""
    from cpsched import systems

    system = systems.load(name)
    if as_json:
        print_json("list", {"kind": "systems", "system": system.to_dict()})
    else:
        echo(system_text(system, width()))


def _meanings(kind: str, name: str) -> list[tuple[str, str]]:
    """Return what the docstrings of a thing and its bases say about each option, with defaults."""
    from cpsched.logs.generators import describe
    from cpsched.util import registry
    from cpsched.util.spec import options_of, passed_on

    thing = registry.load(kind, name)
    if kind == "generators":
        return [(f"{one.name}={_shown(one.default)}", one.doc) for one in describe(thing.options)]
    if not callable(thing):
        return []
    told: dict[str, str] = {}
    for one in reversed(inspect.getmro(thing) if inspect.isclass(thing) else (thing,)):
        for option, text in _parameters(one):
            if option not in told or not text.startswith("As for "):
                told[option] = text
    defaults = options_of(kind, name).items()
    rows = [(f"{key}={_shown(value)}", told[key]) for key, value in defaults if key in told]
    for _, inner, keys in passed_on(kind, name):
        rows += [row for row in _meanings(*inner) if row[0].partition("=")[0] in keys]
    return rows


def _parameters(thing: Any) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a docstring, each with its text on one line."""
    sections = re.split(r"\n(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(thing.__doc__ or ""))
    told = dict(zip(sections[1::2], sections[2::2], strict=True)).get("Parameters", "")
    for one in re.finditer(r"(?m)^(\S.*)\n((?:(?:[ ]+.*)?(?:\n|$))*)", told):
        text = _one_line(_ROLE.sub(r"\1", one[2]).replace("``", ""))
        for option in one[1].partition(" :")[0].split(", "):
            yield option, text


def _aligned(row: _Row, margin: int) -> list[str]:
    """Return a row as lines that are wrapped between words at the terminal's width."""
    texts = [(row.name.ljust(margin), row.summary, " " * margin)]
    texts += [(" " * (margin + 2), detail, " " * (margin + 4)) for detail in row.details]
    return [
        line
        for first, text, later in texts
        for line in wrap(
            text,
            width(),
            initial_indent=first,
            subsequent_indent=later,
            break_long_words=False,
            break_on_hyphens=False,
        )
    ]


def _registered(kind: str) -> list[_Row]:
    from cpsched.util import registry

    rows = []
    for name in registry.names(kind):
        entry = registry.entries(kind)[name]
        try:
            thing = entry.load()
        except ConfigError as error:
            # A broken plug-in does not affect the others.
            rows.append(_Row(escaped(name), f"broken: {_one_line(str(error))}"))
            continue
        family = getattr(thing, "family", "")
        if entry.settled:
            settled = ", ".join(f"{key}={value}" for key, value in entry.settled.items())
            rows.append(_Row(escaped(name), f"{entry.of} with {settled}.", (), family))
            continue
        summary = getattr(thing, "summary", None) or _first_line(thing)
        details = (*_advice(thing), _options(thing))
        rows.append(_Row(escaped(name), summary, tuple(filter(None, details)), family))
    return rows


def _systems() -> list[_Row]:
    from cpsched import systems

    rows = []
    for name in systems.names():
        system = systems.load(name)
        rows.append(_Row(name, f"{system.title}: {system.num_nodes:,} nodes, {totals(system)}"))
    return rows


def _advice(thing: Any) -> tuple[str, ...]:
    """Return when to use a dispatcher and when not, if it says so."""
    labels = {"good for": "good_for", "goes wrong when": "goes_wrong_when"}
    return tuple(
        f"{label}: {_one_line(text)}"
        for label, attribute in labels.items()
        if (text := getattr(thing, attribute, ""))
    )


def _first_line(thing: Any) -> str:
    text = inspect.getdoc(thing) or ""
    return _one_line(text.split("\n\n")[0])


def _one_line(text: str) -> str:
    return escaped(" ".join(text.split()))


def _options(thing: Any) -> str:
    if not inspect.isclass(thing):
        return ""
    parameters = inspect.signature(thing).parameters.values()
    known = [
        f"{parameter.name}={_shown(parameter.default)}"
        for parameter in parameters
        if parameter.default is not inspect.Parameter.empty
    ]
    # Required options come first; what the simulation supplies is not an option.
    needed = [
        one.name
        for one in parameters
        if one.default is one.empty and one.kind in _NAMED and one.name != "truth"
    ]
    known = [*needed, *known]
    return f"options: {', '.join(known)}" if known else ""


def _shown(default: Any) -> str:
    return "none" if default is None else str(default)


#: What becomes of the memory that jobs ask for.
_MEMORY = {"requested": "has to be free", "ignored": "is ignored"}
#: Characters of a list of nodes.
_MOST = 30


def system_text(system: System, width: int) -> str:
    """Return the lines that describe a machine, as it was read from its file."""
    return "\n\n".join(_parts(system, width))


def _parts(system: System, width: int) -> Iterator[str]:
    kinds = zip(system.resources, system.total.tolist(), strict=True)
    held = [
        f"{memory(total)} of memory" if kind == "mem" else f"{total:,} {kind}"
        for kind, total in kinds
    ]
    yield f"{escaped(system.title)}: {counted(system.num_nodes, 'node')}, {', '.join(held)}"
    yield _nodes(system).text(width)
    if system.queues:
        yield _queues(list(system.queues.values())).text(width)
    yield "\n".join(f"{name:<11} {words}" for name, words in _rules(system))


def _nodes(system: System) -> Table:
    """Return what each node of a group holds."""
    from cpsched.util.node_lists import fold
    from cpsched.util.tables import Column, Table

    lists = [fold(system.node_names, [(at, 1) for at in nodes]) for _, nodes in system.kinds()]
    group, *held = system.kinds_table().columns
    names = Column("names", "", tuple(brief(text, _MOST) for text in lists))
    return Table("What each node of a group holds:", (group, names, *held))


def _queues(queues: list[Queue]) -> Table:
    """Return the queues, with what at least one of them says."""
    from cpsched.util.tables import Column, Table

    times = {
        "longest time": [one.max_time for one in queues],
        "if none is asked": [one.default_time for one in queues],
        "expected wait": [one.expected_wait for one in queues],
    }
    groups = tuple(escaped(",".join(one.groups)) or "all" for one in queues)
    return Table(
        "Queues:",
        (
            Column("queue", "", tuple(brief(one.name) for one in queues)),
            Column("node groups", "", groups),
            *(
                Column(header, "s", tuple(seconds)).in_words()
                for header, seconds in times.items()
                if any(one is not None for one in seconds)
            ),
        ),
    )


def _rules(system: System) -> Iterator[tuple[str, str]]:
    """Say how a log is read on it, and how the nodes lie."""
    log, topology = system.log, system.topology
    if log.processors is None:
        yield "processors", "a log that only counts them is refused: [log] processors is not set"
    else:
        yield "processors", f"of a log that only counts them: {log.processors.value}"
    yield "memory", f"that a log asks for: {_MEMORY[log.memory]}"
    if not system.queues:
        yield "queues", "as a log has them, without rules"
    plain = topology.kind.value == "line" and topology.num_levels == 1
    levels = "" if plain else f", {counted(topology.num_levels, 'level')}"
    yield "topology", f"{topology.kind.value}{levels}"
