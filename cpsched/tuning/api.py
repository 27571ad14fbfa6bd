"""The search for better settings from Python."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from cpsched.study.log_study import study_of_log
from cpsched.study.policies import following
from cpsched.tuning.measure import Limits
from cpsched.tuning.site import Site
from cpsched.tuning.tune import tune as tune_site

if TYPE_CHECKING:
    from collections.abc import Sequence
    from os import PathLike

    from cpsched.tuning.tune import Tuned


def tune(
    log: str | PathLike[str],
    *,
    system: str | PathLike[str],
    out: str | PathLike[str],
    policy: str | PathLike[str] | None = None,
    predictor: str = "requested",
    allow: Sequence[str] = (),
    forbid: Sequence[str] = (),
    space: str | PathLike[str] | None = None,
    trials: int = 200,
    sampler: str = "local",
    seed: int = 1,
    repeat: int = 5,
    wait_factor: float = 1.1,
    longest_factor: float = 1.2,
    jobs: int = 1,
) -> Tuned:
    """
    Search for better settings on the early jobs of a log, and check them on later ones.

    The search is that of ``cpsched tune``, with the same runs. It needs Optuna (extra ``tune``).

    Parameters
    ----------
    log
        Path of a job log of at least 27 days.
    system
        Name of a system, or its file.
    out
        Folder of all runs. Existing runs are kept, so an interrupted search continues. Its folder
        ``test`` is the study of the later jobs, see :func:`cpsched.load_results`.
    policy
        Slurm policy file, whose settings are searched. By default the options of ``easy`` are.
    predictor
        Specification of the runtime predictor.
    allow, forbid
        Patterns of settings that are searched, and of settings that are not: ``bf_*``.
    space
        TOML file with the values of each setting.
    trials
        Number of settings that are tried, besides 20 random ones.
    sampler
        What proposes settings: ``local`` (changes of the best and of the site's), ``tpe`` or
        ``nsga2`` (the same changes, and a sampler of Optuna), or ``random``.
    seed
        Seed of the search.
    repeat
        Repetitions on the validation part and on later jobs, at least 2.
    wait_factor, longest_factor
        Largest ratios to the current settings: of the p99.9 wait and the mean waits of groups, and
        of the longest wait.
    jobs
        Number of worker processes.

    Raises
    ------
    ConfigError
        If a file cannot be read, a setting is unknown, the log is too short for an interval on its
        last part, or Optuna is not installed.
    RunError
        If a run failed, or the folder is not a study.
    """
    site = site_of(log, system, policy, predictor)
    return tune_site(
        site,
        site.searched(allow, forbid, None if space is None else Path(space)),
        Path(out),
        trials=trials,
        sampler=sampler,
        seed=seed,
        repeat=repeat,
        limits=Limits(wait=wait_factor, longest=longest_factor),
        workers=jobs,
    )


def site_of(
    log: str | PathLike[str],
    system: str | PathLike[str],
    policy: str | PathLike[str] | None = None,
    predictor: str = "requested",
) -> Site:
    """Return the site of a log, a system and a policy; arguments are those of :func:`tune`."""
    given = {
        "systems": [str(system)],
        "dispatchers": [following(None if policy is None else Path(policy), None)],
        "predictors": [predictor],
    }
    return Site(study_of_log(Path(log), given, str))
