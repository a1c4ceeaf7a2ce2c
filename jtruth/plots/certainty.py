"""How sure a consensus is of its samples."""

import numpy as np
from matplotlib.axes import Axes

from jtruth.evaluation import Consensus
from jtruth.plots._parts import BLUE, ORANGE, SMALL, new_axes

_BINS = 20


def plot_certainty(found: Consensus, *, ax: Axes | None = None) -> Axes:
    """How many samples have a consensus of which probability; tied samples are hatched.

    A probability is what the method believes, not how often it is right: only gold can judge that.

    Args:
        found: what `jtruth.consensus` returned.
        ax: where to draw; a new figure if None.
    """
    ax = new_axes(ax)
    edges = np.linspace(1 / found.class_posterior.shape[1], 1, _BINS + 1)
    p = np.clip(found.probability, edges[0], 1.0)  # rounding only: the largest of C shares is 1/C or more
    ax.hist(p, bins=list(edges), color=BLUE, alpha=0.45, label=f"{p.size} samples")
    if found.tied.any():
        ax.hist(p[found.tied], bins=list(edges), color="white", edgecolor=ORANGE, hatch="//",
                label=f"{np.count_nonzero(found.tied)} of them tied")  # fmt: skip
    ax.axvline(p.mean(), color="black", ls=":", label=f"mean {p.mean():.3f}")
    ax.set(xlabel=f"probability of the consensus by {found.method}", ylabel="samples")
    ax.spines[["top", "right"]].set_visible(False)
    ax.legend(loc="upper left", **SMALL)
    return ax
