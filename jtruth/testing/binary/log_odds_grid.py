"""A million log-odds as weights on a grid: one pass over the samples, then nothing depends on their number.

Given labels and predictions a binary data set enters every method of this room through sums over its samples,
sum_i h(x_i + shift), in which h is a sigmoid, its logarithm or a product of such: smooth on the scale of 1.
So a sample at x may be replaced by the four nearest nodes of a grid of step 1/128, with the weights of cubic
(Lagrange) interpolation: those that leave the sums of 1, x, x^2 and x^3 as they are. The weights are cubics
in the place t of x between its nodes, so four `bincount`s of 1, t, t^2 and t^3 are the whole pass.

Error of a sum: for each sample at most 3/128 step^4 = 8.8e-11 times the largest fourth derivative of h. The
mean of a count has h = sigmoid with .13: less than 1.2e-11 N in all, while its standard deviation grows with
sqrt(N). At N = 10^7 that is 1e-7 sd. The log evidence is off by less than 1.2e-11 N. Weights are real numbers
and a few may be negative, so a grid stands for sums only, never for single flips: `exact.count_table` needs
the samples themselves. Host side, float64.
"""

import numpy as np
from jaxtyping import Float, Num

from jtruth.testing.binary.operating_point import LogOdds

FROM_VALUES = 20_000  # distinct log-odds of a side, below which a grid spares nothing
STEP = 1.0 / 128
_FARTHEST = 512.0  # log-odds beyond keep to themselves
_BLOCK = 1 << 15  # samples whose arrays stay in the cache


def on_grid(data: LogOdds) -> LogOdds:
    """The same data with the log-odds of each large side on the grid; its counts are then real numbers."""
    one, zero = grid_weights(data.x1, data.counts1), grid_weights(data.x0, data.counts0)
    return data._replace(x1=one[0], counts1=one[1], x0=zero[0], counts0=zero[1])


def grid_weights(
    x: Float[np.ndarray, " values"], counts: Num[np.ndarray, " values"]
) -> tuple[Float[np.ndarray, " nodes"], Num[np.ndarray, " nodes"]]:
    """Nodes and their weights; `x` and `counts` as they are where there are fewer than 20 000 values.

    Args:
        x: finite log-odds.
        counts: how often each occurs.

    >>> x = np.linspace(-3, 3, 30_000)
    >>> nodes, weights = grid_weights(x, np.ones(x.size))
    >>> nodes.size, round(float(weights @ nodes**2 / (x @ x)), 12)
    (771, 1.0)
    """
    if x.size < FROM_VALUES:
        return x, counts
    far = np.abs(x) > _FARTHEST if max(x.max(), -x.min()) > _FARTHEST else None
    near, times = (x, counts) if far is None else (x[~far], counts[~far])
    if not near.size:
        return x, counts
    first = int(np.floor(near.min() / STEP))
    cells = int(np.floor(near.max() / STEP)) - first + 1
    sums = _powers(near, times, first, cells)
    weights = np.zeros(cells + 3)  # nodes first - 1, ..., first + cells + 1
    for node, row in enumerate(_LAGRANGE @ sums):
        weights[node : node + cells] += row
    used = np.flatnonzero(weights)
    nodes, weights = (used + (first - 1)) * STEP, weights[used]
    if far is None:
        return nodes, weights
    return np.concatenate([nodes, x[far]]), np.concatenate([weights, counts[far]])


def merged_samples(data: LogOdds) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(log-odds, predictions, weights) for the steps of `empirical_bayes`, which take weights.

    Certain samples are infinite log-odds. Sizes are powers of two, so that other data of about as many nodes
    find a compiled program; what fills them up has weight 0.
    """
    x = np.concatenate([data.x1, [np.inf, -np.inf], data.x0, [np.inf, -np.inf]])
    weight = np.concatenate(
        [data.counts1, [data.sure1, data.never1], data.counts0, [data.sure0, data.never0]]
    ).astype(np.float64)
    y_pred = np.repeat(np.array([1, 0], np.int32), [data.x1.size + 2, data.x0.size + 2])
    more = (1 << (x.size - 1).bit_length()) - x.size
    return np.pad(x, (0, more)), np.pad(y_pred, (0, more)), np.pad(weight, (0, more))


# Weight of the nodes -1, 0, 1, 2 as polynomials in t (columns 1, t, t^2, t^3), t being the place from 0 to 1.
_LAGRANGE = np.array([[0, -2, 3, -1], [6, -3, -6, 3], [0, 6, 3, -3], [0, -1, 0, 1]]) / 6.0


def _powers(x: np.ndarray, counts: np.ndarray, first: int, cells: int) -> Float[np.ndarray, "4 cells"]:
    """Sums of counts times t^0..t^3 in every cell."""
    sums, once = np.zeros((4, cells)), bool((counts == 1).all())
    block = max(_BLOCK, 2 * cells)
    for k in range(0, x.size, block):
        place = x[k : k + block] * (1 / STEP)
        cell = np.floor(place)
        t = place - cell
        where = (cell - first).astype(np.intp)
        weight = None if once else counts[k : k + block].astype(np.float64)
        sums[0] += np.bincount(where, weight, cells)
        for power in (1, 2, 3):
            weight = t if weight is None else weight * t
            sums[power] += np.bincount(where, weight, cells)
    return sums
