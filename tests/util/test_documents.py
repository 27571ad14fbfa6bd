"""JSON and TOML that somebody else wrote."""

import pytest

from cpsched.util.documents import read_json, read_toml


def test_documents_are_read_as_they_are():
    assert read_json('{"a": [1, "\\u00e9", "\\ud83d\\ude00", "\\\\ud800"]}') == {
        "a": [1, "é", "\N{GRINNING FACE}", "\\ud800"]
    }
    assert read_toml('a = "b"\n[c]\nd = 1\n') == {"a": "b", "c": {"d": 1}}


@pytest.mark.parametrize(
    ("reader", "text", "message"),
    [
        (read_json, "[" * 100_000, "is not valid JSON: it is nested too deeply"),
        (read_json, "9" * 5_000, "is not valid JSON: Exceeds the limit"),
        (read_json, '"\\udc00"', "is not valid JSON: it holds text that is not Unicode"),
        (read_json, "{", "is not valid JSON: Expecting property name"),
        (read_toml, "a = " + "[" * 100_000, "is not valid TOML: it is nested too deeply"),
        (read_toml, "a = " + "9" * 5_000, "is not valid TOML: Exceeds the limit"),
        (read_toml, 'a = "\\ud800"', "is not valid TOML: "),
        (read_toml, "a = ", "is not valid TOML: "),
    ],
)
def test_what_is_wrong_is_one_line(reader, text, message):
    """Depth and long numbers were a RecursionError and a ValueError of Python's own."""
    with pytest.raises(ValueError, match=message) as caught:
        reader(text)
    assert "\n" not in str(caught.value)
