"""Sphinx configuration."""

from importlib.metadata import version as _version

project = "airtight"
author = "the airtight developers"
release = _version("airtight-dp")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx.ext.mathjax",
]
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
myst_enable_extensions = ["dollarmath", "deflist"]
html_theme = "furo"
html_title = "airtight"
templates_path = ["_templates"]
exclude_patterns = ["_build"]
