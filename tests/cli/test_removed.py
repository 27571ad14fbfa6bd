"""Names that are gone are answered with what to use instead, in one line."""

import pytest

from cpsched.errors import REMOVED, ConfigError, UnknownNameError
from cpsched.util import registry


@pytest.mark.parametrize("command", REMOVED["command"])
def test_a_removed_command_names_its_successor(cpsched, command):
    """Whatever options follow."""
    code, out, err = cpsched(*command.split()[1:], "--out", "x")
    assert (code, out) == (2, "")
    assert err == f"cpsched: the command '{command}' was removed: {REMOVED['command'][command]}\n"


@pytest.mark.parametrize(
    ("group", "kind"), [("dispatchers", "dispatcher"), ("formats", "output format")]
)
def test_a_removed_name_names_its_successor(group, kind):
    for name, instead in REMOVED[kind].items():
        with pytest.raises(ConfigError, match=rf"^the {kind} '{name}' was removed: use|split"):
            registry.load(group, name)
        assert instead in str(UnknownNameError(kind, name, ()))


def test_nothing_that_is_there_counts_as_removed():
    assert not set(REMOVED["dispatcher"]) & set(registry.names("dispatchers"))
    assert not set(REMOVED["output format"]) & set(registry.names("formats"))


def test_other_unknown_commands_are_answered_as_before(cpsched):
    code, _, err = cpsched("machine")
    assert code == 2
    assert "No such command 'machine'" in err


def test_list_names_the_command_that_describes_one_thing(cpsched):
    code, _, err = cpsched("list", "dispatchers", "easy")
    assert code == 2
    assert err == "cpsched: easy: list takes a kind alone; use cpsched show dispatchers easy\n"
