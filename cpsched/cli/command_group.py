"""Groups of commands: errors are one line, and former names are answered with the new ones."""

from __future__ import annotations

import sys
from typing import Any

from typer.core import TyperGroup

from cpsched.cli.output import complain
from cpsched.errors import check_other_name, check_renamed


class CommandGroup(TyperGroup):
    """A group of commands; the error of a former name of a command or option has the new one."""

    def main(self, *args: Any, **extra: Any) -> Any:
        """Run the command and exit; an invalid command line is one line of error."""
        try:
            code = super().main(*args, **{**extra, "standalone_mode": False})
        except Exception as error:
            # Of the class ClickException, which is private to typer.
            if not hasattr(error, "format_message"):
                raise
            complain(_without_class(error.format_message()) + _help_of(error))
            sys.exit(getattr(error, "exit_code", 2))
        sys.exit(code if isinstance(code, int) else 0)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """
        Return the command that the arguments name.

        Raises
        ------
        ConfigError
            If they are the former name of a command.
        """
        for words in (args[:1], args[:2]):
            check_other_name("command", " ".join([ctx.command_path, *words]))
        return super().resolve_command(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """
        Run the command that the arguments name.

        Raises
        ------
        ConfigError
            If an option has another name now.
        """
        try:
            return super().invoke(ctx)
        except Exception as error:
            # Of the class NoSuchOption, which is private to typer.
            option, context = getattr(error, "option_name", None), getattr(error, "ctx", None)
            if isinstance(option, str) and context is not None:
                parameters = context.command.params
                known = [name for item in parameters for name in (*item.opts, *item.secondary_opts)]
                check_renamed(option, known)
            raise


def _without_class(message: str) -> str:
    """Return a message without the name of the error that typer's types put in front of it."""
    return message.replace("Value error, ", "")


def _help_of(error: Exception) -> str:
    """Return where the help of the command is whose line is wrong."""
    context = getattr(error, "ctx", None)
    return "" if context is None else f" See '{context.command_path} --help'."
