"""
The options of ``sbatch``, ``srun`` and ``salloc``, and what a simulation makes of each.

An option takes no value, a required one (``-t 60``, ``--time 60``, ``--time=60``) or an optional
one (``--exclusive``, ``--exclusive=user``, never ``--exclusive user``). It is modelled, irrelevant
for when and where jobs start, or reported with what is simulated instead.

Options and kinds of values are those of Slurm 25.11 (manual pages ``sbatch.1``, ``salloc.1`` and
``srun.1``) and of 22.05, whose table ``src/common/slurm_opt.c`` was printed option by option. Those
of older releases stay, for logs are old.
"""

from __future__ import annotations

import re
from enum import Enum
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

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


#: One option a line: name (and letter, and the first letters of the commands that have it, if not
#: all do), and behind it ``=`` for a required value, ``[=]`` for an optional one. A blank line and
#: a line that ends in a colon begin a group with one use.
_MODELLED = """
the group of users:
account -A =
the label:
partition -p =
qos -q =
reservation =
licenses -L =
constraint -C =
job-name -J =
the limit of the array:
array -a = (b)
the begin of the job:
begin -b =
hold -H
dependencies of the job:
dependency -d =
the request, by ReqTRES, AllocTRES and ReqMem:
cpus-per-gpu =
cpus-per-task -c =
gpus -G =
gpus-per-node =
gpus-per-socket =
gpus-per-task =
gres =
mem =
mem-per-cpu =
mem-per-gpu =
nodes -N =
ntasks -n =
ntasks-per-gpu =
ntasks-per-tres =
overcommit -O
tres-per-task =
the placement of the request:
contiguous
exclusive [=]
segment =
switches =
the requested time:
time -t =
the priority:
nice [=]
whether the job is restartable:
no-requeue (b)
requeue [=] (b)
"""
_IRRELEVANT = """
accounting and names, which decide nothing:
acctg-freq =
comment =
profile =
wckey =
files, mail and messages:
bell (a)
error -e = (bs)
help -h
input -i = (bs)
label -l (s)
mail-type =
mail-user =
no-bell (a)
open-mode = (bs)
output -o = (bs)
parsable (b)
pty [=] (s)
quiet -Q
unbuffered -u (s)
usage
verbose -v
version -V
autocomplete =
x11 [=] (as)
the environment in which the job runs:
bcast [=] (s)
bcast-exclude = (s)
chdir -D =
compress [=] (s)
container =
container-id =
container-type =
context =
export = (bs)
export-file = (b)
get-user-env [=] (ba)
gid =
ignore-pbs (b)
preserve-env -E (s)
propagate [=] (bs)
send-libs [=] (s)
stepmgr
uid =
wrap = (b)
what happens within a run, whose length the log has:
cpu-freq =
gpu-freq =
kill-command -K [=] (a)
kill-on-bad-exit -K [=] (s)
oom-kill-step [=]
power =
signal =
wait-all-nodes = (ba)
cores, memory and GPUs within a node:
accel-bind = (s)
cpu-bind = (s)
cpu_bind = (s)
gpu-bind =
mem-bind =
tres-bind =
steps of jobs and their commands:
debugger-test (s)
disable-status -X (s)
epilog = (s)
exact (s)
external-launcher (s)
het-group = (s)
interactive (s)
jobid = (s)
mpi = (s)
msg-timeout = (s)
multi-prog (s)
no-allocate -Z (s)
no-shell (a)
overlap [=] (s)
pack-group = (s)
prolog = (s)
quit-on-interrupt (s)
relative -r = (s)
slurmd-debug = (s)
task-epilog = (s)
task-prolog = (s)
test-only (bs)
threads -T = (s)
treewidth = (s)
wait -W (b)
wait -W = (s)
wait-for-children (s)
whole (s)
"""
_REPORTED = """
any nodes serve:
batch = (b)
cores-per-socket =
exclude -x =
extra =
extra-node-info -B =
hint =
mincpus =
nodefile -F =
nodelist -w =
sockets-per-node =
threads-per-core =
tmp =
prefer =
placed as other jobs:
consolidate-segments
distribution -m =
gres-flags =
ntasks-per-core =
ntasks-per-node =
ntasks-per-socket =
spread-job
spread-segments
tasks-per-node =
use-min-nodes
jobs have their cores to themselves:
oversubscribe -s
no cores are kept:
core-spec -S =
thread-spec =
starts without staging:
bb =
bbf =
not followed:
deadline =
kill-on-invalid-dep = (b)
mcs-label =
network =
resources =
resv-ports [=]
memory is allocated to the end:
mem-update =
the limit that the job had at its end:
time-min =
one cluster alone:
cluster =
cluster-constraint =
clusters -M =
the dispatcher decides the priority:
priority =
waits as other jobs:
immediate -I [=] (as)
external (b)
starts without a reboot:
delay-boot =
reboot
ends with its nodes:
no-kill -k [=]
"""
_ROW = re.compile(
    r"(?P<name>[\w-]+)(?: -(?P<short>\w))?(?: (?P<value>=|\[=\]))?(?: \((?P<programs>\w+)\))?"
)
_TAKES = {None: Takes.NOTHING, "=": Takes.VALUE, "[=]": Takes.OPTIONAL}
_LETTERS = {"b": "sbatch", "a": "salloc", "s": "srun"}


def _rows(text: str, use: Use) -> Iterator[CommandOption]:
    about = ""
    for line in text.strip().splitlines():
        if line.endswith(":"):
            about = line.removesuffix(":")
            continue
        match = _ROW.fullmatch(line)
        if match is None:  # pragma: no cover -- a slip in the table above
            raise ValueError(line)
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
