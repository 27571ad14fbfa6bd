"""The site's configuration for Sphinx: ``make docs``."""

from __future__ import annotations

import os
import sys
from importlib.metadata import version as version_of
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "_ext"))
# Notebooks are run from a clean checkout, whatever terminal the build runs in.
os.environ.pop("COLUMNS", None)

project = "cpsched"
author = "cpsched developers"
copyright = "cpsched developers"  # noqa: A001 - Sphinx's name
version = release = version_of("cpsched")

extensions = [
    "findable",
    "formulas",
    "generated",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx_copybutton",
]
exclude_patterns = ["_ext", "pictures/*.py"]
nitpick_ignore_regex = [("py:.*", ".*")]

# Markdown: links to headings by the names GitHub gives them.
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

# Pages with code cells are run by the build; one that fails stops it.
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True

# The reference: from the docstrings.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True
python_maximum_signature_line_length = 80
add_module_names = False
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_math_renderer = "mathml"
html_theme = "furo"
html_title = "cpsched"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(HERE / "_ext" / "scorer.js")
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "light_css_variables": {
        "color-brand-primary": "#0b5c8a",
        "color-brand-content": "#0b5c8a",
    },
    "dark_css_variables": {
        "color-brand-primary": "#7cc4ee",
        "color-brand-content": "#7cc4ee",
    },
}
copybutton_prompt_text = r"\$ "
copybutton_prompt_is_regexp = True
copybutton_only_copy_prompt_lines = True
suppress_warnings = ["mystnb.unknown_mime_type"]
