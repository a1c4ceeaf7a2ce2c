"""Does the number of labels of a sample go with its class? Then labels are missing by class.

Samples of one class may get more labels than those of another: positives are looked at twice, say. Models
take the number of labels to say nothing. If they err there, few labels leave a sample near the shares of all,
and precision and recall of the classes are off (in simulations recall held in 58 %, precision in 42 %).

If numbers say nothing, the class probabilities p_i average to the class shares whatever the number n_i, so

    S_c = sum_i (n_i - mean n) p_ic

has mean 0, and S' V^+ S with V = sum_i (n_i - mean n)^2 r_i r_i', r_i = p_i - mean p, is chi-square with
classes - 1 degrees of freedom. Samples without a label say nothing and are left out. The check stands by
itself, at 1 %, beside the ones whose verdicts hold together. Measured on 200 sets each (N = 400, five
labelers of .75 to .85 under independence, shares .6/.4): 1.5 +- .9 % false alarms with 20 % of all labels
missing by chance; all 200 seen where 15 % are missing in one class and 65 % in the other.
"""

import numpy as np
from jaxtyping import Float
from scipy.special import chdtrc

from jtruth.evaluation.parts import WORTH_KNOWING, Check
from jtruth.labels import Labels

NAME = "labels missing by class"
LEVEL = 0.01
FITS = "the number of labels of a sample does not go with its class"
MISFIT = (
    "samples that are probably of class {!r} have {} labels than others. Every model takes the number of "
    "labels to say nothing, so shares, precision and recall may be off. Ask for labels whatever the class, "
    "or for the truth of 30 samples chosen at random"
)

ANSWERED = (
    "samples that are probably of class {!r} have {} labels than others: samples with equally many labels "
    "have class shares of their own here"
)


def missing_check(
    labels: Labels, class_posterior: Float[np.ndarray, "samples classes"], *, answered: bool = False
) -> tuple[Check, ...]:
    """The check; nothing where all samples have equally many labels.

    Args:
        labels: the labels of all.
        class_posterior: p(y_i = c) by a model of them with the same class shares for all samples.
        answered: whether the answer has class shares for each number of labels; nothing is off then.
    """
    number = labels.labels_per_sample().astype(np.float64)
    seen = number > 0
    if np.unique(number[seen]).size < 2:
        return ()
    away = number[seen] - number[seen].mean()
    rest = class_posterior[seen] - class_posterior[seen].mean(axis=0)
    score, spread = away @ rest, (rest * away[:, None] ** 2).T @ rest
    value = float(score @ np.linalg.pinv(spread, rcond=1e-9, hermitian=True) @ score)
    p_value = float(chdtrc(class_posterior.shape[1] - 1, value))
    size = f"chi-square {value:.1f}, p = {p_value:.2g}"
    if p_value >= LEVEL:
        return (Check(NAME, value, p_value, "fits", f"{FITS} ({size})"),)
    worst = int(np.argmax(np.abs(score) / np.sqrt(np.maximum(np.diagonal(spread), 1e-300))))
    more = "more" if score[worst] > 0 else "fewer"
    text = (ANSWERED if answered else MISFIT).format(str(labels.class_names[worst]), more)
    verdict = WORTH_KNOWING if answered else "does not fit"
    return (Check(NAME, value, p_value, verdict, f"{text} ({size})"),)


def by_number(labels: Labels, class_posterior: Float[np.ndarray, "samples classes"]) -> tuple[Check, ...]:
    """The check as it reads once models learn class shares for each number of labels; empty: they need not.

    Args:
        labels, class_posterior: as for `missing_check`, by a model with the same shares for all numbers. That
            of the model which has learned them says nothing any more: S has another mean there.
    """
    if not any(check.verdict == "does not fit" for check in missing_check(labels, class_posterior)):
        return ()
    return missing_check(labels, class_posterior, answered=True)
