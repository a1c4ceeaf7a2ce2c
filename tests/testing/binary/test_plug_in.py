"""Normal laws at an operating point: ratios with heavy tails against direct integration."""

import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.stats.ratio_of_normals import Ratio, density
from jtruth.testing.binary.empirical_bayes import ShareMoments, detection_ratio
from jtruth.testing.binary.plug_in import normal_law


@pytest.mark.parametrize("share", [2.0, 3.0, 4.0, 4.4, 6.0, 11.9, 12.1, 30.0])
@pytest.mark.parametrize("detection", [0.05, 0.5, 0.97])
def test_recall_with_heavy_tails(share, detection):
    """`share` is mean/sd of the number of positives: below 4.4 the tails reach 14 sd of the delta method.

    The density was cut there: the mean was off by up to 3.8e-3.
    """
    mean_u, mean_v = 0.4 * detection, 0.4 * (1 - detection)  # true positives, false negatives
    variance = (0.4 / share) ** 2
    m = ShareMoments(0.45, mean_u, mean_v, 0.3 * variance, 0.7 * variance)
    law, ratio = normal_law(m, "recall"), Ratio(*(np.float64(v) for v in detection_ratio(m)))
    edges = np.linspace(0, 1, 1001)
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = 0.5 * np.diff(edges)[:, None]
    q = 0.5 * (edges[1:] + edges[:-1])[:, None] + half * nodes
    p = np.asarray(density(ratio, jnp.asarray(q.ravel()))).reshape(q.shape) * half * weights

    def moment(power):
        return (q**power * p).sum()

    mass = moment(0)
    assert law.grid_mass == pytest.approx(mass, abs=1e-8)
    assert law.mean == pytest.approx(moment(1) / mass, abs=1e-8)
    assert law.sd**2 == pytest.approx(moment(2) / mass - (moment(1) / mass) ** 2, abs=1e-8)
