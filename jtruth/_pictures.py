"""The one door upwards: `result.plot()` asks for pictures, which live above results and need matplotlib.

A class of results takes `plot = picture` among its methods. Which pictures it gets is said in one table of
`jtruth.plots.dashboard`; nothing is imported before somebody asks.
"""

from importlib import import_module
from pathlib import Path
from typing import Any

from jtruth._files import replacing


def picture(self: Any, ax: Any = None) -> Any:
    """This answer as a picture: a new Figure with all its panels, or the first of them on `ax`.

    Needs matplotlib (the extra `plots`). For more say in it see `jtruth.plots`.
    """
    return import_module(f"{__package__}.plots").plot_result(self, ax=ax)


def write_picture(path: Path, figure: Any) -> None:
    """Write a figure of matplotlib, in the format that the name of the file says."""
    with replacing(path, "wb") as file:
        figure.savefig(file, format=path.suffix.removeprefix(".") or "png")
