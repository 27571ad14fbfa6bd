"""How to repeat the runs: the study as a file, or the command lines."""

from __future__ import annotations

import shlex
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

from cpsched.simulation.settings import Settings
from cpsched.study.study import AXES, near
from cpsched.util.toml_text import toml_pairs, toml_value

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

#: Default settings of a run.
_USUAL = asdict(Settings())


def study_text(study: Mapping[str, Any]) -> str:
    """
    Return a study as TOML, from its ``study.json``.

    Raises
    ------
    LookupError, TypeError
        If it is not a study.
    """
    study = _without_folders(study)
    workloads = study["workloads"]
    predictors = {axis["label"]: axis["spec"] for of in workloads for axis in of["predictors"]}
    axes = {key: _on_axis(workloads, name) for key, name in AXES.items()}
    varied = {AXES[key] for key, values in axes.items() if values}
    settings = {
        key: value
        for key, value in study["settings"].items()
        if key not in {"seed", *varied} and value is not None
    }
    lines = [
        *toml_pairs({key: study[key] for key in ("title", "question") if study[key]}),
        *toml_pairs({"repeat": list(study["seeds"]), "jitter": study["jitter"]}),
        *toml_pairs({key: study[key] for key in ("by_group", "measure_from") if study.get(key)}),
        *(line for workload in workloads for line in _workload(workload, predictors)),
        *_section("predictors", predictors),
        *_section("dispatchers", {of["label"]: of["spec"] for of in study["dispatchers"]}),
        *(line for key, values in axes.items() for line in _section(key, values)),
        *_section("run", settings),
        *_section("baseline", {k: v for k, v in study["baseline"].items() if v is not None}),
    ]
    return "\n".join(lines) + "\n"


def simulate_line(about: Mapping[str, Any]) -> str | None:
    """
    Return the command that makes a run, from its ``run.json``; None if no single command does.

    Its arguments are quoted for a shell, whatever they contain.
    """
    arguments = about.get("arguments") or {}
    source, system = arguments.get("source") or {}, arguments.get("machine")
    if (
        "path" not in source
        or system is None
        or arguments.get("jitter")
        or arguments.get("changes")
    ):
        return None
    settings = about.get("settings") or {}
    parts = ["cpsched", "simulate", str(source["path"]), "--system", str(system)]
    parts += ["-d", str(about.get("dispatcher")), "-p", str(about.get("predictor"))]
    if source.get("format"):
        parts += ["--input-format", str(source["format"])]
    if source.get("skip_bad_lines"):
        parts.append("--skip-bad-lines")
    for name in ("first", "from", "to"):
        if arguments.get(name) is not None:
            parts += [f"--{name}", str(arguments[name])]
    for key, usual in _USUAL.items():
        value, option = settings.get(key, usual), f"--{key.replace('_', '-')}"
        if value is False:
            parts.append(option.replace("--", "--no-", 1))
        elif value != usual:
            parts += [option, str(value)]
    for name in arguments.get("formats") or ():
        parts += ["--export", str(name)]
    return shlex.join(map(near, parts))


def model_note(about: Mapping[str, Any]) -> str | None:
    """Return a comment on the model file a run's predictor started from, if it did from one."""
    provenance = about.get("provenance")
    if not isinstance(provenance, dict) or "model_sha256" not in provenance:
        return None
    # Quoted as in TOML, so that text from a file stays on the line.
    of = {key: toml_value(near(str(value))) for key, value in provenance.items()}
    note = f"# model {of.get('model', 'unknown')} has SHA-256 {of['model_sha256']}"
    if "trained_on" in of:
        jobs, start, end = (of.get(f"trained_{key}", "unknown") for key in ("jobs", "from", "to"))
        note += f"; trained on {jobs} jobs of {of['trained_on']}, {start} to {end}"
    return note


def _on_axis(workloads: Iterable[Mapping[str, Any]], name: str) -> dict[str, str]:
    """Return the differences between workloads, specifications by label."""
    values = (workload.get(name) for workload in workloads)
    return {value["label"]: value["spec"] for value in values if value is not None}


def _workload(workload: Mapping[str, Any], predictors: Mapping[str, str]) -> list[str]:
    source = workload["source"]
    axes = {key: [of["label"]] for key, name in AXES.items() if (of := workload.get(name))}
    label = str(workload["label"])
    for (own,) in reversed(axes.values()):
        label = label.removesuffix(f", {own}")
    content: dict[str, Any] = {"name": label, **axes}
    if "generator" in source:
        content |= {"generator": source["generator"], "options": dict(source["options"])}
        if source.get("seeded"):
            content["seeded"] = True
    else:
        content["file"] = source["path"]
        content |= {"input_format": source["format"]} if source["format"] else {}
        content |= {"skip_bad_lines": True} if source["skip_bad_lines"] else {}
    content["systems"] = list(workload["systems"])
    if len(workload["predictors"]) < len(predictors):
        content["predictors"] = [of["label"] for of in workload["predictors"]]
    if workload.get("dispatchers"):
        content["dispatchers"] = [of["label"] for of in workload["dispatchers"]]
    if workload.get("changes"):
        content["changes"] = list(workload["changes"])
    for key, name in (("first", "first"), ("start", "from"), ("end", "to")):
        if workload[key] is not None:
            content[name] = workload[key]
    return ["", "[[workloads]]", *toml_pairs(content)]


def _section(name: str, content: Mapping[str, Any]) -> list[str]:
    return ["", f"[{name}]", *toml_pairs(content)] if content else []


def _without_folders(value: Any) -> Any:
    """Return a study in whose texts paths name no more than a folder."""
    if isinstance(value, dict):
        return {key: _without_folders(inner) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return [_without_folders(inner) for inner in value]
    return near(value) if isinstance(value, str) else value
