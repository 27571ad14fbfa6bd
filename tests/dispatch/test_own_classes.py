"""What a class of a user's own does wrong is one line that names class, method and remedy."""

import json
import sys

import numpy as np
import pytest
from tiny import jobs, machine, run

from cpsched import start_by
from cpsched.dispatch.allocators import Allocator, FirstFit
from cpsched.dispatch.contract import Dispatcher
from cpsched.dispatch.orders import Priority
from cpsched.dispatch.rules import Fifo
from cpsched.errors import ConfigError, CpschedError, DispatchError
from cpsched.model.decision import Decision, PlannedStarts, Start
from cpsched.model.prediction import Prediction, RuntimePredictor
from cpsched.simulation import simulator
from cpsched.util import registry
from cpsched.util.documents import json_text
from cpsched.util.own_code import fault_of
from cpsched.util.spec import Spec, build

HERE = __name__
TWO = jobs((0, 1, 5), (0, 2, 3), (0, 2, 1), (2, 1, 1))
SYSTEM = machine((2,))


class Plain:
    """Derived from nothing."""


class Init(Fifo):
    def __init__(self):
        raise KeyError("x")


class Value(Fifo):
    def __init__(self, depth: int = 1):
        raise ValueError("depth is 1, must be 2")


NUMBER = 3


@pytest.mark.parametrize(
    ("group", "name", "message"),
    [
        ("dispatchers", "Plain", "the class is not a dispatcher. Derive it from cpsched.Disp"),
        ("priorities", "Plain", "the class is not a priority. Derive it from cpsched."),
        ("allocators", "Plain", "the class is not a allocator. Derive it from cpsched."),
        ("predictors", "Plain", "the class is not a predictor. Derive it from cpsched.Runtime"),
        ("runtime_models", "Plain", "the class has no method reset"),
        ("outages", "Plain", "the class has no method outages"),
        ("changes", "Plain", "the class is not a change. Derive it"),
        ("observers", "Plain", "the class is not a observer. Derive it"),
        ("dispatchers", "NUMBER", "is of type int, must be the class of a dispatcher"),
        ("dispatchers", "Plane", f"module '{HERE}' has no 'Plane'. Did you mean 'Plain'?"),
        ("dispatchers", "plane", f"module '{HERE}' has no 'plane'"),
        ("dispatchers", "Value", "depth is 1, must be 2"),
    ],
)
def test_what_is_no_class_of_the_group_is_said(group, name, message):
    with pytest.raises(ConfigError) as caught:
        build(group, f"{HERE}:{name}")
    assert str(caught.value).startswith(f"{HERE}:{name}: ")
    assert message in str(caught.value)


def test_what_a_constructor_raises_is_said_with_its_line():
    with pytest.raises(DispatchError, match=r"Init\.__init__ raises KeyError: 'x' \(.*test_own_cl"):
        build("dispatchers", f"{HERE}:Init")


def test_an_option_without_a_value_is_still_one_of_a_registered_name():
    with pytest.raises(ConfigError, match="'backfill' is not an option. Write key=value."):
        Spec.parse("easy:backfill")
    assert Spec.parse("mine:small:depth=3") == Spec("mine:small", (("depth", "3"),))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("esy:Own", "unknown dispatcher 'esy', and no module.*Did you mean 'easy'"),
        (
            "broken_own:Own",
            r"cannot be imported: <module> raises ZeroDivisionError.*line 2\)",
        ),
        ("needs_own:Own", "cannot be imported: .*No module named 'not_here_at_all'"),
    ],
)
def test_a_module_that_is_not_there_or_cannot_be_imported(tmp_path, monkeypatch, text, message):
    monkeypatch.syspath_prepend(tmp_path)
    (tmp_path / "broken_own.py").write_text("\n1 / 0\n")
    (tmp_path / "needs_own.py").write_text("import not_here_at_all\n")
    with pytest.raises(ConfigError, match=message):
        registry.load("dispatchers", text)


class Answers(Fifo):
    """Answers what it is given."""

    def __init__(self, answer):
        super().__init__()
        self.answer = answer

    def choose(self, view):
        return self.answer(super().choose(view), view)


FIRST = "must be a whole number (view.waiting.handle[i])"
STATS = "must be a finite number"
ANSWERS = {
    "None": (lambda d, v: None, "decides None, must be a Decision"),
    "list": (lambda d, v: [1], "decides [1], must be a Decision"),
    "dict": (lambda d, v: {}, "decides {}, must be a Decision"),
    "actions None": (lambda d, v: Decision(None), "actions=None, must be a list of Start"),
    "actions int": (lambda d, v: Decision(3), "actions=3, must be a list"),
    "an action": (lambda d, v: Decision([3]), "the action 3, must be Start, Requeue"),
    "handle": (lambda d, v: Decision([Start("a", None)]), f"the handle 'a', {FIRST}"),
    "float": (lambda d, v: Decision([Start(0.0, None)]), f"the handle 0.0, {FIRST}"),
    "allocation": (lambda d, v: Decision([Start(0, None)]), "allocation None, must be an Alloc"),
    "planned": (lambda d, v: d._replace(planned_starts=3), "planned_starts=3, must be Planned"),
    "lookahead": (
        lambda d, v: d._replace(planned_starts=PlannedStarts([0], [])),
        "must be as many whole seconds as handles",
    ),
    "again": (lambda d, v: d._replace(again_at=1.5), "again_at=1.5, must be a whole number"),
    "late": (lambda d, v: d._replace(again_at=2**70), "must be at most 4611686018427387904"),
    "stats": (lambda d, v: d._replace(stats=[1]), "stats=[1], must be numbers by name"),
    "nan": (lambda d, v: d._replace(stats={"x": np.nan}), f"stats['x'] = nan, {STATS}"),
    "inf": (lambda d, v: d._replace(stats={"x": -np.inf}), f"stats['x'] = -inf, {STATS}"),
    "text": (lambda d, v: d._replace(stats={"x": "1"}), f"stats['x'] = '1', {STATS}"),
    "name": (lambda d, v: d._replace(stats={1: 1}), "stats with the name 1, must be text"),
}


@pytest.mark.parametrize("what", ANSWERS)
def test_a_wrong_decision_is_said_with_what_is_accepted(what):
    answer, message = ANSWERS[what]
    with pytest.raises(DispatchError) as caught:
        run(TWO, SYSTEM, Answers(answer))
    assert f"{HERE}:Answers" in str(caught.value)
    assert message in str(caught.value)


@pytest.mark.parametrize("what", ["None", "list", "actions None", "an action", "nan"])
@pytest.mark.parametrize("around", ["speculative", "preempt"])
def test_also_within_another_dispatcher(monkeypatch, what, around):
    """What is around it used to fail instead."""
    monkeypatch.setattr(
        sys.modules[HERE], "Inner", type("Inner", (_Fixed,), {"what": what}), raising=False
    )
    with pytest.raises(DispatchError) as caught:
        run(TWO, SYSTEM, f"{around}:dispatcher={HERE}:Inner")
    assert ANSWERS[what][1] in str(caught.value)


class _Fixed(Fifo):
    what = ""

    def choose(self, view):
        return ANSWERS[self.what][0](super().choose(view), view)


def test_numbers_of_numpy_are_numbers():
    stats = {"x": np.float64(1.5), "y": np.int64(2), "z": np.bool_(1) + 0}
    made = run(TWO, SYSTEM, Answers(lambda d, v: d._replace(stats=stats)))
    assert made.decisions["x"] >= 1.5
    assert json.loads(json.dumps(made.decisions)) == made.decisions


def test_a_class_that_inherits_a_name_is_called_by_its_own(tmp_path):
    """'fifo: job 9 is started' used to blame another."""

    def unknown(decision, view):
        return decision._replace(actions=[Start(9, a.allocation) for a in decision.actions])

    with pytest.raises(
        DispatchError, match=f"^{HERE}:Answers: fifo: cannot start job 9: it is not"
    ):
        run(TWO, SYSTEM, Answers(unknown))


class Again(Dispatcher):
    def decide(self, view):
        return Decision(again_at=view.now + 1)


class NextYear(Dispatcher):
    def decide(self, view):
        return Decision(again_at=view.now + 400 * 86400)


class AtNight(Fifo):
    """Starts jobs at night alone, and looks every ten minutes."""

    def choose(self, view):
        if view.now % 86400 < 43200:
            return Decision(again_at=view.now + 600)
        return super().choose(view)


class Busy(Fifo):
    """Asks whether a job waits or not."""

    acts_when_idle = True

    def choose(self, view):
        return super().choose(view)._replace(again_at=view.now + 1)

    def decide(self, view):
        return self.choose(view)


def test_a_dispatcher_that_asks_for_ever_is_refused(monkeypatch):
    """It used to go on until somebody killed it."""
    monkeypatch.setattr(simulator, "MAX_IDLE_WAKES", 500)
    message = (
        rf"{HERE}:Again: decide asks again.*none of 4 waiting jobs.*asked 500 times since second"
    )
    with pytest.raises(DispatchError, match=message):
        run(TWO, SYSTEM, Again())
    with pytest.raises(DispatchError, match=f"{HERE}:Again: decide asks again"):
        run(TWO, SYSTEM, f"speculative:dispatcher={HERE}:Again")
    with pytest.raises(DispatchError, match=f"{HERE}:Again: decide asks again"):
        run(TWO, SYSTEM, Again(), dispatch_interval=30)


def test_a_dispatcher_that_waits_for_years_is_refused():
    with pytest.raises(
        DispatchError, match=f"{HERE}:NextYear: decide asks again.*asked once since"
    ):
        run(TWO, SYSTEM, NextYear())


def test_timers_are_no_fault():
    """A night to come, a grid, and a job that runs for long."""
    assert run(TWO, SYSTEM, AtNight()).schedule.start.tolist() == [43200, 43205, 43208, 43209]
    long = jobs((0, 2, 10_000), (0, 2, 5))
    assert run(long, SYSTEM, Busy()).schedule.end.tolist() == [10_000, 10_005]


class Returns(Priority):
    def __init__(self, of="keys", value="None"):
        self.value = value

    def keys(self, jobs, now):
        return {
            "None": None,
            "array": jobs.units,
            "empty": (),
            "shape": (np.zeros(len(jobs) + 1),),
            "text": (np.array(["a"] * len(jobs)),),
            "nan": (np.full(len(jobs), np.nan),),
        }[self.value]


KEYS = {
    "None": "keys returns None, must be a tuple of arrays with one number for each of the",
    "array": "keys returns an array of int64 with shape",
    "empty": "keys returns (), must be a tuple",
    "shape": "the key an array of float64 with shape",
    "text": "the key an array of <U1",
    "nan": "keys returns a key with NaN, must be numbers, which can be ordered",
}


@pytest.mark.parametrize("value", KEYS)
@pytest.mark.parametrize(
    "spec", ["easy:order={}", "easy:backfill={}", "conservative:order={}", "greedy:order={}"]
)
def test_wrong_keys_are_said(spec, value):
    option = spec.partition(":")[2].partition("=")[0]
    inner = f"{HERE}:Returns,{option}.value={value}"
    with pytest.raises(DispatchError) as caught:
        run(TWO, SYSTEM, spec.format(inner))
    assert f"{HERE}:Returns." in str(caught.value)
    assert KEYS[value] in str(caught.value)


class Twice(Priority):
    def keys(self, jobs, now):
        return (jobs.units,)

    def order(self, jobs, now):
        return np.zeros(len(jobs), dtype=np.int64)


class Places(FirstFit):
    def place(self, *given, **named):
        return 7


class NoPolicy(Allocator):
    pass


def test_wrong_orders_and_allocators_are_said():
    with pytest.raises(DispatchError, match=f"{HERE}:Twice.order returns an array.*each position"):
        run(TWO, SYSTEM, f"easy:order={HERE}:Twice")
    with pytest.raises(DispatchError, match=f"{HERE}:Places.place returns 7, must be an Alloc"):
        Places().place(None, 0, None)
    with pytest.raises(DispatchError, match=f"{HERE}:NoPolicy: its class has no policy"):
        run(TWO, SYSTEM, f"easy:allocator={HERE}:NoPolicy")


class Predicts(RuntimePredictor):
    def __init__(self, what="None"):
        self.what = what

    def predict(self, jobs, now):
        if self.what == "None":
            return None
        if self.what == "nan":
            return Prediction.point(np.full(len(jobs), np.nan))
        return Prediction.point(jobs.requested_time)

    def stats(self):
        return {"stats": {"x": float("nan")}, "list": [1]}.get(self.what, {})

    def provenance(self):
        return {"x": 1} if self.what == "provenance" else {}


@pytest.mark.parametrize(
    ("what", "message"),
    [
        ("None", "Predicts.predict: predictor '' answers with NoneType, must be a Pred"),
        ("nan", "answers with float64 for ranking_estimate, must be whole seconds"),
        ("stats", "Predicts.stats returns {'x': nan}, must be whole numbers by name"),
        ("list", "Predicts.stats returns [1], must be whole numbers by name"),
        ("provenance", "Predicts.provenance returns {'x': 1}, must be texts by name"),
    ],
)
def test_wrong_predictions_are_said(what, message):
    with pytest.raises(DispatchError) as caught:
        run(TWO, SYSTEM, "easy", f"{HERE}:Predicts:what={what}")
    assert f"{HERE}:Predicts." in str(caught.value)
    assert message in str(caught.value)


def test_own_code_is_blamed_for_what_it_raises():
    """And cpsched's own code is not."""

    def failing(decision, view):
        return np.zeros(1)[7]

    with pytest.raises(IndexError) as caught:
        run(TWO, SYSTEM, Answers(failing))
    assert "failing raises IndexError: index 7 is out of bounds" in fault_of(caught.value)
    with pytest.raises(CpschedError) as caught:
        build("dispatchers", "easy:order=nothing")
    assert fault_of(caught.value) is None


def test_classes_without_a_name_are_called_as_in_their_module():
    """They used to fail where they were named."""

    class Nameless(Dispatcher):
        def decide(self, view):
            return start_by(view, np.arange(len(view.waiting)), allocator)

    allocator = FirstFit()
    allocator.reset(SYSTEM)
    assert run(TWO, SYSTEM, Nameless()).dispatcher.startswith(f"{HERE}:test_classes_without")


def test_json_has_no_nan():
    content = {"a": [float("nan"), 1.5, (float("inf"),)], "b": {"c": -float("inf")}, 1.0: "NaN"}
    assert json.loads(json_text(content)) == {
        "a": [None, 1.5, [None]],
        "b": {"c": None},
        "1.0": "NaN",
    }
