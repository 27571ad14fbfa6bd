"""``cpsched slurm import``: a system file and a policy file from a site's Slurm."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from cpsched.cli.options import AsJson, Force
from cpsched.cli.output import counted, echo, escaped, print_json
from cpsched.cli.progress import reading
from cpsched.util.words import percent

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.slurm.config.importer import ImportedSite
    from cpsched.slurm.config.unmodelled import AffectedLog, Gap

#: Columns of shares of a log, and what they count.
_SHARES = {"jobs": "jobs", "core-hours": "core_seconds", "GPU-hours": "gpu_seconds"}
#: Most node groups named.
_MOST = 6
#: Of a policy, as they are counted in JSON.
_KINDS = ("parameters", "qos", "associations", "reservations", "licenses")


def _file(text: str) -> typer.models.OptionInfo:
    option: typer.models.OptionInfo = typer.Option(help=text, metavar="FILE")
    return option


def command(
    out: Annotated[
        Path, typer.Option("--out", "-o", help="Folder for the two files.", metavar="DIR")
    ],
    conf: Annotated[Path | None, _file("slurm.conf with its included files.")] = None,
    scontrol: Annotated[
        list[Path] | None,
        _file("Output of scontrol show config, node and so on."),
    ] = None,
    topology: Annotated[Path | None, _file("topology.conf. [in the folder of slurm.conf]")] = None,
    assoc: Annotated[Path | None, _file("Output of sacctmgr -P show assoc tree.")] = None,
    qos: Annotated[Path | None, _file("Output of sacctmgr -P show qos.")] = None,
    sshare: Annotated[Path | None, _file("Output of sshare -l -a -P.")] = None,
    name: Annotated[
        str | None, typer.Option(help="Name of the system. [ClusterName]", metavar="NAME")
    ] = None,
    log: Annotated[
        Path | None,
        _file("Output of sacct, to count affected jobs."),
    ] = None,
    force: Force = False,
    as_json: AsJson = False,
) -> None:
    """Write a system file and a Slurm policy file from a site's configuration."""
    from cpsched.cli.heading import say
    from cpsched.slurm.config.importer import Files, read_site
    from cpsched.slurm.config.unmodelled import AffectedLog, count, of_jobs

    files = Files(
        conf=conf,
        scontrol=tuple(scontrol or ()),
        topology=topology,
        assoc=assoc,
        qos=qos,
        sshare=sshare,
    )
    site = read_site(files, name)
    touched = AffectedLog(gaps=site.gaps)
    if log is not None:
        with reading(log):
            known = {entry.name.text for entry in site.cluster.conf.reservations}
            touched = count(log, site.gaps, of_jobs(site.cluster), known)
    written = site.write(out, overwrite=force)
    if as_json:
        print_json("slurm.import", _as_data(site, touched, written))
        return
    say(_read(site))
    say(_groups(site))
    echo("")
    echo(_not_modelled(touched))
    for line in _notes(site, touched):
        say(line)
    echo("")
    for path in written:
        echo(escaped(str(path)))


def _as_data(site: ImportedSite, touched: AffectedLog, written: list[Path]) -> dict[str, Any]:
    """Return the imported objects and the settings that are not modelled as plain JSON types."""
    total = touched.total
    has_log = bool(total.jobs or touched.bad)
    log = {"lines": total.jobs, **_work(total), "unreadable": touched.bad}
    unknown = dict.fromkeys(("jobs", *_work(total)))
    return {
        "name": site.name,
        "files": [str(path) for path in written],
        "nodes": site.system.num_nodes,
        "total": dict(zip(site.system.resources, site.system.total.tolist(), strict=True)),
        "node_groups": list(dict.fromkeys(site.system.node_groups)),
        "partitions": len(site.system.queues),
        **{kind: len(getattr(site.policy, kind)) for kind in _KINDS},
        "not_modelled": [
            {
                "name": gap.name,
                "instead": gap.instead,
                **({"jobs": gap.jobs, **_work(gap)} if has_log and gap.touches else unknown),
            }
            for gap in touched.gaps
        ],
        "notes": site.notes,
        "log": log if has_log else None,
    }


def _work(gap: Gap) -> dict[str, int]:
    return {"core_seconds": gap.core_seconds, "gpu_seconds": gap.gpu_seconds}


def _read(site: ImportedSite) -> str:
    """Return a line on the imported objects."""
    from cpsched.cli.heading import totals

    policy = site.policy
    groups = len(set(site.system.node_groups))
    users = sum(1 for association in policy.associations if association.user)
    things = [
        f"{counted(site.system.num_nodes, 'node')} in {counted(groups, 'group')}"
        f" ({totals(site.system)})",
        counted(len(site.system.queues), "partition"),
        counted(len(policy.parameters), "parameter"),
        f"{len(policy.qos)} QOS",
        f"{counted(len(policy.associations) - users, 'account')}"
        f" with {counted(users, 'association')} of users",
        counted(len(policy.reservations), "reservation"),
        counted(len(policy.licenses), "licence"),
    ]
    return f"{escaped(site.name)}: {escaped(', '.join(things))}"


def _groups(site: ImportedSite) -> str:
    """Return a line with the names of the node groups, which ``add-nodes group=`` takes."""
    names = list(dict.fromkeys(site.system.node_groups))
    more = f" and {len(names) - _MOST} more" if len(names) > _MOST else ""
    return f"Node groups: {escaped(', '.join(names[:_MOST]))}{more}"


def _not_modelled(touched: AffectedLog) -> str:
    from cpsched.cli.heading import width
    from cpsched.util.terminal import table_text

    if not touched.gaps:
        return "Every setting in the files is modelled."
    shares = _SHARES.items() if touched.total.jobs else ()
    totals = {header: name for header, name in shares if getattr(touched.total, name)}
    rows = [
        [escaped(gap.name), gap.instead, *(_share(gap, touched, name) for name in totals.values())]
        for gap in touched.gaps
    ]
    headers = ["not modelled", "simulated instead", *totals]
    return table_text(headers, rows, width=width(), names=2)


def _share(gap: Gap, touched: AffectedLog, name: str) -> str:
    """Return a share of the log; ``-`` if the log does not show it."""
    if gap.touches is None:
        return "-"
    share: float = getattr(gap, name) / getattr(touched.total, name)
    return percent(share, 1)


def _notes(site: ImportedSite, touched: AffectedLog) -> Iterator[str]:
    total = touched.total
    if total.jobs:
        hours = f"{total.core_seconds / 3600:,.0f} core-hours"
        if total.gpu_seconds:
            hours += f" and {total.gpu_seconds / 3600:,.0f} GPU-hours"
        dash = " (-: not shown by a log)" if touched.gaps else ""
        yield f"the log has {counted(total.jobs, 'line')} of jobs and attempts with {hours}{dash}"
    if touched.bad:
        yield f"{counted(touched.bad, 'line')} of the log cannot be read."
    yield from map(escaped, site.notes)
