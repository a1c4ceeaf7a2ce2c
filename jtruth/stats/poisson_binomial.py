"""Distribution of a sum of independent, unequal coin flips, with small relative error everywhere.

Testing multiplies these probabilities by factors that move the mass far into their tails, where the absolute
error of a Fourier transform, 1e-16, is too large. On log-odds `x`:

- `log_pmf`: convolution of positive numbers, without cancellation. Exponential tilting (all log-odds shifted
  by the same amount) brings any count to the centre, where nothing underflows.
- `saddlepoint_log_pmf`: Daniels' expansion to second order for counts with a large variance, O(terms) a
  count and a relative error of order 1/variance^3, uniformly in the tails.
"""

import numpy as np
from jaxtyping import Float, Int, Num
from scipy.special import expit

_TRIM = 1e-140  # entries this far below the largest are dropped inside a convolution
_SHORT = 100  # entries, up to which trimming does not pay
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
    dist = np.concatenate([below, np.ones(1), np.cumprod(ratio[mode:])])
    return dist / dist.sum()


def _trimmed(pmf: np.ndarray, start: int) -> tuple[np.ndarray, int]:
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
    p: Float[np.ndarray, " n"], counts: Int[np.ndarray, " n"], q: Float[np.ndarray, " n"] | None = None
) -> tuple[np.ndarray, int]:
    """PMF of sum_i Binomial(counts_i, p_i) by a tree of convolutions, and the count of its first entry.

    Relative error about 1e-13 an entry; entries 1e-140 below the largest are left out. Pass q = 1 - p where
    the subtraction would lose digits.

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


def cumulants(x: Float[np.ndarray, " flips"], counts: Num[np.ndarray, " flips"], tilt: float) -> np.ndarray:
    """K(tilt) followed by the cumulants 1..6 of the tilted sum, (7,).

    K(s) = sum_i counts_i log(1 - p_i + p_i e^s) with p_i = sigmoid(x_i); its derivatives at s are the
    cumulants of the sum of flips with log-odds x_i + s.
    """
    q = expit(x + tilt)
    v, d = q * (1.0 - q), 1.0 - 2.0 * q
    v2 = v * v
    terms = (
        np.logaddexp(0.0, x + tilt) - np.logaddexp(0.0, x),
        q, v, v * d, v - 6.0 * v2, d * (v - 12.0 * v2), v - 30.0 * v2 + 120.0 * v2 * v,
    )  # fmt: skip
    return np.array([float(counts @ term) for term in terms])


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

    `x` are finite log-odds of the flips, `counts` their multiplicities.
    """
    logs = np.full(high - low + 1, np.nan)
    total = int(counts.sum())
    if total == 0:
        return np.zeros(1)
    while np.isnan(logs).any():
        missing = np.flatnonzero(np.isnan(logs)) + low
        centre = float(np.clip(missing[missing.size // 2], 0.25, total - 0.25))
        tilt = tilt_for_mean(x, counts, centre)
        values, start = pmf(expit(x + tilt), counts, expit(-x - tilt))
        s = np.arange(start, start + values.size)
        trusted = (values > _TRUST * values.max()) & (s >= low) & (s <= high)
        shift = cumulants(x, counts, tilt)[0]
        logs[s[trusted] - low] = np.log(values[trusted]) - tilt * s[trusted] + shift
    return logs


def saddlepoint_log_pmf(k: np.ndarray, tilt: float) -> float:
    """log P(sum = K'(tilt)) from k = `cumulants(x, counts, tilt)`; Daniels (1954), two terms."""
    sd = np.sqrt(k[2])
    r3, r4, r5, r6 = k[3] / sd**3, k[4] / sd**4, k[5] / sd**5, k[6] / sd**6
    first = r4 / 8 - 5 * r3**2 / 24
    second = -r6 / 48 + 35 * r4**2 / 384 + 7 * r3 * r5 / 48 - 35 * r3**2 * r4 / 64 + 385 * r3**4 / 1152
    return float(k[0] - tilt * k[1] - 0.5 * np.log(2 * np.pi * k[2]) + np.log1p(first + second))
