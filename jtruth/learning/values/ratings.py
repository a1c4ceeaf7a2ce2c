"""Ratings: a number for each sample, normal around a mean of its class and labeler.

The first step of Su 6.3.3, noisy values for a class that is not seen: labeler t rates samples of class c by
Normal(mean[t, c], sd[t, c]), so each has a scale of his own. Ratings are compared after each labeler's are
moved and stretched to mean 0 and sd 1; there, a labeler with few ratings leans on all labelers, whose mean
and variance count as two ratings of every class.
"""

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth.learning.values.table import Values, moving, shares_of_votes

_WORTH = 2.0  # ratings that the mean of all labelers counts as
_LEAST = 1e-3  # sd, in units of that of all ratings: a class of equal ratings would have density without end


class NormalRatings(NamedTuple):
    """Mean and sd of the ratings of each labeler and class; classes in the order of their ratings."""

    mean: Float[np.ndarray, "labelers classes"]
    sd: Float[np.ndarray, "labelers classes"]
    centre: Float[np.ndarray, " labelers"]  # of all ratings of a labeler
    scale: Float[np.ndarray, " labelers"]

    @classmethod
    def before(cls, values: Values, num_classes: int) -> "NormalRatings":
        """Values are finite numbers that are not all equal; class 0 starts with the lowest."""
        x = values.value
        if x.ndim != 1 or x.dtype.kind not in "iuf" or not np.isfinite(x).all():
            bad = int(np.flatnonzero(~np.isfinite(x))[0]) if x.dtype.kind == "f" and x.ndim == 1 else 0
            raise ValueError(f"row {bad}: ratings must be finite numbers, one a row; got {x[bad]!r}")
        if (x == x[0]).all():
            raise ValueError(f"all ratings are {x[0]}: they say nothing of any class")
        number = np.bincount(values.labeler)
        centre = np.bincount(values.labeler, x) / number
        square = np.bincount(values.labeler, (x - centre[values.labeler]) ** 2)
        pooled = square.sum() / x.size or float(x.var())  # everybody has one rating of his own, at worst
        scale = np.sqrt((square + _WORTH * pooled) / (number + _WORTH))
        shape = (number.size, num_classes)
        return cls(np.tile(centre[:, None], shape[1]), np.tile(scale[:, None], shape[1]), centre, scale)

    def start(self, values: Values) -> Float[np.ndarray, "samples classes"]:
        """Samples in the order of their mean rating, cut into equal parts; three votes of four for a part."""
        classes = self.mean.shape[1]
        number = np.bincount(values.sample, minlength=len(values.tasks))
        mean = np.bincount(values.sample, self._standard(values), number.size) / number
        rank = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
        part = rank * classes // number.size
        votes = np.where(part[:, None] == np.arange(classes), 0.75, 0.25 / max(classes - 1, 1))
        return shares_of_votes(values, votes[values.sample])

    def log_p(self, values: Values) -> Float[np.ndarray, "labels classes"]:
        """log density of each rating under each class."""
        sd = self.sd[values.labeler]
        off = (values.value[:, None] - self.mean[values.labeler]) / sd
        return -0.5 * off**2 - np.log(sd) - 0.5 * np.log(2 * np.pi)

    def refit(self, values: Values, weight: Float[np.ndarray, "labels classes"]) -> "NormalRatings":
        """Weighted means and variances, the pooled ones of the class counted as two ratings more."""
        z = self._standard(values)[:, None]
        total = np.maximum(weight.sum(axis=0), 1e-12)
        middle = (weight * z).sum(axis=0) / total
        wide = np.maximum((weight * (z - middle) ** 2).sum(axis=0) / total, _LEAST**2)
        number = values.by_labeler(weight) + _WORTH
        mean = (values.by_labeler(weight * z) + _WORTH * middle) / number
        square = values.by_labeler(weight * (z - mean[values.labeler]) ** 2)
        variance = (square + _WORTH * (wide + (mean - middle) ** 2)) / number
        sd = np.sqrt(np.maximum(variance, _LEAST**2)) * self.scale[:, None]
        return self._replace(mean=self.centre[:, None] + self.scale[:, None] * mean, sd=sd)

    def _standard(self, values: Values) -> Float[np.ndarray, " labels"]:
        """Ratings in units of their labeler."""
        return (values.value - self.centre[values.labeler]) / self.scale[values.labeler]

    log_prior = moving
