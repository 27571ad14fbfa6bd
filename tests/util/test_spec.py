"""Specifications: what can be written, how it becomes values, and what is said if it cannot be."""

import shlex
import sys
from pathlib import Path
from types import ModuleType

import pytest

from cpsched.dispatch.backfilling import Easy
from cpsched.errors import ConfigError, CpschedError
from cpsched.study.study import as_label, check_label
from cpsched.util import registry
from cpsched.util.model_files import checked
from cpsched.util.registry import RegistryEntry
from cpsched.util.spec import Spec, build, canonical, display_name, options_of, spec_of

# --- text ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "name", "options"),
    [
        ("easy", "easy", ()),
        ("easy:", "easy", ()),
        ("  easy ", "easy", ()),
        ("easy:backfill=sjf", "easy", (("backfill", "sjf"),)),
        # Canonical order, whatever was written.
        ("easy:order=fifo,backfill=sjf", "easy", (("backfill", "sjf"), ("order", "fifo"))),
        (
            "easy: order = fifo , backfill = sjf",
            "easy",
            (("backfill", "sjf"), ("order", "fifo")),
        ),
        ("easy:,order=fifo,", "easy", (("order", "fifo"),)),
        # Only the first colon and the first equals sign part anything.
        ("x:path=a:b", "x", (("path", "a:b"),)),
        ("x:when=a=b", "x", (("when", "a=b"),)),
    ],
)
def test_parse(text, name, options):
    """A name, then pairs."""
    spec = Spec.parse(text)
    assert (spec.name, spec.options) == (name, options)


def test_str_is_canonical_and_reads_back():
    """Two ways to write the same have one text."""
    spec = Spec.parse("easy:order=slowdown,backfill=sjf")
    assert str(spec) == "easy:backfill=sjf,order=slowdown"
    assert Spec.parse(str(spec)) == spec
    assert str(Spec.parse("easy")) == "easy"


@pytest.mark.parametrize(
    "text",
    [
        "easy:order=wsept,order.aging=43200,order.width_exponent=1",
        "easy:order.width_exponent=1,order=wsept,order.aging=43200",
    ],
)
def test_options_of_an_option_follow_behind_a_dot(text):
    """What is printed has no quotes, can be pasted into a shell, and reads back as the same."""
    spec = Spec.parse(text)
    assert spec.values == {"order": "wsept:aging=43200,width_exponent=1"}
    assert str(spec) == "easy:order=wsept,order.aging=43200,order.width_exponent=1"
    assert Spec.parse(str(spec)) == spec
    assert Spec("easy", tuple(spec.values.items())) == spec
    assert check_label(as_label(display_name("dispatchers", text))) == str(spec)
    assert shlex.split(str(spec)) == [str(spec)]
    priority = build("dispatchers", spec).priorities[0]
    assert (priority.aging, priority.width_exponent) == (43200, 1.0)


@pytest.mark.parametrize(
    "text",
    [
        'easy:order="wsept:aging=43200,width_exponent=1"',
        'easy:order=wsept,backfill="wsept:aging=7"',
        "easy:order=wsept:aging=43200",
        "easy:order=wsept:aging=7,width_exponent=1",
    ],
)
def test_the_former_form_of_nested_options_is_refused_with_the_new_one(text):
    written = r"(order|backfill): nested options .* with dots. Write \1=wsept,\1\.aging=\d+"
    with pytest.raises(ConfigError, match=written):
        Spec.parse(text)


def test_an_option_is_replaced_with_its_own_options():
    spec = Spec.parse("easy:backfill=sjf,order=wsept,order.aging=7")
    assert str(spec.with_options({"order": "fifo"})) == "easy:backfill=sjf,order=fifo"
    assert (
        str(spec.with_options({"order.aging": "8"}))
        == "easy:backfill=sjf,order=wsept,order.aging=8"
    )


def test_options_nest_to_any_depth():
    text = "speculative:dispatcher=easy,dispatcher.order=wsept,dispatcher.order.width_exponent=1"
    more = f"{text},dispatcher.order.aging=7,dispatcher.backfill=sjf"
    assert Spec.parse(str(Spec.parse(more))) == Spec.parse(more)
    inner = build("dispatchers", more).inner
    assert (inner.priorities[0].aging, inner.priorities[1].name) == (7, "sjf")
    assert str(Spec.parse(text)) == text


def test_a_value_that_only_looks_like_a_specification_stays_as_it_is():
    for value in ("C:runs,b=1", "rules: at most 4, of a=1", "a,b.npz"):
        spec = Spec("thing", (("text", value),))
        assert Spec.parse(str(spec)) == spec


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("easy:order", "easy:order: 'order' is not an option. Write key=value."),
        (
            "easy:order.width_exponent=1",
            "order.width_exponent: belongs to the option 'order', which is missing",
        ),
        (
            "easy:order=wsept,order.width_exponent=1,order.width_exponent=1",
            "order.width_exponent: the option is given",
        ),
        ("easy:order=", "'order=' is not an option"),
        ("easy:=fifo", "'=fifo' is not an option"),
        ("easy:order=fifo,sjf", "'sjf' is not an option"),
        ("easy:order=fifo,order=sjf", "order: the option is given twice"),
        # Spaces do not make it another option; the second value used to win silently.
        ("easy:order=fifo,order =sjf", "order: the option is given twice"),
    ],
)
def test_text_that_is_no_specification(text, message):
    """One line that names the part and what would be right."""
    with pytest.raises(ConfigError, match=message):
        Spec.parse(text)


# --- values --------------------------------------------------------------------------------------


class Thing:
    """Takes every type an option can have; annotations of built-in ones are strings."""

    def __init__(
        self,
        flag: bool = False,
        count: int = 3,
        share: float = 0.5,
        text: str = "x",
        limit: int | None = 7,
        label: str | None = "y",
        truth: object = None,
    ) -> None:
        if count == 13:
            raise ValueError("count is 13, must be any other number")
        if count == 14:
            raise ConfigError("count is 14", where="thing", key="count")
        self.values = (flag, count, share, text, limit, label)
        self.truth = truth


class Needy:
    """Cannot be made from text alone."""

    def __init__(self, wanted: int) -> None:
        self.wanted = wanted


def function(flag: bool = False) -> bool:
    """Not only classes can be registered."""
    return flag


@pytest.fixture(autouse=True)
def things(monkeypatch):
    """Register what the tests below build."""
    module = ModuleType("things_of_test_spec")
    module.Thing, module.Needy, module.function = Thing, Needy, function
    monkeypatch.setitem(sys.modules, module.__name__, module)
    entries = {
        "thing": RegistryEntry("thing", "things_of_test_spec:Thing", "somebody"),
        "needy": RegistryEntry("needy", "things_of_test_spec:Needy", "somebody"),
        "function": RegistryEntry("function", "things_of_test_spec:function", "somebody"),
    }
    real = registry.entries
    monkeypatch.setattr(registry, "entries", lambda group: {**real(group), **entries})


@pytest.mark.parametrize(
    ("option", "position", "value"),
    [
        *[(f"flag={text}", 0, True) for text in ("true", "Yes", "ON", "1")],
        *[(f"flag={text}", 0, False) for text in ("false", "No", "OFF", "0")],
        ("count=-12", 1, -12),
        ("share=2", 2, 2.0),
        ("share=1e-3", 2, 0.001),
        ("text=none", 3, "none"),
        ("text=7", 3, "7"),
        ("limit=12", 4, 12),
        ("limit=none", 4, None),
        ("limit=All", 4, None),
        ("label=none", 5, None),
        ("label=z", 5, "z"),
    ],
)
def test_types_come_from_the_annotations(option, position, value):
    """And nothing else changes."""
    made = build("dispatchers", f"thing:{option}").values
    expected = [False, 3, 0.5, "x", 7, "y"]
    expected[position] = value
    assert list(made) == expected
    assert [type(item) for item in made] == [type(item) for item in expected]


@pytest.mark.parametrize(
    ("option", "message"),
    [
        ("flag=maybe", "thing:flag=maybe: flag: 'maybe' is not yes or no"),
        ("count=1.5", "thing:count=1.5: count: '1.5' is not a whole number"),
        ("count=none", "'none' is not a whole number"),
        ("share=half", "'half' is not a number"),
        ("limit=some", "'some' is not a whole number"),
        ("share=nan", "thing:share=nan: share: 'nan' is not a finite number"),
        ("share=-inf", "'-inf' is not a finite number"),
        ("share=1e999", "'1e999' is not a finite number"),
    ],
)
def test_values_of_the_wrong_type(option, message):
    """The specification, the option, the text, and the type it is not of."""
    with pytest.raises(ConfigError, match=message):
        build("dispatchers", f"thing:{option}")


def test_unknown_option_lists_what_there_is():
    """With the closest one named."""
    with pytest.raises(
        ConfigError,
        match=r"easy:ordr=fifo: easy has no option 'ordr'. Did you mean 'order'\? Options: allocator, backfill,"
        r" estimate, order\.",
    ):
        build("dispatchers", "easy:ordr=fifo")
    with pytest.raises(ConfigError, match="requested has no option 'factor'. Options: none"):
        build("predictors", "requested:factor=2")


def test_what_is_given_is_no_option(monkeypatch):
    """An argument of the caller is passed on if it is taken, and cannot be written as text."""
    truth = object()
    monkeypatch.setattr(Thing, "needs_truth", True, raising=False)
    assert build("dispatchers", "thing", truth=truth).truth is truth
    assert isinstance(build("dispatchers", "easy", truth=truth), Easy)
    with pytest.raises(ConfigError, match="thing has no option 'truth'. Options: count, flag"):
        build("dispatchers", "thing:truth=1", truth=truth)


def test_the_truth_is_for_who_says_that_it_needs_it():
    """A parameter of that name is not enough."""
    assert build("dispatchers", "thing", truth=object()).truth is None


def test_what_the_constructor_refuses_is_a_config_error():
    """A ValueError gets the specification in front; a ConfigError stays as it is."""
    with pytest.raises(ConfigError, match="thing:count=13: count is 13, must be any other number"):
        build("dispatchers", "thing:count=13")
    with pytest.raises(ConfigError, match=r"^thing: count: count is 14$"):
        build("dispatchers", "thing:count=14")
    with pytest.raises(ConfigError, match=r"needy: .*wanted"):
        build("dispatchers", "needy")


def test_functions_can_be_registered_too():
    """Their parameters are options all the same."""
    assert build("dispatchers", "function:flag=yes") is True


def test_options_of_lists_defaults():
    """What can be left out, and what is taken then."""
    assert options_of("dispatchers", "easy") == {
        "order": "fifo",
        "backfill": None,
        "allocator": "first-fit",
        "estimate": "predicted",
    }
    assert options_of("dispatchers", "needy") == {}


def test_a_dispatcher_that_is_a_file_asks_for_it():
    with pytest.raises(
        ConfigError, match="^learned: the option 'file' is missing. Add file=VALUE.$"
    ):
        build("dispatchers", "learned")


@pytest.mark.parametrize("name", sorted({*registry.names("dispatchers")} - {"learned"}))
def test_every_dispatcher_can_be_made_by_its_name(name):
    """And knows it; a preset is what it stands for."""
    entry = registry.entries("dispatchers")[name]
    assert build("dispatchers", name).name == (entry.of or name)


def test_a_preset_is_its_long_form():
    """Whoever writes which: one specification, one name in tables, and what it settles is settled."""
    long = "easy:estimate=requested,order=wsept"
    assert canonical("dispatchers", "easy-wsept") == canonical("dispatchers", long) == long
    assert (
        display_name("dispatchers", long)
        == display_name("dispatchers", "easy-wsept")
        == "easy-wsept"
    )
    placed = "easy-wsept:allocator=best-fit"
    assert display_name("dispatchers", placed) == placed
    assert canonical("dispatchers", placed) == f"easy:allocator=best-fit,{long[5:]}"
    assert str(spec_of("dispatchers", build("dispatchers", "easy-wsept"))) == long
    with pytest.raises(
        ConfigError, match="the preset easy-slowdown fixes 'order'. Write easy:order="
    ):
        build("dispatchers", "easy-slowdown:order=sjf")


@pytest.mark.parametrize(
    ("text", "long"),
    [
        (
            "easy-wsept:aging=86400",
            "easy:estimate=requested,order=wsept,order.aging=86400",
        ),
        (
            "easy-wsept:aging=7,width_exponent=1,allocator=best-fit",
            "easy:allocator=best-fit,estimate=requested,order=wsept,order.aging=7"
            ",order.width_exponent=1",
        ),
    ],
)
def test_a_preset_takes_the_options_of_the_priority_that_it_sets(text, long):
    assert canonical("dispatchers", text) == canonical("dispatchers", long) == long
    priority = build("dispatchers", text).priorities[0]
    assert priority.aging == int(text.partition("aging=")[2].partition(",")[0])
    assert Spec.parse(display_name("dispatchers", text)) == Spec.parse(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (
            "easy-slowdown:aging=7",
            "easy-slowdown has no option 'aging'. Options: allocator, backfill, estimate.",
        ),
        ("easy-wsept:patience=5", "easy-wsept has no option 'patience'. Use aging."),
        ("easy-wsept:width_exponent=x", "width_exponent: 'x' is not a number"),
        ("easy-wsept:allocator=best-fit,overdue=x", "overdue: 'x' is not "),
        ("cp-1:limit=x", "limit: 'x' is not a number"),
    ],
)
@pytest.mark.parametrize("make", [build, canonical, lambda *spec: checked(*spec, Path())])
def test_errors_of_a_preset_show_what_was_typed(text, message, make):
    """And not the options that the preset stands for."""
    with pytest.raises(ConfigError, match=f"^{text}: {message}"):
        make("dispatchers", text)


@pytest.mark.parametrize(
    "text",
    [
        "\0",
        "easy:\0=1",
        "a" * 10_000,
        "easy:order=" + "b" * 10_000,
        "easy:order=\n",
        "::=,=:",
    ],
)
def test_hostile_text_is_refused_politely(text):
    """Whatever is typed, the answer is one of our own errors."""
    with pytest.raises(CpschedError):
        build("dispatchers", text)


@pytest.mark.parametrize("value", ["a,b", ' "x', "a=b", "\\", "tail ", ","])
def test_a_value_may_hold_anything(value):
    """In quotes, with a comma too; what is written is read back."""
    spec = Spec("thing", (("label", value), ("text", "z")))
    assert Spec.parse(str(spec)) == spec
    assert build("dispatchers", spec).values[5] == value


def test_a_class_that_lacks_a_method_is_bad_input(monkeypatch):
    monkeypatch.setattr(Thing, "__abstractmethods__", frozenset({"decide"}), raising=False)
    with pytest.raises(ConfigError, match="thing: the class has no method decide"):
        build("dispatchers", "thing")


def test_a_defect_of_a_constructor_is_not_disguised(monkeypatch):
    """A TypeError inside it used to come out as bad input."""

    def broken(self, **options):
        return len(3)

    monkeypatch.setattr(Thing, "__init__", broken)
    with pytest.raises(TypeError, match="has no len"):
        build("dispatchers", "thing")
