"""Sphinx configuration."""

import posixpath as _posixpath
import sys
from functools import partial as _partial
from importlib.metadata import version as _version
from pathlib import Path as _Path

from bs4 import BeautifulSoup as _BeautifulSoup
from sphinx.ext import autosummary as _autosummary

sys.path.insert(0, str(_Path(__file__).parent))

project = "airtight"
author = copyright = "the airtight developers"
release = _version("airtight-dp")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.napoleon",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "sphinx_click",
    "sphinx_reredirects",
]
_MOVED = {
    "concepts": "adjacency epsilon observers",
    "federated": "corbin-fl few-bits utility-fairness",
    "howto-design": "design",
    "howto-exchange": "results",
    "howto-extend": "add-your-paper",
    "howto-meter": "meter",
    "howto-privacy": "howto",
    "howto-sweep": "sweep",
    "howto-train": "attack report training",
    "participation": "feature-dp",
    "project": "architecture compatibility",
    "python": "families",
    "trust": "claims",
    "tutorial-privacy": "tutorial",
    "tutorial-theorem": "your-theorem",
}
redirects = {old: f"{new}.html" for new, olds in _MOVED.items() for old in olds.split()}
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "_gallery",
    "subsection_order": ["gallery/notebooks", "gallery/papers"],
    "image_scrapers": ("drawn",),
    "reset_modules": ("drawn.style",),
    "filename_pattern": "/plot_",
    "abort_on_example_error": True,
    "download_all_examples": False,
    "capture_repr": ("_repr_html_", "__repr__"),
    "show_signature": False,
    "min_reported_time": 60,
    "parallel": 2,
}
autosummary_generate = True
autodoc_typehints = "none"
autodoc_member_order = "bysource"
napoleon_google_docstring = False
myst_enable_extensions = ["dollarmath", "deflist"]
suppress_warnings = ["ref.python"]  # attributes of several classes may have one name
html_theme = "furo"
html_title = "airtight"
templates_path = ["_templates"]
exclude_patterns = ["_build", "_extra", "gallery"]
smartquotes = False  # `--all` stays two hyphens
html_math_renderer = "mathml"
html_static_path = ["_static"]
html_css_files = ["math.css", "narrow.css"]
html_search_scorer = str(_Path(__file__).parent / "_static" / "scorer.js")
html_js_files = ["narrow.js", "ledger.js"]
html_extra_path = [name for name in ("_extra",) if _Path(__file__).parent.joinpath(name).exists()]  # the live report
_autosummary.WELL_KNOWN_ABBREVIATIONS += ("Sec.", "Eq.", "Eqs.", "Fig.", "Figs.", "Lemma.", "resp.")

_parsed = _partial(_BeautifulSoup, features="html.parser")
_menu = []  # that of all pages, its links from the root and no page marked


def _short_menu(app, pagename, templatename, context, doctree):
    """Show the main pages and those right below them: to resolve all modules beside each page took a third of the build."""
    if "toctree" not in context:
        return
    folder, this = _posixpath.dirname(pagename), f"{pagename}.html"
    if not _menu:
        first = _parsed(context["toctree"](maxdepth=2, titles_only=True, includehidden=True, collapse=False))
        for tag in first.select(".current"):
            tag["class"].remove("current")
        for link in first.select("a"):
            link["href"] = this if link["href"] == "#" else _posixpath.normpath(_posixpath.join(folder, link["href"]))
        _menu.append(str(first))
    menu = _parsed(_menu[0])
    for link in menu.select("a"):
        if link["href"] == this:
            link["href"] = "#"
            for tag in (link, *link.find_parents(["li", "ul"])):
                tag["class"] = [*tag.get("class", []), "current"]
        else:
            link["href"] = _posixpath.relpath(link["href"], folder or ".")
    context["toctree"] = lambda **options: str(menu)


def setup(app):
    """Shorten the menu before the theme prints it."""
    app.connect("html-page-context", _short_menu, priority=400)
