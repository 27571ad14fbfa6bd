"""The text that describes a system, as it was read from its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.cli.output import counted, escaped
from cpsched.util.words import brief, memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.model.system import Queue, System
    from cpsched.util.tables import Table

#: What becomes of the memory that jobs ask for.
_MEMORY = {"requested": "has to be free", "ignored": "is ignored"}
#: Characters of a list of nodes.
_MOST = 30


def system_text(system: System, width: int) -> str:
    """Return the lines that describe a system, as it was read from its file."""
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
