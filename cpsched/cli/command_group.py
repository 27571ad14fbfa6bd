"""Groups of commands that say what to use instead of a command that was removed."""

from __future__ import annotations

from typing import Any

from typer.core import TyperGroup

from cpsched.errors import check_removed


class CommandGroup(TyperGroup):
    """A group of commands; a removed command is an error that names its successor."""

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
