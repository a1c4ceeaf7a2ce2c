"""Agreement on sets and on numbers: distances for alpha, intraclass correlation, limits of agreement.

Distances of two sets A, B for Krippendorff's alpha, with J = |A and B| / |A or B| (1 for two empty sets):
"equal" is 0 or 1; "jaccard" is 1 - J; "masi" is 1 - J M, where M is 1 if A = B, 2/3 if one contains the
other, 1/3 if they overlap (Passonneau 2006).

Intraclass correlations of y = mean + task + rater + error, tasks and raters random (Shrout and Fleiss 1979):

    ICC(2,1) = var task / (var task + var rater + var error)    absolute agreement of single ratings
    ICC(3,1) = var task / (var task + var error)                consistency: raters' levels do not count
    ICC(2,k) = k ICC(2,1) / (1 + (k - 1) ICC(2,1))              the mean of k raters

With A tasks, B raters and N ratings, mean squares are of tasks given raters, of raters given tasks, and of
the error of the additive fit (Henderson's method 3). The first has expectation var error + var task
(N - B) / (A - 1), the second likewise. For complete tables this is McGraw and Wong (1996, table 7): intervals
by F, exact for ICC(3,1), with Satterthwaite's degrees of freedom for ICC(2,1). With gaps the mean squares of
tasks and of raters are only nearly chi-squared. Negative variances count as 0.

Limits of agreement of two raters are mean +- 1.96 sd of their differences (Bland and Altman 1999), each with
the exact interval of a normal quantile (Carkeet 2015). Coverage of all: `benchmarks/raters.py`.
"""

from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy import sparse
from scipy.special import fdtri, nctdtrit, ndtri, stdtrit

from jtruth._validation import choose
from jtruth.stats.agreement import Agreement, Coefficient, disagreement, groups_of

DISTANCES = ("masi", "jaccard", "equal")


def set_distances(kind: str, sets: Bool[np.ndarray, "sets classes"]) -> Float[np.ndarray, "sets sets"]:
    """Distance of every pair of sets.

    >>> set_distances("masi", np.array([[0, 0], [1, 0], [1, 1]], bool)).round(2).tolist()
    [[0.0, 1.0, 1.0], [1.0, 0.0, 0.67], [1.0, 0.67, 0.0]]
    """
    choose("distance", kind, DISTANCES)
    both, size = sets.astype(np.float64) @ sets.T, sets.sum(axis=1)
    either = size[:, None] + size - both
    jaccard = np.where(either > 0, both / np.maximum(either, 1), 1.0)
    contained = np.where(both == np.minimum(size[:, None], size), 2 / 3, 1 / 3)
    equal = 1.0 * (jaccard == 1)
    masi = jaccard * np.maximum(equal, contained)
    return 1 - {"masi": masi, "jaccard": jaccard, "equal": equal}[kind]


def alpha_of_numbers(task: Int[np.ndarray, " ratings"], value: Float[np.ndarray, " ratings"]) -> Coefficient:
    """Krippendorff's alpha of numbers, not all equal, of tasks 0, 1, ... with two or more each."""
    number, y = np.bincount(task), (value - value.mean()) / value.std()

    def features(task: np.ndarray, y: np.ndarray) -> np.ndarray:
        many, total, square = (np.bincount(task, of) for of in (np.ones(y.size), y, y**2))
        return np.column_stack([2 * (many * square - total**2) / (many - 1), many, total, square])

    def alpha(mean: Any, samples: float) -> Any:
        observed, many, total, square = np.moveaxis(samples * mean, -1, 0)
        return disagreement(observed, many, 2 * (many * square - total**2))

    def imagined(rng: np.random.Generator, shape: tuple[int, int]) -> np.ndarray:  # as of votes
        many = number[rng.integers(number.size, size=shape)].ravel()
        of = np.repeat(np.arange(many.size), many)
        common, other = rng.choice(y, many.size)[of], rng.choice(y, of.size)
        repeats = np.repeat(np.sqrt(rng.random(shape[0])), shape[1])[of]
        return features(of, np.where(rng.random(of.size) < repeats, common, other)).reshape(*shape, -1)

    return features(task, y), np.ones_like(number), alpha, imagined


def intraclass(
    task: Int[np.ndarray, " ratings"], rater: Int[np.ndarray, " ratings"],
    value: Float[np.ndarray, " ratings"], level: float = 0.95,
) -> tuple[dict[str, Agreement], float]:  # fmt: skip
    """ICC(2,1), ICC(2,k), ICC(3,1) of codes 0, 1, ... that all occur, and k: harmonic mean ratings of a task.

    Raises:
        ValueError: too few ratings to separate tasks, raters and errors.

    >>> y = np.array([[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]])
    >>> found, k = intraclass(*(code.ravel() for code in np.indices(y.shape)), y.ravel() * 1.0)
    >>> [(name, round(one.value, 2)) for name, one in found.items()], k  # as published
    ([('icc_2_1', 0.29), ('icc_2_k', 0.62), ('icc_3_1', 0.71)], 4.0)
    """
    each = np.bincount(task)
    size, k = (each.size, int(rater.max()) + 1), float(each.size / (1 / each).sum())
    parts = np.unique(groups_of(task, rater, size)).size
    free = size[0] - parts, size[1] - parts, value.size - sum(size) + parts
    if free[2] < 1:
        raise ValueError(
            f"{value.size} ratings of {size[0]} tasks by {size[1]} raters are too few to separate raters "
            "from errors: let the same raters rate more of the same tasks"
        )
    per_task, per_rater = (value.size - size[1]) / free[0], (value.size - size[0]) / free[1]
    of_task, of_rater, error = _sums_of_squares(task, rater, value) / free
    other = of_rater / per_rater + error * (1 - 1 / per_rater)  # var rater + var error
    ratio = max(of_task - error, 0) / other if other > 0 else 0.0
    a, b = ratio / per_rater * of_rater, (1 + ratio - ratio / per_rater) * error
    degrees = (a + b) ** 2 / (a**2 / free[1] + b**2 / free[2]) if a + b > 0 else free[2]

    def icc(noise: float, degrees: float, k: float = 1.0) -> Agreement:
        tail = (1 - level) / 2
        part = np.maximum(of_task / np.array([1.0, *fdtri(free[0], degrees, [1 - tail, tail])]) - error, 0)
        with np.errstate(invalid="ignore"):  # neither tasks nor errors: undefined
            value, low, high = (k * part / (k * part + per_task * noise)).tolist()
        return Agreement(value, np.nan, low, high, level, size[0], 0.0)

    return {"icc_2_1": icc(other, degrees), "icc_2_k": icc(other, degrees, k),
            "icc_3_1": icc(error, free[2])}, k  # fmt: skip


def _sums_of_squares(task: np.ndarray, rater: np.ndarray, value: np.ndarray) -> Float[np.ndarray, " 3"]:
    """Of tasks given raters, of raters given tasks, and of the error; values are scaled to variance 1."""
    from scipy.sparse.linalg import lsmr  # slow to import

    y, rows = (value - value.mean()) / value.std(), np.arange(value.size)
    design = sparse.hstack([sparse.csr_array((np.ones(y.size), (rows, code))) for code in (task, rater)])
    fitted = lsmr(design, y, atol=1e-12, btol=1e-12, conlim=0, maxiter=10_000)[0]
    within = [((y - (np.bincount(of, y) / np.bincount(of))[of]) ** 2).sum() for of in (rater, task)]
    error = ((y - design @ fitted) ** 2).sum()
    squares = np.array([*within, 2 * error]) - error
    return np.where(squares > 1e-12 * y.size, squares, 0.0)


def limits_of_agreement(difference: Float[np.ndarray, " tasks"], level: float = 0.95) -> dict[str, dict]:
    """Bias of two raters and its 95 % limits of agreement, each with an interval; two tasks or more.

    >>> found = limits_of_agreement(np.array([1.0, 2.0, 4.0, 5.0]))
    >>> {name: round(one["mean"], 2) for name, one in found.items()}
    {'bias': 3.0, 'lower': -0.58, 'upper': 6.58}
    """
    n, mean, sd, z = difference.size, difference.mean(), difference.std(ddof=1), ndtri(0.975)
    tails = np.array([(1 - level) / 2, (1 + level) / 2])
    ends = nctdtrit(n - 1, z * n**0.5, tails) / n**0.5
    rows = {"bias": [0.0, *stdtrit(n - 1, tails) / n**0.5], "lower": [-z, *-ends[::-1]], "upper": [z, *ends]}
    return {
        name: dict(zip(("mean", "low", "high"), (mean + sd * np.array(row)).tolist(), strict=True))
        for name, row in rows.items()
    }
