"""The picture of README.md: what the first answer says. Run: python docs/make_pictures.py"""

from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt

import jtruth as jt

FOLDER = Path(__file__).parent


def main() -> None:
    """Write docs/caries.svg; the same file every time."""
    mpl.use("agg")
    mpl.rcParams["svg.hashsalt"] = "jtruth"
    mpl.rcParams["svg.fonttype"] = "none"
    caries = jt.read_labels(FOLDER.parent / "examples" / "caries.csv").split_rater("5")
    answer = jt.evaluate(caries.y_pred, caries.labels)
    with plt.style.context("default"):
        ax = jt.plots.plot_metrics(answer)
        ax.figure.patch.set_facecolor("white")
        ax.figure.savefig(FOLDER / "caries.svg", bbox_inches="tight", metadata={"Date": None})


if __name__ == "__main__":
    main()
