"""The keys of files and the parameters of Slurm, from the models that read them, as Markdown."""

from __future__ import annotations

import re
from inspect import cleandoc, isclass
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Union, get_args, get_origin

from numpydoc.docscrape import ClassDoc
from sphinx.pycode import ModuleAnalyzer
from texts import markdown, table

from cpsched.model.system import MemoryMapping, Preempt, ProcessorMapping
from cpsched.model.workload import AMOUNTS, COLUMNS, Workload
from cpsched.slurm.config.inventory import UNENFORCED
from cpsched.slurm.config.parameter_texts import default_text, meaning_text, value_text
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy import TABLES
from cpsched.study.study_models import StudyFile
from cpsched.systems.parser import SystemFile
from cpsched.util.models import Model, Must

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.model.workload import WorkloadColumn
    from cpsched.slurm.dispatch.parameters import Parameter
    from cpsched.slurm.dispatch.policy import PolicyKey, PolicyTable

#: The models of files by their names in a marker.
MODELS = {"system": SystemFile, "study": StudyFile}
#: Keys with a few values that have meanings of their own.
CHOICES = {"memory": MemoryMapping, "preempt": Preempt, "processors": ProcessorMapping}
_TITLES = ("key", "type", "default", "meaning")
_PARAMETER_TITLES = ("parameter", "default", "meaning")
#: Short names of types, by the beginning of the text with which an error describes them.
_TYPES = {
    "text in quotes": "text",
    "a list of texts": "list of texts",
    "a list of whole numbers": "list of whole numbers",
    "true or false": "`true` or `false`",
    "seconds as a whole number": "time",
    "seconds of the log": "seconds or date",
    'a list such as ["fifo"': "list, or table of labels",
    "a number of repetitions": "whole number, or list of seeds",
    "lists of whole numbers": "list of lists of whole numbers",
    'a list that begins with "core"': "list of texts",
    "a table": "table",
}
#: A class in parentheses, which programs look up.
_LINKED = re.compile(r" \(:class:`[^`]*`\)")
_BOUNDS = re.compile(r"a whole number from (\d+) to (\d+)")
#: From here on a bound is that of the number format, which no one meets.
_UNBOUNDED = 2**53


def model(name: str, depth: int) -> str:
    """Return a section for each table of a file: its keys, their types, defaults and meanings."""
    if name == "slurm-policy":
        return _policy(depth)
    return "\n\n".join(_sections(MODELS[name], "Top level", "", depth))


def choices(name: str, _: int) -> str:
    """Return a table of the values of a key, by the text behind each in the code."""
    values = CHOICES[name]
    texts = _attribute_texts(values)
    return table(("value", "meaning"), [(f"`{value}`", texts[value.name]) for value in values])


def log_columns(_: str, __: int) -> str:
    """Return a table of the columns of a table of jobs."""
    return table(("column", "type", "meaning"), column_rows())


def column_rows() -> Iterator[tuple[str, str, str]]:
    """Yield name, type and meaning of each column of a table of jobs."""
    meanings = {item.name: " ".join(item.desc) for item in ClassDoc(Workload)["Attributes"]}
    for name, column in COLUMNS.items():
        shown = f"`{name}.R`" if name in AMOUNTS else f"`{name}`"
        text = _LINKED.sub("", meanings.get(name, ""))
        missing = text.replace("``MISSING``", "empty").replace(", ``(J, R)``", "")
        yield shown, _column_type(name, column), markdown(missing.replace(", shape ``(J, R)``", ""))


def _column_type(name: str, column: WorkloadColumn) -> str:
    if name == "dependency" or column.choices is not None:
        return "text"
    kinds = {"BoolArray": "true or false", "Labels": "text", "StrArray": "text"}
    return kinds.get(column.kind, "whole number")


def slurm_parameters(_: str, __: int) -> str:
    """Return a table of the parameters of slurm.conf that the dispatcher ``slurm`` takes."""
    return table(_PARAMETER_TITLES, map(_parameter, PARAMETERS.values()))


def keys_of(owner: type[Model]) -> dict[str, str]:
    """Return the meaning of each key of a table, empty where the model has none."""
    texts = _attribute_texts(owner)
    return {
        item.alias or name: item.description or texts.get(name, "")
        for name, item in owner.model_fields.items()
    }


def tables_of(owner: type[Model], path: str = "") -> Iterator[tuple[str, type[Model]]]:
    """Yield the nested tables of a file as TOML writes their headings, each with its model."""
    for name, item in owner.model_fields.items():
        inner, many = _nested(item.annotation)
        if inner is not None:
            key = f"{path}{item.alias or name}"
            yield f"[[{key}]]" if many else f"[{key}]", inner
            yield from tables_of(inner, f"{key}.")


def _sections(owner: type[Model], title: str, path: str, depth: int) -> Iterator[str]:
    yield _section(owner, title, depth)
    for heading, inner in tables_of(owner, path):
        yield _section(inner, f"`{heading}`", depth)


def _section(owner: type[Model], title: str, depth: int) -> str:
    meanings = keys_of(owner)
    rows = [
        (f"`{key}`", _type(item.annotation, item.metadata), _default(item), meanings[key])
        for key, item in ((item.alias or name, item) for name, item in owner.model_fields.items())
        if _nested(item.annotation)[0] is None
    ]
    parts = [f"{'#' * depth} {title}", *_more(owner), table(_TITLES, rows)]
    return "\n\n".join(parts)


def _more(owner: type) -> list[str]:
    """Return the paragraphs of a class's docstring behind the first, without its sections."""
    paragraphs = cleandoc(owner.__doc__ or "").partition("\n\n")[2].split("\n\n")
    ends = (at for at, text in enumerate(paragraphs) if re.search(r"^-{4,}$", text, re.MULTILINE))
    return [markdown(text) for text in paragraphs[: next(ends, len(paragraphs))] if text]


def _attribute_texts(owner: type) -> dict[str, str]:
    """Return the text behind each attribute of a class and its bases, as Markdown."""
    texts: dict[str, str] = {}
    for base in reversed(owner.__mro__):
        if base.__module__.partition(".")[0] == "cpsched":
            written = ModuleAnalyzer.for_module(base.__module__).find_attr_docs()
            texts |= {
                name: markdown(" ".join(lines))
                for (where, name), lines in written.items()
                if where == base.__qualname__
            }
    return texts


def _nested(annotation: Any) -> tuple[type[Model] | None, bool]:
    """Return the model of a table within a table, and whether there are many of it."""
    if isclass(annotation) and issubclass(annotation, Model):
        return annotation, False
    for inner in get_args(annotation) if get_origin(annotation) is tuple else ():
        if isclass(inner) and issubclass(inner, Model):
            return inner, True
    return None, False


def _type(annotation: Any, metadata: list[Any]) -> str:
    wanted = [rule.wanted for rule in metadata if isinstance(rule, Must)]
    if not wanted and get_origin(annotation) in (Union, UnionType):
        annotation = get_args(annotation)[0]
        if get_origin(annotation) is Annotated:
            wanted = [rule.wanted for rule in get_args(annotation) if isinstance(rule, Must)]
    return _short(wanted[-1]) if wanted else "text"


def _short(wanted: str) -> str:
    """Return the short name of a type, of the text of its errors."""
    if wanted.startswith("one of: "):
        return ", ".join(f"`{choice}`" for choice in wanted.removeprefix("one of: ").split(", "))
    if bounds := _BOUNDS.fullmatch(wanted):
        least, most = map(int, bounds.groups())
        upper = "" if most >= _UNBOUNDED else f" to {most:,}"
        return f"whole number from {least}{upper}"
    return next((name for start, name in _TYPES.items() if wanted.startswith(start)), wanted)


def _default(item: Any) -> str:
    if item.is_required():
        return "required"
    if item.default_factory is not None or item.default in (None, (), ""):
        return ""
    return f"`{_toml(item.default)}`"


def _toml(value: Any) -> str:
    """Return a value as a file would have it; of a label and a specification the latter."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        parts = (part[-1] if isinstance(part, tuple) else part for part in value)
        return f"[{', '.join(map(_toml, parts))}]"
    return f'"{value}"' if isinstance(value, str) else str(value)


# --- Slurm ---------------------------------------------------------------------------------------


def _parameter(parameter: Parameter) -> tuple[str, str, str]:
    return f"`{parameter.name}`", default_text(parameter), markdown(meaning_text(parameter))


def _policy(depth: int) -> str:
    """Return a section for each table of a policy file."""
    parts = []
    for title, scheduler in (("slurm", False), ("SchedulerParameters", True)):
        rows = [_parameter(own) for own in PARAMETERS.values() if own.scheduler == scheduler]
        parts += [f"{'#' * depth} `[{title}]`", table(_PARAMETER_TITLES, rows)]
    parts += [
        f"{'#' * depth} `[licenses]`",
        "The number of licences of each name, for example `matlab = 20`.",
    ]
    for entry in TABLES:
        parts += [
            f"{'#' * depth} `[[{entry.name}]]`",
            *_more(entry.entry),
            table(("key", "default", "meaning"), policy_rows(entry)),
        ]
    return "\n\n".join(parts)


def policy_rows(entry: PolicyTable) -> Iterator[tuple[str, str, str]]:
    """Yield key, default and meaning of each key of a table of a policy file; limits together."""
    meanings: dict[str, str] = {}
    for item in ClassDoc(entry.entry)["Attributes"]:
        for name in item.name.split(","):
            meanings[name.strip()] = markdown(" ".join(item.desc))
    for key in entry.keys:
        if key.field != "limits":
            default = _usual(key)
            yield f"`{key.name}`", default, meanings.get(key.field, "")
    limits = [key.name for key in entry.keys if key.field == "limits"]
    for names, meaning in (
        ([name for name in limits if name not in UNENFORCED], "limits, as `sacctmgr` names them"),
        ([name for name in limits if name in UNENFORCED], "limits that are read, without effect"),
    ):
        if names:
            yield ", ".join(f"`{name}`" for name in names), "", meaning


def _usual(key: PolicyKey) -> str:
    if key.needed:
        return "required"
    return "" if key.usual in (None, "") else value_text(key.kind.shown(key.usual))
