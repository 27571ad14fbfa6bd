"""Runs as workers get them: everything that determines one, and the folder's name made of it."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from cpsched import registry
from cpsched.errors import ConfigError
from cpsched.spec import Spec
from cpsched.study.identity import file_digests, slug_of
from cpsched.study.sources import Input, source_of, system_source
from cpsched.study.study import Generated, system_label
from cpsched.versions import versions

if TYPE_CHECKING:
    from cpsched.simulation.simulate import Settings
    from cpsched.study.study import Case, Study, StudyWorkload

#: Hexadecimal digits of the hash in a folder's name.
_DIGITS = 12
_LONGEST = 80


@dataclass(frozen=True, slots=True, kw_only=True)
class Task:
    """
    One run.

    Attributes
    ----------
    name
        Of its folder: a slug and the first digits of ``identity``.
    identity
        SHA-256 (hex) of everything that determines the run, versions included.
    labels
        What the tables call its workload, system, dispatcher and predictor; and its seed.
    dispatcher, predictor
        Specifications.
    """

    name: str
    identity: str
    labels: tuple[tuple[str, str | int], ...]
    made_of: Input
    dispatcher: str
    predictor: str
    settings: Settings

    @property
    def key(self) -> str:
        """The end of the folder's name by which a run is found, whatever its labels."""
        return self.identity[:_DIGITS]


def tasks_of(plan: Study) -> list[Task]:
    """
    Return the runs of a plan, in its order.

    Raises
    ------
    ConfigError
        If a file of the plan cannot be read, or a run is there twice under two names.
    """
    sources = {
        (w.label, seed): source_of(w.source, seed)
        for w in plan.workloads
        for seed in (plan.seeds if _is_seeded(w) else (0,))
    }
    machines = {name: system_source(name) for w in plan.workloads for name in w.systems}
    tasks: dict[str, Task] = {}
    for case in plan.cases():
        workload = case.workload
        seeded = _is_seeded(workload)
        jitter = 0 if seeded else plan.jitter
        made_of = Input(
            source=sources[workload.label, case.seed if seeded else 0],
            system=machines[case.system],
            first=workload.first,
            start=workload.start,
            end=workload.end,
            jitter=jitter if case.seed else 0,
            # Without jitter all repetitions are of the same jobs, or of other ones by their source.
            seed=case.seed if jitter else 0,
            enforce_limits=plan.settings.enforce_limits,
        )
        task = _task(case, made_of, replace(plan.settings, seed=case.seed))
        if task.identity in tasks:
            twin = tasks[task.identity]
            raise ConfigError(
                f"{_called(twin)} and {_called(task)} are the same run; leave one out"
            )
        tasks[task.identity] = task
    return list(tasks.values())


def _is_seeded(workload: StudyWorkload) -> bool:
    return isinstance(workload.source, Generated) and workload.source.seeded


def _task(case: Case, made_of: Input, settings: Settings) -> Task:
    dispatcher, predictor = case.dispatcher.spec, case.predictor.spec
    determined_by = [
        made_of.identity(),
        _with_files("dispatchers", dispatcher),
        _with_files("predictors", predictor),
        {key: getattr(settings, key) for key in sorted(settings.__dataclass_fields__)},
        versions_here(),
    ]
    content = json.dumps(determined_by, sort_keys=True, default=str)
    identity = hashlib.sha256(content.encode()).hexdigest()
    system = system_label(case.system)
    slug = _slug(case.workload.label, system, dispatcher, predictor, f"s{case.seed}")
    return Task(
        name=f"{slug}-{identity[:_DIGITS]}",
        identity=identity,
        labels=(
            ("workload", case.workload.label),
            ("system", system),
            ("dispatcher", case.dispatcher.label),
            ("predictor", case.predictor.label),
            ("seed", case.seed),
        ),
        made_of=made_of,
        dispatcher=dispatcher,
        predictor=predictor,
        settings=settings,
    )


def _called(task: Task) -> str:
    return " / ".join(str(value) for _, value in task.labels)


def _slug(*parts: str) -> str:
    return slug_of(" ".join(parts))[:_LONGEST].strip("-")


@lru_cache(maxsize=1)
def versions_here() -> dict[str, str]:
    """Return the versions of what can change a schedule; looked up once a process."""
    return versions()


def _with_files(group: str, spec: str) -> list[Any]:
    """
    Return a specification with what it depends on besides the versions of our own libraries.

    These are the contents of files that options name (a trained model), and the version of the
    distribution that a plug-in comes from.
    """
    parsed = Spec.parse(spec)
    return [str(parsed), file_digests(spec), _owner(group, parsed.name)]


@lru_cache(maxsize=256)
def _owner(group: str, name: str) -> str:
    from importlib.metadata import PackageNotFoundError, version

    owner = registry.entries(group)[name].distribution
    try:
        return f"{owner} {version(owner)}"
    except PackageNotFoundError:
        return owner
