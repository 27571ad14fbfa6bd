"""
What determines a run: the same for a study file, the command line and Python.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from itertools import product
from typing import TYPE_CHECKING, Any

from cpsched.errors import ConfigError, RunError
from cpsched.simulation.identity import Identity, identify
from cpsched.study.changes import after
from cpsched.study.folder import plain
from cpsched.study.inputs import JobSelection, RunInput, machine_digest, system_source
from cpsched.study.study import AXES, system_label
from cpsched.util.spec import Spec, files_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from cpsched.simulation.simulate import Settings
    from cpsched.study.study import Study

#: Hexadecimal digits of the hash in a folder's name.
_DIGITS = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class RunSpec:
    """
    All that determines a run, and the name of its folder derived from it.

    Attributes
    ----------
    name
        Of its folder: a slug and the first digits of ``identity``.
    identity
        Of the run, see :func:`cpsched.simulation.identity.identity`.
    labels
        The names of its workload, system, dispatcher and predictor in tables; and its seed.
    made_of
        The log, the part of it, the system, the changes and the jitter.
    dispatcher, predictor
        Specifications.
    settings
        Rules of the simulation, with its seed.
    unknown
        What is not known of its code, a sentence each: then a run of its identity may be another.
    """

    name: str
    identity: str
    labels: tuple[tuple[str, str | int], ...]
    made_of: RunInput
    dispatcher: str
    predictor: str
    settings: Settings
    unknown: tuple[str, ...] = ()

    @property
    def key(self) -> str:
        """The end of the folder's name by which a run is found, whatever its labels."""
        return self.identity[:_DIGITS]

    def check_identity(self) -> None:
        """
        Check that this process has the code and the files that identify the run.

        Raises
        ------
        RunError
            If it has others: the run would be kept as what it is not.
        """
        now = identity_of(self.made_of, self.dispatcher, self.predictor, self.settings)
        if now.digest != self.identity:
            raise RunError(
                f"{_called(self)}: the code, the files or the versions of libraries here are not"
                " those with which the study began. Start it again"
            )

    def record(self) -> dict[str, Any]:
        """Return the place in the study and the origin of a run, as in ``run.json``."""
        return {**dict(self.labels), "identity": self.identity, **self.made_of.record()}


def run_specs(study: Study) -> list[RunSpec]:
    """
    Return the runs of a study, in its order.

    Raises
    ------
    ConfigError
        If a file of the study cannot be read, or a run occurs twice under two names.
    """
    wanted = {(name, w.changes) for w in study.workloads for name in w.systems}
    machines = {variant: system_source(*variant) for variant in sorted(wanted)}
    tasks: dict[str, RunSpec] = {}
    for workload in study.workloads:
        jobs = {item.name: getattr(workload, item.name) for item in fields(JobSelection)}
        log = None if workload.source.seeded else workload.source.pinned()
        own = {key: getattr(workload, key) for key in AXES.values()}
        settings = replace(
            after(
                workload.changes,
                study.settings,
                lambda change, settings: change.of_settings(settings),
            ),
            **{key: variant.spec for key, variant in own.items() if variant is not None},
        )
        # All runs of a seed before those of the next, so that neighbours share a workload.
        for system, seed in product(workload.systems, study.seeds):
            jitter = study.jitter if seed and not workload.source.seeded else 0
            made_of = RunInput(
                **jobs | {"source": log or workload.source.pinned(seed)},
                system=machines[system, workload.changes],
                jitter=jitter,
                # Without jitter all repetitions are of the same jobs, or of others by their source.
                seed=seed if jitter else 0,
                mapping=tuple(settings.mapping.items()),
            )
            for dispatcher, predictor in product(
                workload.dispatchers or study.dispatchers, workload.predictors
            ):
                labels = (workload.label, system_label(system), dispatcher.label, predictor.label)
                specs = (dispatcher.spec, predictor.spec)
                task = _task(labels, made_of, *specs, replace(settings, seed=seed))
                if task.identity in tasks:
                    twin = tasks[task.identity]
                    raise ConfigError(
                        f"{_called(twin)} and {_called(task)} are the same run. Leave one out"
                    )
                tasks[task.identity] = task
    return list(tasks.values())


def run_titles(tasks: Sequence[RunSpec]) -> dict[str, str]:
    """
    Return what to call each run on a display, by name: ``easy-wsept, repetition 3``.

    Besides the dispatcher, a title has what differs between the runs.
    """
    different = {
        key: len({dict(task.labels)[key] for task in tasks}) > 1 for key, _ in tasks[0].labels
    }

    def title(task: RunSpec) -> str:
        labels = {**dict(task.labels), "seed": f"repetition {task.settings.seed}"}
        order = ("dispatcher", "predictor", "workload", "system", "seed")
        return ", ".join(str(labels[key]) for key in order if different[key] or key == "dispatcher")

    return {task.name: title(task) for task in tasks}


def _task(
    labels: tuple[str, str, str, str],
    made_of: RunInput,
    dispatcher: str,
    predictor: str,
    settings: Settings,
) -> RunSpec:
    identity, unknown = identity_of(made_of, dispatcher, predictor, settings)
    specs = _short("dispatchers", dispatcher), _short("predictors", predictor)
    slug = plain(" ".join([*labels[:2], *specs, f"s{settings.seed}"]))
    names = ("workload", "system", "dispatcher", "predictor")
    return RunSpec(
        name=f"{slug}-{identity[:_DIGITS]}",
        identity=identity,
        labels=(*zip(names, labels, strict=True), ("seed", settings.seed)),
        made_of=made_of,
        dispatcher=dispatcher,
        predictor=predictor,
        settings=settings,
        unknown=unknown,
    )


def identity_of(made_of: RunInput, dispatcher: str, predictor: str, settings: Settings) -> Identity:
    """Return the identity of a run of a study."""
    system_digest = machine_digest(made_of.system)
    what = (dispatcher, predictor, settings, made_of.readers())
    return identify(made_of.identity(), system_digest, *what)


def _short(group: str, text: str) -> str:
    """Return a specification with the names of its files, not their paths."""
    spec = Spec.parse(text)
    files = {key: path.name for key, path in files_of(group, spec).items()}
    return str(spec.with_options(files))


def _called(task: RunSpec) -> str:
    return " / ".join(str(value) for _, value in task.labels)
