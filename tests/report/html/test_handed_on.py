"""A report and its tables tell nothing of where they were made."""

import pytest
from notebooks import SYSTEM, four_jobs

from cpsched.cli.main import main
from cpsched.logs import write as write_log

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("command", [
    ("compare", "-d", "easy", "-d", "fifo"),
    ("what-if", "-c", "scale-load 2", "-c", "outage nodes=all,start=-9,end=-8; drop user=ann"),
])  # fmt: skip
def test_no_report_names_the_folder_it_is_in(command, tmp_path):
    pytest.importorskip("bokeh")
    write_log(four_jobs(), tmp_path / "log.csv")
    (tmp_path / "four.toml").write_text(SYSTEM)
    name, *more = command
    with pytest.raises(SystemExit) as ended:
        main([name, str(tmp_path / "log.csv"), "--system", str(tmp_path / "four.toml"), *more,
              "--out", str(tmp_path / "out")])  # fmt: skip
    assert not ended.value.code
    out = tmp_path / "out"
    page = (out / "report.html").read_text()
    assert f"{tmp_path.name}/log.csv" in page
    for path in (out / "report.html", *out.glob("tables/*"), *out.glob("figures/*")):
        assert str(tmp_path) not in path.read_text(), path
        assert str(tmp_path.parent) not in path.read_text(), path
