"""The parts of pages that are made from the code hold every key, each with its meaning."""

import re
from pathlib import Path

import pytest
from site_parts import extension

from cpsched import systems
from cpsched.slurm.dispatch.parameters import PARAMETERS
from cpsched.slurm.dispatch.policy import TABLES

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROW = re.compile(r"^\| `([^`]+)`.*\| ([^|]*) \|$", re.MULTILINE)


def rows(part):
    """Return the name and meaning in each row of the tables of a part."""
    return ROW.findall(part.replace(r"\|", "/"))


@pytest.fixture(scope="module")
def key_tables():
    return extension("key_tables")


@pytest.mark.parametrize("name", ["system", "study"])
def test_every_key_of_a_file_has_a_type_and_a_meaning(key_tables, name):
    owner = key_tables.MODELS[name]
    tables = [("", owner), *key_tables.tables_of(owner)]
    assert len(tables) > 3
    for heading, table in tables:
        meanings = key_tables.keys_of(table)
        assert [key for key, meaning in meanings.items() if not meaning] == [], heading
    part = key_tables.model(name, 2)
    assert all(f"## `{heading}`" in part for heading, _ in tables[1:])
    assert all(name and meaning for name, meaning in rows(part))


def test_aliases_are_the_names_of_keys(key_tables):
    part = key_tables.model("study", 2)
    assert "| `from` | seconds or date |" in part
    assert "`start`" not in part
    assert '| `predictors` | list, or table of labels | `["requested"]` |' in part


def test_every_parameter_of_slurm_is_there_with_its_default(key_tables):
    part = key_tables.slurm_parameters("", 2)
    named = rows(part)
    assert [name for name, _ in named] == list(PARAMETERS)
    assert all(meaning for _, meaning in named)
    assert "| `bf_interval` | 30 |" in part
    assert "(read, without effect)" in dict(named)["OverTimeLimit"]


def test_every_key_of_a_policy_file_has_a_meaning(key_tables):
    part = key_tables.model("slurm-policy", 3)
    for table in TABLES:
        assert f"### `[[{table.name}]]`" in part
        named = {}
        for keys, _, meaning in key_tables.policy_rows(table):
            named |= dict.fromkeys(re.findall(r"`(\w+)`", keys), meaning)
        assert list(named.keys() - {key.name for key in table.keys}) == []
        assert [key.name for key in table.keys if not named.get(key.name)] == []


def test_every_value_of_a_setting_has_a_meaning(key_tables):
    for name, values in key_tables.CHOICES.items():
        assert [value for value, _ in rows(key_tables.choices(name, 2))] == list(values)


def test_every_column_of_a_log_has_a_meaning(key_tables):
    assert [name for name, _, meaning in key_tables.column_rows() if not meaning] == []


def test_every_system_is_listed():
    named = [name for name, _ in rows(extension("generated").shipped_systems("", 2))]
    assert named == systems.names()


def test_all_markers_of_pages_are_known():
    """A page is made without an error, and no marker is left."""
    generated = extension("generated")
    pages = {page: page.read_text("utf-8") for page in DOCS.rglob("*.md")}
    marked = {page: text for page, text in pages.items() if "<!-- generated:" in text}
    assert len(marked) >= 6
    for page, text in marked.items():
        assert page.relative_to(DOCS).as_posix().startswith(generated.FOLDERS), page
        assert "<!-- generated:" not in generated.filled(text), page
