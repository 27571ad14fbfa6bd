"""Groups of commands that name what replaces a command or an option that is gone."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from cpsched.errors import check_removed, check_renamed


class CommandGroup(TyperGroup):
    """A group of commands; a removed command or option is an error that names its successor."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """
        Return the command that the arguments name.

        Raises
        ------
        ConfigError
            If it was removed.
        """
        for words in (args[:1], args[:2]):
            check_removed("command", " ".join([ctx.command_path, *words]))
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
