"""
Slurm under a site's policy, as a dispatcher.

After ``man slurm.conf`` and Slurm's pages on priorities, limits, preemption and scheduling; what is
modelled, and how closely, is in ``docs/background/slurm-model.md``.
"""

from __future__ import annotations

import inspect
from typing import TYPE_CHECKING, Any

from cpsched import _core
from cpsched.dispatch.native import NativeRule
from cpsched.dispatch.preemption import Preemption
from cpsched.errors import ConfigError, check_choice, check_least
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.passes import Passes
from cpsched.slurm.dispatch.policy import SlurmPolicy
from cpsched.slurm.dispatch.preemption import PartitionRules, QosRules

if TYPE_CHECKING:
    from cpsched.dispatch.preemptable import PreemptionRules
    from cpsched.model.decision import Decision
    from cpsched.model.jobstore import JobStore
    from cpsched.model.system import System
    from cpsched.model.view import View
    from cpsched.util.spec import File


class Slurm(Preemption):
    """
    Slurm's main scheduler, backfill plug-in and preemption under a Slurm policy.

    Parameters
    ----------
    policy
        A policy file, or a :class:`~cpsched.slurm.dispatch.policy.SlurmPolicy`. By default the
        defaults of Slurm.
    topology
        Selection of nodes, see :class:`~cpsched.slurm.dispatch.plain.SlurmBackfill`.
    lag
        Seconds from an event to the main pass that it triggers.
    **parameters
        Parameters of ``slurm.conf`` by name. They replace those of the policy.
    """

    name = "slurm"
    family = "Slurm"
    #: The parameters of slurm.conf, which are options too.
    slurm_parameters = PARAMETERS
    good_for = "a simulation of your own Slurm under its policy"
    goes_wrong_when = "time limits are uninformative, or jobs that share nodes wait for whole nodes"

    def __init__(
        self,
        policy: File | SlurmPolicy | None = None,
        topology: str = "line",
        lag: int = 0,
        **parameters: Any,
    ) -> None:
        check_choice("topology", topology, ("line", "tree"))
        check_least("lag", lag, 0)
        known = policy if isinstance(policy, SlurmPolicy) else SlurmPolicy()
        if isinstance(policy, str):
            known = policy_file.load(policy)
        given = {name: _value(name, text) for name, text in parameters.items() if text is not None}
        self.policy = known.with_parameters(given)
        self.passes = Passes(self.policy, tree=topology == "tree", lag=lag)
        super().__init__(self.passes)
        #: Whether jobs may preempt others under the policy.
        self.preempts: bool = self.policy["PreemptType"] != "preempt/none"

    def native(self, store: JobStore, num_jobs: int) -> NativeRule | None:  # noqa: ARG002
        """Return compiled code for the decisions, or None if jobs may preempt others."""
        if type(self) is not Slurm or self.preempts:
            return None
        return _SlurmRule(self.passes, store)

    def reset(self, system: System, seed: int) -> None:
        """
        Clear all memory and prepare for a system, before a run starts.

        Raises
        ------
        ConfigError
            If the tree has no switches, the machine is a counted pool, or a reservation has nodes
            that the system does not have.
        """
        if self.preempts:
            super().reset(system, seed)
        else:
            self.passes.reset(system, seed)

    def rules_on(self, system: System) -> PreemptionRules:
        """Return which jobs may preempt which under the policy."""
        if self.policy["PreemptType"] == "preempt/qos":
            return QosRules(self.policy, self.passes.qos_of)
        return PartitionRules(self.policy, system)

    def decide(self, view: View) -> Decision:
        """
        Return the starts of the scheduling passes that are due, and the preemptions they need.
        """
        return super().decide(view) if self.preempts else self.passes.decide(view)

    def shown(self, view: View) -> View:
        """Return the view without the free capacity that is reserved for preempting jobs."""
        return super().shown(view) if self.preempts else view


def _value(name: str, text: Any) -> Any:
    """Return the value of a parameter that is given as an option."""
    parameter = PARAMETERS.get(name)
    if parameter is None:
        raise TypeError(f"Slurm() got an unexpected keyword argument '{name}'")
    if not isinstance(text, str):
        return text
    try:
        return parameter.kind.read(text.strip())
    except ValueError as error:
        raise ConfigError(f"{text!r} {error}", key=name) from None


def _signature() -> inspect.Signature:
    """Return the constructor's signature with a parameter for each of slurm.conf's."""
    own = inspect.signature(Slurm.__init__)
    named = [
        parameter
        for parameter in own.parameters.values()
        if parameter.kind is not parameter.VAR_KEYWORD
    ][1:]
    more = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation="str|None")
        for name in PARAMETERS
    ]
    return inspect.Signature([*named, *more])


Slurm.__signature__ = _signature()  # type: ignore[attr-defined]


class _SlurmRule(NativeRule):
    """The native scheduler, which is told what the rules of its policy say of jobs to come."""

    def __init__(self, passes: Passes, store: JobStore) -> None:
        super().__init__(_core.SlurmDispatcher(passes.scheduler, passes.learner(store)))
        self._passes = passes

    def note(self, store: JobStore, first: int, coming: JobStore) -> None:  # noqa: ARG002
        """Find out what is the same of all jobs alike: one by one would take longer."""
        self._passes.learn_of(coming)
