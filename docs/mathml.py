"""Mathematics as MathML, converted when the pages are built: they need no network and no script."""

import re

from docutils import nodes
from latex2mathml.converter import convert


def inline(self, node):
    """A formula in a line."""
    self.body.append(convert(node.astext()))
    raise nodes.SkipNode


def block(self, node):
    """A formula on lines of its own; several lines are aligned."""
    text = node.astext()
    if re.search(r"\\\\", text) and r"\begin{" not in text:
        text = rf"\begin{{aligned}}{text}\end{{aligned}}"
    self.body.append(f'<div class="math">{convert(text, display="block")}</div>')
    raise nodes.SkipNode


def setup(app):
    """Offer the renderer ``mathml``."""
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True, "parallel_write_safe": True}
