"""Branch and bound, the greedy algorithm and CP-SAT against all there is to try."""

from itertools import product

from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched.cp import cpsat
from cpsched.papers.wla.knapsack import LEFT_OUT, Knapsack, upper_bound
from cpsched.papers.wla.solvers import branch_and_bound, cp_sat, greedy

LIMITS = cpsat.SolverLimits(deterministic=1.0)


def plain(sizes, capacity):
    """A problem whose nodes are all of one sort."""
    return Knapsack(weight=[[size] * len(capacity) for size in sizes], capacity=capacity)


def is_valid(problem, slots):
    used = [0] * len(problem.capacity)
    for job, slot in enumerate(slots):
        if slot == LEFT_OUT:
            continue
        if not problem.weight[job][slot]:
            return False
        used[slot] += problem.weight[job][slot]
    return all(taken <= capacity for taken, capacity in zip(used, problem.capacity, strict=True))


def exhaustive(problem):
    """The best solution; of several the one that is first with each job in its lowest slot."""
    choices = [*range(len(problem.capacity)), LEFT_OUT]
    solutions = product(choices, repeat=len(problem))
    valid = [list(slots) for slots in solutions if is_valid(problem, list(slots))]
    # Python's max keeps the first of several, and product counts the last job up first.
    return max(valid, key=problem.value)


@st.composite
def problems(draw):
    """Up to five jobs and three slots, of one sort of nodes or of several."""
    num, slots = draw(st.integers(1, 5)), draw(st.integers(1, 3))
    sizes = draw(st.lists(st.integers(1, 9), min_size=num, max_size=num))
    weight = [[size] * slots for size in sizes]
    if draw(st.booleans()):
        for row in weight:
            for slot in range(slots):
                row[slot] = draw(st.sampled_from([0, row[slot], row[slot] + 1]))
    capacity = draw(st.lists(st.integers(1, 14), min_size=slots, max_size=slots))
    return Knapsack(weight=weight, capacity=capacity)


@settings(max_examples=300)
@given(problems())
def test_exact_solvers_find_what_trying_everything_finds(problem):
    best = exhaustive(problem)
    assert branch_and_bound(problem).slots == best
    solution, _ = cp_sat(problem, LIMITS)
    assert is_valid(problem, solution)
    assert problem.value(solution) == problem.value(best) <= upper_bound(problem)


@settings(max_examples=300)
@given(problems())
def test_the_greedy_solution_is_a_solution(problem):
    solution = greedy(problem)
    assert is_valid(problem, solution)
    assert problem.value(solution) <= problem.value(exhaustive(problem))


def test_figure_3_needs_one_path():
    """
    Three jobs, two slots, j1 = 2 and k1 = 5 as in the figure; its other numbers are lost.

    With j2 = 3, j3 = 4 and k2 = 4 the left branch fills both slots, as the text says. Its bound is
    the best there can be, so j1 is never put in k2, and j2 never left out.
    """
    solution = branch_and_bound(plain([2, 3, 4], [5, 4]))
    assert solution.slots == [0, 0, 1]
    # The start and one node for each job before the last; nothing beside this path.
    assert solution.expanded == 3


def test_the_exclusion_exchange_is_needed():
    """Section III.C: the greedy fills 14 nodes with D; E instead of D makes 15."""
    problem = plain([6, 4, 3, 1, 2], [3, 6, 6])
    assert greedy(problem) == [1, 2, 0, LEFT_OUT, 2]
    assert problem.value(greedy(problem)) == 15


def test_the_interchange_is_needed():
    """The greedy puts 3 in the slot of 5 and 4 in that of 6: 2 nodes are left in each."""
    problem = plain([3, 4, 3], [5, 6])
    # Swapped they leave 1 and 3, so that the other 3 fits.
    assert greedy(problem) == [1, 0, 1]
