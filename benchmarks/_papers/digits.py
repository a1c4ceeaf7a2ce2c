"""Table 3 of Lam & Stork (2003): a nearest neighbour labels digits, and naive Bayes is graded on its labels.

The folder optdigits holds train.npz (3823 digits) and test.npz (1797, those of scikit-learn's load_digits),
each with `X` (digits, 64) counts 0..16 and `y`; UCI, "Optical Recognition of Handwritten Digits". Both learn
from the training digits of a pair: 1-NN (Euclidean) is the labeler, naive Bayes the classifier. The paper
does not say which naive Bayes; multinomial with one added count is nearest.
"""

from pathlib import Path
from typing import NamedTuple

import numpy as np

from jtruth.lam_stork import error_rate_posterior, estimate_bounds, estimate_error_rate

PAIRS = ((1, 2), (4, 5), (7, 8), (8, 9))
PRINTED = {  # per cent: upper bound, true, apparent, lower bound, mislabeling
    (1, 2): (9.20, 9.19, 8.64, 8.08, 0.56),
    (4, 5): (1.11, 1.10, 0.83, 0.55, 0.28),
    (7, 8): (2.27, 1.70, 1.70, 1.13, 0.57),
    (8, 9): (6.77, 5.65, 5.08, 3.39, 1.69),
}


def nearest_neighbour(train, label, test):
    """Label of the nearest training digit, in integers: no rounding, the first of equals."""
    train, test = train.astype(np.int64), test.astype(np.int64)
    distance = (train**2).sum(1)[None, :] - 2 * test @ train.T
    return label[distance.argmin(axis=1)]


def naive_bayes(train, label, test):
    """Multinomial naive Bayes with one added count a pixel, classes as frequent as in training."""
    score = []
    for c in np.unique(label):
        count = train[label == c].sum(axis=0, dtype=float) + 1
        score.append(test @ np.log(count / count.sum()) + np.log((label == c).mean()))
    return np.unique(label)[np.argmax(score, axis=0)]


def load(folder, part, pair):
    """Images and digits of one pair."""
    data = np.load(Path(folder) / f"{part}.npz")
    images, digit = (data[name] for name in data.files[:2])
    mine = np.isin(digit, pair)
    return images[mine], digit[mine].astype(int)


class Counts(NamedTuple):
    """Digits of one pair."""

    true: int  # naive Bayes wrong
    differ: int  # naive Bayes and the labeler differ
    mislabeled: int  # the labeler wrong
    both: int  # both wrong
    size: int

    def rates(self):
        """Shares by name."""
        counts = {"true": self.true, "apparent": self.differ, "mislabeling": self.mislabeled}
        return {name: count / self.size for name, count in counts.items()}


def count(folder, pair, levels=1):
    """Train both on one pair and count on its test digits; naive Bayes sees grey levels // `levels`."""
    train, label = load(folder, "train", pair)
    test, truth = load(folder, "test", pair)
    noisy = nearest_neighbour(train, label, test)
    predicted = naive_bayes(train.astype(int) // levels, label, test.astype(int) // levels)
    wrong, mislabeled, differ = predicted != truth, noisy != truth, predicted != noisy
    totals = (int(v.sum()) for v in (wrong, differ, mislabeled, wrong & mislabeled))
    return Counts(*totals, truth.size)


def answers(found):
    """(2) and four 95 % intervals in per cent; the mislabeling rate is taken as known."""
    differ, rate = (found.differ, found.size), found.mislabeled / found.size
    delta = estimate_error_rate(differ, mislabeling=rate)
    exact = estimate_error_rate(differ, mislabeling=rate, method="exact")
    law = error_rate_posterior(differ, mislabeling=rate).error.interval(0.95)
    bounds = estimate_bounds(differ, mislabeling=rate)
    ends = ((delta.low, delta.high), (exact.low, exact.high), law[:2], (bounds.lower, bounds.upper))
    return 100 * delta.value, [(100 * float(low), 100 * float(high)) for low, high in ends]
