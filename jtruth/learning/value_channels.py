"""Channels of `fit_values`, p(value | class): symbols, sets, probabilities, grades and ratings.

**Symbols.** "Cannot tell" is an answer like any other: a matrix has a column for each symbol.

**Sets.** Su 3.6.1, after Cid-Sueiro (2012). A labeler has one class in mind, by a confusion matrix, and
reports a set that holds it; the other classes of the set depend on the class in mind alone (coarsening at
random). Then p(set | class c) is proportional to the sum over k in the set of psi[c, k].

**Probabilities.** A person's confidence, or a model's softmax, is drawn from Dirichlet(a[t, c]).

**Grades.** p(grade <= k | class c) = logistic(threshold[t, k] - slope[t] c).

**Ratings.** The first step of Su 6.3.3: Normal(mean[t, c], sd[t, c]), after each labeler's ratings are
standardized, those of few ratings with the help of all labelers.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import digamma, expit, gammaln, xlogy, zeta
from jaxtyping import Array, Float, Int

from jtruth import _validation as check
from jtruth._arrays import AnyArray, safe_log
from jtruth._iterate import inside_simplex, normalised
from jtruth.labels import Labels

Weights = Float[AnyArray, "labels classes"]
_WORTH = 2.0  # labels of each class that the mean of all labelers counts as, where a channel leans on it
_ROUNDS, _NEWTON = 60, 6  # of the fixed point of Dirichlet distributions, and of digamma undone
_LEAST_SD = 1e-3  # of ratings, in units of a labeler's: a class of equal ones would have density without end
_SLOPE, _SPREAD = (3.0, 1.5), 2.0  # of grades: mean and sd of a slope; sd of a threshold around half-way


class Values(NamedTuple):
    """Entry e: labeler `labeler[e]` gave `value[e]` to sample `sample[e]`. Build it by `from_long`.

    The channel checks the values.
    """

    sample: Int[np.ndarray, " labels"]
    labeler: Int[np.ndarray, " labels"]
    value: np.ndarray  # (labels, ...)
    tasks: tuple
    workers: tuple

    @classmethod
    def from_long(cls, task: Iterable, worker: Iterable, value: Any) -> "Values":
        """Values from three columns; ids are numbered as by `Labels.from_long`.

        Raises:
            ValueError: columns of different lengths, no row, no id, or a worker who gave a task two values.
        """
        tasks, workers, value = list(task), list(worker), np.asarray(value)
        if not tasks or not len(tasks) == len(workers) == len(value):
            sizes = f"{len(tasks)}, {len(workers)}, {len(value)}"
            raise ValueError(f"task, worker and value need one entry a row each; got {sizes}")
        sample, task_names = check.encode_ids(tasks, "task", None, check.Source())
        labeler, worker_names = check.encode_ids(workers, "worker", None, check.Source())
        pair = sample.astype(np.int64) * len(worker_names) + labeler
        if check.has_duplicates(pair):
            order = np.argsort(pair, kind="stable")
            again = order[1:][np.diff(pair[order]) == 0].min()
            raise ValueError(
                f"row {again}: worker {workers[again]!r} gave task {tasks[again]!r} a second value"
            )
        return cls(sample, labeler, value, task_names, worker_names)

    @classmethod
    def grades(cls, labels: Labels) -> "Values":
        """Labels as grades 0..C-1 for `OrdinalLink`, in the order of their classes.

        Raises:
            ValueError: classes without an order, or a labeler who graded a sample twice.
        """
        rank = np.argsort(np.argsort(check.places(labels, "OrdinalLink")))
        sample, labeler, label = labels.entries()
        if labels.has_repeats():
            raise ValueError(
                "some labelers graded a sample more than once, but OrdinalLink needs one label of each"
            )
        return cls(sample, labeler, rank[label], labels.task_names, labels.worker_names)

    def codes(self, most: int, what: str) -> Int[np.ndarray, " labels"]:
        """The values as codes 0..most-1, or a ValueError that names the first that is none."""
        value = self.value
        good = value.ndim == 1 and value.dtype.kind in "iuf"
        bad = np.flatnonzero(~((value >= 0) & (value < most) & (value == np.floor(value)))) if good else [0]
        if len(bad):
            raise ValueError(
                f"row {bad[0]}: {value[bad[0]]!r} is not a {what}; give whole numbers 0 to {most - 1}"
            )
        return value.astype(np.int64)


def _by_labeler(labeler: Any, rows: Any, number: int) -> Array:
    """(labelers, ...) the sum over the labels of each labeler."""
    return jnp.zeros((number, *rows.shape[1:]), rows.dtype).at[labeler].add(rows)


class SymbolMatrices(NamedTuple):
    """p(symbol | class) of each labeler, of symbols or of sets of classes.

    Symbols 0..C-1 are the classes. Of sets it is p(class in mind | class), one more unknown of EM.
    """

    matrices: Float[AnyArray, "labelers classes symbols"]
    pseudo: Float[AnyArray, "classes symbols"]  # counts added: 2 on the diagonal, 1 in all off it

    @classmethod
    def before(cls, values: Values, num_classes: int) -> "SymbolMatrices":
        """A start. Values are symbols, up to the largest; or sets, (labels, classes) booleans."""
        value, symbols = values.value, num_classes
        if value.ndim == 2 and (value.dtype != bool or value.shape[1] != num_classes):
            raise ValueError(
                f"sets must be booleans (labels, {num_classes}); got {value.shape} of {value.dtype}"
            )
        if value.ndim == 2 and not value.any(axis=1).all():
            row = int(np.flatnonzero(~value.any(axis=1))[0])
            raise ValueError(f"row {row}: the set is empty; leave the row out")
        if value.ndim != 2:
            symbols = max(num_classes, int(value.max()) + 1)
            values.codes(symbols, "symbol")
        own = np.arange(num_classes)[:, None] == np.arange(symbols)
        pseudo = np.where(own, 2.0, 1.0 / max(symbols - 1, 1))
        mean = pseudo / pseudo.sum(axis=1, keepdims=True)
        return cls(np.tile(mean, (len(values.workers), 1, 1)), pseudo)

    def votes(self, values: Values) -> Weights:
        """A set votes for its classes alike, a symbol that is no class for all."""
        value, classes = values.value, np.arange(len(self.pseudo))
        if value.ndim == 2:
            return value / value.sum(axis=1, keepdims=True)
        return np.where(value[:, None] < classes.size, value[:, None] == classes, 1 / classes.size)

    def log_p(self, labeler: Any, value: Any) -> Weights:
        """log p(value | class) of each label; of a set up to a constant."""
        if value.ndim == 2:
            return safe_log(jnp.where(value[:, None, :], self.matrices[labeler], 0).sum(axis=2))
        return safe_log(self.matrices)[labeler, :, value.astype(int)]

    def refit(self, labeler: Any, value: Any, weight: Weights) -> Any:
        """Expected counts, p times the slope in p (Baum and Eagon 1967), and pseudo-counts, normalised."""

        def expected(matrices: Any) -> Array:
            log_p = self._replace(matrices=matrices).log_p(labeler, value)
            return (weight * jnp.where(weight > 0, log_p, 0)).sum()

        counts = self.matrices * jax.grad(expected)(self.matrices)
        return self._replace(matrices=normalised(counts + self.pseudo[None]))

    def log_prior(self) -> Any:
        """Sum of pseudo-count times log probability."""
        return xlogy(self.pseudo[None], self.matrices).sum()

    def inside(self, far: Any) -> Any:
        """Rows after a jump of EM."""
        return far._replace(matrices=inside_simplex(far.matrices, self.matrices), pseudo=self.pseudo)


class DirichletChannel(NamedTuple):
    """Concentrations of the probabilities that each labeler gives to samples of each class."""

    concentration: Float[AnyArray, "labelers classes classes"]

    @classmethod
    def before(cls, values: Values, num_classes: int) -> "DirichletChannel":
        """Values are (labels, classes) probabilities above 0 that sum to 1."""
        p = values.value
        if p.dtype.kind != "f" or p.shape[1:] != (num_classes,):
            raise ValueError(
                f"probabilities must be floats (labels, {num_classes}); got {p.shape} of {p.dtype}"
            )
        bad = np.flatnonzero(~(np.abs(p.sum(axis=1) - 1) <= 1e-6))
        if bad.size:
            raise ValueError(f"row {bad[0]}: {p[bad[0]].tolist()} sums to {p[bad[0]].sum():.6g}, not to 1")
        bad = np.flatnonzero(~(p > 0).all(axis=1))
        if bad.size:
            raise ValueError(
                f"row {bad[0]}: {p[bad[0]].tolist()} has a number of 0 or less, impossible for a Dirichlet "
                f"distribution ({bad.size} such); mix with uniform, e.g. 0.98 * p + 0.02 / classes"
            )
        return cls(np.tile(1.0 + 2.0 * np.eye(num_classes), (len(values.workers), 1, 1)))

    def votes(self, values: Values) -> Weights:
        """The probabilities."""
        return values.value

    def log_p(self, labeler: Any, value: Any) -> Weights:
        """log density of each label under each class."""
        a = self.concentration[labeler]
        of_value = ((a - 1) * jnp.log(value)[:, None, :]).sum(axis=2)
        return gammaln(a.sum(axis=2)) - gammaln(a).sum(axis=2) + of_value

    def refit(self, labeler: Any, value: Any, weight: Weights) -> "DirichletChannel":
        """Most likely concentrations (Minka 2000, the fixed point for the mean of log p)."""
        each = weight[:, :, None] * jnp.log(value)[:, None, :]  # (labels, classes, classes)
        pooled = each.sum(axis=0) / jnp.maximum(weight.sum(axis=0), 1e-12)[:, None]
        number = _by_labeler(labeler, weight, len(self.concentration))[:, :, None]
        sums = _by_labeler(labeler, each, len(self.concentration))
        mean = (sums + _WORTH * pooled[None]) / (number + _WORTH)

        def closer(_: Any, a: Any) -> Any:
            return inverse_digamma(digamma(a.sum(axis=2, keepdims=True)) + mean)

        return DirichletChannel(jax.lax.fori_loop(0, _ROUNDS, closer, self.concentration))

    def inside(self, far: Any) -> "DirichletChannel":
        """Concentrations stay positive."""
        return DirichletChannel(jnp.maximum(far.concentration, 0.1 * self.concentration))


def inverse_digamma(y: Float[AnyArray, "*shape"]) -> Float[Array, "*shape"]:
    """x with digamma(x) = y, by Newton from Minka's start."""
    low = digamma(jnp.ones((), y.dtype))
    x = jnp.where(y >= -2.22, jnp.exp(y) + 0.5, -1 / jnp.minimum(y - low, -1e-3))

    def closer(_: Any, x: Any) -> Any:
        return x - (digamma(x) - y) / zeta(jnp.full_like(x, 2), x)

    return jax.lax.fori_loop(0, _NEWTON, closer, x)


class OrdinalLink(NamedTuple):
    """Slope and thresholds of each labeler."""

    slope: Float[AnyArray, " labelers"]
    threshold: Float[AnyArray, "labelers steps"]  # increasing

    @classmethod
    def before(cls, values: Values, num_classes: int) -> "OrdinalLink":
        """Values are grades 0..C-1 in their order; at least three, since two have no order to speak of."""
        if num_classes < 3:
            raise ValueError(f"{num_classes} grades need no order: use Labels and fit_dawid_skene")
        values.codes(num_classes, "grade")
        size = len(values.workers)
        half = (np.arange(num_classes - 1) + 0.5) * _SLOPE[0]
        return cls(np.full(size, _SLOPE[0]), np.tile(half, (size, 1)))

    def votes(self, values: Values) -> Weights:
        """Each grade for its class."""
        classes = self.threshold.shape[1] + 1
        return (values.value[:, None] == np.arange(classes)).astype(np.float64)

    @property
    def matrices(self) -> Float[AnyArray, "labelers classes classes"]:
        """p(grade | class) of each labeler."""
        with jax.enable_x64(True):
            return np.asarray(self.rows())

    def rows(self) -> Float[Array, "labelers classes classes"]:
        """The same, to be traced."""
        return jax.vmap(_grades)(*map(jnp.asarray, self))

    def log_p(self, labeler: Any, value: Any) -> Weights:
        """log p(grade | class) of each label."""
        return jnp.log(self.rows())[labeler, :, value.astype(int)]

    def refit(self, labeler: Any, value: Any, weight: Weights) -> "OrdinalLink":
        """One step of Fisher's scoring for each labeler, given expected counts."""
        shape = len(self.slope), weight.shape[1], weight.shape[1]
        counts = jnp.zeros(shape, weight.dtype).at[labeler, value.astype(int)].add(weight)
        return OrdinalLink(*jax.vmap(_scored)(self.slope, self.threshold, counts.swapaxes(1, 2)))

    def log_prior(self) -> Any:
        """Normal distributions of slopes and thresholds, without their constants."""
        return -0.5 * (jax.vmap(_off)(self.slope, self.threshold) ** 2).sum()

    def inside(self, far: Any) -> "OrdinalLink":
        """Labelers whose thresholds would cross, or slope turn, take EM's own step."""
        good = (far.slope > 0) & (jnp.diff(far.threshold, axis=1) > 0).all(axis=1)
        threshold = jnp.where(good[:, None], far.threshold, self.threshold)
        return OrdinalLink(jnp.where(good, far.slope, self.slope), threshold)

    def kappa(self, prior: Float[np.ndarray, " classes"]) -> Float[np.ndarray, " labelers"]:
        """Each labeler's quadratic weighted kappa with the class: 1 for a perfect one, 0 by chance."""
        joint = prior[:, None] * self.matrices
        far = (np.arange(prior.size)[:, None] - np.arange(prior.size)) ** 2
        chance = np.einsum("c,tk,ck->t", prior, joint.sum(axis=1), far)
        return 1 - (joint * far).sum(axis=(1, 2)) / chance


def _grades(slope: Any, threshold: Any) -> Array:
    """(classes, grades) of one labeler: differences of the distribution function."""
    classes = threshold.shape[0] + 1
    at = threshold[None, :] - slope * jnp.arange(classes, dtype=threshold.dtype)[:, None]
    ends = jnp.ones((classes, 1), at.dtype)
    return jnp.maximum(jnp.diff(jnp.concatenate([0 * ends, expit(at), ends], axis=1), axis=1), 1e-12)


def _off(slope: Any, threshold: Any) -> Array:
    """How far slope and thresholds are from their prior means, in standard deviations."""
    half = (jnp.arange(threshold.shape[0], dtype=threshold.dtype) + 0.5) * slope
    return jnp.append((threshold - half) / _SPREAD, (slope - _SLOPE[0]) / _SLOPE[1])


def _scored(slope: Any, threshold: Any, counts: Any) -> tuple[Array, Array]:
    """One step in log slope, first threshold and log gaps, of one labeler."""

    def parts(x: Any) -> tuple[Array, Array]:
        return jnp.exp(x[0]), jnp.cumsum(jnp.concatenate([x[1:2], jnp.exp(x[2:])]))

    def logs(x: Any) -> Array:
        return jnp.log(_grades(*parts(x)))

    def off(x: Any) -> Array:
        return _off(*parts(x))

    x = jnp.concatenate([jnp.log(slope)[None], threshold[:1], jnp.log(jnp.diff(threshold))])
    slopes, of_prior = jax.jacfwd(logs)(x), jax.jacfwd(off)(x)
    gradient = jnp.einsum("ck,ckx->x", counts, slopes) - of_prior.T @ off(x)
    expected = counts.sum(axis=1, keepdims=True) * jnp.exp(logs(x))
    information = jnp.einsum("ck,ckx,cky->xy", expected, slopes, slopes) + of_prior.T @ of_prior
    return parts(x + jnp.linalg.solve(information, gradient).clip(-1, 1))


class NormalRatings(NamedTuple):
    """Mean and sd of the ratings of each labeler and class; classes in the order of their ratings."""

    middle: Float[AnyArray, "labelers classes"]  # mean and sd in units of the labeler
    width: Float[AnyArray, "labelers classes"]
    centre: Float[AnyArray, " labelers"]  # of all ratings of a labeler
    scale: Float[AnyArray, " labelers"]

    @classmethod
    def before(cls, values: Values, num_classes: int) -> "NormalRatings":
        """Values are finite numbers that are not all equal; class 0 starts with the lowest."""
        x = values.value
        if x.ndim != 1 or x.dtype.kind not in "iuf" or not np.isfinite(x).all():
            bad = int(np.flatnonzero(~np.isfinite(x))[0]) if x.dtype.kind == "f" and x.ndim == 1 else 0
            raise ValueError(f"row {bad}: ratings must be finite numbers, one a row; got {x[bad]!r}")
        if (x == x[0]).all():
            raise ValueError(f"all ratings are {x[0]}, so they are uninformative")
        number = np.bincount(values.labeler)
        centre = np.bincount(values.labeler, x) / number
        square = np.bincount(values.labeler, (x - centre[values.labeler]) ** 2)
        pooled = square.sum() / x.size or float(x.var())  # everybody has one rating of his own, at worst
        scale = np.sqrt((square + _WORTH * pooled) / (number + _WORTH))
        return cls(np.zeros((number.size, num_classes)), np.ones((number.size, num_classes)), centre, scale)

    @property
    def mean(self) -> Float[AnyArray, "labelers classes"]:
        """Mean rating of each labeler and class."""
        return self.centre[:, None] + self.scale[:, None] * self.middle

    @property
    def sd(self) -> Float[AnyArray, "labelers classes"]:
        """Standard deviation of these ratings."""
        return self.scale[:, None] * self.width

    def votes(self, values: Values) -> Weights:
        """Samples in the order of their mean rating, in equal parts; a part gets three of four votes."""
        classes, number = self.width.shape[1], np.bincount(values.sample, minlength=len(values.tasks))
        own = (values.value - self.centre[values.labeler]) / self.scale[values.labeler]
        mean = np.bincount(values.sample, own, number.size) / number
        rank = np.argsort(np.argsort(mean, kind="stable"), kind="stable")
        part = (rank * classes // number.size)[values.sample]
        return np.where(part[:, None] == np.arange(classes), 0.75, 0.25 / max(classes - 1, 1))

    def log_p(self, labeler: Any, value: Any) -> Weights:
        """log density of each rating under each class."""
        return jax.scipy.stats.norm.logpdf(
            value.astype(self.sd.dtype)[:, None], self.mean[labeler], self.sd[labeler]
        )

    def refit(self, labeler: Any, value: Any, weight: Weights) -> "NormalRatings":
        """Weighted means and variances; the pooled ones of the class count as two ratings more."""
        z = ((value.astype(weight.dtype) - self.centre[labeler]) / self.scale[labeler])[:, None]
        total, labelers = jnp.maximum(weight.sum(axis=0), 1e-12), len(self.scale)
        pooled = ((weight * z).sum(axis=0) / total)[None]
        wide = jnp.maximum((weight * (z - pooled) ** 2).sum(axis=0) / total, _LEAST_SD**2)[None]
        number = _by_labeler(labeler, weight, labelers) + _WORTH
        middle = (_by_labeler(labeler, weight * z, labelers) + _WORTH * pooled) / number
        square = _by_labeler(labeler, weight * (z - middle[labeler]) ** 2, labelers)
        variance = (square + _WORTH * (wide + (middle - pooled) ** 2)) / number
        return self._replace(middle=middle, width=jnp.sqrt(jnp.maximum(variance, _LEAST_SD**2)))

    def inside(self, far: Any) -> "NormalRatings":
        """Standard deviations stay positive."""
        return self._replace(middle=far.middle, width=jnp.maximum(far.width, 0.1 * self.width))
