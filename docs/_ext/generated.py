"""
Parts of pages that are made from the code.

A page holds ``<!-- generated: WHAT NAME -->`` where a part belongs; the build puts
the Markdown there that the function of that name returns.
"""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any

from commands import commands
from key_tables import choices, log_columns, model, slurm_parameters
from licences import table as licences
from numpydoc.docscrape import ClassDoc
from sphinx.pycode import ModuleAnalyzer
from texts import markdown, table

from cpsched import systems
from cpsched.metrics.definitions import METRICS
from cpsched.util import registry
from cpsched.verification.findings import Rule

if TYPE_CHECKING:
    from sphinx.application import Sphinx

_PART = re.compile(r"<!-- generated: ([\w-]+)(?: ([\w-]+))? -->")
#: Options that mean what they mean in a base class, and what is to be added.
_AS_FOR = re.compile(r"As for `\w+`[.;]? *")


def registered(group: str, depth: int) -> str:
    """Return a section for each registered name of a group: its summary and its options."""
    entries = registry.entries(group).items()
    return "\n\n".join(_section(f"{'#' * depth} `{name}`", entry) for name, entry in entries)


def _section(title: str, entry: registry.RegistryEntry) -> str:
    part = entry.load()
    lines = [title]
    if entry.preset_options:
        preset_options = ", ".join(
            f"`{key}={value}`" for key, value in entry.preset_options.items()
        )
        return f"{title}\n\nShort for `{entry.of}` with {preset_options}."
    summary = getattr(part, "summary", "") or _first_paragraph(part)
    lines.append(markdown(summary))
    for label, attribute in (("Good for", "good_for"), ("Goes wrong when", "goes_wrong_when")):
        if text := getattr(part, attribute, ""):
            lines.append(f"{label}: {markdown(text)}.")
    if inspect.isclass(part) and (options := _options(part)):
        explained = [option for option in options if option[-1]]
        if explained:
            lines.append(table(("option", "default", "meaning"), explained))
        if rest := ", ".join(name for name, _, meaning in options if not meaning):
            lines.append(f"Also: {rest}.")
    return "\n\n".join(lines)


def _options(part: type) -> list[tuple[str, str, str]]:
    meanings = _meanings(part)
    return [
        (f"`{option.name}`", _default(option), meanings.get(option.name, ""))
        for option in inspect.signature(part).parameters.values()
        if option.kind not in (option.VAR_POSITIONAL, option.VAR_KEYWORD) and option.name != "truth"
    ]


def _meanings(part: type) -> dict[str, str]:
    """Return the meaning of each option, from the docstrings of a class and its bases."""
    meanings: dict[str, str] = {}
    for base in reversed(part.__mro__):
        for parameter in ClassDoc(base)["Parameters"] if base.__doc__ else ():
            text = markdown(" ".join(parameter.desc))
            as_for = _AS_FOR.match(text)
            for name in (part.strip().strip("*") for part in parameter.name.split(",")):
                if as_for is None or name not in meanings:
                    meanings[name] = text
                elif re.search(rf"\b{name}\b", rest := text[as_for.end() :]):
                    meanings[name] += f" {rest[0].upper()}{rest[1:]}"
    return meanings


def _default(parameter: inspect.Parameter) -> str:
    if parameter.default is parameter.empty:
        return "required"
    if parameter.default == "":
        return ""
    return "`none`" if parameter.default is None else f"`{parameter.default}`"


def shipped_systems(_: str, __: int) -> str:
    """Return a table of the systems that come with cpsched."""
    rows = []
    for name in systems.names():
        system = systems.load(name)
        amounts = ", ".join(
            f"{amount:,} {kind}"
            for kind, amount in zip(system.resources, system.capacity.sum(axis=0), strict=True)
            if kind != "mem"
        )
        processors = f"`{system.log.processors}`" if system.log.processors else "refused"
        memory = f"`{system.log.memory}`" if "mem" in system.resources else "none"
        nodes = f"{system.num_nodes:,}"
        rows.append((f"`{name}`", system.title, nodes, amounts, processors, memory))
    return table(("name", "machine", "nodes", "in all", "processors", "memory"), rows)


def rules(_: str, __: int) -> str:
    """Return a table of the verifier's rules, by the text behind each in the code."""
    texts = ModuleAnalyzer.for_module(Rule.__module__).find_attr_docs()
    rows = [(f"`{rule}`", markdown(" ".join(texts["Rule", rule.name]))) for rule in Rule]
    return table(("rule", "what must hold"), rows)


def metrics(_: str, depth: int) -> str:
    """Return a table of the metrics of each section."""
    sections: dict[str, list[tuple[str, str, str, str]]] = {}
    for metric in METRICS:
        better = metric.better or ""
        row = (f"`{metric.name}`", metric.unit, better, markdown(metric.definition))
        sections.setdefault(metric.section, []).append(row)
    titles = ("metric", "unit", "better", "definition")
    return "\n\n".join(
        f"{'#' * depth} {section.capitalize()}\n\n{table(titles, rows)}"
        for section, rows in sections.items()
    )


def _first_paragraph(part: Any) -> str:
    return (inspect.getdoc(part) or "").split("\n\n")[0]


_MAKERS = {
    "commands": commands,
    "registered": registered,
    "systems": shipped_systems,
    "rules": rules,
    "metrics": metrics,
    "licences": licences,
    "choices": choices,
    "log-columns": log_columns,
    "model": model,
    "slurm-parameters": slurm_parameters,
}
#: Folders of pages that may have such parts.
FOLDERS = ("background/", "guides/", "papers/", "project/", "reference/", "results/", "start/")


def filled(text: str) -> str:
    """Return a page with its generated parts."""

    def made(part: re.Match[str]) -> str:
        what, name = part.groups()
        above = re.findall(r"^(#+) ", part.string[: part.start()], re.MULTILINE)
        return _MAKERS[what](name, len(above[-1]) + 1 if above else 2)

    return _PART.sub(made, text)


def _fill(_: Sphinx, page: str, source: list[str]) -> None:
    if page.startswith(FOLDERS):
        source[0] = filled(source[0])


def setup(app: Sphinx) -> dict[str, bool]:
    """Register with Sphinx."""
    app.connect("source-read", _fill)
    return {"parallel_read_safe": True}
