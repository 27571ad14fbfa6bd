"""
Statistics of a constraint programming decision, for ``Decision.stats``.

Every value is a count or an amount that can be summed over a run, and is the same in every equal
run.
"""

from __future__ import annotations

from cpsched.cp import cpsat

#: Decisions that called the solver.
SOLVER_CALLS = "solver_calls"
#: Decisions that needed no solver because everything considered fits at once.
SKIPPED_ALL_FIT = "skipped_all_fit"
#: ... because nothing considered fits now, so nothing could start whatever the plan.
SKIPPED_NONE_FIT = "skipped_none_fit"
#: ... because the list plan meets a proven lower bound.
SKIPPED_BOUND = "skipped_bound"
#: Solver calls that ended with a proof that there is nothing better.
PROVEN_OPTIMAL = "proven_optimal"
#: Solver calls that ended at their deterministic limit.
LIMIT_HITS = "limit_hits"
#: Solver calls that found no solution at all before their limit.
NO_SOLUTION = "no_solution"
#: Solver calls that answered that there is no solution; a list plan is one, so the answer is wrong.
#: Only in the record of runs in which it happened.
WRONGLY_INFEASIBLE = "wrongly_infeasible"
#: The same for a model of the user: no list plan keeps one of its constraints.
NO_LIST_PLAN = "no_list_plan"
#: Solver calls whose plan was better than the list plan and was followed.
IMPROVED = "improved"
#: Decisions in which the order of the last plan gave a better list plan than the priority did.
LAST_ORDER_KEPT = "kept"
#: Sum over solver calls of ``(value - bound) / value`` of the plan followed, where value is the
#: weighted delay beyond the second each job could start at on its own; 0 where proven optimal.
BOUND_GAP = "bound_gap"
#: Sum over solver calls of ``(list plan - plan followed) / list plan``, of the same delay; the list
#: plan is the better one of both orders.
GAIN = "gain"
#: Deterministic time spent in the solver.
DETERMINISTIC_TIME = "deterministic_time"
#: Jobs in the models solved.
MODELLED_JOBS = "modelled_jobs"
#: Jobs planned for now that found no nodes and were postponed.
POSTPONED = "postponed"
#: Jobs that started although not planned for now.
FILLED = "filled"
#: Decisions of ``cp-nodes`` whose exact model would have had too many counts of units on places.
WINDOW_SHORTENED = "window_shortened"

# --- plan ----------------------------------------------------------------------------------------

#: Decisions of ``lookahead`` where something fits and not all does.
PLANNED = "planned"
#: Plans of the whole queue that were made to choose from.
PLANS = "plans_made"
#: Sum over decisions that planned of ``(first - followed) / first``, of what a plan is expected to
#: cost; the first is that in order of slowdown.
GAIN_OVER_FIRST = "gain_over_first"

# --- Co-allocation --------------------------------------------------------------------------------

#: Variables and constraints of the programs solved.
MODEL_VARIABLES = "model_variables"
MODEL_CONSTRAINTS = "model_constraints"
#: Programs on classes of nodes whose best value no nodes attain, ...
NOT_ATTAINED = "not_attained"
#: ... and of these, those solved again node by node.
SOLVED_ON_NODES = "solved_on_nodes"
#: Decisions that called the solver, where one may do so more than once.
SOLVED = "solved"
#: Bids in the auctions held.
BIDS = "bids"
#: Decisions for which partial auctions stood in for the whole program.
SEARCHED = "searched"


def of_solve(solved: cpsat.Solved, num_jobs: int) -> dict[str, float]:
    """Return the statistics of one solver call with a number of jobs in the model."""
    cut_short = solved.status in (cpsat.SolverStatus.FEASIBLE, cpsat.SolverStatus.UNKNOWN)
    wrong = {WRONGLY_INFEASIBLE: 1} if solved.status is cpsat.SolverStatus.INFEASIBLE else {}
    return {
        SOLVER_CALLS: 1,
        MODELLED_JOBS: num_jobs,
        PROVEN_OPTIMAL: int(solved.status is cpsat.SolverStatus.OPTIMAL),
        LIMIT_HITS: int(cut_short),
        NO_SOLUTION: int(solved.status is cpsat.SolverStatus.UNKNOWN),
        DETERMINISTIC_TIME: solved.deterministic,
        **wrong,
    }
