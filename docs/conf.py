"""Sphinx: `sphinx-build -W -b html docs docs/_build/html` (the extra `docs`).

Pages that follow from the source (API, commands, benchmarks, changelog, tutorials) are written by
`make_pages.py` when a build begins and are not kept. Notebooks are shown as they are stored, without outputs;
with the environment variable JTRUTH_DOCS_EXECUTE they are executed.
"""

import os
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]

import make_pages  # noqa: E402

from jtruth import __version__  # noqa: E402

project, author, copyright = "jtruth", "The jtruth authors", "the jtruth authors"
version = release = __version__
extensions = ["myst_nb"]
exclude_patterns = ["_build", "**.ipynb_checkpoints"]
suppress_warnings = ["mystnb.lexer"]  # notebooks without outputs do not say their language version
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "force" if os.environ.get("JTRUTH_DOCS_EXECUTE") else "off"
nb_execution_timeout = 900
nb_execution_raise_on_error = True
html_theme = "furo"
html_title = "jtruth"
html_static_path = ["static"]
html_css_files = ["wrap.css"]
html_show_sourcelink = False

make_pages.write()
