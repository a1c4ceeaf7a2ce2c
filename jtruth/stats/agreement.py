"""Coefficients of agreement between labelers, with standard errors and intervals; agreement of pairs.

All compare an observed weighted agreement a with the agreement e expected at random, (a - e) / (1 - e), and
differ in e. With votes r_ik (labels of class k for sample i), r_i of them, weights w_kl (1 on the diagonal,
less for distant classes: by their numbers, or by ranks where they only have an order) and shares p_k of the
classes among the labels, samples weighing alike:

    a = mean over samples with r_i >= 2 of sum_k r_ik (sum_l w_kl r_il - 1) / (r_i (r_i - 1))
    Fleiss            e = sum_kl w_kl p_k p_l                        (Scott's pi for two labelers)
    Brennan-Prediger  e = sum_kl w_kl / C^2
    Gwet's AC1        e = (sum_kl w_kl / (C (C - 1))) sum_k p_k (1 - p_k)
    Cohen             of two labelers, e = sum_kl w_kl p_k q_l with the shares of each

(Gwet 2014, Handbook of Inter-Rater Reliability, ch. 2-6). Krippendorff's alpha (2004, ch. 11) is 1 minus
observed over expected disagreement of the coincidences o_kl = sum_i (pairs of labels k, l) / (r_i - 1), with
nominal, ordinal (by ranks among the labels) or interval differences. Where e = 1 a coefficient is undefined:
NaN, never 0. Its interval is about the population.

Standard errors are by the infinitesimal jackknife over samples. An interval is the middle part of the
posterior of the coefficient in the population, extended to the printed value. Samples have random weights
(Rubin's Bayesian bootstrap, 1981), as variable as Student's t with n - 1 degrees of freedom requires.
Imagined samples, which together weigh as much as 1.6 samples, are added (a finite Dirichlet process; Ferguson
1973). Each has as many labels as some observed sample and prefers no class; in each draw kappa among them is
uniform between 0 and 1. So combinations of labels that were not observed have some weight, which matters most
for a rare class (coverage: `benchmarks/agreement.py`).
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from scipy import sparse
from scipy.special import ndtri, stdtrit

from jtruth._one_line import one_line
from jtruth._random import Key, host_rng
from jtruth._validation import choose
from jtruth._validation.coded import collapse_rows, has_duplicates
from jtruth.stats.estimates import check_level

WEIGHTS = ("nominal", "linear", "quadratic")
DIFFERENCES = ("nominal", "ordinal", "interval")
_REPLICATES, _STEP = 2000, 1e-5
_IMAGINED, _WORTH = 16, 1.6  # imagined samples in every draw, and their weight together
_MOST_DISTINCT = 1000  # kinds of samples, above which their mean is drawn from its normal distribution
TITLES = {
    "krippendorff": "Krippendorff's alpha", "krippendorff_ordinal": "Krippendorff's alpha, ordinal",
    "krippendorff_interval": "Krippendorff's alpha, interval", "fleiss": "Fleiss' kappa",
    "gwet_ac1": "Gwet's AC1", "brennan_prediger": "Brennan-Prediger kappa",
}  # fmt: skip
_AT_ONCE = 2_000_000  # numbers in one array


class Agreement(NamedTuple):
    """A coefficient, its standard error and interval; NaN where it is undefined."""

    value: float
    standard_error: float
    low: float
    high: float
    level: float
    num_samples: int  # that are informative
    unseen: float  # share of the interval's width that is due to unobserved combinations of labels

    def __str__(self) -> str:
        interval = "" if np.isnan(self.low) else f" [{self.low:.3f}, {self.high:.3f}]"
        if not np.isnan(self.value):
            return f"{self.value:.3f}{interval}"
        if interval:
            return f"undefined for these samples, which have one class; in the population{interval}"
        return "undefined: random labels would agree fully, or no sample can be compared"


# A function of the means of features of the samples: features of each kind of sample (kinds, features), the
# multiplicity of each kind, the function of (..., features) and the number of samples (leading axes are
# draws), and a function that draws the features of imagined samples.
Imagined = Callable[[np.random.Generator, tuple[int, int]], np.ndarray]
Coefficient = tuple[np.ndarray, np.ndarray, Callable[[Any, float], Any], Imagined]
Size = tuple[int, int]
Votes = Int[np.ndarray, "samples classes"]
Places = Float[np.ndarray, " classes"] | None  # where classes stand: numbers in any order; None: 0, 1, ...


def point(coefficient: Coefficient) -> float:
    """The coefficient of all samples; NaN where it is undefined."""
    features, times, value, _ = coefficient
    size = float(times.sum())
    if not size:
        return float("nan")
    with np.errstate(invalid="ignore", divide="ignore"):
        return float(value(times @ features / size, size))


def weights(kind: str, classes: int, places: Places = None) -> Float[np.ndarray, "classes classes"]:
    """Weight of two labels: 1 if equal; linear or quadratic in the distance of their classes."""
    choose("weights", kind, WEIGHTS)
    if kind == "nominal":
        return np.eye(classes)
    at = _steps(classes, places)
    apart = np.abs(at[:, None] - at) / max(classes - 1, 1)
    return 1 - (apart if kind == "linear" else apart**2)


def _steps(classes: int, places: Places) -> Float[np.ndarray, " classes"]:
    if places is None:
        return np.arange(classes) * 1.0
    return (places - places.min()) * ((classes - 1) / (np.ptp(places) or 1.0))


def fleiss(votes: Votes, kind: str = "nominal", places: Places = None) -> Coefficient:
    """Fleiss' kappa, any number of labels a sample, weighted."""
    return _by_votes(votes, kind, places, lambda p, w: np.einsum("...k,kl,...l->...", p, w, p))


def brennan_prediger(votes: Votes, kind: str = "nominal", places: Places = None) -> Coefficient:
    """Brennan and Prediger's coefficient: at random all classes are equally likely."""
    return _by_votes(votes, kind, places, lambda p, w: np.full(p.shape[:-1], w.sum() / w.size))


def gwet_ac1(votes: Votes, kind: str = "nominal", places: Places = None) -> Coefficient:
    """Gwet's AC1 (with weights: AC2)."""
    pairs = max(votes.shape[1] * (votes.shape[1] - 1), 1)
    return _by_votes(votes, kind, places, lambda p, w: w.sum() / pairs * (p * (1 - p)).sum(axis=-1))


def cohen(
    first: Int[np.ndarray, " samples"], second: Int[np.ndarray, " samples"], classes: int,
    kind: str = "nominal", places: Places = None,
) -> Coefficient:  # fmt: skip
    """Cohen's kappa of two labelers; samples without a label (-1) of both are left out."""
    shared = (first >= 0) & (second >= 0)
    pairs, times = np.unique(first[shared] * classes + second[shared], return_counts=True)
    w, margin, (row, column) = weights(kind, classes, places), np.eye(classes), np.divmod(pairs, classes)

    def value(mean: Any, _: float) -> Any:  # of weighted agreement and both margins
        row, column = np.split(mean[..., 1:], 2, axis=-1)
        total = row.sum(axis=-1)
        expected = np.einsum("...k,kl,...l->...", row, w, column) / total**2
        return _beyond(mean[..., 0] / total, expected)

    def imagined(rng: np.random.Generator, shape: Size) -> np.ndarray:
        below = np.cumsum(_shares(rng, shape, classes), axis=-1)[..., :-1]
        one, two = (margin[(rng.random((*shape, 1)) >= below).sum(axis=-1)] for _ in range(2))
        return np.concatenate([((one @ w) * two).sum(axis=-1, keepdims=True), one, two], axis=-1)

    return np.column_stack([w[row, column], margin[row], margin[column]]), times, value, imagined


def krippendorff(
    votes: Votes, kind: str = "nominal", places: Places = None, apart: np.ndarray | None = None
) -> Coefficient:
    """Krippendorff's alpha; kind is nominal, ordinal or interval, or `apart` has all differences."""
    choose("differences", kind, DIFFERENCES)
    at = _steps(votes.shape[1], places)
    votes = votes[votes.sum(axis=1) > 1][:, np.argsort(at, kind="stable")]
    at, codes = np.sort(at), np.arange(at.size)
    if apart is None:
        apart = (at[:, None] - at) ** 2 if kind == "interval" else 1 - np.eye(at.size)

    def features(votes: np.ndarray) -> np.ndarray:
        others = np.maximum(votes.sum(axis=-1, keepdims=True) - 1, 1)
        if kind != "ordinal":
            return np.concatenate([(votes * (votes @ apart)).sum(axis=-1, keepdims=True) / others, votes], -1)
        pairs = votes[..., :, None] * votes[..., None, :]  # differences depend on labels: all coincidences
        pairs[..., codes, codes] -= votes
        return np.concatenate([pairs.reshape(*votes.shape[:-1], -1) / others, votes], axis=-1)

    def value(mean: Any, size: float) -> Any:  # 1 - (n - 1) sum o_kl d_kl / sum n_k n_l d_kl
        number = size * mean[..., 1:]
        expected = ((number @ apart) * number).sum(axis=-1)
        return disagreement(size * mean[..., 0], number.sum(axis=-1), expected)

    return _of_votes(votes, features, _ordinal_alpha if kind == "ordinal" else value)


def agreement(
    coefficient: Coefficient, key: Key, level: float = 0.95, replicates: int = _REPLICATES,
    beside: tuple | None = None,
) -> Agreement:  # fmt: skip
    """Value, standard error and posterior interval of a coefficient.

    `beside` is `unseen` of a coefficient of the same classes and weights, to draw it only once.

    >>> votes = np.array([[3, 0], [3, 0], [0, 3], [1, 2], [0, 3], [3, 0], [0, 3], [2, 1]])
    >>> found = agreement(fleiss(votes), 0)
    >>> round(found.value, 3), round(found.standard_error, 3), found.low < found.value < found.high
    (0.667, 0.218, True)
    """
    check_level(level)
    times, of, tail = coefficient[1], coefficient[2], (1 - level) / 2
    size, nothing = int(times.sum()), float("nan")
    value = point(coefficient)
    if size < 2:
        return Agreement(value if size else nothing, nothing, nothing, nothing, level, size, nothing)
    rng, ends = host_rng(key, "agreement"), np.full((2, 2), nothing)
    with np.errstate(invalid="ignore", divide="ignore"):
        drawn = _drawn(coefficient, rng, replicates, tail, beside)
        for k, values in enumerate(of(mean, size) for mean in drawn):
            if np.isfinite(values).any():
                ends[k] = np.quantile(values[np.isfinite(values)], [tail, 1 - tail])
        error = _jackknife_error(coefficient, size)
    seen, width = np.diff(ends, axis=1)[:, 0].tolist()
    anchor = np.nan_to_num(value)  # undefined for labels of one class
    low, high = min(ends[1, 0], anchor), max(ends[1, 1], anchor)
    unseen = max(1 - np.nan_to_num(seen) / width, 0.0) if width > 0 else 0.0
    if np.isnan(width):
        low = high = unseen = nothing
    return Agreement(value, error, float(low), float(high), level, size, float(unseen))


def unseen(coefficient: Coefficient, rng: np.random.Generator, draws: int = _REPLICATES) -> tuple:
    """Sums over imagined samples: (draws, features) of features and (draws, 1) of weights."""
    number, imagined = coefficient[0].shape[1], coefficient[3]
    weight = rng.standard_gamma(_WORTH / _IMAGINED, (draws, _IMAGINED))
    step = max(_AT_ONCE // (_IMAGINED * number), 1)
    parts = [weight[k : k + step] for k in range(0, draws, step)]
    total = [np.einsum("dk,dkf->df", part, imagined(rng, part.shape)) for part in parts]
    return np.concatenate(total), weight.sum(axis=1, keepdims=True)


def _drawn(
    coefficient: Coefficient, rng: np.random.Generator, draws: int, tail: float, beside: tuple | None
) -> tuple[np.ndarray, np.ndarray]:
    """Mean features in draws of the population: of the observed kinds alone, and with imagined samples."""
    rows, times, _, _ = coefficient
    size, number = times.sum(), rows.shape[1]
    # Weights have the variance of n - 1 degrees of freedom, wider by Student's quantile over the normal one
    worth = (size - 1) / (size + 1) * (ndtri(tail) / stdtrit(size - 1, tail)) ** 2
    if times.size > _MOST_DISTINCT:
        mean = times @ rows / size
        spread, axes = np.linalg.eigh((rows - mean).T @ ((rows - mean) * times[:, None]) / size)
        root = axes * np.sqrt(np.maximum(spread, 0) / (size * worth))
        seen, whole = mean + rng.standard_normal((draws, number)) @ root.T, np.full((draws, 1), 1.0 * size)
    else:
        weight = rng.standard_gamma(worth * times, (draws, times.size)) / worth
        whole = weight.sum(axis=1, keepdims=True)
        seen = weight @ rows / whole
    total, weight = beside or unseen(coefficient, rng, draws)
    return seen, (seen * whole + total) / (whole + weight)


def _shares(rng: np.random.Generator, shape: Size, classes: int) -> Float[np.ndarray, "draws n classes"]:
    """Class probabilities of imagined samples, whose kappa is uniform over the draws."""
    common = np.eye(classes)[rng.integers(classes, size=shape)]
    repeats = np.sqrt(rng.random((shape[0], 1, 1)))  # kappa is its square
    return repeats * common + (1 - repeats) / classes


def _jackknife_error(coefficient: Coefficient, size: int) -> float:
    rows, times, value, _ = coefficient
    mean, moved = times @ rows / size, _STEP * np.eye(rows.shape[1])
    slope = (value(mean + moved, size) - value(mean - moved, size)) / (2 * _STEP)
    influence = rows @ slope - mean @ slope
    return float(np.sqrt(times @ influence**2 / (size * (size - 1))))


def _of_votes(
    votes: np.ndarray, features: Callable[[np.ndarray], np.ndarray], value: Callable[[Any, float], Any]
) -> Coefficient:
    """A coefficient of votes; imagined samples have the label counts of observed ones."""
    first, _, times = collapse_rows(votes)
    votes = votes[first].astype(np.float64)
    number, until = votes.sum(axis=1).astype(np.int64), np.cumsum(times)

    def imagined(rng: np.random.Generator, shape: Size) -> np.ndarray:
        like = np.searchsorted(until, rng.integers(until[-1], size=shape), side="right")
        drawn = rng.multinomial(number[like], _shares(rng, shape, votes.shape[1]))
        return features(drawn.astype(np.float64))

    return features(votes), times, value, imagined


def _by_votes(votes: Votes, kind: str, places: Places, chance: Callable[[Any, Any], Any]) -> Coefficient:
    """From pairwise agreement (samples of two labels or more) and shares (of one or more)."""
    w = weights(kind, votes.shape[1], places)

    def features(votes: np.ndarray) -> np.ndarray:
        number = votes.sum(axis=-1, keepdims=True)
        pairs = (votes * (votes @ w - 1)).sum(axis=-1, keepdims=True) / np.maximum(number * (number - 1), 1)
        several = (number > 1).astype(np.float64)
        return np.concatenate([pairs * several, several, votes / number], axis=-1)

    def value(mean: Any, _: float) -> Any:
        shares = mean[..., 2:] / mean[..., 2:].sum(axis=-1, keepdims=True)
        return _beyond(mean[..., 0] / mean[..., 1], chance(shares, w))

    return _of_votes(votes[votes.sum(axis=1) > 0], features, value)


def _beyond(observed: Any, expected: Any) -> Any:
    """(a - e) / (1 - e); NaN where e = 1."""
    left = 1 - expected
    return np.where(np.abs(left) > 1e-12, (observed - expected) / left, np.nan)


def _ordinal_alpha(mean: Any, size: float) -> Any:
    """Alpha with squared differences of mean ranks; `mean` holds all o_kl and n_k of a sample."""
    classes = int(np.sqrt(mean.shape[-1]))
    number = size * mean[..., classes**2 :]
    together = size * mean[..., : classes**2].reshape(*mean.shape[:-1], classes, classes)
    rank = np.cumsum(number, axis=-1) - number / 2
    apart = (rank[..., :, None] - rank[..., None, :]) ** 2
    expected = np.einsum("...k,...kl,...l->...", number, apart, number)
    return disagreement((together * apart).sum(axis=(-2, -1)), number.sum(axis=-1), expected)


def disagreement(observed: Any, number: Any, expected: Any) -> Any:
    """1 - (n - 1) observed / expected; NaN where nothing could disagree."""
    possible = expected > 1e-9
    return np.where(possible, 1 - (number - 1) * observed / np.where(possible, expected, 1.0), np.nan)


def overall(
    votes: Votes, key: Key, *, kind: str = "nominal",
    differences: str = "nominal", places: Places = None, scale: str = "nominal", level: float = 0.95,
) -> dict[str, Agreement]:  # fmt: skip
    """The coefficients of all labelers together, by name; alpha once more by the scale of the classes."""
    beside = scale != "nominal" and votes.shape[1] > 2
    if beside and scale == "ordinal":  # a table of all pairs of classes must fit into memory
        beside = collapse_rows(votes)[0].size * votes.shape[1] ** 2 <= 10 * _AT_ONCE
    kinds = {"": differences} | ({f"_{scale}": scale} if beside else {})
    coefficients = {f"krippendorff{name}": krippendorff(votes, one, places) for name, one in kinds.items()}
    for make in (fleiss, gwet_ac1, brennan_prediger):
        coefficients[make.__name__] = make(votes, kind, places)
    return {name: agreement(coefficient, key, level) for name, coefficient in coefficients.items()}


def from_unseen(coefficients: Mapping[str, Agreement]) -> str:
    """A sentence on the coefficients whose intervals are mostly due to unobserved labels; "" if none."""
    names = " and of ".join(TITLES.get(name, name) for name, one in coefficients.items() if one.unseen > 0.5)
    text = f"The interval of {names} is mostly due to combinations of labels not yet observed"
    return f"{text}. Label more samples." if names else ""


_GLANCE = 100_000  # labels that connect most labelers
_FEW = 1_000_000  # numbers of a table that is always small enough
_FEW_OF_A_SAMPLE = 8  # labels, up to which pairs are counted directly


class LabelerPairs(NamedTuple):
    """Counts from the first label of each labeler for a sample; matrices of pairs are symmetric."""

    met: np.ndarray  # (labelers,) labels of others on the samples of each
    agreed_with: np.ndarray  # (labelers,) ... that agree
    shared: sparse.csr_array  # (labelers, labelers) samples that both labelled
    agreed: sparse.csr_array  # ... with the same class
    variety: sparse.csr_array  # number of different classes they agreed on

    __repr__ = one_line


def first_labels(sample: np.ndarray, labeler: np.ndarray, num_labelers: int) -> np.ndarray:
    """Position of the first label of each labeler for each sample, in the order of the samples."""
    key = sample.astype(np.int64) * num_labelers + labeler
    if has_duplicates(key) or (sample[1:] < sample[:-1]).any():
        return np.unique(key, return_index=True)[1]
    return np.arange(key.size)


def labeler_pairs(
    sample: np.ndarray, labeler: np.ndarray, label: np.ndarray, size: Size,
    at_least: int = 1, times: np.ndarray | None = None,
) -> LabelerPairs:  # fmt: skip
    """Shared samples and agreement of labelers; `size` is (labelers, samples).

    Matrices are of labelers with `at_least` labels. `times` is the multiplicity of each label's sample; then
    no label may be repeated.
    """
    alone = times is not None  # then samples need only come in order
    first = np.argsort(sample, kind="stable") if alone else first_labels(sample, labeler, size[0])
    times = np.ones(sample.size, np.int64) if times is None else times
    if first.size < sample.size or (np.diff(first) != 1).any():  # else no copy of perhaps ten million labels
        sample, labeler, label, times = (part[first] for part in (sample, labeler, label, times))
    classes = int(label.max(initial=0)) + 1
    others = np.bincount(sample, minlength=size[1])[sample] - 1
    code = sample.astype(np.int64) * classes + label
    if size[1] * classes > 4 * code.size + _FEW:
        code = np.unique(code, return_inverse=True)[1]
    same = np.bincount(code)[code] - 1
    met, agreed_with = (np.bincount(labeler, of * times, size[0]).astype(np.int64) for of in (others, same))
    many = np.bincount(labeler, times, size[0]) >= at_least
    if not many.all():
        kept = many[labeler]
        sample, labeler, label, times = (part[kept] for part in (sample, labeler, label, times))
    return LabelerPairs(met, agreed_with, *_counted(sample, labeler, label, size, times))


def shared_samples(sample: np.ndarray, labeler: np.ndarray, size: Size) -> sparse.csr_array:
    """`LabelerPairs.shared` alone, of labels in the order of samples, without repeats."""
    same, alone = (np.full(sample.size, value, np.int8) for value in (0, 1))
    return _counted(sample, labeler, same, size, alone)[0]


def _counted(*counted: Any) -> tuple:
    """(shared, agreed, variety) of sample, labeler, label, size and times; labels in the order of samples."""
    sample, _, label, size, _ = counted
    small = size[0] ** 2 * (int(label.max(initial=0)) + 1) <= _FEW + sample.size
    few = small and np.bincount(sample).max(initial=0) <= _FEW_OF_A_SAMPLE
    return (_few if few else _many)(*counted)


def _few(sample: np.ndarray, labeler: np.ndarray, label: np.ndarray, size: Size, times: np.ndarray) -> tuple:
    """`_counted` by a table of all pairs."""
    pairs, step, alone = size[0] ** 2, 1, (times == 1).all()
    numbers = np.zeros((int(label.max(initial=0)) + 2) * pairs, np.int64)  # first of different classes
    while (first := np.flatnonzero(sample[step:] == sample[:-step])).size:  # label k and label k + step
        code, one = labeler[first].astype(np.int64) * size[0] + labeler[first + step], label[first]
        code += np.where(one == label[first + step], (one + np.int64(1)) * pairs, 0)
        numbers += np.bincount(code, None if alone else times[first], numbers.size).astype(np.int64)
        step += 1
    numbers = numbers.reshape(-1, size[0], size[0])
    numbers = numbers + numbers.swapaxes(1, 2)  # in either order
    counts = numbers.sum(axis=0), numbers[1:].sum(axis=0), (numbers[1:] > 0).sum(axis=0)
    return tuple(map(sparse.csr_array, counts))


def _many(sample: np.ndarray, labeler: np.ndarray, label: np.ndarray, size: Size, times: np.ndarray) -> tuple:
    """`_counted` by products of sparse matrices."""

    def overlap(use: np.ndarray) -> sparse.csr_array:
        ones = np.ones(np.count_nonzero(use), np.int64)
        places = labeler[use], sample[use]
        incidence, counted = (sparse.csr_array((n, places), shape=size) for n in (ones, times[use]))
        product = sparse.csr_array(counted @ incidence.T)
        product.setdiag(0)
        product.eliminate_zeros()
        return product

    agreed = variety = sparse.csr_array((size[0], size[0]), dtype=np.int64)
    for c in np.unique(label):
        on_class = overlap(label == c)
        agreed = agreed + on_class
        variety = variety + on_class.astype(bool).astype(np.int64)
    return overlap(label >= 0), agreed, variety


def most_shared(shared: sparse.csr_array, at_least: int) -> Int[np.ndarray, "pairs 3"]:
    """(labeler, labeler, shared samples) of all pairs with `at_least` so many, largest first."""
    upper = sparse.triu(shared).tocoo()
    pairs = np.array([upper.row, upper.col, upper.data], np.int64).T[upper.data >= at_least]
    return pairs[np.argsort(-pairs[:, 2], kind="stable")]


def full_agreement(pairs: LabelerPairs, at_least: int) -> list[tuple[int, int, int]]:
    """`most_shared` of pairs that never disagree, on samples of several classes."""
    often = most_shared(pairs.shared, at_least)
    if not often.size:
        return []
    agreed, variety = (np.asarray(m[often[:, 0], often[:, 1]]).ravel() for m in (pairs.agreed, pairs.variety))
    return list(map(tuple, often[(agreed == often[:, 2]) & (variety > 1)].tolist()))


def groups_of(labeler: np.ndarray, other: np.ndarray, size: Size) -> np.ndarray:
    """Group of the labeler of each label; labelers with a common sample or class (`other`) share one."""
    nodes, ones = sum(size), np.ones(labeler.size, np.int8)
    edges = sparse.csr_array((ones, (labeler, other + np.int64(size[0]))), (nodes, nodes))
    return sparse.csgraph.connected_components(edges, directed=False)[1][labeler]


def separate_groups(sample: np.ndarray, labeler: np.ndarray, size: Size) -> int:
    """Number of groups of labelers that no shared sample connects; `size` is (labelers, samples)."""
    few = slice(0, _GLANCE)
    if len(np.unique(labeler[few])) == size[0] and not groups_of(labeler[few], sample[few], size).any():
        return 1
    return len(np.unique(groups_of(labeler, sample, size)))


def opposed(counts: np.ndarray, pairs: LabelerPairs, at_least: int) -> np.ndarray:
    """Labelers who agree less than at random by 3 standard errors, with `at_least` labels of others.

    `counts` are labels, (labelers, classes): random agreement is a labeler's own use of the classes against
    all shares. A labeler of one class only is never opposed.
    """
    number = np.maximum(1, counts.sum(axis=1))
    chance = counts @ (counts.sum(axis=0) / max(1, counts.sum())) / number
    bound = chance - 3 * np.sqrt(chance * (1 - chance) / number)
    varied = (counts > 0).sum(axis=1) > 1
    return varied & (pairs.met >= at_least) & (pairs.agreed_with < bound * pairs.met)
