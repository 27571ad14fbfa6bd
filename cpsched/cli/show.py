"""``cpsched show``: the description of one thing, such as a dispatcher or a system file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from cpsched.cli.heading import width
from cpsched.cli.negotiation_text import show_negotiation
from cpsched.cli.options import AsJson, names_of
from cpsched.cli.output import echo, print_json
from cpsched.cli.registered import (
    KINDS,
    OTHER_CHANGES,
    Row,
    aligned,
    kind_of,
    meanings,
    rows_of,
    show_rows,
    slurm_parameters,
)
from cpsched.cli.system_text import system_text
from cpsched.errors import ConfigError, UnknownNameError
from cpsched.util import registry

#: The messages of a file that an observer of dn-dbes wrote.
_NEGOTIATION = "negotiation"
#: Where the meanings of Slurm's parameters begin, unless name and default are longer.
_MARGIN = 32


def command(
    kind: Annotated[
        str,
        typer.Argument(metavar="KIND", help="Kind of 'cpsched list', or negotiation."),
    ],
    name: Annotated[
        str,
        typer.Argument(
            metavar="NAME",
            help="Name, or the file of a system or a negotiation.",
        ),
    ] = "",
    transaction: Annotated[
        int | None,
        typer.Option(
            min=1,
            help="Transaction of a negotiation. [all]",
            metavar="N",
            hidden=True,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Describe a dispatcher, predictor, system or other thing and its options."""
    if not name:
        raise _without_name(kind)
    kind = kind_of(kind, (*KINDS, _NEGOTIATION))
    if kind == _NEGOTIATION:
        show_negotiation(Path(name), transaction, as_json=as_json)
        return
    if transaction is not None:
        raise ConfigError(f"is only for {_NEGOTIATION} files. Leave it out.", key="--transaction")
    if kind == "systems":
        _show_system(name, as_json=as_json)
        return
    row = _row(kind, name)
    if as_json:
        print_json("show", {"kind": kind, "names": [row._asdict()]})
        return
    show_rows(row._replace(family=""))
    if row not in OTHER_CHANGES:
        _show_options(kind, name)


def _row(kind: str, name: str) -> Row:
    """Return the description of a name, or raise an error that names the closest one."""
    others: tuple[Row, ...] = OTHER_CHANGES if kind == "changes" else ()
    for row in (*others, *rows_of(kind)):
        if row.name == name:
            return row
    known = [*names_of(kind), *(row.name for row in others)]
    raise UnknownNameError(registry.GROUPS[kind], name, known)


def _show_options(kind: str, name: str) -> None:
    """Print each option with its default and meaning."""
    for option, words in meanings(kind, name):
        for line in aligned(Row(f"  {option}", words), 4 + len(option)):
            echo(line)
    parameters = slurm_parameters(kind, name)
    if parameters:
        echo("\nParameters of slurm.conf, with Slurm's defaults:")
    for parameter in parameters:
        for line in aligned(Row(f"  {parameter.name}  ", parameter.summary), _MARGIN):
            echo(line)


def _without_name(kind: str) -> ConfigError:
    """Return the error of a command without a name, or with a name alone."""
    kinds = [group for group in KINDS if kind in names_of(group)]
    if kinds:
        return ConfigError(
            f"is one of the {kinds[0]}. Use 'cpsched show {kinds[0]} {kind}'.", key=kind
        )
    group = kind_of(kind, (*KINDS, _NEGOTIATION))
    return ConfigError(f"the name is missing. Use 'cpsched show {group} NAME'.", key=kind)


def _show_system(name: str, *, as_json: bool) -> None:
    """Print a system, or raise an error that names the line of an invalid file."""
    from cpsched import systems

    system = systems.load(name)
    if as_json:
        print_json("show", {"kind": "systems", "system": system.to_dict()})
    else:
        echo(system_text(system, width()))
