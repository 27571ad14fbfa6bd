"""``cpsched``: the commands, and what they share."""

from __future__ import annotations

import atexit
import gc
import os
import sys
from typing import Annotated, Any

import typer

from cpsched.cli import (
    accasim,
    batsim,
    bench,
    check,
    compare,
    evaluate,
    explain,
    forecast,
    list_,
    log,
    report,
    show,
    simulate,
    slurm,
    train,
    tune,
    validate,
    verify,
    what_if,
)
from cpsched.cli.command_group import CommandGroup
from cpsched.cli.help import HELP_ALL, HELP_NAMES, hide_rare, name_values
from cpsched.cli.options import JOBS, LOGS, LOOK, STUDY
from cpsched.cli.output import complain, guarded
from cpsched.util.own_code import hidden_package

# Before numpy is imported: nothing here multiplies large matrices, and idle BLAS threads spin for a
# tenth of a second. Also, sums of floats then do not depend on the number of threads.
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

COMMANDS = (
    ("simulate", simulate.command, STUDY),
    ("compare", compare.command, STUDY),
    ("what-if", what_if.command, STUDY),
    ("tune", tune.command, STUDY),
    ("validate", validate.command, STUDY),
    ("verify", verify.command, STUDY),
    ("explain", explain.command, JOBS),
    ("list", list_.command, LOOK),
    ("show", show.command, LOOK),
    ("check", check.command, LOOK),
)

#: Modules that add a command, or a group of them, themselves.
GROUPS = (
    accasim,
    batsim,
    bench,
    evaluate,
    forecast,
    report,
    slurm,
    train,
)


def _show_version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"cpsched {version('cpsched')}")
        raise typer.Exit


#: The first line of the help.
_IDENTITY = (
    "HPC batch scheduling simulator: replay a job log under other dispatchers and report who waits"
    " less, who waits longer, and how certain that is."
)

#: Printed if no command is given.
_BEGIN = """\
HPC batch scheduling simulator: replay a job log under other dispatchers and report who waits less,
who waits longer, and how certain that is. To begin:
  cpsched compare demo --out demo-out   compare four dispatchers on a synthetic log (a minute)
  cpsched compare LOG --out DIR         compare six dispatchers on your log (system inferred)
  cpsched list                          list dispatchers, systems and the rest
  cpsched --help                        show all commands
Quickstart: docs/start/quickstart.md    Your own log: docs/tutorials/your-log.md"""


def _common(
    context: typer.Context,
    debug: Annotated[bool, typer.Option("--debug", help="Show the traceback of an error.")] = False,
    version: Annotated[  # noqa: ARG001
        bool,
        typer.Option("--version", callback=_show_version, is_eager=True, help="Show the version."),
    ] = False,
) -> None:
    """Begin: without a command, print what to do first."""
    del debug
    if context.invoked_subcommand is None:
        typer.echo(_BEGIN)


def build(arguments: list[str]) -> Any:
    """Return the command group."""
    app = typer.Typer(
        name="cpsched",
        cls=CommandGroup,
        help=_IDENTITY,
        invoke_without_command=True,
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": HELP_NAMES},
        rich_markup_mode="markdown",
    )
    app.callback()(_common)
    for name, command, panel in COMMANDS:
        # The command list refuses further arguments itself, and names the command that takes them.
        settings = {"allow_extra_args": name == "list"}
        app.command(name, rich_help_panel=panel, context_settings=settings)(command)
    # The generators' options come from the generators, which take time to import. While the shell
    # completes a command, its words are in the environment.
    completing = os.environ.get("COMP_WORDS", "") + os.environ.get("_TYPER_COMPLETE_ARGS", "")
    generators = "generate" in arguments or "generate" in completing
    app.add_typer(log.group(generators), name="log", rich_help_panel=LOGS)
    for module in GROUPS:
        module.register(app)
    command_line: Any = typer.main.get_command(app)
    if not {"-h", "--help", HELP_ALL} & {*arguments[:1]}:
        # Errors in a command line are printed as plain lines and not in a box; the help still has
        # panels.
        command_line.rich_markup_mode = None
    hide_rare(command_line, show=HELP_ALL in arguments)
    name_values(command_line)
    return command_line


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and exit."""
    given = sys.argv[1:] if arguments is None else arguments
    # A command makes many small objects and hardly any cycles: collecting garbage less often saves
    # a tenth of its time.
    gc.set_threshold(200_000, 50, 50)
    # Python need not collect garbage at exit either.
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    if hidden := hidden_package():
        name, file = hidden
        where = f"{file} hides it" if file else "it is not installed"
        complain(
            f"the package {name} of cpsched cannot be imported: {where}. Rename that file, or take"
            " its folder off the path (PYTHONPATH)."
        )
        sys.exit(2)
    # --debug may be anywhere, though the group takes it only in front.
    rest = [argument for argument in given if argument != "--debug"]
    plain = ["--help" if argument == HELP_ALL else argument for argument in rest]
    sys.exit(guarded(lambda: build(rest)(plain, prog_name="cpsched"), debug=rest != given))
