"""The text that describes a system, as it was read from its file."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.cli.output import counted, escaped
from cpsched.util.words import amount, brief

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.model.system import Queue, System

#: What becomes of the memory that jobs ask for.
_MEMORY = {"requested": "has to be free", "ignored": "is ignored"}
#: Characters of a list of nodes.
_MOST = 30


def system_text(system: System, width: int) -> str:
    """Return the lines that describe a system, as it was read from its file."""
    return "\n\n".join(_parts(system, width))


def _parts(system: System, width: int) -> Iterator[str]:
    kinds = zip(system.resources, system.total.tolist(), strict=True)
    held = [amount(kind, total) for kind, total in kinds]
    yield f"{escaped(system.title)}: {counted(system.num_nodes, 'node')}, {', '.join(held)}"
    yield _nodes(system, width)
    if system.queues:
        yield _queues(list(system.queues.values()), width)
    yield "\n".join(f"{name:<11} {words}" for name, words in _rules(system))


def _nodes(system: System, width: int) -> str:
    """Return what each node of a group has."""
    from cpsched.util.node_lists import NodeNames

    names = NodeNames(system.node_names)
    lists = [names.folded([(at, 1) for at in nodes]) for _, nodes in system.kinds()]
    return system.kinds_text(width, [brief(text, _MOST) for text in lists])


def _queues(queues: list[Queue], width: int) -> str:
    """Return the queues, with the limits that at least one of them has."""
    from cpsched.util.terminal import table_text
    from cpsched.util.words import duration

    limits = {
        "longest time": [queue.max_time for queue in queues],
        "default time": [queue.default_time for queue in queues],
        "expected wait": [queue.expected_wait for queue in queues],
    }
    known = {header: of for header, of in limits.items() if any(time is not None for time in of)}
    rows = [
        [
            brief(queue.name),
            escaped(",".join(queue.groups)) or "all",
            *("-" if (time := of[at]) is None else duration(time) for of in known.values()),
        ]
        for at, queue in enumerate(queues)
    ]
    table = table_text(["queue", "node groups", *known], rows, width=width, names=2)
    return f"Queues:\n\n{table}"


def _rules(system: System) -> Iterator[tuple[str, str]]:
    """Say how a log is read on it, and how the nodes lie."""
    log, topology = system.log, system.topology
    if log.processors is None:
        yield "processors", "a log that only counts them is refused: set [log] processors"
    else:
        yield "processors", f"of a log that only counts them: {log.processors.value}"
    yield "memory", f"that a log asks for: {_MEMORY[log.memory]}"
    if not system.queues:
        yield "queues", "as a log has them, without rules"
    plain = topology.kind.value == "line" and topology.num_levels == 1
    levels = "" if plain else f", {counted(topology.num_levels, 'level')}"
    yield "topology", f"{topology.kind.value}{levels}"
