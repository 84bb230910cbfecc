"""Settings of Sphinx for `make docs`, which builds a copy of this folder; see scripts/docs.py."""

from __future__ import annotations

from sonde import __version__

project = "sonde"
author = "the sonde developers"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc"]
# As GitHub makes them, because the same pages are read there.
myst_heading_anchors = 4

# Options begin with two hyphens, also outside of code.
smartquotes = False

# A block without a language is a terminal's.
highlight_language = "none"
# In docstrings, `text` is code.
default_role = "code"
autodoc_member_order = "bysource"
add_module_names = False
maximum_signature_line_length = 88
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "sonde"
html_copy_source = False
html_show_sphinx = False
html_static_path = ["_static"]
html_css_files = ["sonde.css"]
