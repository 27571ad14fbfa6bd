"""
How commands of Slurm are read, and what of their options is not modelled.

The table of options is that of Slurm 25.11: its manual pages ``sbatch.1``, ``salloc.1`` and
``srun.1``, and for the kind of value ``slurm_option_table_create`` of Slurm 22.05.8
(``src/common/slurm_opt.c``), which was called for each command. Options of 25.11 that 22.05 did not
have are listed below with what the manual says of their values.
"""

import pytest

from cpsched import logs
from cpsched.logs.sacct.gaps import IRRELEVANT, READ
from cpsched.logs.sacct.options import (
    _TABLES,
    BEHIND_WRAP,
    OPTIONS,
    PROGRAMS,
    Takes,
    Use,
    named,
    not_modelled,
    options,
    options_of,
    tables,
)

#: What ``slurm_option_table_create`` of 22.05.8 gives to ``getopt_long``: letters of each command.
LETTERS = {
    "salloc": "A:b:D:M:C:S:c:d:m:x:B:G:hHI::J:K::L:k::F:w:N:n:Osp:q:Qt:vV",
    "sbatch": "A:a:b:D:M:C:S:c:d:m:e:x:B:G:hHi:J:L:k::F:w:N:n:o:Osp:q:Qt:vVW",
    "srun": "A:b:D:M:C:S:c:d:Xm:e:x:B:G:hHI::i:J:K::lL:T:Zk::F:w:N:n:o:Osp:Eq:Qr:t:uvVW:",
}
#: Long options without a value, and with an optional one, from the same table.
FLAGS = (
    *("bell", "contiguous", "debugger-test", "disable-status", "exact"),
    *("help", "hold", "ignore-pbs", "interactive", "label"),
    *("multi-prog", "no-allocate", "no-bell", "no-requeue", "no-shell"),
    *("overcommit", "oversubscribe", "parsable", "preserve-env", "quiet"),
    *("quit-on-interrupt", "reboot", "spread-job", "test-only", "unbuffered"),
    *("usage", "use-min-nodes", "verbose", "version", "whole"),
)
OPTIONAL = (
    *("bcast", "compress", "exclusive", "get-user-env", "immediate"),
    *("kill-command", "kill-on-bad-exit", "nice", "no-kill", "overlap"),
    *("propagate", "send-libs", "x11"),
)
#: Of later manual pages: what they write as ``--name``, ``--name[=value]`` and ``--name=<value>``.
LATER_FLAGS = (
    *(
        "consolidate-segments",
        "external-launcher",
        "spread-segments",
        "stepmgr",
        "wait-for-children",
    ),
)
LATER_OPTIONAL = (*("oom-kill-step", "pty", "requeue", "resv-ports"),)
LATER_VALUES = (
    *("container-id", "extra", "resources", "segment", "tres-bind"),
    *("tres-per-task", "treewidth"),
)


@pytest.mark.parametrize("program", PROGRAMS)
def test_letters_take_values_as_getopt_has_them(program):
    _, letters = tables(program)
    text = LETTERS[program]
    while text:
        letter, text = text[0], text[1:]
        colons = len(text) - len(text.lstrip(":"))
        text = text[colons:]
        takes = {0: Takes.NOTHING, 1: Takes.VALUE, 2: Takes.OPTIONAL}[colons]
        assert (letter, letters[letter].takes) == (letter, takes)
        assert program in letters[letter].programs


def test_long_options_take_values_as_slurm_has_them():
    for names, takes in (
        (FLAGS + LATER_FLAGS, Takes.NOTHING),
        (OPTIONAL + LATER_OPTIONAL, Takes.OPTIONAL),
        (LATER_VALUES, Takes.VALUE),
    ):
        for name in names:
            assert {option.takes for option in OPTIONS if option.name == name} == {takes}, name
    others = {"wait", "external", *FLAGS, *OPTIONAL, *LATER_FLAGS, *LATER_OPTIONAL}
    assert all(option.takes is Takes.VALUE for option in OPTIONS if option.name not in others)


def test_every_option_says_what_becomes_of_it():
    assert all(option.about for option in OPTIONS)
    assert {option.use for option in OPTIONS} == set(Use)
    for program in PROGRAMS:
        names = [option.name for option in OPTIONS if program in option.programs]
        assert len(names) == len(set(names))


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("sbatch --spread-segments --segment=4 -N8 a.sh", {"segment": "4", "nodes": "8"}),
        ("srun --kill-on-bad-exit --exclusive -N1 ./x", {"exclusive": "", "nodes": "1"}),
        ("srun --resv-ports --dependency=afterok:1 ./x", {"dependency": "afterok:1"}),
        ("srun --wait 60 --exclusive ./x", {"exclusive": "", "wait": "60"}),
        ("sbatch --wait --exclusive ./x", {"exclusive": "", "wait": ""}),
        ("sbatch --consolidate-segments --array=0-9%2 a.sh", {"array": "0-9%2"}),
        ("sbatch --external --nice=50 a.sh", {"nice": "50"}),
        ("srun --pty --exclusive bash", {"exclusive": ""}),
        ("sbatch --requeue --hold --nice -p a x.sh", {"hold": "", "nice": "", "partition": "a"}),
        ("salloc --no-shell --x11 -N2", {"nodes": "2"}),
        # Letters may stand together, and with their value.
        ("sbatch -Hn4 -N2 -c 3 a.sh", {"hold": "", "ntasks": "4", "nodes": "2"}),
        ("sbatch -HsN 2 a.sh", {"hold": "", "oversubscribe": "", "nodes": "2"}),
        ("srun -I60 -K -N2 ./a", {"immediate": "60", "kill-on-bad-exit": "", "nodes": "2"}),
        ("srun -vvk -n2 ./a", {"verbose": "", "no-kill": "", "ntasks": "2"}),
        # Beginnings of names, if no other option of the command begins so.
        ("sbatch --exclus --depend=afterok:7 --nodes 2 a", {"exclusive": "", "dependency": "afterok:7"}),
        ("sbatch --part gpu --seg 4 a", {"partition": "gpu", "segment": "4"}),
        ("sbatch --mem-per-c 5 a", {"mem-per-cpu": "5"}),
        # The last one counts, also of two options that set one value.
        ("sbatch -t 5 --time=10 a.sh", {"time": "10"}),
        ("sbatch --exclusive -s a.sh", {"oversubscribe": ""}),
        ("sbatch -s --exclusive=user a.sh", {"exclusive": "user"}),
        ("sbatch --requeue --no-requeue --requeue a.sh", {"requeue": ""}),
        # What comes before the command, and ends its options.
        ("env A=1 /opt/bin/sbatch -N2 a.sh -N3", {"nodes": "2"}),
        ("OMP_NUM_THREADS=4 sbatch -N2 -- a.sh -N3", {"nodes": "2"}),
        ("sbatch -N2 - -N3", {"nodes": "2"}),
        ("sbatch", {}),
        # Options of plug-ins (SPANK): with a value, without one, and in front of the script.
        ("sbatch --tunnel 80 --exclusive a.sh", {"tunnel": "80", "exclusive": ""}),
        ("sbatch --gpumps --exclusive a.sh", {"gpumps": "", "exclusive": ""}),
        ("sbatch --gpumps ./a --exclusive", {"gpumps": ""}),
        ("sbatch --gpumps a.sh --exclusive", {"gpumps": ""}),
    ],
)  # fmt: skip
def test_an_option_without_a_value_leaves_the_next_word(line, asked):
    read = options(line)
    assert {name: read.get(name) for name in asked} == asked
    if "a.sh -N3" in line or line.endswith(("./a --exclusive", "a.sh --exclusive")):
        assert set(read) == set(asked)
    for rival in {"exclusive", "oversubscribe", "requeue", "no-requeue"} - set(asked):
        assert rival not in read or "--requeue --hold" in line


def test_a_beginning_of_several_options_is_none():
    names, _ = tables("sbatch")
    assert named("gpu", names, "sbatch") is None
    assert named("excl", names, "sbatch") is None
    assert named("gpus", names, "sbatch").name == "gpus"
    assert named("", names, "sbatch") is None


def test_blanks_in_a_name_do_not_end_the_options():
    line = "sbatch -J my long job --comment it is mine --exclusive a.sh"
    values = {"submitline": line, "jobname": "my long job", "comment": "it is mine"}
    assert options_of(values) == {
        "job-name": "my_long_job",
        "comment": "it_is_mine",
        "exclusive": "",
    }


def test_components_keep_what_slurm_does_not_reset():
    """``reset_each_pass`` of ``slurm_opt.c``: a begin time stays, a number of nodes does not."""
    line = "srun -N1 --exclusive --begin=now+60 ./a -N9 : -n2 ./b : -n3 ./c"
    assert options(line) == {"nodes": "1", "exclusive": "", "begin": "now+60"}
    assert options(line, 1) == {"begin": "now+60", "ntasks": "2"}
    assert options(line, 2) == {"begin": "now+60", "ntasks": "3"}
    assert options(line, 3) == {"begin": "now+60"}
    assert options("sbatch -N2 --nice=5 a.sh : -N3", 1) == {"nice": "5"}


def test_options_behind_wrap_are_named():
    assert options("sbatch -n2 --wrap=sleep 5 --exclusive -x a") == {
        "ntasks": "2",
        BEHIND_WRAP: "--exclusive",
    }
    assert options("sbatch --wrap=sleep 5") == {}


@pytest.mark.parametrize(
    ("name", "value", "gap"),
    [
        ("exclusive", "", None),
        ("exclusive", "Exclusive", None),
        ("exclusive", "user", "--exclusive=user"),
        ("exclusive", "mcs", "--exclusive=mcs"),
        ("exclusive", "topo", "--exclusive=topo"),
        ("requeue", "", None),
        ("requeue", "expedite", "--requeue=expedite"),
        ("nodes", "2-4", None),
        ("nodes", "2-", None),
        ("nodes", "1-15:4", "--nodes with a list or steps"),
        ("dependency", "afterok:7:8,singleton", None),
        ("dependency", "afterok:7?afterok:8", "--dependency=?"),
        ("dependency", "after:7+5", "--dependency=after:ID+MINUTES"),
        ("dependency", "expand:7", "--dependency=expand"),
        ("dependency", "afterburstbuffer:7", "--dependency=afterburstbuffer"),
        ("signal", "B:USR1@60", None),
        ("signal", "R:USR1@60", "--signal=R:"),
        ("kill-on-invalid-dep", "yes", None),
        ("kill-on-invalid-dep", "no", "--kill-on-invalid-dep"),
        ("qos", "a,b", "--qos with several names"),
        ("prefer", "a100", "--prefer"),
        ("comment", "x", None),
        ("tunnel", "80", "--tunnel (no option of Slurm 25.11)"),
    ],
)
def test_what_of_an_option_is_not_modelled(name, value, gap):
    read = not_modelled(name, value)
    assert (read and read[0]) == gap


HEADER = "JobID|User|State|Submit|Start|ElapsedRaw|AllocTRES|SubmitLine|Restarts|Foo|MaxRSS"
ROW = "|a|COMPLETED|2024-03-01T10:00:00|2024-03-01T10:00:00|3600|cpu=1,node=1|"


def test_a_log_lists_options_and_columns_that_are_not_modelled(log):
    rows = [
        f"1{ROW}sbatch --prefer=a100 --mail-type=END a.sh|0|bar|5K",
        f"2{ROW}sbatch --prefer=h100 --exclusive=topo a.sh|1||",
        f"3{ROW}sbatch a.sh|0|None|",
        f"4{ROW}|0||",
    ]
    workload = logs.read(log("a.sacct", "\n".join([HEADER, *rows])))
    notes = [text for key, text in workload.header if key == "Note"]
    assert notes == [
        "not modelled: --prefer (any nodes serve): 50.0 % of the jobs, 50.0 % of the core-hours",
        "not modelled: --exclusive=topo (shares its block or switch with other jobs): 25.0 % of the"
        " jobs, 25.0 % of the core-hours",
        "not modelled: column foo (not read): 25.0 % of the jobs, 25.0 % of the core-hours",
        "not modelled: column restarts (earlier attempts only if they are in the log (sacct"
        " --duplicates)): 25.0 % of the jobs, 25.0 % of the core-hours",
    ]


def test_columns_are_read_or_have_a_reason():
    assert not READ & set(IRRELEVANT)
    assert all(IRRELEVANT.values())


def test_tables_are_made_once():
    assert set(_TABLES) == set(PROGRAMS)
