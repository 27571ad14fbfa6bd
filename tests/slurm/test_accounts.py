"""Tables of sacctmgr and sshare."""

import pytest

from cpsched.errors import ConfigError
from cpsched.slurm.config.accounts import read_associations, read_qos, with_usage


def file(folder, text):
    path = folder / "table.txt"
    path.write_text(text)
    return path


def test_columns_come_in_any_order_and_by_long_names(tmp_path):
    text = "MaxTRESPerUser|Name|MaxJobsPerUser|Priority|PreemptMode\ncpu=4,mem=2G|q|3|7|cluster\n"
    (qos,) = read_qos(file(tmp_path, text)).values()
    assert qos.limits == {"MaxTRESPU": {"cpu": 4, "mem": 2 << 20}, "MaxJobsPU": 3}
    assert (qos.priority, qos.preempt_mode) == (7, "")


def test_qos_that_are_gone_preempt_nobody(tmp_path):
    text = "Name|Preempt|GraceTime|PreemptExemptTime|Flags\na|b,gone|00:01:30|00:02:00|NoDecay\nb||||\n"
    qos = read_qos(file(tmp_path, text))
    assert qos["a"].preempt == ("b",)
    assert (qos["a"].grace, qos["a"].preempt_exempt, qos["b"].preempt_exempt) == (
        90,
        120,
        None,
    )


@pytest.mark.parametrize(
    ("text", "known", "expected"),
    [
        ("User|ParentName|Account\n||root\n|root|a\n|a|b\nu||b\n", True, {"a": "root", "b": "a"}),
        ("Account|User\nroot|\n a|\n  a|u\n  b|\n   b|v\n", True, {"a": "root", "b": "a"}),
        # Without either all accounts are below the root.
        ("Account|User\nroot|\na|\nb|\nb|u\n", False, {"a": "root", "b": "root"}),
    ],
)
def test_the_tree_is_by_parent_names_or_indentation(tmp_path, text, known, expected):
    associations, is_tree = read_associations(file(tmp_path, text))
    assert is_tree == known
    parents = {
        association.account: association.parent
        for association in associations
        if not association.user
    }
    assert parents == {"root": "", **expected}


def test_shares_may_be_the_parents_and_usage_is_that_of_users(tmp_path):
    associations, _ = read_associations(
        file(tmp_path, "Account|User|Share\nroot||1\na||parent\na|u|2\n")
    )
    assert [association.shares for association in associations] == [1, None, 2]
    associations, _ = read_associations(file(tmp_path, "Account|User\nroot|\n a|\n  a|u\n  a|v\n"))
    sshare = "Account|User|RawUsage\nroot||90\n a||90\n  a|u|90\n"
    used = with_usage(associations, file(tmp_path, sshare))
    assert [association.usage for association in used] == [0, 0, 90, 0]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"table\.txt: the table has no column Name"),
        ("Account|User\n", r"table\.txt:1: the table has no column Name"),
        ("Name|Priority\na|1\nb\n", r"table\.txt:3: the line has 1 columns, and the header has 2"),
        ("Name|Priority\na|x\n", r"table\.txt:2: Priority: 'x' is not a whole number"),
        (
            "Name|GrpTRES\na|cpu\n",
            r"table\.txt:2: GrpTRES: 'cpu' must list amounts .* 'cpu' has none",
        ),
        ("Name|MaxWall\na|soon\n", r"table\.txt:2: MaxWall: 'soon' is not a length of time"),
    ],
)
def test_bad_tables_are_named(tmp_path, text, message):
    with pytest.raises(ConfigError, match=message):
        read_qos(file(tmp_path, text))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("|u|1", r"table\.txt:3: Account: '' is empty, must be the name of an account"),
        ("a|u|-3", r"table\.txt:3: Share: '-3' must be a whole number, 0 or more, or \"parent\""),
    ],
)
def test_bad_associations_are_named(tmp_path, line, message):
    with pytest.raises(ConfigError, match=message):
        read_associations(file(tmp_path, f"Account|User|Share\nroot||1\n{line}\n"))


def test_associations_of_two_clusters(tmp_path):
    text = "Cluster|Account|User\nx|root|\ny|root|\n"
    with pytest.raises(ConfigError, match=r"table\.txt:3: Account: .* one cluster"):
        read_associations(file(tmp_path, text))
