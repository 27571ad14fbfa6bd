"""From a site's files to a system file and a policy file, with a list of what is not modelled."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.api.errors import ConfigError
from cpsched.api.machines import systems
from cpsched.api.tools import check_new_file, write_all
from slurm_adapter.config.accounts import (
    lost_of_associations,
    lost_of_qos,
    read_associations,
    read_qos,
    with_usage,
)
from slurm_adapter.config.conf import read_conf
from slurm_adapter.config.lines import read_text
from slurm_adapter.config.machine import Machine, read_machine, system_file
from slurm_adapter.config.policy import Imported, policy_of
from slurm_adapter.config.scontrol import read_scontrol
from slurm_adapter.config.unmodelled import Gap, of_site
from slurm_adapter.config.unmodelled_accounts import of_accounts
from slurm_adapter.dispatch import policy_file
from slurm_adapter.dispatch.parameters import PARAMETERS

if TYPE_CHECKING:
    from cpsched.api.model import System
    from slurm_adapter.config.conf import Conf
    from slurm_adapter.config.unmodelled import Job
    from slurm_adapter.dispatch.policy import Policy


@dataclass(frozen=True, kw_only=True)
class Files:
    """
    The files that describe a site; one of ``conf`` and ``scontrol``.

    Attributes
    ----------
    conf
        slurm.conf.
    scontrol
        Output of ``scontrol show config``, ``node``, ``partition``, ``reservation``, ``licenses``.
    topology
        topology.conf; None: that beside slurm.conf, if it asks for one.
    assoc, qos, sshare
        Output of ``sacctmgr -P show assoc``, ``sacctmgr -P show qos`` and ``sshare -l -a -P``.
    """

    conf: Path | None = None
    scontrol: tuple[Path, ...] = ()
    topology: Path | None = None
    assoc: Path | None = None
    qos: Path | None = None
    sshare: Path | None = None


@dataclass(frozen=True, kw_only=True)
class Site:
    """
    A site as read from its files.

    Attributes
    ----------
    machine
        As it is configured.
    system, policy
        As in their files.
    texts
        The files by name.
    gaps
        What is not modelled.
    notes
        Remarks for the user, one sentence each.
    """

    name: str
    machine: Machine
    system: System
    policy: Policy
    texts: dict[str, str]
    gaps: list[Gap]
    notes: list[str] = field(default_factory=list)

    def write(self, folder: Path, *, overwrite: bool) -> list[Path]:
        """Write the files; return their paths."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise ConfigError(f"cannot be made: {error.strerror}", where=folder) from error
        for name in self.texts:
            check_new_file(folder / name, overwrite=overwrite, key="--out")
        return write_all(folder, {name: text.encode() for name, text in self.texts.items()})


def read_site(files: Files, name: str | None = None) -> Site:
    """
    Read a site's files.

    Raises
    ------
    ConfigError
        If a file cannot be read or a value is invalid; names file, line and key.
    """
    if (files.conf is None) == (not files.scontrol):
        raise ConfigError("give either --conf slurm.conf or --scontrol FILE ...")
    conf = read_conf(files.conf) if files.conf else read_scontrol(files.scontrol)
    notes = conf.notes
    machine = read_machine(conf)
    imported = _policy(conf, files, notes)
    name = name or conf.text("ClusterName") or Path(conf.where).stem
    gaps = [*of_site(machine, imported), *of_accounts(machine, imported)]
    notes += [
        *imported.notes,
        *(
            f"{one} is not given: {PARAMETERS[one].default}; old versions have {former}"
            for one, former in (("SelectType", "select/linear"), ("PriorityType", "priority/basic"))
            if not conf.text(one)
        ),
    ]
    topology = files.topology or _topology(conf, files, gaps)
    texts = _texts(machine, imported.policy, name, topology)
    try:
        system, policy = _checked(name, texts)
    except ConfigError as error:
        # Slurm accepts files that lack nodes, or that name nodes that do not exist yet.
        if topology is None or files.topology or not str(error).startswith(topology.name):
            raise
        gaps.append(Gap(str(error), "no topology", _is_wide))
        texts = _texts(machine, imported.policy, name, None)
        system, policy = _checked(name, texts)
    return Site(
        name=name,
        machine=machine,
        system=system,
        policy=policy,
        texts=texts,
        gaps=gaps,
        notes=notes,
    )


def _texts(machine: Machine, policy: Policy, name: str, topology: Path | None) -> dict[str, str]:
    """Return the files by name."""
    by = "made by cpsched slurm import. Correct it where necessary."
    source = f"cpsched slurm import of {machine.conf.where}"
    beside = topology.name if topology else None
    return {
        f"{name}.system.toml": system_file(machine, name, source=source, topology=beside),
        f"{name}.policy.toml": f"# The policy of {name}, {by}\n{policy_file.to_toml(policy)}",
        **({topology.name: read_text(topology)} if topology else {}),
    }


def _is_wide(job: Job) -> bool:
    return job.text("nnodes") not in ("", "0", "1")


def _topology(conf: Conf, files: Files, gaps: list[Gap]) -> Path | None:
    plugin = conf.text("TopologyPlugin").lower()
    if plugin in ("", "topology/none", "topology/default", "topology/flat"):
        return None
    path = files.conf.parent / "topology.conf" if files.conf else None
    if path is not None and path.is_file():
        return path
    instead = "no topology: no topology.conf was found (--topology)"
    gaps.append(Gap(f"TopologyPlugin={plugin}", instead, _is_wide))
    return None


def _policy(conf: Conf, files: Files, notes: list[str]) -> Imported:
    qos = read_qos(files.qos) if files.qos else {}
    associations, is_tree = read_associations(files.assoc) if files.assoc else ((), True)
    if not is_tree and len({one.account for one in associations}) > 2:
        notes.append(
            "accounts: all are placed below the root, because the table has neither ParentName nor"
            " indentation; use sacctmgr -P show assoc tree, or format=...,ParentName"
        )
    if files.sshare:
        associations = with_usage(associations, files.sshare)
    imported = policy_of(conf, qos, associations)
    imported.lost_of_qos = lost_of_qos(files.qos) if files.qos else []
    imported.lost_of_associations = lost_of_associations(files.assoc) if files.assoc else []
    return imported


def _checked(name: str, texts: dict[str, str]) -> tuple[System, Policy]:
    """Check the files by reading them with their later readers."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in texts.items():
            (Path(folder) / file).write_text(text)
        try:
            system = systems.load(str(Path(folder) / f"{name}.system.toml"))
            return system, policy_file.load(Path(folder) / f"{name}.policy.toml")
        except ConfigError as error:
            raise ConfigError(str(error).replace(f"{folder}/", "")) from error
