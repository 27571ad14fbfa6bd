"""
The options of ``sbatch``, ``srun`` and ``salloc``, read from the commands that submitted jobs.

The column ``SubmitLine`` of sacct has the words of a command with a blank between them and no
quotes. Options are read up to the name of the script, as ``getopt_long`` does it for sbatch; what
stands in the script itself (``#SBATCH``) is not in the column. A job name or comment with blanks is
known by its own column.

An option takes no value, a required one (``-t 60``, ``--time 60``, ``--time=60``) or an optional
one (``--exclusive``, ``--exclusive=user``, never ``--exclusive user``). It is modelled, irrelevant
for when and where jobs start, or reported with what is simulated instead.

Options and kinds of values are those of Slurm 25.11 (manual pages ``sbatch.1``, ``salloc.1`` and
``srun.1``) and of 22.05, whose table ``src/common/slurm_opt.c`` was printed option by option. Those
of older releases stay, for logs are old.
"""

from __future__ import annotations

import re
from collections import deque
from enum import Enum
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from cpsched.logs.sacct.dependencies import form_not_modelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

PROGRAMS = ("sbatch", "salloc", "srun")


class Takes(Enum):
    """Whether an option takes a value."""

    NOTHING = 0
    VALUE = 1
    OPTIONAL = 2


class Use(Enum):
    """What a simulation makes of an option."""

    MODELLED = "modelled"
    IRRELEVANT = "irrelevant"
    REPORTED = "reported"


class CommandOption(NamedTuple):
    """
    An option.

    Attributes
    ----------
    name, short
        Its long name, and its letter or ''.
    takes
        Whether it takes a value.
    use
        What a simulation makes of it.
    about
        Of a modelled option what it becomes, of an irrelevant one the reason, of a reported one
        what is simulated instead.
    programs
        The commands that have it.
    """

    name: str
    short: str
    takes: Takes
    use: Use
    about: str
    programs: tuple[str, ...] = PROGRAMS


#: Options of one use after what it is: name (and letter, and the first letters of the commands that
#: have it, if not all do), and behind it ``=`` for a required value, ``[=]`` for an optional one.
_MODELLED = """
the group of users: account -A =
the label: partition -p =; qos -q =; reservation =; licenses -L =; constraint -C =; job-name -J =
the limit of the array: array -a = (b)
the begin of the job: begin -b =; hold -H
dependencies of the job: dependency -d =
the request, by ReqTRES, AllocTRES and ReqMem: cpus-per-gpu =; cpus-per-task -c =; gpus -G =;
  gpus-per-node =; gpus-per-socket =; gpus-per-task =; gres =; mem =; mem-per-cpu =;
  mem-per-gpu =; nodes -N =; ntasks -n =; ntasks-per-gpu =; ntasks-per-tres =; overcommit -O;
  tres-per-task =
the placement of the request: contiguous; exclusive [=]; segment =; switches =
the requested time: time -t =
the priority: nice [=]
whether the job is restartable: no-requeue (b); requeue [=] (b)
"""
_IRRELEVANT = """
accounting and names, which decide nothing: acctg-freq =; comment =; profile =; wckey =
files, mail and messages: bell (a); error -e = (bs); help -h; input -i = (bs); label -l (s);
  mail-type =; mail-user =; no-bell (a); open-mode = (bs); output -o = (bs); parsable (b);
  pty [=] (s); quiet -Q; unbuffered -u (s); usage; verbose -v; version -V; autocomplete =;
  x11 [=] (as)
the environment in which the job runs: bcast [=] (s); bcast-exclude = (s); chdir -D =;
  compress [=] (s); container =; container-id =; container-type =; context =; export = (bs);
  export-file = (b); get-user-env [=] (ba); gid =; ignore-pbs (b); preserve-env -E (s);
  propagate [=] (bs); send-libs [=] (s); stepmgr; uid =; wrap = (b)
what happens within a run, whose length the log has: cpu-freq =; gpu-freq =;
  kill-command -K [=] (a); kill-on-bad-exit -K [=] (s); oom-kill-step [=]; power =; signal =;
  wait-all-nodes = (ba)
cores, memory and GPUs within a node: accel-bind = (s); cpu-bind = (s); cpu_bind = (s);
  gpu-bind =; mem-bind =; tres-bind =
steps of jobs and their commands: debugger-test (s); disable-status -X (s); epilog = (s);
  exact (s); external-launcher (s); het-group = (s); interactive (s); jobid = (s); mpi = (s);
  msg-timeout = (s); multi-prog (s); no-allocate -Z (s); no-shell (a); overlap [=] (s);
  pack-group = (s); prolog = (s); quit-on-interrupt (s); relative -r = (s); slurmd-debug = (s);
  task-epilog = (s); task-prolog = (s); test-only (bs); threads -T = (s); treewidth = (s);
  wait -W (b); wait -W = (s); wait-for-children (s); whole (s)
"""
_REPORTED = """
any nodes serve: batch = (b); cores-per-socket =; exclude -x =; extra =; extra-node-info -B =;
  hint =; mincpus =; nodefile -F =; nodelist -w =; sockets-per-node =; threads-per-core =; tmp =;
  prefer =
placed as other jobs: consolidate-segments; distribution -m =; gres-flags =; ntasks-per-core =;
  ntasks-per-node =; ntasks-per-socket =; spread-job; spread-segments; tasks-per-node =;
  use-min-nodes
jobs have their cores to themselves: oversubscribe -s
no cores are kept: core-spec -S =; thread-spec =
starts without staging: bb =; bbf =
not followed: deadline =; kill-on-invalid-dep = (b); mcs-label =; network =; resources =;
  resv-ports [=]
memory is allocated to the end: mem-update =
the limit that the job had at its end: time-min =
one cluster alone: cluster =; cluster-constraint =; clusters -M =
the dispatcher decides the priority: priority =
waits as other jobs: immediate -I [=] (as); external (b)
starts without a reboot: delay-boot =; reboot
ends with its nodes: no-kill -k [=]
"""
_ROW = re.compile(
    r"(?P<name>[\w-]+)(?: -(?P<short>\w))?(?: (?P<value>=|\[=\]))?(?: \((?P<programs>\w+)\))?"
)
_TAKES = {None: Takes.NOTHING, "=": Takes.VALUE, "[=]": Takes.OPTIONAL}
_LETTERS = {"b": "sbatch", "a": "salloc", "s": "srun"}


def _rows(text: str, use: Use) -> Iterator[CommandOption]:
    for group in text.strip().replace("\n  ", " ").splitlines():
        about, _, items = group.partition(": ")
        for item in items.split("; "):
            match = _ROW.fullmatch(item)
            if match is None:  # pragma: no cover -- a slip in the table above
                raise ValueError(item)
            programs = tuple(_LETTERS[letter] for letter in match["programs"] or "bas")
            yield CommandOption(
                match["name"], match["short"] or "", _TAKES[match["value"]], use, about, programs
            )


#: All options; one that takes a value in one command only stands twice.
OPTIONS = (
    *_rows(_MODELLED, Use.MODELLED),
    *_rows(_IRRELEVANT, Use.IRRELEVANT),
    *_rows(_REPORTED, Use.REPORTED),
)
#: Options of which the last one counts, for they set one value (``slurm_opt.c``).
RIVALS = (frozenset(("exclusive", "oversubscribe")), frozenset(("requeue", "no-requeue")))
#: Modelled options that a later component of a heterogeneous job keeps (``reset_each_pass``).
INHERITED = frozenset(
    (
        *("account", "array", "batch", "bbf", "begin", "clusters", "deadline", "dependency"),
        *("exclude", "hold", "immediate", "job-name", "kill-on-invalid-dep", "mcs-label", "mem"),
        *("nice", "no-kill", "no-requeue", "prefer", "priority", "qos", "reboot", "requeue"),
        *("reservation", "time", "time-min"),
    )
)


def tables(program: str) -> tuple[dict[str, CommandOption], dict[str, CommandOption]]:
    """Return the options of a command, those of other commands behind them, by name and letter."""
    own = [option for option in OPTIONS if program in option.programs]
    others = [option for option in OPTIONS if program not in option.programs]
    names = {option.name: option for option in (*reversed(others), *own)}
    letters = {option.short: option for option in (*reversed(others), *own) if option.short}
    return names, letters


def named(text: str, names: dict[str, CommandOption], program: str) -> CommandOption | None:
    """
    Return the option of a long name or of its beginning, None if there is none.

    As ``getopt_long`` has it, a beginning must be that of one option of the command only.
    """
    if text in names:
        return names[text]
    fits = [option for name, option in names.items() if name.startswith(text) and text]
    own = [option for option in fits if program in option.programs]
    return own[0] if len(own) == 1 else fits[0] if len(fits) == 1 else None


# -- commands -----------------------------------------------------------------------------------

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
        return f"--requeue={value}", "requeued as other jobs"
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
