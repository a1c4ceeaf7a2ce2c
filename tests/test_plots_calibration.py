"""Pictures of calibration: what is drawn are the numbers of the tables."""

import matplotlib.pyplot as plt
import numpy as np

from jtruth import histograms as hist
from jtruth.plots import plot_concentrations, plot_reliability, plot_second_opinion


def test_pictures_draw_the_numbers():
    rng = np.random.default_rng(0)
    q = rng.dirichlet(np.ones(2), 100)
    h = hist.from_counts(np.stack([rng.multinomial(3, row) for row in q]))
    table = hist.loss_estimates(h, q, bins=5)

    ax = plot_reliability(table.disagreement, name="x", what="disagreement")
    points = np.asarray(ax.collections[-1].get_offsets())
    bins = table.disagreement.table
    used = np.asarray(bins.count)[0] > 0
    np.testing.assert_allclose(points, np.stack([bins.predicted[0], bins.target[0]], 1)[used])
    assert ax.get_xlabel() == "predicted disagreement"
    assert "100 samples" in ax.get_legend().get_title().get_text()

    assert plot_concentrations(np.exp(rng.normal(size=50))).get_xscale() == "log"
    law = table.estimates["epistemic_loss"]
    ax = plot_second_opinion({"m": law}, {"m": law})
    assert [text.get_text() for text in ax.get_legend().get_texts()] == [
        "before one label",
        "after one label",
    ]
    plt.close("all")
