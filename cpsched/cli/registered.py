"""Descriptions of registered things, as ``cpsched list`` and ``cpsched show`` print them."""

from __future__ import annotations

import inspect
import re
from itertools import groupby
from textwrap import wrap
from typing import TYPE_CHECKING, Any, NamedTuple

from cpsched.cli.heading import totals, width
from cpsched.cli.output import echo, escaped
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.util import registry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

_NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
#: What each kind is, in the order of the overview.
KINDS = {
    "dispatchers": "decide which waiting jobs start (-d)",
    "predictors": "estimate the runtimes of jobs (-p)",
    "allocators": "choose the nodes of a job that starts (--allocator)",
    "priorities": "order the queue (-d easy:order=NAME)",
    "systems": "describe clusters (--system), also as your own TOML file",
    "log_formats": "read job logs (--input-format)",
    "exports": "write runs in other formats (simulate --export)",
    "generators": "generate synthetic job logs (log generate)",
    "runtime_models": "compute runtimes on other nodes (--runtime-model)",
    "outages": "take nodes down for some time (--outages)",
    "changes": "change the system, log or rules in a scenario (what-if --change)",
    "observers": "record events of a run (simulate --observe)",
}
#: Other names of kinds: the option of a priority is ``order``.
_OTHER_NAMES = {"system": "systems", "orders": "priorities", "order": "priorities"}
#: A reference in a docstring: its last word is the name.
_ROLE = re.compile(r":\w+:`~?(?:[\w.]*\.)?(\w+)`")


def kind_of(text: str, kinds: Collection[str] = tuple(KINDS)) -> str:
    """
    Return a kind by its name, which may be in the singular; ``orders`` are priorities.

    Raises
    ------
    UnknownNameError
        If there is none.
    """
    singular = {name: kind for kind, name in registry.GROUPS.items()} | _OTHER_NAMES
    kind = singular.get(text.replace("_", " "), text.replace("-", "_"))
    if kind not in kinds:
        raise UnknownNameError("kind", text, kinds)
    return kind


class Row(NamedTuple):
    """The description of a name: a summary, lines of details below it, and what it belongs to."""

    name: str
    summary: str
    details: tuple[str, ...] = ()
    family: str = ""


#: Changes of scenarios that are not registered, since they change what decides.
OTHER_CHANGES = (
    Row(
        "set",
        "Change an option of the baseline's dispatcher, or a value of its Slurm policy.",
        ("example: --change 'set bf_window=2880'",),
    ),
    Row(
        "dispatcher",
        "Replace the baseline's dispatcher.",
        ("example: --change 'dispatcher easy-wsept'",),
    ),
    Row(
        "predictor",
        "Replace the baseline's runtime predictor.",
        ("example: --change 'predictor gbm-log'",),
    ),
)


def rows_of(kind: str) -> list[Row]:
    """Return the description of each name of a kind."""
    return _systems() if kind == "systems" else _registered(kind)


def show_rows(*rows: Row) -> None:
    """Print rows, those of a family together."""
    margin = max((len(row.name) for row in rows), default=0) + 2
    for family, members in groupby(
        sorted(rows, key=lambda row: row.family), lambda row: row.family
    ):
        if family:
            echo(f"\n{escaped(family)}:")
        for line in (line for row in members for line in aligned(row, margin)):
            echo(line)


def meanings(kind: str, name: str) -> list[tuple[str, str]]:
    """Return what the docstrings of a thing and its bases say about each option, with defaults."""
    from cpsched.logs.generators import describe
    from cpsched.util.spec import options_of, passed_on

    thing = registry.load(kind, name)
    if kind == "generators":
        return [
            (f"{option.name}={_shown(option.default)}", option.doc)
            for option in describe(thing.options)
        ]
    if not callable(thing):
        return []
    texts: dict[str, str] = {}
    for base in reversed(inspect.getmro(thing) if inspect.isclass(thing) else (thing,)):
        for option, text in _parameters(base):
            if option not in texts or not text.startswith("As for "):
                texts[option] = text
    defaults = options_of(kind, name).items()
    rows = [(f"{key}={_shown(value)}", texts[key]) for key, value in defaults if key in texts]
    for _, inner, keys in passed_on(kind, name):
        rows += [row for row in meanings(*inner) if row[0].partition("=")[0] in keys]
    return rows


def slurm_parameters(kind: str, name: str) -> list[Row]:
    """Return the parameters of slurm.conf that a dispatcher takes, with defaults and meanings."""
    from cpsched.slurm.config.parameter_texts import default_text, meaning_text

    parameters = getattr(registry.load(kind, name), "slurm_parameters", {})
    return [
        Row(f"{parameter.name}={default_text(parameter) or 'none'}", meaning_text(parameter))
        for parameter in parameters.values()
    ]


def _parameters(thing: Any) -> Iterator[tuple[str, str]]:
    """Yield the parameters of a docstring, each with its text on one line."""
    sections = re.split(r"\n(\w[\w ]*)\n-{3,}\n", inspect.cleandoc(thing.__doc__ or ""))
    parameters = dict(zip(sections[1::2], sections[2::2], strict=True)).get("Parameters", "")
    for match in re.finditer(r"(?m)^(\S.*)\n((?:(?:[ ]+.*)?(?:\n|$))*)", parameters):
        text = _one_line(_ROLE.sub(r"\1", match[2]).replace("``", ""))
        for option in match[1].partition(" :")[0].split(", "):
            yield option, text


def aligned(row: Row, margin: int) -> list[str]:
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


def _registered(kind: str) -> list[Row]:

    rows = []
    for name in registry.names(kind):
        entry = registry.entries(kind)[name]
        try:
            thing = entry.load()
        except ConfigError as error:
            # A broken plug-in does not affect the others.
            rows.append(Row(escaped(name), f"broken: {_one_line(str(error))}"))
            continue
        family = getattr(thing, "family", "")
        if entry.preset_options:
            settled = ", ".join(f"{key}={value}" for key, value in entry.preset_options.items())
            rows.append(Row(escaped(name), f"{entry.of} with {settled}.", (), family))
            continue
        summary = getattr(thing, "summary", None) or _first_line(thing)
        details = (*_advice(thing), _options(thing))
        rows.append(Row(escaped(name), summary, tuple(filter(None, details)), family))
    return rows


def _systems() -> list[Row]:
    from cpsched import systems

    rows = []
    for name in systems.names():
        system = systems.load(name)
        rows.append(Row(name, f"{system.title}: {system.num_nodes:,} nodes, {totals(system)}"))
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
    of_slurm = getattr(thing, "slurm_parameters", {})
    known = [
        f"{parameter.name}={_shown(parameter.default)}"
        for parameter in parameters
        if parameter.default is not inspect.Parameter.empty and parameter.name not in of_slurm
    ]
    if of_slurm:
        known.append("parameters of slurm.conf")
    # Required options come first; what the simulation supplies is not an option.
    needed = [
        parameter.name
        for parameter in parameters
        if parameter.default is parameter.empty
        and parameter.kind in _NAMED
        and parameter.name != "truth"
    ]
    known = [*needed, *known]
    return f"options: {', '.join(known)}" if known else ""


def _shown(default: Any) -> str:
    return "none" if default is None else str(default)
