"""
Options of the command that submitted a Slurm job, the column ``SubmitLine`` of ``sacct``.

sacct prints the words of the command with a blank between them and no quotes. Options are read up
to the name of the script, as ``getopt_long`` does it for sbatch; what stands in the script itself
(``#SBATCH``) is not in the column. A job name or comment with blanks is known by its own column.
"""

from __future__ import annotations

import re
from collections import deque
from functools import lru_cache
from typing import TYPE_CHECKING

from cpsched.logs.sacct.dependencies import form_not_modelled
from cpsched.logs.sacct.option_table import (
    INHERITED,
    PROGRAMS,
    RIVALS,
    Takes,
    Use,
    named,
    tables,
)

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

#: The key of options that stand behind ``--wrap``, whose words cannot be told from options.
BEHIND_WRAP = "options behind --wrap"
_TABLES = {program: tables(program) for program in PROGRAMS}
#: A path, or a name with an ending.
_SCRIPT = re.compile(r"/|\.[A-Za-z]\w*$")
_VARIABLE = re.compile(r"[A-Za-z_]\w*=.*")
#: Columns whose texts stand in a command, and may hold blanks.
_WITH_BLANKS = ("jobname", "comment", "constraints", "extra")
_EXCLUSIVE = {
    "user": "shares its nodes with other users",
    "mcs": "shares its nodes with other labels",
    "topo": "shares its block or switch with other jobs",
}
_NODES = re.compile(r"[0-9]+[kKmM]?(?:-(?:[0-9]+[kKmM]?)?)?")


def options_of(values: Mapping[str, str], component: int = 0) -> Mapping[str, str]:
    """Return the options of a row of sacct; its columns by name in lower case."""
    command = values.get("submitline", "")
    for column in _WITH_BLANKS:
        text = values.get(column, "")
        if " " in text.strip() and f"{text} " in command:
            command = command.replace(text, "_".join(text.split()))
    return options(command, component)


@lru_cache(maxsize=2**16)
def options(command: str, component: int = 0) -> Mapping[str, str]:
    """
    Return the options of a command by their long names; the last one of a name counts.

    Options of the components of a heterogeneous job stand between colons.
    """
    return options_in(command.split(), component)


def options_in(words: Sequence[str], component: int = 0) -> Mapping[str, str]:
    """Return the options of a command of several words, as :func:`options`."""
    rest = deque(words)
    while rest and _is_prefix(rest[0]):
        rest.popleft()
    program = rest.popleft().rpartition("/")[2] if rest else ""
    program = program if program in PROGRAMS else PROGRAMS[0]
    options: dict[str, str] = {}
    for left in range(component, -1, -1):
        over = _read_component(rest, program, options)
        if left == 0:
            break
        # Components may stand in the script instead (#SBATCH hetjob). Behind the script of sbatch
        # a colon is an argument; srun and salloc have a command in each component.
        ahead = list(rest)[:1] if program == "sbatch" else rest
        over = over or ":" not in ahead
        while not over and rest.popleft() != ":":
            pass
        options = {name: value for name, value in options.items() if name in INHERITED}
        if over:
            break
    return options


def _read_component(rest: deque[str], program: str, options: dict[str, str]) -> bool:
    """Read options up to a colon or the script; say if no component can follow."""
    while rest and rest[0].startswith("-") and rest[0] not in ("-", "--"):
        for name, value in _options(rest.popleft(), rest, program):
            if name == "wrap":
                # Its words cannot be told from the options behind it.
                if behind := _behind_wrap(rest):
                    options[BEHIND_WRAP] = behind
                return True
            set_option(options, name, value)
    return False


def may_be_requeued(command: str, options: Mapping[str, str]) -> bool:
    """Say whether Slurm may queue a job again under ``JobRequeue=1``, its default."""
    program = command.partition(" ")[0].rpartition("/")[2]
    return program not in ("srun", "salloc") and "no-requeue" not in options


def not_modelled(name: str, value: str) -> tuple[str, str] | None:
    """Return what is not modelled of an option, and what is simulated instead; None if nothing."""
    if name == BEHIND_WRAP:
        return name, "not followed"
    if name == "exclusive":
        form = value.lower()
        if form in ("", "exclusive"):
            return None
        return f"--exclusive={value}", _EXCLUSIVE.get(form, "shares its nodes")
    if name == "requeue" and value:
        return f"--requeue={value}", "queued again as other jobs"
    if name == "nodes" and not _NODES.fullmatch(value):
        return "--nodes with a list or steps", "the number of nodes that it got"
    if name == "dependency" and (form := form_not_modelled(value)):
        return f"--dependency={form}", "begins when the log says that it was eligible"
    if name == "signal" and value.upper().startswith("R:"):
        return "--signal=R:", "does not overlap reservations"
    if name in ("qos", "reservation") and "," in value:
        return f"--{name} with several names", f"the {name} that it had"
    return _of_table(name, value)


def _of_table(name: str, value: str) -> tuple[str, str] | None:
    option = next((names[name] for names, _ in _TABLES.values() if name in names), None)
    if option is None:
        return f"{'-' if len(name) == 1 else '--'}{name} (no option of Slurm 25.11)", "not followed"
    harmless = name == "kill-on-invalid-dep" and value.lower().startswith("y")
    return None if option.use is not Use.REPORTED or harmless else (f"--{name}", option.about)


def _is_prefix(word: str) -> bool:
    """Tell whether a word before the command sets its environment: ``env A=1 sbatch``."""
    return word.rpartition("/")[2] == "env" or bool(_VARIABLE.fullmatch(word))


def set_option(options: dict[str, str], name: str, value: str) -> None:
    """Set an option; another one that sets the same value no longer counts."""
    for rivals in RIVALS:
        if name in rivals:
            for rival in rivals:
                options.pop(rival, None)
    options[name] = value


def _options(word: str, rest: deque[str], program: str) -> Iterator[tuple[str, str]]:
    """Yield names and values of the option, or the bundled letters, that begin with a word."""
    names, letters = _TABLES[program]
    if word.startswith("--"):
        name, equals, value = word[2:].partition("=")
        option = named(name, names, program)
        takes = _has_value(rest) if option is None else option.takes is Takes.VALUE
        if takes and not equals and rest:
            value = rest.popleft()
        yield option.name if option else name, value
        return
    text = word[1:]
    while text:
        letter, text = text[0], text[1:]
        option = letters.get(letter)
        if option is None or option.takes is Takes.NOTHING:
            yield option.name if option else letter, ""
            continue
        if not text and option.takes is Takes.VALUE and rest:
            text = rest.popleft()
        yield option.name, text.removeprefix("=")
        return


def _has_value(rest: deque[str]) -> bool:
    """Guess whether the next word is the value of an option that is not Slurm's, or the script."""
    return len(rest) > 1 and not rest[0].startswith("-") and not _SCRIPT.search(rest[0])


def _behind_wrap(rest: Iterable[str]) -> str:
    """Return the words behind ``--wrap`` that may be options of sbatch, by their long names."""
    names, _ = _TABLES["sbatch"]
    words = (word[2:].partition("=")[0] for word in rest if word.startswith("--"))
    return " ".join(f"--{word}" for word in words if word in names)
