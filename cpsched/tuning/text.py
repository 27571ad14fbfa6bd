"""The outcome of a search in sentences and tables: on a terminal, and on one page."""

from __future__ import annotations

from typing import TYPE_CHECKING

from cpsched.metrics.definitions import title_of
from cpsched.report.findings import CAVEATS, Effect, change, wait_change
from cpsched.report.record import validation_lines
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.study.verdicts import LOWER
from cpsched.tuning.measure import FEWEST, WAIT
from cpsched.tuning.proposal import sacctmgr_commands, slurm_diff
from cpsched.tuning.search import RANDOM
from cpsched.tuning.settings import digest_of
from cpsched.tuning.tune import BEST_RANDOM, DEFAULTS, PROPOSED
from cpsched.util.terminal import table_text
from cpsched.util.words import counted, duration, escaped

if TYPE_CHECKING:
    from collections.abc import Iterator

    from cpsched.tuning.measure import Measured
    from cpsched.tuning.parts import Window
    from cpsched.tuning.settings import Choice
    from cpsched.tuning.site import Site
    from cpsched.tuning.tune import Tuned

#: Most constraints, groups and settings of a front that are named, and groups on the page.
_MOST, _MOST_OF_PAGE = 5, 50
#: A gain has become smaller if less than this share of it is left.
_LEFT = 0.9
#: Smaller rises of a mean wait are not named, seconds.
_NOTICED = 60
_DAY = 86400


def search_lines(tuned: Tuned) -> Iterator[str]:
    """Yield what was searched, and how many settings were stopped or broke a constraint."""
    parts = tuned.parts
    yield (
        f"Search on {_jobs(parts.search)}, choice on {_jobs(parts.validation)}, report on"
        f" {_jobs(parts.test)}. The parts follow one another in time."
    )
    complete = [trial for trial in tuned.trials if trial.complete]
    failed = sum(trial.failed for trial in tuned.trials)
    broken = [trial for trial in complete if trial.windows[-1].broken]
    stopped = len(tuned.trials) - len(complete) - failed
    yield (
        f"{counted(len(tuned.trials), 'combination')} of settings tried: {stopped} stopped early,"
        f" {len(complete)} simulated on the whole search part, among them the {RANDOM} random ones."
        f" {len(broken)} of the {len(complete)} break a constraint. (In the search the longest and"
        " the p99.9 wait may rise by half as much as on later jobs.)"
    )
    if failed:
        yield (
            f"{counted(failed, 'combination')} could not be simulated. Their errors are in the"
            " folders 'failed'."
        )


def _jobs(window: Window) -> str:
    return f"{window.jobs:,} jobs of {(window.end - window.start) / _DAY:.1f} days"


def answer_lines(tuned: Tuned, most: int = _MOST) -> Iterator[str]:
    """
    Yield the answer: the gain on later jobs with its interval, the loss, and the caveats.

    At most so many groups that wait longer are named.
    """
    proposed = tuned.results.get(PROPOSED)
    if proposed is None or tuned.validated is None or tuned.searched is None:
        yield (
            f"None of the best {counted(len(tuned.finalists), 'combination')} of settings is better"
            " on the validation part with all constraints kept. Keep the current settings."
            if tuned.front
            else "No combination of settings is better on the search part with all constraints"
            " kept. Keep the current settings."
        )
    else:
        yield f"On later jobs, {PROPOSED}: {_effects(proposed)}."
        yield from _constraints(proposed)
        yield _verdict(tuned, proposed)
        yield from _validation(tuned)
        if proposed.wait.interval and proposed.wait.days and not proposed.wait.is_of_log:
            yield CAVEATS["days"]
        yield _longer_waits(tuned, proposed, most)
        search, validation, test = map(_gain, (tuned.searched, tuned.validated, proposed))
        fitted = (
            " The gain is smaller on later jobs: the search fitted its own jobs, or later jobs"
            " differ."
            if 1 - proposed.ratio < _LEFT * (1 - tuned.searched.ratio)
            else ""
        )
        yield (
            f"Mean wait on the search part {search}, on the validation part {validation}, on later"
            f" jobs {test}.{fitted}"
        )
    if BEST_RANDOM not in tuned.results:
        yield (
            "None of the 20 random combinations is better than the current settings on the"
            " validation part with all constraints kept, so there is no best of them to compare"
            " with."
        )
    for label in (BEST_RANDOM, DEFAULTS):
        if (other := tuned.results.get(label)) is not None:
            broken = (
                f" It breaks {counted(len(other.broken), 'constraint')}." if other.broken else ""
            )
            yield f"On later jobs, {label}: {_effects(other)}.{broken}"
    if tuned.defaults == {}:
        yield "The current settings are Slurm's defaults, as far as they are searched."
    if (row := tuned.against_random) is not None:
        effect = Effect.of(row, days=row.days is not None)
        verdict = (
            ""
            if row.verdict == LOWER
            else " The search is not significantly better than 20 random combinations."
        )
        yield f"On later jobs, {PROPOSED} against {BEST_RANDOM}: {effect}.{verdict}"


def _verdict(tuned: Tuned, proposed: Measured) -> str:
    """Return whether the proposed settings are recommended, and why not."""
    if tuned.is_recommended:
        return "The proposed settings are recommended."
    if tuned.is_better:
        return (
            "The proposed settings are better on the simulated system, which agrees poorly with the"
            " log. Improve the site's files before you apply them: cpsched validate."
        )
    return f"{_why_not(proposed)} Keep the current settings."


def _validation(tuned: Tuned) -> Iterator[str]:
    """Yield how well the current settings agree with the recorded waits of later jobs."""
    if tuned.table is not None:
        for case in tuned.table.cases:
            yield from validation_lines(tuned.table, case)


def _why_not(proposed: Measured) -> str:
    """Return why settings are not better on later jobs."""
    if proposed.broken:
        return "They break a constraint on later jobs."
    if proposed.wait.is_of_log and proposed.ratio < 1:
        return (
            "The mean wait is lower on these later jobs, but not significantly over their days:"
            " on other days it may be higher."
        )
    return "They are not significantly better on later jobs."


def _gain(measured: Measured) -> str:
    """Return the change of the mean wait, and both values."""
    now, then = (
        duration(round(value or 0)) for value in (measured.wait.base_value, measured.wait.value)
    )
    return f"{change(measured.ratio)} ({now} to {then})"


def _effects(measured: Measured) -> str:
    days = measured.wait.days is not None
    effects = (Effect.of(row, days=days) for row in (measured.wait, measured.longest))
    return ", ".join(map(str, effects))


def _constraints(measured: Measured) -> Iterator[str]:
    if not measured.broken:
        named = [f"{escaped(name)} ({jobs})" for name, jobs in measured.unchecked[:_MOST]]
        left = len(measured.unchecked) - _MOST
        more = f", {counted(left, 'more group')}" if left > 0 else ""
        few = f" Too few jobs for a constraint: {', '.join(named)}{more}." if named else ""
        yield (
            "All constraints are kept on later jobs: the longest and the p99.9 wait, and mean waits"
            f" of accounts, queues, partitions and sizes with at least {FEWEST} jobs.{few}"
        )
    for broken in measured.broken[:_MOST]:
        if broken.ratio == float("inf"):
            yield f"Broken on later jobs: {escaped(broken.what)}."
        else:
            yield (
                f"Broken on later jobs: {escaped(broken.what)} {broken.ratio:.2f} times the current"
                f" one, allowed are {broken.limit:g} times."
            )
    if (left := len(measured.broken) - _MOST) > 0:
        constraints = "constraint is" if left == 1 else "constraints are"
        yield f"{left} more {constraints} broken on later jobs."
    if measured.unclear:
        shown = [f"{escaped(item.what)} {item.ratio:.2f}" for item in measured.unclear[:_MOST]]
        more = f" and {len(measured.unclear) - _MOST} more" if len(measured.unclear) > _MOST else ""
        yield f"Above their limits, but not with confidence: {', '.join(shown)}{more}."


def _longer_waits(tuned: Tuned, proposed: Measured, most: int) -> str:
    """Return which groups of later jobs wait significantly longer."""
    rows = [
        row
        for row in (tuned.table.group_rows(proposed.wait.run) if tuned.table else ())
        if row.metric == WAIT and row.effect == "worse" and (row.difference or 0) >= _NOTICED
    ]
    rows.sort(key=lambda row: -(row.difference or 0))
    if not rows:
        return "No group of later jobs waits significantly longer."
    listed = [f"{escaped(title_of(row.group))} {wait_change(row)}" for row in rows[:most]]
    more = f", {counted(len(rows) - most, 'more group')}" if len(rows) > most else ""
    return f"Of later jobs, these wait longer: {', '.join(listed)}{more}."


def changes_text(tuned: Tuned, width: int) -> str:
    """Return a table of the proposed changes and their contributions; empty without any."""
    if not tuned.contributions:
        return ""
    rows = [
        [(item.key, ""), (item.before or "none", ""), (item.after or "none", ""),
         *_ratios(item.alone), *_ratios(item.without)]
        for item in tuned.contributions
    ]  # fmt: skip
    together = tuned.contributions[0].together
    nothing = ("", "")
    rows.append([("all changes", ""), nothing, nothing, *_ratios(together), nothing, nothing])
    headers = [
        "setting", "now", "proposed", "alone: mean", "longest", "without it: mean", "longest"
    ]  # fmt: skip
    meanings = [
        f"{item.key}: {PARAMETERS[item.key].meaning}"
        for item in tuned.contributions
        if item.key in PARAMETERS
    ]
    table = table_text(headers, rows, width=width, names=3)
    return "\n".join([table, "", *meanings]) if meanings else table


def _ratios(waits: tuple[float, float] | None) -> list[tuple[str, str]]:
    """Return the cells of a mean and a longest wait."""
    if waits is None:
        return [("failed", ""), ("", "")]
    return [(f"{ratio:.2f}", "") for ratio in waits]


def front_text(tuned: Tuned, width: int) -> str:
    """
    Return the Pareto front of mean and longest wait on the search part; empty without one.

    The proposed settings are above it, and need not lie on it.
    """
    front = tuned.front
    if not front:
        return ""
    validated = {digest_of(item.choice): item for item in tuned.finalists}
    rows = [
        _front_row(_settings(item.choice), item, validated.get(digest_of(item.choice)))
        for item in front[:_MOST]
    ]
    if tuned.searched is not None:
        rows.insert(0, _front_row("(proposed)", tuned.searched, tuned.validated))
    headers = ["settings", "search: mean", "longest", "validation: mean", "longest", "broken"]
    text = table_text(headers, rows, width=width, names=1)
    return f"{text}\nand {len(front) - _MOST} more" if len(front) > _MOST else text


def _front_row(name: str, searched: Measured, validated: Measured | None) -> list[tuple[str, str]]:
    """Return the waits on the search and on the validation part, and the constraints broken."""
    cells = [(name, ""), *_ratios((searched.ratio, searched.longest_ratio))]
    if validated is None:
        return [*cells, ("not run", ""), ("", ""), ("", "")]
    later = _ratios((validated.ratio, validated.longest_ratio))
    return [*cells, *later, (str(len(validated.broken)), "")]


def _settings(choice: Choice) -> str:
    return ", ".join(f"{key}={value or 'none'}" for key, value in choice.items())


def proposal_text(tuned: Tuned, site: Site) -> str:
    """Return the change of slurm.conf and the commands of sacctmgr; empty without a proposal."""
    policy = site.policy
    if policy is None or not tuned.choice:
        return ""
    parts = []
    if diff := slurm_diff(policy, tuned.choice, site.fitted.system):
        parts.append(
            "slurm.conf, then 'scontrol reconfigure'. Add the lines with +, in place of those with"
            " -.\nKeep options of SchedulerParameters that cpsched does not model."
            f"\n\n{diff}"
        )
    if commands := sacctmgr_commands(policy, tuned.choice):
        parts.append("\n".join(["Accounting:", "", *commands, ""]))
    return "\n".join(parts)


def tables(tuned: Tuned, site: Site, width: int) -> Iterator[tuple[str, str]]:
    """Yield the title and the text of each table that is not empty, and of what to type."""
    for title, text in (
        (
            "Mean and longest wait on the validation part, as ratios to now",
            changes_text(tuned, width),
        ),
        (
            "Pareto front: waits on the search and on the validation part, ratios to now",
            front_text(tuned, width),
        ),
        (
            "What to type"
            if tuned.is_recommended
            else "What to type for the proposed settings (not recommended)",
            proposal_text(tuned, site),
        ),
    ):
        if text:
            yield title, text.rstrip()


def page(tuned: Tuned, site: Site) -> str:
    """Return the one-page summary as Markdown."""
    system, (log,) = site.fitted.system, site.study.workloads
    lines = [f"# Search for better settings: {escaped(system.title or system.name)}", ""]
    lines += [f"Log: {escaped(log.label)}", ""]
    answer = answer_lines(tuned, _MOST_OF_PAGE)
    for name, sentences in (("Answer", answer), ("Search", search_lines(tuned))):
        lines += [f"## {name}", "", *(f"- {sentence}" for sentence in sentences), ""]
    for name, text in tables(tuned, site, 100):
        lines += [f"## {name}", "", "```", text, "```", ""]
    return "\n".join(lines)
