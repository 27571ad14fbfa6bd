"""Words, units, tables as text, files written whole, registered names and specifications.

Nothing here loads NumPy: a command imports it before it runs.
"""

from __future__ import annotations

from cpsched.base import node_lists, registry
from cpsched.base.atomic_files import check_new_file, open_lock, replacing, subfolder, write_all
from cpsched.base.csv_cells import guarded
from cpsched.base.documents import json_text, read_json, read_text
from cpsched.base.model_files import with_models
from cpsched.base.node_lists import listed, named_nodes
from cpsched.base.resources import path as shipped
from cpsched.base.spec import File, Spec, build, canonical
from cpsched.base.tables import Column, Number, Table
from cpsched.base.versions import versions
from cpsched.base.words import (
    amount,
    brief,
    clock,
    counted,
    duration,
    escaped,
    estimate,
    percent,
    quoted,
    seconds,
    visible,
)
from cpsched.base.words import ratio as times
