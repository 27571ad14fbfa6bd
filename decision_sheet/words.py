"""The changes of a scenario in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.api.tools import Spec, counted, duration, registry
from decision_sheet.names import KINDS, Names, plain

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.api.studies import RunResult

#: What begins a scenario that was given no name, besides the names of changes.
_VERBS = ("set", "dispatcher", "predictor")


def in_words(run: RunResult, base: RunResult, label: str, names: Names) -> str:
    """
    Return what a scenario changes.

    Parameters
    ----------
    run, base
        A run of it and of the baseline; their changes have the names of the sheet already.
    label
        What the study calls it.
    """
    parts = [_change(Spec.parse(text), names) for text in run.changes]
    parts += _dispatcher(run.dispatcher_spec, base.dispatcher_spec, label, names)
    if run.predictor != base.predictor:
        parts.append(f"runtimes estimated by {names.estimate(run.predictor)}")
    said = "; ".join(parts) or "nothing"
    named = label.split(" ")[0] not in {*registry.names("changes"), *_VERBS}
    return f"{label}: {said}" if named and not names.anonymous else said


def _change(spec: Spec, names: Names) -> str:
    given = dict(spec.options)
    which = f"of node group {names.of('node group', given['group'])}" if "group" in given else ""
    nodes = "some nodes" if names.anonymous else f"nodes {given.get('nodes')}"
    if spec.name == "add-nodes":
        return f"{counted(int(given['count']), 'more node')} {which}"
    if spec.name == "remove-nodes":
        return (
            f"{counted(int(given['count']), 'fewer node')} {which}" if which else f"without {nodes}"
        )
    if spec.name == "outage":
        length = duration(float(given["end"]) - float(given["start"]))
        return f"{nodes} down for {length}" + (", known before" if "known" in given else "")
    if spec.name == "max-time":
        return f"time limit of queue {given['queue']}: {given['time']}"
    if spec.name == "scale-load":
        how = "submits closer together" if given.get("how") == "times" else "as many jobs"
        return f"{given['factor']} times {how}".replace("times submits", "the load, submits")
    if spec.name == "cap-request":
        most = given.get("time") or f"{given.get('factor')} times its runtime"
        return f"no job asks for more than {most}"
    if spec.name in ("drop", "keep"):
        whose = " and ".join(
            f"{KINDS[key]} {value}" if key in KINDS else f"{key} {value}"
            for key, value in spec.options
        )
        return f"{'without' if spec.name == 'drop' else 'only'} the jobs of {whose}"
    # Of a package that we do not know: what its options hold may be names.
    return spec.name if names.anonymous else plain(str(spec))


def _dispatcher(spec: str, base: str, label: str, names: Names) -> Iterator[str]:
    ours, theirs = Spec.parse(spec), Spec.parse(base)
    if ours.name != theirs.name:
        yield f"scheduled by {plain(spec)}"
        return
    old = dict(theirs.options)
    for key, value in ours.options:
        if old.pop(key, None) == value:
            continue
        if key == "policy":
            edits = [part.strip() for part in label.split(";") if part.strip().startswith("set ")]
            told = "" if names.anonymous or not edits else f": {', '.join(e[4:] for e in edits)}"
            yield f"other values in the site's policy{told}"
        else:
            yield f"{key} = {'a file' if '/' in value else value}"
    yield from (f"without {key}" for key in old)
