"""Former names are answered with what to use instead, in one line."""

from importlib import import_module

import pytest

from cpsched.cli.main import build
from cpsched.errors import UnknownNameError
from cpsched.former_names import OTHER_NAMES, REMOVED_MODULES, RENAMED_OPTIONS
from cpsched.util import registry


@pytest.mark.parametrize("command", OTHER_NAMES["command"])
def test_a_former_command_names_its_successor(cpsched, command):
    """Whatever options follow."""
    code, out, err = cpsched(*command.split()[1:], "--out", "x")
    assert (code, out) == (2, "")
    assert err == f"error: unknown command '{command}'. {OTHER_NAMES['command'][command]}\n"


@pytest.mark.parametrize(
    ("group", "kind"),
    [
        ("dispatchers", "dispatcher"),
        ("priorities", "priority"),
        ("allocators", "allocator"),
        ("predictors", "predictor"),
        ("exports", "output format"),
    ],
)
def test_a_former_name_or_one_of_the_field_is_answered_with_ours(group, kind):
    """In any case of letters; no such name is registered."""
    assert not set(OTHER_NAMES[kind]) & set(registry.names(group))
    for name, instead in OTHER_NAMES[kind].items():
        for written in (name, name.upper()):
            with pytest.raises(UnknownNameError) as caught:
                registry.load(group, written)
            assert str(caught.value) == f"unknown {kind} '{written}'. {instead}"
        if " is called " in instead:
            registry.load(group, instead.rpartition(" ")[2].rstrip("."))


def test_other_unknown_commands_are_answered_as_before(cpsched):
    code, _, err = cpsched("machine")
    assert code == 2
    assert "No such command 'machine'" in err


def test_list_names_the_command_that_describes_one_thing(cpsched):
    code, _, err = cpsched("list", "dispatchers", "easy")
    assert code == 2
    assert (
        err
        == "error: easy: 'cpsched list' takes a kind only. Use 'cpsched show dispatchers easy'.\n"
    )


@pytest.mark.parametrize("kind", ["orders", "order", "priorities", "priority"])
def test_orders_are_listed_by_the_name_of_their_option_too(cpsched, kind):
    code, out, _ = cpsched("list", kind)
    assert (code, "\nfifo " in out) == (0, True)
    assert cpsched("show", kind, "fifo")[1].startswith("fifo  Earlier submit first")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("compare demo --seeds 5", "--seeds is now --repeat"),
        ("compare demo --seeds=5", "--seeds is now --repeat"),
        ("compare demo --jobs 2", "--jobs is now --workers"),
        ("what-if log.swf --stats", "--stats is now --all-tables"),
        ("log convert a.swf b.swf --overwrite", "--overwrite is now --force"),
        ("log info a.swf --format swf", "--format is now --input-format"),
        ("simulate a.swf --format slurm", "--format is now --input-format or --export"),
        ("report out --format pdf", "--format is now --export"),
        ("explain a.swf --policy p.toml", "--policy is now --slurm-policy"),
        ("simulate a.swf --no-enforce-limits", "--no-enforce-limits is now --no-enforce-time-limits"),
        ("slurm forecast --by 2030-01-01", "--by is now --deadline"),
    ],
)  # fmt: skip
def test_a_renamed_option_names_its_new_name(cpsched, words, message):
    """Of several new names those that the command has."""
    assert cpsched(*words.split()) == (2, "", f"error: {message}\n")


def test_an_option_that_the_command_never_had_is_unknown(cpsched):
    code, _, err = cpsched("list", "--seeds", "5")
    assert code == 2
    assert "No such option: --seeds" in err


def _options(group):
    for command in group.commands.values():
        if hasattr(command, "commands"):
            yield from _options(command)
        else:
            yield {
                name
                for parameter in command.params
                for name in (*parameter.opts, *parameter.secondary_opts)
            }


def test_no_command_has_an_option_by_its_old_and_its_new_name():
    for options in _options(build(["generate"])):
        for old, names in RENAMED_OPTIONS.items():
            assert old not in options or not options & set(names)


@pytest.mark.parametrize("module", REMOVED_MODULES)
def test_a_removed_module_names_what_replaces_it(module):
    with pytest.raises(ModuleNotFoundError, match=f"^{module} was removed: "):
        import_module(module)
