"""Class shares from labels whose error rates were measured on other items.

Calibration items have labels and a known class; new items have labels only, and other shares of the classes.
Both have the same p(labels | class). Each item is reduced to a verdict h (classes,), of sum one: with one
judge the label; with several the class probabilities by their error rates and equal class shares, an item's
own class left out of the rates that judge it (`verdicts`). With

    M[c, s] = E[h_s | class c],    p[s] = E[h_s] of new items,    p = theta M,

theta are the shares of new items: with one judge Rogan and Gladen's correction. M is measured directly on
calibration items, so judges may share errors; only M must be the same on new items.

Rows of M are drawn from Dirichlet(counts + 1 / classes) of the calibration alone, theta from its posterior
given each draw and p, with prior Dirichlet(1 / classes); no value is clipped. New items do not update M (a
cut posterior): weighting draws of M by how well they explain p makes intervals wider or, with a prior by
|det M|, loses shares near 0 and 1 where a judge is poor (`benchmarks/calibration_elsewhere.py`). Given M and
theta the class of each item is drawn, which gives counts of these samples (`corrected`).

Sources: Rogan and Gladen (1978); Lang and Reiczigel (2014); Lee et al., arXiv:2511.21140.
"""

import numpy as np
from jaxtyping import Float, Int
from scipy.special import betaincinv, softmax, xlogy

from jtruth._host import across

DRAWS = 4000
NODES = 4_000_000  # numbers in one array
_SHRUNK = 2.0  # labels of all judges towards which the error rates of one are shrunk
_MOST_SETS = 32  # sets of judges who labelled an item, the most frequent
_NARROWEST = 5.0  # largest weight of a soft verdict in hard ones
_PATTERNS, _FEWEST, _STEPS, _RESAMPLED = 16, 20, 300, 1000  # of `mismatch`


def verdicts(
    z: Int[np.ndarray, "samples judges"], calibration: Int[np.ndarray, "items judges"],
    truth: Int[np.ndarray, " items"], classes: int,
) -> tuple[Float[np.ndarray, "samples classes"], Float[np.ndarray, "items classes"]]:  # fmt: skip
    """Verdicts on new and on calibration items; -1 is no label, and every item has one.

    A calibration item is judged by the same sets of judges as the new items, each set as often as it occurs.
    """
    if z.shape[1] == 1:
        return np.eye(classes)[z[:, 0]], np.eye(classes)[calibration[:, 0]]
    item, judge = np.nonzero(calibration >= 0)
    label, own = calibration[item, judge], truth[item]
    counts = np.zeros((z.shape[1], classes, classes))
    np.add.at(counts, (judge, own, label), 1)
    pooled = counts.sum(axis=0) + 1 / classes
    pooled *= _SHRUNK / pooled.sum(axis=1, keepdims=True)
    above, below = counts + pooled, counts.sum(axis=2) + _SHRUNK
    rates, seen = np.log(above / below[:, :, None]), np.zeros((*calibration.shape, classes))
    seen[item, judge] = rates[judge, :, label]
    seen[item, judge, own] = np.log((above[judge, own, label] - 1) / (below[judge, own] - 1))
    score = sum(np.where(z[:, [t]] >= 0, rates[t].T[z[:, t]], 0.0) for t in range(z.shape[1]))
    sets, times = np.unique(z >= 0, axis=0, return_counts=True)
    judged, weight = np.zeros((len(truth), classes)), np.zeros(len(truth))
    for k in np.argsort(-times)[:_MOST_SETS]:
        there = (calibration[:, sets[k]] >= 0).all(axis=1)
        judged[there] += times[k] * softmax(seen[there][:, sets[k]].sum(axis=1), axis=1)
        weight[there] += times[k]
    alone = weight == 0
    judged[alone], weight[alone] = softmax(seen[alone].sum(axis=1), axis=1), 1.0
    return softmax(score, axis=1), judged / weight[:, None]


def verdicts_by_one_rule(
    z: Int[np.ndarray, "samples judges"], calibration: Int[np.ndarray, "items judges"],
    truth: Int[np.ndarray, " items"], classes: int,
) -> tuple[Float[np.ndarray, "samples classes"], Float[np.ndarray, "items classes"]]:  # fmt: skip
    """`verdicts` without leaving out an item's own class: equal labels are equal verdicts in both sets.

    This is the better rule for areas of scores of classes (hard verdicts), if a little optimistic: with the
    own class left out, disagreeing judges seem to contradict it. A calibration item keeps only the labels of
    judges who label some new item, assigned in turn.
    """
    kept = calibration >= 0
    common = kept & (z[np.arange(len(truth)) % len(z)] >= 0)
    items = np.where(np.where(common.any(axis=1, keepdims=True), common, kept), calibration, -1)
    h, _ = verdicts(np.vstack([z, items]), calibration, truth, classes)
    return h[: len(z)], h[len(z) :]


def _effective(h: Float[np.ndarray, "items classes"]) -> Float[np.ndarray, " classes"]:
    """Counts of hard verdicts whose mean has the same precision."""
    some = np.vstack([h, np.eye(h.shape[1])])
    mean, spread = some.mean(axis=0), some.var(axis=0).sum()
    return min((mean * (1 - mean)).sum() / spread, _NARROWEST) * h.sum(axis=0)


def _dirichlet(rng: np.random.Generator, a: np.ndarray, number: int) -> np.ndarray:
    gamma = rng.standard_gamma(np.broadcast_to(a, (number, *a.shape)))
    return gamma / gamma.sum(axis=-1, keepdims=True)


def corrected(
    h: Float[np.ndarray, "samples classes"], group: Int[np.ndarray, " samples"], groups: int,
    calibration: Float[np.ndarray, "items classes"], truth: Int[np.ndarray, " items"],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:  # fmt: skip
    """Posterior draws of the classes of new items, by verdicts, in groups that share the error rates only.

    Returns:
        Counts (draws, classes, verdicts, groups + 1) of these items, M (draws, classes, verdicts), and theta
        (draws, groups + 1, classes); the last group is all of them.
    """
    classes, here = h.shape[1], np.unique(group)
    errors = np.stack([_effective(calibration[truth == c]) for c in range(classes)])
    parts = {**{u: group == u for u in here if groups > 1}, groups: np.full(group.size, True)}
    rates = _dirichlet(rng, errors + 1 / classes, DRAWS)
    shares = np.full((DRAWS, groups + 1, classes), 1 / classes)
    counts = np.zeros((DRAWS, classes, classes, groups + 1), np.int64)
    for u, part in parts.items():
        shares[:, u] = _shares_given(rates, _effective(h[part]), rng)
        joint = shares[:, u, :, None] * rates
        dist = np.swapaxes(joint / joint.sum(axis=1, keepdims=True), 1, 2)  # (draws, verdicts, classes)
        mean = h[part].sum(axis=0)
        times = np.floor(mean + 1e-9).astype(np.int64)  # whole numbers with the same sum
        times[np.argsort(times - mean)[: int(part.sum()) - int(times.sum())]] += 1
        for s in range(classes):
            counts[:, :, s, u] = rng.multinomial(times[s], dist[:, s])
    if groups == 1:
        shares[:, 0], counts[..., 0] = shares[:, 1], counts[..., 1]
    return counts, rates, shares


def of_one_judge(
    own: Int[np.ndarray, " samples"], verdict: Int[np.ndarray, " samples"],
    calibration: tuple[Int[np.ndarray, " items"], Int[np.ndarray, " items"]],
    truth: Int[np.ndarray, " items"], classes: int, rng: np.random.Generator,
    group: Int[np.ndarray, " samples"] | int = 0, groups: int = 1,
) -> np.ndarray:  # fmt: skip
    """Draws (draws, classes, groups and labels) of one judge's table on new items; shares by all judges.

    Error rates are p(own label, verdict of all | class), so judges may share errors; `calibration` has both
    of each item.
    """
    cells, shape = classes * classes, (DRAWS, classes, classes, classes)
    counts = np.zeros((classes, cells))
    np.add.at(counts, (truth, calibration[0] * classes + calibration[1]), 1)
    q = _dirichlet(rng, counts + 1 / cells, DRAWS) + 1e-12
    rates, tables = q.reshape(shape).sum(axis=2), []
    times = np.bincount((group * classes + own) * classes + verdict, minlength=groups * cells)
    for seen in times.reshape(groups, classes, classes):
        theta = _shares_given(rates, seen.sum(axis=0), rng)
        joint = theta[:, :, None] * q
        dist = np.swapaxes(joint / joint.sum(axis=1, keepdims=True), 1, 2)
        drawn = np.stack([rng.multinomial(n, dist[:, s]) for s, n in enumerate(seen.ravel())], axis=2)
        tables.append(drawn.reshape(shape).sum(axis=3))
    return np.concatenate(tables, axis=2)


def _shares_given(
    rates: Float[np.ndarray, "draws classes verdicts"], seen: np.ndarray, rng: np.random.Generator
) -> Float[np.ndarray, "draws classes"]:
    """theta for each M; the nearest possible one where M cannot explain p."""
    number, classes = rates.shape[:2]
    nodes = int(np.clip(NODES / (number * classes), 32, 400))
    if classes > 2:
        p = _dirichlet(rng, seen + 1, number * nodes).reshape(number, nodes, classes)
    else:  # quantiles: no noise in the weights
        first = betaincinv(seen[0] + 1, seen[1] + 1, (np.arange(nodes) + 0.5) / nodes)
        p = np.stack([first, 1 - first], axis=1)[None]
    theta = p @ np.linalg.inv(rates + 1e-12 * np.eye(classes))
    least = 0.25 / (seen.sum() + 1)  # shares below one item have equal weight
    density = across(np.multiply, np.maximum(theta, least)) ** (1 / classes - 1)
    lowest = across(np.minimum, theta)
    weight = np.where(lowest > 0, density, 0.0).cumsum(axis=1)
    pick = (weight > (rng.random(number) * weight[:, -1])[:, None]).argmax(axis=1)
    pick = np.where(weight[:, -1] > 0, pick, lowest.argmax(axis=1))
    shares = np.maximum(theta[np.arange(number), pick], 1e-12)
    return shares / shares.sum(axis=1, keepdims=True)


def mismatch(
    z: Int[np.ndarray, "samples judges"], calibration: Int[np.ndarray, "items judges"],
    truth: Int[np.ndarray, " items"], classes: int, rng: np.random.Generator,
) -> tuple[float, tuple[int, ...], int, float] | None:  # fmt: skip
    """Test whether new items can be a mixture of the calibration's classes, by joint patterns of labels.

    The likelihood ratio of free pattern shares against a common p(pattern | class), by parametric bootstrap,
    over items that every judge labelled; rare patterns are pooled.

    Returns:
        The p-value, the pattern that new items have too often (a label for each judge; () of rare ones), its
        observed and its expected number. None where fewer than 20 items of either set have all labels.
    """
    new, kept = (z >= 0).all(axis=1), (calibration >= 0).all(axis=1)
    if min(new.sum(), kept.sum()) < _FEWEST or not np.isin(np.arange(classes), truth[kept]).all():
        return None
    every, code = np.unique(np.vstack([z[new], calibration[kept]]), axis=0, return_inverse=True)
    order = np.argsort(-np.bincount(code.ravel()), kind="stable")
    code, size = np.minimum(np.argsort(order)[code.ravel()], _PATTERNS - 1), min(len(every), _PATTERNS)
    m = np.bincount(code[: new.sum()], minlength=size)[None].astype(np.float64)
    n = np.zeros((1, classes, size))
    np.add.at(n[0], (truth[kept], code[new.sum() :]), 1)
    ratio, q, share = _likelihood_ratio(m, n)
    q, mixed = q[0] / q[0].sum(axis=1, keepdims=True), share[0] @ q[0]
    again = [rng.multinomial(int(n[0, c].sum()), q[c], _RESAMPLED) for c in range(classes)]
    other = rng.multinomial(int(m.sum()), mixed / mixed.sum(), _RESAMPLED)
    others, *_ = _likelihood_ratio(other.astype(np.float64), np.stack(again, axis=1).astype(np.float64))
    expected = m[0].sum() * mixed
    worst = int(np.argmax((m[0] - expected) / np.sqrt(expected + 1e-9)))
    rare = worst == _PATTERNS - 1 and len(every) > _PATTERNS
    p_value = (1 + (others >= ratio[0] - 1e-6).sum()) / (_RESAMPLED + 1)
    pattern = () if rare else tuple(every[order[worst]].tolist())
    return float(p_value), pattern, int(m[0, worst]), float(expected[worst])


def _likelihood_ratio(
    m: Float[np.ndarray, "sets patterns"], n: Float[np.ndarray, "sets classes patterns"]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Twice the log likelihood ratio for each set of counts, and rates and shares by EM."""
    q, share = n + 0.5, np.full(n.shape[:2], 1 / n.shape[1])
    q /= q.sum(axis=2, keepdims=True)
    for _ in range(_STEPS):
        part = share[:, :, None] * q
        part *= (m / np.maximum(part.sum(axis=1), 1e-300))[:, None]
        share, q = part.sum(axis=2) / m.sum(axis=1, keepdims=True), n + part
        q /= q.sum(axis=2, keepdims=True)
    free = m / m.sum(axis=1, keepdims=True), n / n.sum(axis=2, keepdims=True)
    fitted = np.maximum(np.einsum("bc,bck->bk", share, q), 1e-300), np.maximum(q, 1e-300)
    gap = xlogy(m, free[0] / fitted[0]).sum(axis=1) + xlogy(n, free[1] / fitted[1]).sum(axis=(1, 2))
    return 2 * gap, q, share
