"""From a site's files to a system file and a policy file, with a list of what is not modelled."""

from __future__ import annotations

import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from cpsched import systems
from cpsched.errors import ConfigError
from cpsched.slurm.config.accounts import (
    ignored_of_associations,
    ignored_of_qos,
    read_associations,
    read_qos,
    with_usage,
)
from cpsched.slurm.config.conf import read_conf
from cpsched.slurm.config.lines import Output, read_text
from cpsched.slurm.config.nodes import SiteNodes, read_nodes, system_file
from cpsched.slurm.config.policy import ImportedPolicy, policy_of
from cpsched.slurm.config.scontrol import read_scontrol
from cpsched.slurm.config.topology import read_layout
from cpsched.slurm.config.unmodelled import Gap, of_site
from cpsched.slurm.config.unmodelled_accounts import of_accounts
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.util.atomic_files import check_new_file, write_all
from cpsched.util.node_lists import compress
from cpsched.util.words import brief, counted

if TYPE_CHECKING:
    from cpsched.model.system import System
    from cpsched.slurm.config.conf import Conf
    from cpsched.slurm.config.unmodelled import AccountedJob
    from cpsched.slurm.dispatch.policy import SlurmPolicy


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
    scontrol: tuple[Path | Output, ...] = ()
    topology: Path | None = None
    assoc: Path | Output | None = None
    qos: Path | Output | None = None
    sshare: Path | Output | None = None


@dataclass(frozen=True, kw_only=True)
class ImportedSite:
    """
    A site as read from its files.

    Attributes
    ----------
    cluster
        Its nodes and partitions as configured.
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
    cluster: SiteNodes
    system: System
    policy: SlurmPolicy
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


def read_site(files: Files, name: str | None = None) -> ImportedSite:
    """
    Read a site's files.

    Raises
    ------
    ConfigError
        If a file cannot be read or a value is invalid; names file, line and key.
    """
    if (files.conf is None) == (not files.scontrol):
        raise ConfigError("give either --conf slurm.conf or --scontrol FILE")
    conf = read_conf(files.conf) if files.conf else read_scontrol(files.scontrol)
    notes = conf.notes
    cluster = read_nodes(conf)
    imported = _policy(conf, files, notes)
    name = name or conf.text("ClusterName") or Path(conf.where).stem
    gaps = [*of_site(cluster, imported), *of_accounts(cluster, imported)]
    notes += [
        *imported.notes,
        *(
            f"{parameter} is not given: {PARAMETERS[parameter].default}. Old versions have {former}"
            for parameter, former in (
                ("SelectType", "select/linear"),
                ("PriorityType", "priority/basic"),
            )
            if not conf.text(parameter)
        ),
    ]
    _add_unread_files(files, gaps, notes)
    topology = _topology(conf, files, gaps)
    laid_out = None
    if topology is not None:
        try:
            laid_out = _laid_out(topology, cluster, gaps, notes)
        except ConfigError as error:
            if files.topology:
                raise
            gaps.append(Gap(str(error), "there is no topology", _is_wide))
    texts = _texts(cluster, imported.policy, name, laid_out)
    system, policy = _checked(name, texts)
    return ImportedSite(
        name=name,
        cluster=cluster,
        system=system,
        policy=policy,
        texts=texts,
        gaps=gaps,
        notes=notes,
    )


def _texts(
    cluster: SiteNodes, policy: SlurmPolicy, name: str, topology: tuple[str, str] | None
) -> dict[str, str]:
    """Return the files by name; ``topology`` is one of them."""
    by = "made by cpsched slurm import. Correct it where necessary."
    source = f"cpsched slurm import of {cluster.conf.where}"
    beside, content = topology or (None, "")
    return {
        f"{name}.system.toml": system_file(cluster, name, source=source, topology=beside),
        f"{name}.policy.toml": f"# The policy of {name}, {by}\n{policy_file.to_toml(policy)}",
        **({} if beside is None else {beside: content}),
    }


def _is_wide(job: AccountedJob) -> bool:
    return job.text("nnodes") not in ("", "0", "1")


def _add_unread_files(files: Files, gaps: list[Gap], notes: list[str]) -> None:
    """Name the files next to slurm.conf that affect scheduling and are not read."""
    folder = files.conf.parent if files.conf else None
    if folder is None:
        return
    if (folder / "resources.yaml").is_file():
        gaps.append(
            Gap("resources.yaml", "the file is ignored, so there are no hierarchical resources")
        )
    if (folder / "gres.conf").is_file():
        notes.append("gres.conf is ignored: resources of nodes come from Gres= of slurm.conf")


#: Values of TopologyPlugin that need no file, and those of which a file is read.
_FLAT = ("", "topology/none", "topology/default", "topology/flat")
_READ = ("topology/tree", "topology/block")


def _topology(conf: Conf, files: Files, gaps: list[Gap]) -> Path | None:
    """Return the topology.conf to read; what there is instead is added to the gaps."""
    if files.topology:
        if files.topology.suffix.lower() in (".yaml", ".yml"):
            raise ConfigError(
                "topology.yaml is not supported. Give the same topology as a topology.conf.",
                where=files.topology,
            )
        return files.topology
    folder = files.conf.parent if files.conf else None
    if folder is not None and (folder / "topology.yaml").is_file():
        # Slurm takes it in place of topology.conf and TopologyPlugin.
        gaps.append(Gap("topology.yaml", "the file is ignored, so there is no topology", _is_wide))
        return None
    plugin = conf.text("TopologyPlugin").lower()
    if plugin in _FLAT:
        return None
    path = folder / "topology.conf" if folder else None
    if plugin in _READ and path is not None and path.is_file():
        return path
    instead = "there is no topology (give --topology topology.conf)"
    if plugin not in _READ:
        instead = "there is no topology (topology/tree and topology/block are supported)"
    gaps.append(Gap(f"TopologyPlugin={plugin}", instead, _is_wide))
    return None


def _laid_out(path: Path, cluster: SiteNodes, gaps: list[Gap], notes: list[str]) -> tuple[str, str]:
    """Return name and text of a topology file, and note what Slurm would only warn of."""
    text = read_text(path)
    layout = read_layout(text, path.name, [node.name for node in cluster.nodes])
    notes += layout.notes
    if layout.lone:
        name = f"{counted(len(layout.lone), 'node')} in no switch: {brief(compress(layout.lone))}"
        gaps.append(
            Gap(
                f"{path.name}: {name}",
                "each is a switch of its own, and jobs may use several of them",
                _is_wide,
            )
        )
    optional = "topooptional" in (word.lower() for word in cluster.conf.words("TopologyParam"))
    if len(layout.roots) > 1 and optional:
        # Slurm minds switches only for jobs that ask for it: the others may span all.
        title = "above-all"
        text = f"{text.rstrip()}\n# TopoOptional: jobs may span separate trees.\n"
        text += f"SwitchName={title} Switches={','.join(layout.roots)}\n"
        notes.append(f"{path.name}: jobs may span separate trees (TopoOptional)")
    elif len(layout.roots) > 1:
        notes.append(
            f"{path.name}: the trees of {brief(', '.join(layout.roots))} are separate, and no job"
            " has nodes of two"
        )
        if layout.flattened:
            gaps.append(
                Gap(f"{path.name}: switches inside trees", "each tree counts as one switch")
            )
    return path.name, text


def _policy(conf: Conf, files: Files, notes: list[str]) -> ImportedPolicy:
    qos = read_qos(files.qos) if files.qos else {}
    associations, is_tree = read_associations(files.assoc) if files.assoc else ((), True)
    if not is_tree and len({assoc.account for assoc in associations}) > 2:
        notes.append(
            "accounts: all are below root, because the table has neither ParentName nor"
            " indentation. Use sacctmgr -P show assoc tree, or format=...,ParentName"
        )
    if files.sshare:
        associations = with_usage(associations, files.sshare)
    imported = policy_of(conf, qos, associations)
    imported.ignored += ignored_of_qos(files.qos) if files.qos else ()
    imported.ignored += ignored_of_associations(files.assoc) if files.assoc else ()
    return imported


def _checked(name: str, texts: dict[str, str]) -> tuple[System, SlurmPolicy]:
    """Check the files by reading them with their later readers."""
    with tempfile.TemporaryDirectory() as folder:
        for file, text in texts.items():
            (Path(folder) / file).write_text(text)
        try:
            system = systems.load(str(Path(folder) / f"{name}.system.toml"))
            return system, policy_file.load(Path(folder) / f"{name}.policy.toml")
        except ConfigError as error:
            raise ConfigError(str(error).replace(f"{folder}/", "")) from error
