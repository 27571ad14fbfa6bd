"""Four jobs on four cores, and what a notebook would show of them."""

from html.parser import HTMLParser

from cpsched.model.workload import Workload
from cpsched.systems import parse as parse_system

SYSTEM = """
name = "four"
resources = ["core", "mem"]
default_time = 60

[[nodes]]
group = "all"
count = 1
core = 4
mem = "8 GB"
"""


def four_cores(name="four", cores=4):
    text = SYSTEM.replace('"four"', repr(name)).replace("core = 4", f"core = {cores}")
    return parse_system(text, where="four.toml")


def four_jobs(epoch=None, **columns):
    """Three jobs of the whole machine, an hour each; the fourth can never run."""
    return Workload.build(
        title="few jobs",
        job_id=["A", "B", "C", "D"],
        submit=[0, 60, 120, 180],
        units=[4, 4, 4, 5],
        request=[[1], [1], [1], [1]],
        resources=["core"],
        runtime=[3600, 3600, 3600, 1],
        requested_time=[3600, 3600, 3600, 1],
        epoch=epoch,
        **{"user": ["ann", "bob", "ann", "bob"]} | columns,
    )


class _Text(HTMLParser):
    def __init__(self):
        super().__init__()
        self.tags, self.texts = [], []

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)

    def handle_data(self, data):
        self.texts.append(data)


def parsed(html):
    parser = _Text()
    parser.feed(html)
    return parser
