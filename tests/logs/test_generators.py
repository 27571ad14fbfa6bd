"""What a command line needs to know of a generator."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from cpsched.logs.generators import Generator, describe, option
from cpsched.util import registry


@dataclass(frozen=True)
class Options:
    jobs: int = option(10, "number of jobs")
    load: float | None = option(None, "load, or none")


def test_describe_gives_types_defaults_and_sentences():
    jobs, load = describe(Options)
    assert (jobs.name, jobs.kind, jobs.default, jobs.doc) == ("jobs", int, 10, "number of jobs")
    assert (load.name, load.default) == ("load", None)
    assert load.kind == float | None


@pytest.mark.parametrize("name", registry.names("generators"))
def test_registered_generators_keep_the_contract(name):
    """Each has its own name, a summary, and options that are documented and can be left out."""
    generator = registry.load("generators", name)
    assert isinstance(generator, Generator)
    assert generator.name == name
    assert generator.summary
    assert all(item.doc for item in describe(generator.options))
    generator.options()
