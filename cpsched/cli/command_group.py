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
        if args and args[0] not in self.commands:
            check_removed("command", f"{ctx.command_path} {args[0]}")
        return super().resolve_command(ctx, args)
