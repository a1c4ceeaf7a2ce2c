"""The one door upwards: `result.plot()` asks for pictures, which live above results and need matplotlib.

A class of results takes `plot = picture` among its methods. Which pictures it gets is said in one table of
`jtruth.plots.dashboard`; nothing is imported before somebody asks. With `_repr_html_ = as_printed` a notebook
shows the text that `print` shows, instead of every field.
"""

from html import escape
from importlib import import_module
from typing import Any


def picture(self: Any, ax: Any = None) -> Any:
    """This answer as a picture: a new Figure with all its panels, or the first of them on `ax`.

    Needs matplotlib (the extra `plots`). For more say in it see `jtruth.plots`.
    """
    return import_module(f"{__package__}.plots").plot_result(self, ax=ax)


def as_printed(self: Any) -> str:
    """The printed text for notebooks; whatever users wrote stays text."""
    return f"<pre>{escape(str(self))}</pre>"
