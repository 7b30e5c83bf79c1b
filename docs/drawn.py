"""How the gallery's pictures look, and where they are found."""

from typing import Any

from sphinx_gallery import scrapers

from airtight.validate.experiments.figures.style import STYLE


def style(gallery_conf: dict[str, Any], name: str) -> None:
    """Before each program."""
    import matplotlib as mpl
    from matplotlib import pyplot

    mpl.use("agg")
    pyplot.rcdefaults()
    mpl.rcParams.update({**STYLE, "figure.figsize": (6.4, 4.0), "figure.constrained_layout.use": True})


def _scrape(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any], **options: Any) -> str:
    """What a block draws with pyplot, or the one that it calls `figure`."""
    drawn = block_vars["example_globals"].pop("figure", None)
    if drawn is None:
        return str(scrapers.matplotlib_scraper(block, block_vars, gallery_conf, **options))
    path = next(block_vars["image_path_iterator"])
    drawn.savefig(path, dpi=110)
    return str(scrapers.figure_rst([path], gallery_conf["src_dir"]))


def _get_sg_image_scraper() -> Any:
    return _scrape
