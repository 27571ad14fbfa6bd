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
    """
    The settings of runs, named as in :class:`~cpsched.simulation.settings.Settings`.

    They hold for every run of the study and are the options of ``cpsched simulate``.
    """

    overrun: Annotated[Literal["kill", "extend"], Must("one of: kill, extend")] = "kill"
    """What happens to a job at its requested time: it ends, or runs on as long as in the log."""
    estimate_correction: Annotated[
        Literal["requested", "double"], Must("one of: requested, double")
    ] = "requested"
    """New estimate for a job that runs longer than predicted: its requested time, or twice the
    estimate."""
    dispatch_interval: Seconds | None = None
    """Time between two decisions, such as 30 or ``0:00:30``. Default: the dispatcher's own, which
    is at every event for most."""
    enforce_time_limits: Flag = True
    """Whether jobs that ask for more time than their queue allows are rejected."""
    restarts: Text = NONE
    """Jobs that may be restarted, such as ``share=0.5,cost=30``. ``none``: as the log states."""
    malleable: Text = NONE
    """Jobs that may change size, such as ``share=0.5,least=0.5,most=2``. ``none``: as the log
    states."""
    runtime_model: Text = Settings.runtime_model
    """How long a job runs on the nodes it gets."""
    outages: Text = Settings.outages
    """Which nodes are down, and when, such as ``random:mtbf=2592000,repair=14400``."""

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
