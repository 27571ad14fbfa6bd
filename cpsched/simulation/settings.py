"""
How a simulation is run: every setting, described once.

From this description a study's table ``run`` and the options of the command line are read, and by
it what a run follows from is put into the run's identity.
"""

from __future__ import annotations

from dataclasses import dataclass, field, fields
from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    from cpsched.util.toml_section import Section

#: A setting of the mapping that leaves the jobs as the log has them.
_AS_IN_LOG = "none"


@dataclass(frozen=True, slots=True, kw_only=True)
class SettingSpec:
    """
    What a setting may be.

    Attributes
    ----------
    help
        What it does, in the help of commands.
    usual
        Its default there, in words; empty: by its value.
    metavar
        What stands for the value there.
    choices
        The words that it may be.
    group
        The registry group of what it names.
    parser
        What reads it (``module:name``), where it is ``KEY=VALUE,...``.
    flag
        The name of its option, where it is not the setting's own.
    """

    help: str
    usual: str = ""
    metavar: str | None = None
    choices: tuple[str, ...] = ()
    group: str = ""
    parser: str = ""
    flag: str = ""

    def checked(self, text: str, folder: Path) -> str:
        """
        Return what a text stands for, in its one form; paths are relative to a folder.

        Raises
        ------
        CpschedError
            If it is not valid, or names a file that is not there.
        """
        if self.group:
            from cpsched.util.model_files import checked

            return checked(self.group, text, folder)
        if self.parser and text != _AS_IN_LOG:
            module, _, name = self.parser.partition(":")
            getattr(import_module(module), name).parse(text)
        return text


def _setting(default: Any, **rule: Any) -> Any:
    return field(default=default, metadata={"rule": SettingSpec(**rule)})


@dataclass(frozen=True, kw_only=True)
class Settings:
    """
    How a simulation is run; see :class:`~cpsched.simulation.simulator.Simulator`.

    Attributes
    ----------
    dispatch_interval
        None: the dispatcher's own (:attr:`~cpsched.dispatch.contract.Dispatcher.interval`), which
        most do not have. A finished run's settings say which one it was.
    enforce_limits
        Whether jobs that ask for more time than their queue allows are rejected. For a workload
        that is mapped already, the mapping decided that, and a finished run's settings say how.
    restarts
        Which jobs may be restarted, ``share=0.5,cost=30,checkpoint=600`` (see
        :class:`~cpsched.systems.mapping.settings.RestartOptions`); ``none``: as the log says.
        As for ``enforce_limits``, the mapping decides it.
    malleable
        Which jobs may change size, ``share=0.5,least=0.5,most=2`` (see
        :class:`~cpsched.systems.mapping.settings.MalleableOptions`); likewise.
    runtime_model
        Specification of how long jobs run, see
        :class:`~cpsched.simulation.runtime_models.RuntimeModel`.
    outages
        Specification of which nodes are down when, see
        :class:`~cpsched.simulation.outages.OutageModel`.
    """

    overrun: str = _setting(
        "kill",
        choices=("kill", "extend"),
        help="Jobs at their requested time.",
    )
    correction: str = _setting(
        "requested",
        choices=("requested", "double"),
        flag="estimate-correction",
        help="Expected end of a job that outlives its prediction.",
    )
    dispatch_interval: int | None = _setting(
        None, metavar="S", help="Dispatch only at multiples of S seconds."
    )
    enforce_limits: bool = _setting(
        True,
        usual="yes",
        flag="enforce-time-limits",
        help="Reject jobs above a queue's limit, or not.",
    )
    restarts: str = _setting(
        _AS_IN_LOG,
        usual="from the log",
        metavar="KEY=VALUE,...",
        parser="cpsched.systems.mapping.settings:RestartOptions",
        help="Jobs that may be killed and restarted, such as share=0.5,cost=30: share (of jobs),"
        " cost (seconds a restart costs), checkpoint (seconds between two).",
    )
    malleable: str = _setting(
        _AS_IN_LOG,
        usual="from the log",
        metavar="KEY=VALUE,...",
        parser="cpsched.systems.mapping.settings:MalleableOptions",
        help="Jobs that may change size, such as share=0.5,most=2: share (of the jobs), least and"
        " most (units, as multiples of what a job asks for), kind (moldable, malleable, evolving),"
        " serial (share of the work that units cannot share), cost (seconds a change of size"
        " costs).",
    )
    runtime_model: str = _setting(
        "recorded",
        group="runtime_models",
        help="How long jobs run: recorded (as in the log) or another (cpsched list"
        " runtime_models); NAME:KEY=VALUE,...",
    )
    outages: str = _setting(
        "none",
        group="outages",
        help="Node outages: table:file=CSV, or random:mtbf=S,repair=S (cpsched list outages).",
    )
    seed: int = 0

    @property
    def mapping(self) -> dict[str, Any]:
        """Settings of :func:`cpsched.systems.mapping.fit`."""
        return {name: getattr(self, name) for name in ("enforce_limits", "restarts", "malleable")}


#: The settings that a study file and the command line may give, by name.
RULES: Mapping[str, SettingSpec] = {
    one.name: one.metadata["rule"] for one in fields(Settings) if "rule" in one.metadata
}


def option_of(name: str) -> str:
    """Return the option of the command line that gives a setting."""
    flag = RULES[name].flag if name in RULES else ""
    return f"--{flag or name.replace('_', '-')}"


def read_settings(section: Section) -> Settings:
    """
    Return the settings that a table gives; all others have their defaults.

    Raises
    ------
    ConfigError
        If a key is unknown or a value is not valid.
    """
    section.expect(*RULES)
    return Settings(**{name: _read(section, name, RULES[name]) for name in section.names()})


def _read(section: Section, name: str, rule: SettingSpec) -> Any:
    if rule.choices:
        return section.choice(name, rule.choices, None)
    usual = getattr(Settings, name)
    if isinstance(usual, bool):
        return section.flag(name)
    if usual is None:
        return section.seconds(name)
    with section.blamed(name):
        return rule.checked(section.text(name), section.file.parent)
