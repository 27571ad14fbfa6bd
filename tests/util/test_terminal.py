"""Tables of text."""

from cpsched.util.terminal import table_text


def test_unbroken_names_stay_on_one_line():
    name = "partition.bigmem.PriorityJobFactor"
    rows = [[name, "a text of several words that does not fit"]]
    wrapped = table_text(["setting", "values"], rows, width=40, names=2)
    assert name not in wrapped
    whole = table_text(["setting", "values"], rows, width=40, names=2, unbroken=1)
    assert name in whole.splitlines()[1]
    assert "does not" in " ".join(line[len(name) :].strip() for line in whole.splitlines())
