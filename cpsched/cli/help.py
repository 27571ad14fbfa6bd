"""The help of commands: words that stand for values, and rare options only on demand."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

#: Shows what else is hidden: rare options and commands.
HELP_ALL = "--help-all"
HELP_NAMES = ["-h", "--help"]
#: Of a pair of names with a longer first one only the second, which changes something, is shown.
_LONGEST = 20
#: What stands for a value by its type, where an option does not say it.
_WORDS = {int: "N", float: "NUMBER", Path: "FILE", str: "TEXT"}


def hide_rare(command: Any, *, show: bool) -> None:
    """Say in the help of a command that it is not all, or show all, in those below it, too."""
    below = [*getattr(command, "commands", {}).values()]
    if rare := [item for item in (*command.params, *below) if item.hidden]:
        command.epilog = None if show else f"{HELP_ALL} lists rare options and commands as well."
    for item in rare:
        item.hidden = not show
    for subcommand in below:
        hide_rare(subcommand, show=show)


def name_values(command: Any) -> None:
    """Let a word stand for the value of each option, and none for that of a flag or an argument."""
    for parameter in command.params:
        if parameter.param_type_name == "argument":
            # Its name stands there already.
            parameter.display_type_rich = _nothing
        else:
            if parameter.metavar is None:
                parameter.metavar = "" if parameter.is_flag else _word(parameter)
            _say_default(parameter)
    pairs = [option for option in command.params if option.secondary_opts]
    if long := [option for option in pairs if len(option.opts[0]) > _LONGEST]:
        command.format_help = partial(_without_first_names, long, command.format_help)
    options = [item for item in command.params if item.param_type_name != "argument"]
    if required := [option for option in options if option.required]:
        command.format_help = partial(_required_in_line, required, command.format_help)
    # Typer makes this option when it is first asked for, and keeps it.
    context = command.context_class(command, help_option_names=HELP_NAMES)
    if option := command.get_help_option(context):
        option.metavar = ""
    for below in getattr(command, "commands", {}).values():
        name_values(below)


def _without_first_names(options: list[Any], format_help: Any, *arguments: Any) -> None:
    """Write the help, in which these options have their second names only."""
    names = [option.opts for option in options]
    for option in options:
        option.opts = []
    format_help(*arguments)
    for option, given in zip(options, names, strict=True):
        option.opts = given


def _required_in_line(options: list[Any], format_help: Any, *arguments: Any) -> None:
    """Write the help, in which "required" is behind the help of these options."""
    helps = [option.help for option in options]
    for option in options:
        option.help, option.required = f"{option.help} [required]", False
    format_help(*arguments)
    for option, text in zip(options, helps, strict=True):
        option.help, option.required = text, True


def _say_default(option: Any) -> None:
    """Put the default behind the help, where typer would give it a line of its own."""
    value = option.default
    if option.required or not isinstance(value, str | int | float):
        return
    if isinstance(value, bool):
        value = "yes" if value else ""
    shown = f"{value:g}" if isinstance(value, float) else str(value)
    option.help, option.show_default = f"{option.help} [{shown}]" if shown else option.help, False


def _nothing(ctx: Any) -> str:  # noqa: ARG001
    return ""


def _word(option: Any) -> str:
    kind = option.type_descriptor.annotation
    kind = next(iter(get_args(kind)), kind) if get_origin(kind) is list else kind
    if get_origin(kind) is Literal:
        return "|".join(get_args(kind))
    return _WORDS.get(kind, "TEXT")
