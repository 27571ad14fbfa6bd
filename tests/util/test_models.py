"""Models of files: types of values, and one line for whatever is refused."""

import subprocess
import sys
from datetime import date

import pytest
from pydantic import TypeAdapter, ValidationError

from cpsched.errors import ConfigError
from cpsched.util.models import (
    Count,
    Counts,
    Flag,
    Memory,
    Model,
    Moment,
    Scalar,
    Seconds,
    Source,
    Text,
    Texts,
    at,
    explained,
)


class Inner(Model):
    """A table within another."""

    size: Count
    names: Texts = ()


class Outer(Model):
    """The top of a file."""

    title: Text = "none"
    inner: Inner | None = None
    sizes: Counts = ()


FILE = """\
title = "a"
[inner]
size = 3
"""


def refusal(text, **more):
    source = Source.of_toml(text, "x.toml")
    with pytest.raises(ConfigError) as caught, source.blamed():
        source.read(Outer)
    assert "\n" not in str(caught.value)
    return str(caught.value)


def test_a_file_becomes_a_model():
    outer = Source.of_toml(FILE, "x.toml").read(Outer)
    assert (outer.title, outer.inner.size, outer.sizes) == ("a", 3, ())
    with pytest.raises(ValidationError, match="frozen"):
        outer.title = "b"


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("size = 3", 'size = "3"', "x.toml:3: inner.size: is '3', must be a whole number from 1 to "),
        ("size = 3", "size = 0", "x.toml:3: inner.size: is 0, must be a whole number from 1 to "),
        ("size = 3", "", "x.toml:2: inner.size: is missing. It must be a whole number from 1 to"),
        ("size = 3", "sice = 3", "x.toml:3: inner.sice: unknown key. Did you mean 'size'? Keys here:"
         " names, size."),
        ("size = 3", "size = 3\nnames = ['a', 1]", "x.toml:4: inner.names[2]: is 1, must be text in"),
        ("size = 3", "size = 3\nnames = ['a', 'a']", "x.toml:4: inner.names: 'a' is listed twice"),
        ("[inner]\nsize = 3", "inner = 3", "x.toml:2: inner: is 3, must be a table"),
        ('title = "a"', 'title = " "', "x.toml:1: title: is ' ', must be text in quotes"),
        ('title = "a"', "sizes = [[1]]", "x.toml:1: sizes: is [[1]], must be a list of whole numbers"),
        ('title = "a"', '"a\\nb" = 1', "x.toml:1: a\\nb: unknown key"),
    ],
)  # fmt: skip
def test_what_is_refused_is_one_line(old, new, message):
    """File, line, key, value, what would be accepted, and the closest name."""
    assert refusal(FILE.replace(old, new)).startswith(message)


@pytest.mark.parametrize(
    ("kind", "value", "result"),
    [
        (Seconds, "1-00:00:10", 86410),
        (Seconds, 7, 7),
        (Memory, "2 MB", 2048),
        (Moment, date(2014, 3, 31), "2014-03-31"),
        (Moment, "2014-03-31T12:00", "2014-03-31T12:00:00"),
        (Moment, -5, -5),
        (Moment, "120", 120),
        (Scalar, True, "yes"),
        (Scalar, 1.5, "1.5"),
        (Flag, False, False),
    ],
)
def test_types_of_values(kind, value, result):
    assert TypeAdapter(kind).validate_python(value) == result


@pytest.mark.parametrize(
    ("kind", "value"),
    [(Seconds, "6h"), (Seconds, True), (Memory, "1.5 GB"), (Moment, "monday"), (Moment, True),
     (Scalar, []), (Flag, 1), (Flag, "yes"), (Count, True), (Count, 1.0), (Text, 3)],
)  # fmt: skip
def test_nothing_is_taken_for_another_type(kind, value):
    with pytest.raises(ValidationError) as caught:
        TypeAdapter(kind).validate_python(value)
    assert f"is {value!r}, must be " in str(explained(caught.value))


@pytest.mark.parametrize(
    ("name", "message"),
    [("--title", "--title easy:x=1: x: is wrong"), ("title", "title: easy:x=1: x: is wrong")],
)
def test_options_and_parameters_are_called_as_the_user_typed_them(name, message):
    source = Source("", {}, name_of=lambda key: name if key == "titles" else "")
    with pytest.raises(ConfigError) as caught, source.blamed(), at("titles[2]"):
        raise ConfigError("is wrong", where="easy:x=1", key="x")
    assert str(caught.value) == message


def test_help_and_lists_make_no_models():
    code = "import sys; from cpsched.cli.main import main\ntry: main()\nexcept SystemExit: pass\n"
    code += "print({'cpsched.util.models', 'cpsched.study.study_models'} & set(sys.modules))"
    for words in (["--help"], ["list", "dispatchers"]):
        process = subprocess.run(
            [sys.executable, "-c", code, *words], capture_output=True, text=True, check=True
        )
        assert process.stdout.splitlines()[-1] == "set()"
