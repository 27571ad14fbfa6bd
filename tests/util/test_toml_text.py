"""Values written as TOML read back equal."""

import tomllib

import pytest

from cpsched.util.toml_text import toml_pairs, toml_value


@pytest.mark.parametrize(
    "value",
    [
        True,
        12,
        0.1,
        1e300,
        float("inf"),
        "plain",
        'quotes " and \\, a line\nbreak, a tab\t, DEL \x7f, NUL \x00, é and 界',
        [1, 2],
        [],
        [["a"], ["b", "c"]],
        {"a": 1, "b.c": [{"d e": "f"}]},
        {},
    ],
)
def test_value_reads_back_equal(value):
    assert tomllib.loads(f"key = {toml_value(value)}") == {"key": value}


def test_keys_are_quoted_where_toml_needs_it():
    content = {"bare-key_1": 1, "dotted.key": 2, "": 3, "é": 4, 'a"b': 5}
    lines = list(toml_pairs(content))
    assert lines[0] == "bare-key_1 = 1"
    assert tomllib.loads("\n".join(lines)) == content


def test_tuple_is_a_list():
    assert toml_value(("a", 1)) == '["a", 1]'
