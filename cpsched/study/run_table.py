"""The model of the settings of runs: a study's table ``run``, and options of the command line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import ValidationInfo, field_validator

from cpsched.simulation.settings import SPECIFICATIONS, Settings
from cpsched.systems.mapping.malleable import NONE
from cpsched.util.model_files import checked
from cpsched.util.models import Flag, Model, Must, Seconds, Text

if TYPE_CHECKING:
    from pathlib import Path


class RunTable(Model):
    """The settings of runs, named as in :class:`~cpsched.simulation.settings.Settings`."""

    overrun: Annotated[Literal["kill", "extend"], Must("one of: kill, extend")] = "kill"
    estimate_correction: Annotated[
        Literal["requested", "double"], Must("one of: requested, double")
    ] = "requested"
    dispatch_interval: Seconds | None = None
    enforce_time_limits: Flag = True
    restarts: Text = NONE
    malleable: Text = NONE
    runtime_model: Text = Settings.runtime_model
    outages: Text = Settings.outages

    @field_validator("restarts", "malleable", *SPECIFICATIONS)
    @classmethod
    def _check(cls, text: str, info: ValidationInfo) -> str:
        return checked_setting(str(info.field_name), text, (info.context or {})["folder"])

    def settings(self) -> Settings:
        """Return the settings."""
        return Settings(**dict(self))


def checked_setting(name: str, text: str, folder: Path) -> str:
    """
    Return what a setting that is a text says, in its one form.

    Parameters
    ----------
    folder
        What paths of files are relative to.

    Raises
    ------
    CpschedError
        If it is not valid, or names a file that is not there.
    """
    if name in SPECIFICATIONS:
        return checked(SPECIFICATIONS[name], text, folder)
    if text != NONE:
        from cpsched.systems.mapping.settings import MalleableOptions, RestartOptions

        options = RestartOptions if name == "restarts" else MalleableOptions
        options.parse(text)
    return text
