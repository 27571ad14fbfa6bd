"""Fair share against the examples of Slurm's pages, and against a walk through the tree."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from cpsched._core import ShareTree
from cpsched.slurm.dispatch.accounts import PARENT
from cpsched.slurm.dispatch.policy import SlurmPolicy
from cpsched.slurm.dispatch.usage import usage_of as new_usage

# root: A (40) with B (30: user 1) and C (10: users 2 and 3); D (60) with E (25: user 4) and
# F (35: user 5). The example of the page on the classic algorithm.
ROOT, A, D, B, C, E, F, U1, U2, U3, U4, U5 = range(12)
EXAMPLE = ShareTree(
    parent=[-1, ROOT, ROOT, A, A, D, D, B, C, C, E, F],
    shares=[1, 40, 60, 30, 10, 25, 35, 1, 1, 1, 1, 1],
    is_user=[False] * 7 + [True] * 5,
)
USED = np.array([0.7, 0.45, 0.25, 0.2, 0.25, 0.25, 0, 0.2, 0.25, 0, 0.25, 0])


def test_the_classic_example():
    assert EXAMPLE.norm_share[[B, C, E, F, U2]] == pytest.approx([0.3, 0.1, 0.25, 0.35, 0.05])
    effective = EXAMPLE.effective_usage(USED)
    assert effective[[B, C, E, F]] == pytest.approx([0.3875, 0.3, 0.25, 0.25 * 35 / 60])
    assert effective[[U1, U2, U3, U4]] == pytest.approx([0.3875, 0.275, 0.15, 0.25])
    factors = EXAMPLE.classic(effective, 1.0)[[U1, U2, U3, U4, U5]]
    assert factors == pytest.approx([0.408479, 0.022097, 0.125, 0.5, 0.749154], abs=1e-6)
    effective = EXAMPLE.effective_usage(USED)
    once, thrice = EXAMPLE.classic(effective, 1.0), EXAMPLE.classic(effective, 3.0)
    assert thrice[U1] ** 3 == pytest.approx(once[U1])


def walk(tree, is_user, usage):
    """Fair Tree as a recursion that visits siblings one by one."""
    num = len(tree)
    level = tree.level_fair_share(usage).tolist()
    total = sum(is_user)
    factors = [0.0] * num
    state = {"rank": total, "rnt": total}

    def visit(parent, tied):
        children = [at for at in range(1, num) if tree.share_parent[at] == parent]
        children.sort(key=lambda at: (-level[at], not is_user[at], at))
        before = None
        for place, at in enumerate(children):
            here = tied if place == 0 else level[at] == before
            if is_user[at]:
                if not here:
                    state["rank"] = state["rnt"]
                factors[at] = state["rank"] / total
                state["rnt"] -= 1
            else:
                visit(at, here)
            before = level[at]

    visit(0, False)
    return factors


@st.composite
def trees(draw):
    num = draw(st.integers(2, 14))
    parent, is_user = [-1], [False]
    for at in range(1, num):
        accounts = [position for position in range(at) if not is_user[position]]
        parent.append(draw(st.sampled_from(accounts)))
        is_user.append(draw(st.booleans()) or at == num - 1)
    shares = [draw(st.sampled_from([0, 1, 1, 2, 5, PARENT])) for _ in range(num)]
    tree = ShareTree(parent, shares, is_user)
    own = np.array([draw(st.sampled_from([0, 0, 1, 2, 5])) if user else 0 for user in is_user])
    return tree, is_user, tree.summed_up(own.astype(float))


@given(trees())
@settings(max_examples=300)
def test_fair_tree_is_the_walk(drawn):
    tree, is_user, usage = drawn
    assert tree.fair_tree(usage).tolist() == pytest.approx(walk(tree, is_user, usage))


def test_users_of_an_account_that_uses_its_parents_shares_compete_with_their_uncles():
    tree = ShareTree([-1, 0, 1, 2, 1], [1, 10, PARENT, 1, 3], [False, False, False, True, True])
    assert tree.level_share[[3, 4]].tolist() == [0.25, 0.75]


def usage_of(half_life):
    tree = ShareTree([-1, 0], [1, 1], [False, True])
    return new_usage(
        tree,
        SlurmPolicy(parameters={"PriorityWeightFairshare": 1, "PriorityDecayHalfLife": half_life}),
    )


def test_usage_halves_in_a_half_life_and_running_jobs_are_charged_in_slices():
    usage = usage_of(3600)
    factor = 1 - 0.693 / 3600
    usage.start(1, 4.0, 100)
    usage.advance(300)
    assert usage.raw[1] == pytest.approx(4 * 200 * factor**200)
    usage.advance(600)
    assert usage.raw[0] == pytest.approx(4 * (200 * factor**500 + 300 * factor**300))
    usage.end(1, 4.0, 100, 650)
    charged = usage.raw[1]
    assert charged == pytest.approx(4 * (200 * factor**500 + 300 * factor**300 + 50 * factor**50))
    usage.advance(4200)
    assert usage.raw[1] == pytest.approx(charged / 2, rel=1e-3)


def test_a_job_that_starts_and_ends_between_two_calculations_is_charged_once():
    usage = usage_of(0)
    usage.start(1, 2.0, 10)
    usage.end(1, 2.0, 10, 60)
    usage.advance(300)
    assert usage.raw.tolist() == [100.0, 100.0]


def test_usage_goes_on_from_its_state():
    original, restored = usage_of(3600), usage_of(3600)
    original.start(1, 2.5, 10)
    original.advance(300)
    original.start(1, 1.5, 400)
    restored.restore(original.state())
    for usage in (original, restored):
        usage.end(1, 1.5, 400, 500)
        usage.advance(600)
    assert original.raw.tolist() == restored.raw.tolist()
