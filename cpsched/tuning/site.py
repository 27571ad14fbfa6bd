"""A site whose settings are tuned: which settings it has, and how to simulate changed ones."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from cpsched.errors import ConfigError
from cpsched.slurm.dispatch import policy_file
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy_edit import QUEUE_CHANGES, edited
from cpsched.study.changes import changed_system
from cpsched.study.inputs import prepare
from cpsched.study.policies import follows_policy
from cpsched.study.run_spec import run_specs
from cpsched.study.scenarios import Scenario, scenario
from cpsched.tuning.dispatcher_settings import dispatcher_of, dispatcher_space
from cpsched.tuning.settings import Space
from cpsched.tuning.slurm_settings import slurm_space
from cpsched.util.quantities import duration
from cpsched.util.spec import Spec, build, files_of

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from cpsched.slurm.dispatch.policy import SlurmPolicy
    from cpsched.study.study import Study
    from cpsched.systems.mapping import Fitted
    from cpsched.tuning.settings import Choice, Setting

#: Settings that are changes of a queue: ``max-time NAME``.
_CHANGES = frozenset(QUEUE_CHANGES.values())
#: Those whose values are times.
_TIMES = frozenset({"max-time", "default-time"})


class Site:
    """
    A site whose settings are tuned: a study of one log, and its space of settings.

    Parameters
    ----------
    study
        One log on one system, with one dispatcher and one predictor.

    Attributes
    ----------
    policy
        The Slurm policy; None: dispatchers and their options are searched.
    space
        All settings, with those that cost users something.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        (dispatcher,) = study.dispatchers
        spec = Spec.parse(dispatcher.spec)
        self.policy: SlurmPolicy | None = None
        self.fitted: Fitted = prepare(run_specs(replace(study, seeds=(0,)))[0].made_of)
        if follows_policy(dispatcher.spec):
            path = files_of("dispatchers", spec).get("policy")
            if path is None:
                raise ConfigError("needs a policy file: --slurm-policy FILE", key="--dispatcher")
            self.policy = policy_file.load(path)
            self.space = slurm_space(self.policy, self.fitted.system, self.fitted.workload)
        elif dispatcher.spec == "easy":
            self.space = dispatcher_space()
        else:
            raise ConfigError(
                f"{dispatcher.spec} has no settings to search. Leave --dispatcher out, or give"
                " --slurm-policy FILE.",
                key="--dispatcher",
            )

    def searched(self, allow: Sequence[str], forbid: Sequence[str], file: Path | None) -> Space:
        """
        Return the settings to search: those of a file, or all that patterns select.

        Raises
        ------
        ConfigError
            As :meth:`Space.from_file` and :meth:`Space.selected`, or if a setting cannot have a
            value of the file.
        """
        if file is None:
            return self.space.selected(allow, forbid)
        # A file names its settings, so all of them are allowed.
        space = self.space.from_file(file).selected(allow or ("*",), forbid)
        for key, item in space.settings.items():
            for value in item.values:
                try:
                    self._check(item, value)
                except (ConfigError, ValueError) as error:
                    raise ConfigError(f"{value!r}: {error}", where=file, key=key) from error
        space = Space.of([_distinct(item) for item in space.settings.values()])
        if not space.settings:
            raise ConfigError("has no other values than the site's. Add some.", where=file)
        return space

    def _check(self, setting: Setting, value: str) -> None:
        """Raise an error if a setting cannot have a value."""
        needed = {}
        if setting.needs is not None and setting.needs[1] is not None:
            needed = {setting.needs[0]: setting.needs[1]}
        made = self.scenario_of("value", {**needed, setting.key: value})
        if made.dispatcher:
            build("dispatchers", made.dispatcher)
        changed_system(self.fitted.system, made.changes)
        if setting.key in PARAMETERS:
            PARAMETERS[setting.key].kind.read(value)
        elif made.settings and self.policy is not None:
            edited(self.policy, made.settings)

    def scenario_of(self, label: str, choice: Choice) -> Scenario:
        """Return the scenario of changed settings."""
        if self.policy is None:
            return Scenario(label=label, dispatcher=dispatcher_of(choice))
        # Sorted, a default time comes before a limit, which lowers it if necessary.
        parts = [
            f"{key}={value}" if key.partition(" ")[0] in _CHANGES else f"set {key}={value}"
            for key, value in sorted(choice.items())
        ]
        return scenario(f"{label}: {'; '.join(parts)}")

    def defaults(self, space: Space) -> Choice | None:
        """Return the searched parameters that differ from Slurm's defaults; None: no policy."""
        if self.policy is None:
            return None
        choice = {}
        for key, item in space.settings.items():
            if key in PARAMETERS:
                default = PARAMETERS[key].default
                same = [text for text in item.values if PARAMETERS[key].kind.read(text) == default]
                choice[key] = same[0] if same else str(PARAMETERS[key].kind.shown(default))
        return space.changed(choice)


def _distinct(setting: Setting) -> Setting:
    """Return a setting without values that are another text of the site's."""
    read: Callable[[str], object]
    if setting.key in PARAMETERS:
        read = PARAMETERS[setting.key].kind.read
    elif setting.key.partition(" ")[0] in _TIMES:
        read = duration
    else:
        return setting
    own = read(setting.current)
    values = [value for value in setting.values if value == setting.current or read(value) != own]
    return replace(setting, values=tuple(values))
