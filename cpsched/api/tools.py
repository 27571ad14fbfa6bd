"""Words, units, tables as text, files written whole, registered names and specifications."""

from __future__ import annotations

from cpsched.base import arrow, node_lists, registry
from cpsched.base.archive import flattened, read_arrays, unflattened
from cpsched.base.atomic_files import check_new_file, replacing, write_all
from cpsched.base.documents import read_json, read_text, read_toml
from cpsched.base.model_files import with_models
from cpsched.base.node_lists import fold_units, listed
from cpsched.base.quantities import amount as parse_amount
from cpsched.base.quantities import duration as parse_duration
from cpsched.base.quantities import instant, minutes, seconds_within, whole
from cpsched.base.section import Section
from cpsched.base.spec import File, Spec, build, may_be_none, options_of
from cpsched.base.tables import Column, Number, Table
from cpsched.base.versions import versions
from cpsched.base.words import amount, brief, cell, counted, duration, escaped, estimate, seconds
