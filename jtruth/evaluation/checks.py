"""Does the model of independent errors fit the labels? Checks of a learned answer.

Two statistics of labelers and classifier together, each with a p-value that holds approximately whatever the
number of labels:

- `pattern_check`: the likelihood-ratio statistic G2 of the observed against the expected numbers of every
  pattern of labels, where every sample has a label of every rater and the patterns are few.
- `pair_check`: for each two raters, how often they agree on shared samples against how often the model says,
  elsewhere. It has little power: much dependence hides in the learned error rates.

A check that fits proves nothing: raters who make the same mistakes look like better raters.
"""

from typing import Any

import numpy as np
from scipy.stats import chi2, norm

from jtruth.evaluation.result import Check
from jtruth.labels import Labels

_MAX_PATTERNS = 4096
_LEAST_EXPECTED = 5.0  # patterns expected less often than this are counted together
_ALARM = 0.01

MISFIT = (
    "labelers and classifier do not err independently given the class ({}). The intervals are too narrow and "
    "may be off centre: find out the truth of 30 or more samples chosen at random, and compare"
)
FIT = (
    "the labels look as if errors were independent ({}); this cannot see mistakes that all labelers and the "
    "classifier share"
)


def check_independence(
    raters: Labels, prior: np.ndarray, matrices: np.ndarray, *, free_parameters: int | None = None
) -> Check:
    """The pattern check where it applies, else the pair check.

    Args:
        raters: labels of all raters, the classifier among them.
        prior: (classes,) fitted class prior.
        matrices: (raters, classes, classes) fitted confusion matrices.
        free_parameters: fitted from these labels; all of prior and matrices if None.
    """
    classes, size = raters.num_classes, raters.num_labelers
    complete = raters.num_labels == raters.num_samples * size and not raters.has_repeats()
    if free_parameters is None:
        free_parameters = (classes - 1) * (1 + size * classes)
    found = None
    if complete and classes**size <= _MAX_PATTERNS:
        found = _pattern_check(raters, prior, matrices, free_parameters)
    return found if found is not None else _pair_check(raters, prior, matrices)


def _verdict(name: str, statistic: float, p_value: float, detail: str) -> Check:
    misfit = p_value < _ALARM
    text = (MISFIT if misfit else FIT).format(detail)
    return Check(name, float(statistic), float(p_value), "does not fit" if misfit else "fits", text)


def _pattern_check(raters: Labels, prior: np.ndarray, matrices: np.ndarray, parameters: int) -> Check | None:
    """G2 over patterns, rare ones together; None if too few degrees of freedom are left."""
    z = raters.to_matrix().astype(np.int64)
    classes, size = raters.num_classes, raters.num_labelers
    observed = np.bincount(z @ classes ** np.arange(size), minlength=classes**size)
    expected = prior[:, None]
    for t in range(size):  # rater t is digit t of the pattern number
        expected = (matrices[t][:, :, None] * expected[:, None, :]).reshape(classes, -1)
    expected = expected.sum(0) * len(z)
    rare = expected < _LEAST_EXPECTED
    cells = np.array([*observed[~rare], observed[rare].sum()], float)
    means = np.array([*expected[~rare], expected[rare].sum()])
    cells, means = cells[means > 0], means[means > 0]
    freedom = means.size - 1 - parameters
    if freedom < 1:
        return None
    terms = np.where(cells > 0, cells * np.log(np.maximum(cells, 1e-300) / means), 0.0)
    g2 = 2 * float(terms.sum())
    detail = f"patterns of labels: G2 = {g2:.1f} on {freedom} degrees of freedom"
    return _verdict("label patterns", g2, float(chi2(freedom).sf(g2)), detail)


def _pair_check(raters: Labels, prior: np.ndarray, matrices: np.ndarray) -> Check:
    """Largest standardised gap between observed and expected agreement of two raters (Bonferroni)."""
    sample, labeler, label = (np.asarray(v) for v in (raters.sample, raters.labeler, raters.label))
    given = label >= 0
    shape = (raters.num_labelers, raters.num_samples, raters.num_classes)
    votes = np.zeros(shape, np.float32)
    np.add.at(votes, (labeler[given], sample[given], label[given]), 1.0)
    flat = votes.reshape(shape[0], -1)
    totals = votes.sum(2)
    agree, shared = (flat @ flat.T).astype(float), (totals @ totals.T).astype(float)
    chance = np.einsum("c,tck,uck->tu", prior, matrices, matrices)
    upper = np.triu(np.ones(shared.shape, bool), 1) & (shared >= 10) & (chance > 0) & (chance < 1)
    if not upper.any():
        return Check("pairwise agreement", None, None, "cannot be seen", "no two raters share 10 samples")
    sd = np.sqrt(shared * chance * (1 - chance))
    z = np.where(upper, (agree - shared * chance) / np.where(upper, sd, 1.0), 0.0)
    worst = float(np.abs(z).max())
    p_value = min(1.0, 2 * float(norm.sf(worst)) * int(upper.sum()))
    return _verdict(
        "pairwise agreement", worst, p_value, f"agreement of two raters: {worst:.1f} standard errors off"
    )


def all_checks(refusal: str | None, fit: Any, raters: Labels | None) -> tuple[Check, ...]:
    """What to print beside an answer: why there is none, or whether independence fits."""
    if refusal is not None:
        name = "switching" if "switched" in refusal else "identified"
        return (Check(name, None, None, "cannot be seen", refusal),)
    if fit is None or raters is None:
        return ()
    classifier = fit.classifier.mean(0)[None]
    matrices = np.concatenate([fit.mean_matrices, classifier])
    return (check_independence(raters, fit.prior.mean(0), matrices),)
