"""``cpsched what-if``: what would have happened if something had been different."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.compare import carry_out_and_show
from cpsched.cli.log_study import say_what_is_assumed, study_of_log
from cpsched.cli.options import (
    COMPARISON,
    DISPATCHING,
    OUTPUT,
    Allocator,
    AsJson,
    Format,
    MeasureFrom,
    Part,
    Policy,
    Rules,
    SkipBadLines,
    Stats,
    StudyFolder,
    Systems,
    WithReport,
    WorkloadFile,
    grouped,
    moment,
)
from cpsched.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cpsched.study import Study
    from cpsched.study.scenarios import Scenario

_PANEL = "Changes (each is a scenario of its own)"
#: Separators between the changes of a named scenario.
_BETWEEN = ";"


def _change(text: str, metavar: str) -> Any:
    return typer.Option(help=text, metavar=metavar, rich_help_panel=_PANEL)


@grouped
def command(
    log: WorkloadFile,
    out: Annotated[Path, StudyFolder],
    system: Systems = None,
    policy: Policy = None,
    base: Annotated[
        str | None,
        typer.Option(
            help="Dispatcher of the baseline. [slurm with --policy, else easy]",
            rich_help_panel=DISPATCHING,
        ),
    ] = None,
    base_predictor: Annotated[
        str, typer.Option(help="Runtime predictor of the baseline.", rich_help_panel=DISPATCHING)
    ] = "requested",
    set_: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            help=(
                "Change an option of the baseline's dispatcher, such as bf_window=2880, or a value"
                " of the policy, such as qos.gpu.MaxJobsPU=4."
            ),
            metavar="KEY=VALUE",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    add_nodes: Annotated[
        list[str] | None, _change("Add nodes to a group.", "group=NAME,count=N")
    ] = None,
    remove_nodes: Annotated[
        list[str] | None, _change("Remove nodes.", "group=NAME,count=N | nodes=LIST")
    ] = None,
    outage: Annotated[
        list[str] | None,
        _change(
            "Nodes that are down for a while; times are seconds of the log or dates.",
            "nodes=LIST,start=T,end=T",
        ),
    ] = None,
    max_time: Annotated[
        list[str] | None, _change("Change the time limit of a queue.", "QUEUE=H:MM:SS")
    ] = None,
    scale_load: Annotated[
        list[str] | None, _change("Multiply the number of jobs.", "FACTOR")
    ] = None,
    cap_request: Annotated[
        list[str] | None,
        _change(
            "Cap requested times at a length, or at a multiple of the runtime.", "H:MM:SS | Fx"
        ),
    ] = None,
    drop: Annotated[
        list[str] | None, _change("Leave out some jobs.", "user=NAME | group= | queue= | gpu=yes")
    ] = None,
    keep: Annotated[list[str] | None, _change("Keep only some jobs.", "queue=NAME | ...")] = None,
    dispatcher: Annotated[
        list[str] | None,
        typer.Option("--dispatcher", "-d", help="Another dispatcher.", rich_help_panel=_PANEL),
    ] = None,
    predictor: Annotated[
        list[str] | None,
        typer.Option(
            "--predictor", "-p", help="Another runtime predictor.", rich_help_panel=_PANEL
        ),
    ] = None,
    scenario: Annotated[
        list[str] | None,
        typer.Option(
            help="Several changes at once, as above without --: 'big: add-nodes group=gpu,count=4;"
            " scale-load 1.2'.",
            metavar="NAME:CHANGE;CHANGE",
            rich_help_panel=_PANEL,
        ),
    ] = None,
    together: Annotated[
        bool,
        typer.Option(
            "--together",
            help="Combine all options above into one scenario.",
            rich_help_panel=_PANEL,
        ),
    ] = False,
    jobs: Annotated[
        int,
        typer.Option("--jobs", "-j", min=1, help="Processes.", metavar="N", rich_help_panel=OUTPUT),
    ] = 1,
    seeds: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Repetitions with jittered submits.",
            metavar="N",
            rich_help_panel=COMPARISON,
        ),
    ] = None,
    jitter: Annotated[
        int | None,
        typer.Option(
            min=0, help="Largest delay of a submit, in seconds. [5]", rich_help_panel=COMPARISON
        ),
    ] = None,
    measure_from: MeasureFrom = None,
    allocator: Allocator = None,
    *,
    part: Part,
    rules: Rules,
    format_name: Format = None,
    skip_bad_lines: SkipBadLines = False,
    stats: Stats = False,
    report: WithReport = True,
    as_json: AsJson = False,
) -> None:
    """
    Compare scenarios with a baseline: what would have happened if something had been different?

    Each option that changes something is a scenario. A table has the leading figures of all, and a
    sentence says of each what it changes, and for whom. --stats and the report have that by queue,
    account, user, length, size, and with GPUs or without.
    """
    from cpsched.study.scenarios import what_if

    baseline = baseline_of(policy, base)
    given = {
        "format": format_name,
        "skip_bad_lines": skip_bad_lines or None,
        "systems": system,
        "dispatchers": [baseline],
        "predictors": [base_predictor],
        "allocator": allocator,
        "seeds": seeds,
        "jitter": jitter,
        "measure_from": moment("--measure-from", measure_from),
        **vars(rules),
    }
    study = study_of_log(log, given, part)
    words = {
        "set": set_,
        "add-nodes": add_nodes,
        "remove-nodes": remove_nodes,
        "outage": outage,
        "max-time": max_time,
        "scale-load": scale_load,
        "cap-request": cap_request,
        "drop": drop,
        "keep": keep,
        "dispatcher": dispatcher,
        "predictor": predictor,
    }
    scenarios = _scenarios(words, scenario or [], study, together=together)
    wanted = what_if(study, scenarios, out / "policies")
    say_what_is_assumed(wanted, aloud=not as_json)
    carry_out_and_show(wanted, out, jobs=jobs, stats=stats, report=report, as_json=as_json)


def baseline_of(policy: Path | None, base: str | None) -> str:
    """Return the dispatcher that a policy, or a specification, asks for."""
    from cpsched.base.spec import Spec

    if policy is None:
        return base or "easy"
    spec = Spec.parse(base or "slurm")
    options = {**dict(spec.options), "policy": str(policy.absolute())}
    return str(Spec(spec.name, tuple(sorted(options.items()))))


def _scenarios(
    words: Mapping[str, list[str] | None], named: list[str], study: Study, *, together: bool
) -> list[Scenario]:
    from cpsched.study.scenarios import moments_as_seconds, scenario

    def in_seconds(text: str) -> str:
        return moments_as_seconds(text, _epoch(study)) if text.startswith("outage ") else text

    texts = [f"{verb} {text}" for verb, many in words.items() for text in many or ()]
    found = [scenario(map(in_seconds, texts))] if together and texts else []
    if not together:
        found = [scenario([in_seconds(text)], text) for text in texts]
    for text in named:
        name, colon, changes = text.partition(":")
        if not colon or not name.strip():
            raise ConfigError("must be NAME: CHANGE; CHANGE", where=text, key="--scenario")
        parts = [part for part in changes.split(_BETWEEN) if part.strip()]
        found.append(scenario(map(in_seconds, (part.strip() for part in parts)), name.strip()))
    if not found:
        raise ConfigError(
            "changes nothing; give one of: "
            + ", ".join(f"--{verb}" for verb in (*words, "scenario")),
            where="what-if",
        )
    return found


def _epoch(study: Study) -> int | None:
    """Read the log and return the Unix time of its second 0."""
    from cpsched import traces
    from cpsched.cli.progress import reading
    from cpsched.study import LogFile

    source = study.workloads[0].source
    assert isinstance(source, LogFile)
    with reading(source.path):
        workload = traces.read(
            source.path, format=source.format, skip_bad_lines=source.skip_bad_lines
        )
    return workload.epoch
