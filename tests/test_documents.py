"""JSON and TOML that somebody else wrote."""

from __future__ import annotations

import pytest

from cpsched import systems
from cpsched.base.documents import read_json, read_toml
from cpsched.errors import ConfigError


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


@pytest.mark.parametrize("suffix", [".toml", ".json"])
def test_system_files_name_themselves(tmp_path, suffix):
    path = tmp_path / f"deep{suffix}"
    for content in ("[" * 100_000, "9" * 5_000):
        path.write_text(f"a = {content}" if suffix == ".toml" else content)
        with pytest.raises(ConfigError, match=rf"deep{suffix}: is not valid"):
            systems.load(path)
