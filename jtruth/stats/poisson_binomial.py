"""The law of a sum of independent, unequal coin flips, with small relative error everywhere.

Testing multiplies these probabilities by factors that move the mass far into their tails (methods: Su 2.2.2
without the central limit theorem), so an absolute error of 1e-16 is not enough: the discrete Fourier
transform of the characteristic function is ruled out. Two ways remain, both here, both on log-odds `x`:

- `log_pmf`: convolution of positive numbers, which has no cancellation. Exponential tilting (every log-odds
  shifted by the same amount) brings any count to the centre, where nothing underflows.
- `saddlepoint_log_pmf`: Daniels' expansion to second order for counts with a large variance, O(terms) a
  count and a relative error of order 1/variance^3, uniformly in the tails.

Host side, float64: the answer is a table that other host code reads.

The sign of a sum of independent two-point variables: is it below, at, or above 0, and how probably?

    S = offset + sum_g (sum of counts[g] copies of X_g),  X_g = high[g] with probability p[g], else low[g].

A weighted vote is such a sum, and so are the log-odds of a class given the labels of independent labelers. A
sum of T different terms has 2^T values. Three ways to its sign:

- equal terms are one group, whose sum has counts + 1 values with binomial probabilities (399 equal terms are
  400 values and not 2^399);
- the groups are split into two halves; the values of one half are sorted, and each value of the other finds
  by bisection how many of them leave the sum below 0 (meet in the middle): 2^18 steps for 36 different terms;
- beyond that the differences high - low are rounded to a lattice and the sum's law is one convolution. The
  sum of all roundings has a known largest size E, so the sign is certain wherever the rounded sum is further
  than E from 0; the probability of the rest is `undecided`, a bound that no luck enters.

Terms may be infinite: +inf beats everything finite. +inf and -inf together have no sign; such an outcome must
be impossible, and what probability it has is refused.

Sums that ought to be 0 miss it by rounding (2e-16), so |S| up to `TOLERANCE` times the largest possible |S|
counts as 0. Host side, float64; probabilities are sums of positive numbers (relative error about 1e-13).
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy.special import expit

from jtruth._validation import choose

_TRIM = 1e-140  # entries this far below the largest are dropped inside a convolution
_SHORT = 100  # entries that are convolved faster than looked through
_TRUST = 1e-110  # and only entries above this are used from one tilt


def binomial_pmf(p: float, count: int, q: float | None = None) -> np.ndarray:
    """PMF of the number of heads in `count` flips of one coin, (count + 1,); q = 1 - p where p is near 1.

    Ratios of neighbours, multiplied up from the mode: relative error count * 1e-16 (log-gamma loses 1e-11).
    """
    q = 1.0 - p if q is None else q
    if count == 1:
        return np.array([q, p])
    if p <= 0 or q <= 0:
        return np.eye(count + 1)[0 if p <= 0 else -1]
    k, mode = np.arange(count), min(int((count + 1) * p), count)
    ratio = (count - k) / (k + 1) * (p / q)  # of k + 1 to k
    below = np.cumprod(1 / ratio[:mode][::-1])[::-1]
    law = np.concatenate([below, np.ones(1), np.cumprod(ratio[mode:])])
    return law / law.sum()


def _trimmed(pmf: np.ndarray, start: int) -> tuple[np.ndarray, int]:
    """Cut the negligible ends off; `start` is the count of the first entry."""
    keep = np.flatnonzero(pmf > pmf.max() * _TRIM)
    return pmf[keep[0] : keep[-1] + 1], start + int(keep[0])


def _single_flips_pmf(p: np.ndarray, q: np.ndarray) -> list[tuple[np.ndarray, int]]:
    """PMFs of blocks of up to 16 flips, all blocks advanced together."""
    blocks = -(-p.size // 16)
    heads, tails = np.zeros(blocks * 16), np.ones(blocks * 16)
    heads[: p.size], tails[: p.size] = p, q
    pmf = np.zeros((17, blocks))
    pmf[0] = 1.0
    for step, (head, tail) in enumerate(
        zip(heads.reshape(16, -1), tails.reshape(16, -1), strict=True), start=1
    ):
        pmf[1 : step + 1] = pmf[1 : step + 1] * tail + pmf[:step] * head
        pmf[0] *= tail
    return [(column, 0) for column in np.ascontiguousarray(pmf.T)]


def pmf(
    p: Float[np.ndarray, " flips"],
    counts: Int[np.ndarray, " flips"],
    q: Float[np.ndarray, " flips"] | None = None,
) -> tuple[np.ndarray, int]:
    """PMF of sum_i Binomial(counts_i, p_i) by a tree of convolutions.

    Args:
        p: probabilities of heads.
        counts: how often each coin is flipped.
        q: 1 - p, if known better than by subtraction (p near 1).

    Returns the PMF (relative error about 1e-13 an entry; entries 1e-140 below the largest left out) and the
    count that its first entry stands for.

    >>> pmf(np.array([0.5, 0.5]), np.array([1, 1]))
    (array([0.25, 0.5 , 0.25]), 0)
    """
    q = 1.0 - p if q is None else q
    once = counts == 1
    parts = _single_flips_pmf(p[once], q[once]) if once.any() else []
    several = zip(p[~once], counts[~once], q[~once], strict=True)
    parts += [_trimmed(binomial_pmf(heads, int(m), tails), 0) for heads, m, tails in several]
    if not parts:
        return np.ones(1), 0
    while len(parts) > 1:
        merged = [(np.convolve(a, b), i + j) for (a, i), (b, j) in zip(parts[::2], parts[1::2], strict=False)]
        merged = [_trimmed(*part) if part[0].size > _SHORT else part for part in merged]
        parts = merged + parts[len(merged) * 2 :]
    return _trimmed(*parts[0])


def cumulants(
    x: Float[np.ndarray, " flips"],
    counts: Float[np.ndarray, " flips"] | Int[np.ndarray, " flips"],
    tilt: float,
) -> np.ndarray:
    """K(tilt) followed by the cumulants 1..6 of the tilted sum, (7,).

    K(s) = sum_i counts_i log(1 - p_i + p_i e^s) with p_i = sigmoid(x_i); its derivatives at s are the
    cumulants of the sum of flips with log-odds x_i + s.
    """
    q = expit(x + tilt)
    v = q * (1.0 - q)
    d = 1.0 - 2.0 * q
    v1 = float(counts @ v)
    v3 = float(counts @ (v * d))
    v2 = v * v
    k = np.array(
        [
            float(counts @ (np.logaddexp(0.0, x + tilt) - np.logaddexp(0.0, x))),
            float(counts @ q),
            v1,
            v3,
            float(counts @ (v - 6.0 * v2)),
            float(counts @ (d * (v - 12.0 * v2))),
            float(counts @ (v - 30.0 * v2 + 120.0 * v2 * v)),
        ]
    )
    return k


def tilt_for_mean(
    x: np.ndarray, counts: np.ndarray, mean: float, start: float = 0.0, tolerance: float = 1e-7
) -> float:
    """Tilt at which the expected sum is within `tolerance` of `mean` (strictly between 0 and all flips)."""
    reach = 800.0 + float(np.abs(x).max(initial=0.0))
    low, high, tilt = -reach, reach, start
    for _ in range(200):
        q = expit(x + tilt)
        gap = float(counts @ q) - mean
        low, high = (tilt, high) if gap < 0 else (low, tilt)
        slope = float(counts @ (q * (1.0 - q)))
        step = gap / slope if slope > 0 else np.inf
        proposal = tilt - step
        if abs(gap) < tolerance:  # one step more, unless the mean hardly depends on the tilt here
            return proposal if abs(step) < 1.0 else tilt
        if not low < proposal < high:
            proposal = 0.5 * (low + high)
        if abs(proposal - tilt) < 1e-13 * (1.0 + abs(tilt)):
            return proposal
        tilt = proposal
    return tilt


def log_pmf(
    x: Float[np.ndarray, " flips"], counts: Int[np.ndarray, " flips"], low: int, high: int
) -> Float[np.ndarray, " window"]:
    """log P(sum = s) for s = low..high, with small relative error however improbable s is.

    Args:
        x: finite log-odds of the flips.
        counts: how often each flip occurs.
        low, high: first and last sum wanted, within 0..sum(counts).
    """
    out = np.full(high - low + 1, np.nan)
    total = int(counts.sum())
    if total == 0:
        return np.zeros(1)
    while np.isnan(out).any():
        missing = np.flatnonzero(np.isnan(out)) + low
        centre = float(np.clip(missing[missing.size // 2], 0.25, total - 0.25))
        tilt = tilt_for_mean(x, counts, centre)
        values, start = pmf(expit(x + tilt), counts, expit(-x - tilt))
        s = np.arange(start, start + values.size)
        trusted = (values > _TRUST * values.max()) & (s >= low) & (s <= high)
        shift = cumulants(x, counts, tilt)[0]
        out[s[trusted] - low] = np.log(values[trusted]) - tilt * s[trusted] + shift
    return out


def saddlepoint_log_pmf(k: np.ndarray, tilt: float) -> float:
    """log P(sum = K'(tilt)) from k = `cumulants(x, counts, tilt)`; Daniels (1954), two terms."""
    sd = np.sqrt(k[2])
    r3, r4, r5, r6 = k[3] / sd**3, k[4] / sd**4, k[5] / sd**5, k[6] / sd**6
    first = r4 / 8 - 5 * r3**2 / 24
    second = -r6 / 48 + 35 * r4**2 / 384 + 7 * r3 * r5 / 48 - 35 * r3**2 * r4 / 64 + 385 * r3**4 / 1152
    return float(k[0] - tilt * k[1] - 0.5 * np.log(2 * np.pi * k[2]) + np.log1p(first + second))


TOLERANCE = 1e-12
MOST_VALUES = 1 << 18  # of one half: 18 different terms
LATTICE = 1 << 18


class SignLaw(NamedTuple):
    """Probabilities of the sum's sign under each law; they and `undecided` sum to 1."""

    below: Float[np.ndarray, " laws"]
    zero: Float[np.ndarray, " laws"]
    above: Float[np.ndarray, " laws"]
    undecided: Float[np.ndarray, " laws"]  # 0 where the law is exact, else what the bounds leave open


class Groups(NamedTuple):
    """The terms, equal ones together; values finite."""

    low: Float[np.ndarray, " groups"]
    high: Float[np.ndarray, " groups"]
    p: Float[np.ndarray, "laws groups"]  # of `high`
    counts: Int[np.ndarray, " groups"]


def sign_law(
    low: Float[np.ndarray, " groups"],
    high: Float[np.ndarray, " groups"],
    p: Float[np.ndarray, "laws groups"],
    *,
    offset: float = 0.0,
    counts: Int[np.ndarray, " groups"] | None = None,
    method: str = "auto",
) -> SignLaw:
    """Law of the sign of a sum of independent two-point variables.

    Args:
        low, high: the two values of a term of each group; may be infinite.
        p: probability of `high`, under each of several laws.
        offset: a constant in the sum, finite.
        counts: how many equal terms each group has; 1 if None.
        method: "exact", "bounds" (the lattice), or "auto": exact while each half has at most 2^18 values.

    Raises:
        ValueError: an outcome in which +inf meets -inf and that has a positive probability, an offset that is
            not finite, or "exact" asked of more values than that.

    Example:
        >>> three = np.full((1, 1), 0.8)  # three votes that are right with probability .8
        >>> law = sign_law(np.array([-1.0]), np.array([1.0]), three, counts=np.array([3]))
        >>> law.above.round(3), law.zero, law.undecided
        (array([0.896]), array([0.]), array([0.]))
    """
    choose("method", method, ("auto", "exact", "bounds"))
    if not np.isfinite(offset):
        raise ValueError(f"offset is {offset}; a sum that starts at infinity has one sign")
    counts = np.ones(low.size, np.int64) if counts is None else np.asarray(counts)
    sure_below, sure_above, finite = _infinite(low, high, p, counts)
    shift = float(counts @ (np.where(np.isinf(low), 0.0, low) * np.isinf(high)))
    shift += float(counts @ (np.where(np.isinf(high), 0.0, high) * np.isinf(low)))
    scale = tie_scale(low, high, counts, offset)
    keep = np.isfinite(low) & np.isfinite(high)
    groups = Groups(low[keep], high[keep], p[:, keep], counts[keep])
    halves = None if method == "bounds" else _halves(groups.counts)
    if halves is None and method == "exact":
        raise ValueError(
            f"a sum of {counts.sum()} terms, {counts.size} different: too many values; use 'bounds'"
        )
    if halves is None:
        found = _on_lattice(groups, offset + shift, TOLERANCE * scale)
    else:
        found = _meet(groups, halves, offset + shift, TOLERANCE * scale)
    below, zero, above, undecided = (part * finite for part in found)
    return SignLaw(below + sure_below, zero, above + sure_above, undecided)


def tie_scale(low, high, counts, offset: float = 0.0) -> float:
    """The largest possible size of the sum (at least 1), infinite terms aside; ties are a tiny part of it."""
    sizes = np.maximum(*(np.where(np.isfinite(v), np.abs(v), 0.0) for v in (low, high)))
    return max(1.0, abs(offset) + float(np.asarray(counts) @ sizes))


def _infinite(low, high, p, counts) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(laws,) P(-inf), P(+inf), and P(no term is infinite)."""
    up, down = np.isposinf(high), np.isneginf(low)
    if np.isposinf(low).any() or np.isneginf(high).any():
        raise ValueError("low may be -inf and high +inf, not the other way round")
    not_up = np.prod(np.where(up[None, :], (1 - p) ** counts[None, :], 1.0), axis=1)
    not_down = np.prod(np.where(down[None, :], p ** counts[None, :], 1.0), axis=1)
    stay = np.where(up & down, 0.0, np.where(up[None, :], 1 - p, np.where(down[None, :], p, 1.0)))
    neither = np.prod(stay ** counts[None, :], axis=1)
    both = 1 - not_up - not_down + neither
    if (both > 1e-12).any():
        raise ValueError(
            f"terms of +inf and of -inf occur together with probability {both.max():.3g}: such a sum "
            "has no sign"
        )
    return not_up - neither, not_down - neither, neither


def _halves(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray] | None:
    """Groups of either half, balanced by numbers of values; None where a half would have too many."""
    sizes = np.log2(counts + 1.0)
    filled, side = [0.0, 0.0], np.zeros(counts.size, bool)
    for g in np.argsort(-sizes, kind="stable"):
        side[g] = filled[1] < filled[0]
        filled[int(side[g])] += float(sizes[g])
    if max(filled) > np.log2(MOST_VALUES) + 1e-9:
        return None
    return np.flatnonzero(~side), np.flatnonzero(side)


def _half(groups: Groups, members: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All values of the sum of some groups, sorted, and the probability of each under each law."""
    values, weights = np.zeros(1), np.ones((groups.p.shape[0], 1))
    for g in members:
        m = int(groups.counts[g])
        step = groups.low[g] * np.arange(m, -1, -1) + groups.high[g] * np.arange(m + 1)
        pmf = np.stack([binomial_pmf(float(p), m) for p in groups.p[:, g]])
        values = (values[:, None] + step[None, :]).ravel()
        weights = (weights[:, :, None] * pmf[:, None, :]).reshape(len(pmf), -1)
    order = np.argsort(values)
    return values[order], weights[:, order]


def _meet(groups: Groups, halves: tuple[np.ndarray, np.ndarray], offset: float, tie: float) -> SignLaw:
    """Meet in the middle: for each value of one half, the other half's values on either side of 0."""
    (first, w1), (second, w2) = (_half(groups, members) for members in halves)
    below = np.searchsorted(second, -tie - offset - first, side="left")
    not_above = np.searchsorted(second, tie - offset - first, side="right")
    up_to = np.concatenate([np.zeros((len(w2), 1)), np.cumsum(w2, axis=1)], axis=1)
    from_on = np.concatenate([np.cumsum(w2[:, ::-1], axis=1)[:, ::-1], np.zeros((len(w2), 1))], axis=1)
    less = (w1 * up_to[:, below]).sum(axis=1)
    more = (w1 * from_on[:, not_above]).sum(axis=1)
    tied = not_above > below  # few: their probability is a difference, so it is summed by itself
    zero = (w1[:, tied] * (up_to[:, not_above[tied]] - up_to[:, below[tied]])).sum(axis=1)
    return SignLaw(less, zero, more, np.zeros(len(w1)))


def _on_lattice(groups: Groups, offset: float, tie: float) -> SignLaw:
    """Bounds: the sum with its steps rounded to a lattice, and the largest sum that rounding can leave."""
    steps = groups.high - groups.low
    reach = float(groups.counts @ np.abs(steps))
    width = reach / LATTICE
    whole = np.rint(steps / width).astype(np.int64)
    error = float(groups.counts @ np.abs(steps - whole * width)) + tie
    start = offset + float(groups.counts @ np.where(whole < 0, groups.high, groups.low))
    pmf = np.eye(1, int(groups.counts @ np.abs(whole)) + 1).repeat(len(groups.p), axis=0)
    end = 1
    for g in np.repeat(np.arange(whole.size), groups.counts):
        up = groups.p[:, g] if whole[g] >= 0 else 1 - groups.p[:, g]
        far = abs(int(whole[g]))
        grown = pmf[:, : end + far] * (1 - up)[:, None]
        grown[:, far:] += pmf[:, :end] * up[:, None]
        pmf[:, : end + far] = grown
        end += far
    value = start + width * np.arange(pmf.shape[1])
    below, above = value < -error, value > error
    undecided = pmf[:, ~(below | above)].sum(axis=1)
    return SignLaw(pmf[:, below].sum(axis=1), np.zeros(len(pmf)), pmf[:, above].sum(axis=1), undecided)
