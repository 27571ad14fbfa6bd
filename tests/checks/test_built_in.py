"""Every built-in dispatcher, priority, allocator and predictor passes the checks of its contract."""

from functools import partial

import pytest
from episodes import shortest_policy
from tiny import CLASSES, DISPATCHERS

from cpsched.checks import check_dispatcher, check_keeps_promises
from cpsched.checks.of_predictors import CHECKS
from cpsched.util import registry
from cpsched.util.spec import build

pytestmark = pytest.mark.slow

#: By name: what is not made without a file or a server, and has tests of its own.
OTHERS = {"batsim", "learned"}
#: Models are so small that some are fitted within the 400 jobs of the checks, and memory is full
#: after 1,000 jobs of as many users.
SMALL = "trees=3,start=100,window=300,limit=150"
PREDICTORS = {
    "requested": "",
    "last": "count=2,limit=500",
    "user-history": "limit=200,prefix=2,memory=yes",
    "user-history-plus": "limit=200",
    "knn": "limit=200",
    "gbm-log": SMALL,
    "gbm-quantile": SMALL,
}
PARTS = {"priorities": "order", "allocators": "allocator"}


def test_every_class_is_checked_once():
    """A class is checked with options; what options decide is verified with every schedule."""
    classes = [type(build("dispatchers", name)) for name in CLASSES]
    assert len(set(classes)) == len(classes)
    names = {*DISPATCHERS, *registry.names("dispatchers")} - OTHERS
    assert set(classes) == {type(build("dispatchers", name)) for name in names}
    # Runtimes are given to ``actual``.
    assert {"actual", *PREDICTORS} == set(registry.names("predictors"))


@pytest.mark.parametrize(
    "spec",
    [
        *CLASSES,
        *(
            f"easy:{option}={name}"
            for group, option in PARTS.items()
            for name in registry.names(group)
        ),
    ],
)
def test_dispatchers_keep_the_contract(spec):
    check_dispatcher(lambda: build("dispatchers", spec))


def test_a_learned_policy_keeps_the_contract(tmp_path):
    spec = shortest_policy(tmp_path / "agent.zip")
    check_dispatcher(lambda: build("dispatchers", spec))


@pytest.mark.parametrize(
    "spec",
    [
        "easy",
        "easy:backfill=sjf",
        "conservative",
        "wla:interval=none",
    ],
)
def test_who_reserves_for_the_head_keeps_it(spec):
    """With requested times nothing ends later than expected."""
    check_keeps_promises(lambda: build("dispatchers", spec))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
@pytest.mark.parametrize("name", PREDICTORS)
def test_predictors_keep_the_contract(name, check):
    """Everything that is promised, while models come and go."""
    check(partial(build, "predictors", f"{name}:{PREDICTORS[name]}".rstrip(":")))
