"""What a plan is made for, what a plan is, and who labels what under it: the words of `planning`.

A `Setting` holds what stays fixed while plans are compared: the class prior, how the classifier under test is
thought to err, the kinds of labelers with their matrices and costs, the metric, and what will be known when
the answers are in. A `Plan` is what can be bought: samples, labels per sample of every kind, gold answers.

Who labels what, before there is any label: a random regular assignment (Karger, Oh and Shah 2014).

Such a graph has few short circles, so opinions reach a labeler's evaluation by independent ways, and no
method can do better, up to a constant, by assigning otherwise without looking at answers. The draw is the
configuration model of the paper: as many slots as labels, shuffled; a labeler who got a sample twice swaps
one of the two with a random slot. Where more than half of all labelers see a sample, those who do NOT are
drawn.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng
from jtruth._validation import choose
from jtruth._validation.in_range import check_not_negative, check_probabilities, check_whole
from jtruth.noise.base import as_matrices
from jtruth.posterior import validate_confusion, validate_prior
from jtruth.stats.regions import check_level
from jtruth.tables.metrics import Metric, named_metric

RATES, TARGETS = ("learned", "known"), ("population", "in-sample")


class Labeler(NamedTuple):
    """One kind of labelers: `people` of them err independently of each other, all by the same matrix."""

    name: str
    matrix: Float[np.ndarray, "classes classes"]  # rows = true class
    cost: float  # of one label
    people: int  # so many labels of this kind can a sample have

    __repr__ = one_line


class Question(NamedTuple):
    """What is asked of the classifier, and what will be known when the answers are in."""

    metric: str = "accuracy"  # any of `jtruth.tables.metrics`; precision, recall, ... are of class `positive`
    positive: int = 1  # code of the positive class
    # "known": prior and error rates are known then; "learned": they must be learned from the same labels, as
    # `fit_joint` does
    rates: str = "learned"
    target: str = "population"  # how good the classifier is on new samples; or "in-sample", on these
    level: float = 0.95  # of the interval whose width is planned


ACCURACY = Question()


class Setting(NamedTuple):
    """What does not change from plan to plan; made by `setting`."""

    prior: Float[np.ndarray, " classes"]
    confusion: Float[np.ndarray, "classes symbols"]  # K of the classifier, as guessed beforehand
    labelers: tuple[Labeler, ...]
    metric: str
    numerator: Float[np.ndarray, "classes symbols"]  # sum(numerator n) / sum(denominator n) is the metric,
    denominator: Float[np.ndarray, "classes symbols"]  # or its first order around the guess
    rates: str  # "known": prior and matrices of the labelers are given; "learned": from the same labels
    target: str  # "population" or "in-sample"
    level: float
    cost_sample: float
    cost_gold: float
    positive: int = 1

    __repr__ = one_line

    @property
    def of_table(self) -> Metric:
        """The metric itself."""
        return named_metric(self.metric, range(self.prior.size), self.positive)

    @property
    def value(self) -> float:
        """The metric in the population, if the classifier is as guessed."""
        table = self.prior[:, None] * self.confusion
        return float((self.numerator * table).sum() / (self.denominator * table).sum())

    @property
    def influence(self) -> Float[np.ndarray, "classes symbols"]:
        """What one sample in a cell adds to N (metric - its value): the metric's linear form."""
        table = self.prior[:, None] * self.confusion
        return (self.numerator - self.value * self.denominator) / (self.denominator * table).sum()


class Plan(NamedTuple):
    """What to buy. A fraction of a label is a share of the samples, chosen at random."""

    num_samples: int
    labels: tuple[float, ...]  # labels per sample of every kind; 1.5: two people, each three samples in four
    num_gold: int  # gold answers, to a random part of the samples

    __repr__ = one_line


def labeler(name: str, error: Any, cost: float | int = 1.0, people: int = 1, num_classes: int = 2) -> Labeler:
    """A kind of labelers.

    Args:
        name: what to call it.
        error: the probability of a wrong label, spread evenly over the wrong classes; or one such number for
            each true class, (classes,); or a confusion matrix (classes, classes), rows = true class; or a
            noise model of one labeler.
        cost: of one label.
        people: how many such labelers there are, at most; nobody labels a sample twice.
        num_classes: C, where `error` does not tell.

    Raises:
        ValueError: error rates that are no probabilities, a negative cost, nobody.

    >>> labeler("crowd", [0.1, 0.3], cost=0.05, people=5).matrix.tolist()
    [[0.9, 0.1], [0.3, 0.7]]
    """
    matrices = as_matrices(error, 1, "error")
    given = np.asarray(error if matrices is error else matrices[0], np.float64)
    if given.ndim < 2:
        classes = given.size if given.ndim else num_classes
        rates = np.broadcast_to(given, (classes,))
        check_probabilities(rates, f"the error of labeler {name!r}")
        off = 1 - np.eye(classes)
        given = np.diag(1 - rates) + off * rates[:, None] / (classes - 1)
    matrix = np.asarray(validate_confusion(given), np.float64)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"labeler {name!r}: the confusion matrix must be square; got shape {matrix.shape}")
    check_not_negative(cost, f"the cost of labeler {name!r}")
    check_whole(people=people)
    return Labeler(name, matrix, float(cost), int(people))


def setting(
    prior: Any,
    classifier: Any,
    labelers: Sequence[Labeler],
    question: Question = ACCURACY,
    *,
    cost_sample: float = 0.0,
    cost_gold: float = np.inf,
) -> Setting:
    """Put together and check what plans are made for.

    Args:
        prior: (classes,) class prior.
        classifier: what is expected of the classifier under test: its accuracy, or its matrix (classes,
            classes), rows = true class. For two classes [[1 - p_FA, p_FA], [1 - p_D, p_D]].
        labelers: the kinds, see `labeler`.
        question: the metric, of which class, on which samples, with what known.
        cost_sample: of a sample without labels.
        cost_gold: of a gold answer; infinite: there are none.

    Raises:
        ValueError: bad prior, matrix, metric, level or costs, kinds of the same name or of other classes.

    >>> made = setting([0.7, 0.3], 0.9, [labeler("crowd", 0.2, 0.05, 5)])
    >>> made.confusion.round(2).tolist(), round(made.value, 3)
    ([[0.9, 0.1], [0.1, 0.9]], 0.9)
    """
    pi = np.asarray(validate_prior(prior, np.size(prior)), np.float64)
    classes = pi.size
    guess = np.asarray(classifier, np.float64)
    matrix = labeler("classifier", 1 - guess, num_classes=classes).matrix if guess.ndim == 0 else guess
    matrix = np.asarray(validate_confusion(matrix), np.float64)
    if matrix.shape != (classes, classes):
        raise ValueError(f"classifier has shape {matrix.shape} but the prior has {classes} classes")
    if (pi == 0).any():
        raise ValueError(f"prior[{int(np.argmin(pi))}] is 0: leave this class out of the plan")
    names = [one.name for one in labelers]
    if len(set(names)) < len(names) or not names:
        raise ValueError(f"give at least one kind of labeler, each with a name of its own; got {names}")
    for one in labelers:
        if one.matrix.shape[0] != classes:
            raise ValueError(f"labeler {one.name!r} has {one.matrix.shape[0]} classes, the prior {classes}")
    metric, positive, rates, target, level = question
    choose("rates", rates, RATES)
    choose("target", target, TARGETS)
    check_not_negative(cost_sample, "cost_sample")
    if not cost_gold >= 0:  # it may be infinite
        raise ValueError(f"cost_gold is {cost_gold}; it must be 0 or more")
    if not 0 <= positive < classes:
        raise ValueError(f"positive is {positive}; classes are 0 to {classes - 1}")
    terms = named_metric(metric, range(classes), positive).terms(pi[:, None] * matrix)
    made = Setting(
        pi, matrix, tuple(labelers), metric, terms.numerator, terms.denominator, rates, target,
        check_level(level), float(cost_sample), float(cost_gold), positive,
    )  # fmt: skip
    if not (made.denominator * pi[:, None] * matrix).sum() > 0:
        raise ValueError(f"{metric} is undefined for such a classifier: it never predicts class {positive}")
    return made


def check_plan(setting: Setting, plan: Plan) -> Plan:
    """The plan, or a ValueError that says what is impossible about it."""
    if plan.num_samples < 1 or not 0 <= plan.num_gold <= plan.num_samples:
        raise ValueError(f"a plan needs 1 or more samples and at most as many gold answers; got {plan}")
    if len(plan.labels) != len(setting.labelers):
        raise ValueError(f"labels has {len(plan.labels)} numbers for {len(setting.labelers)} kinds")
    for count, kind in zip(plan.labels, setting.labelers, strict=True):
        if not 0 <= count <= kind.people:
            raise ValueError(f"{count} labels per sample of {kind.name!r}, who are {kind.people}")
    return plan


class Row(NamedTuple):
    """A plan with its price and its predicted width."""

    plan: Plan
    cost: float
    width: float

    __repr__ = one_line


def plan_cost(setting: Setting, plan: Plan) -> float:
    """What the plan costs. With known rates samples with gold need no labels, and get none.

    >>> made = setting([0.7, 0.3], 0.9, [labeler("crowd", 0.2, 0.05, 5)], cost_sample=0.1, cost_gold=2)
    >>> print(f"{plan_cost(made, Plan(100, (3,), 10)):.2f}")
    45.00
    """
    labelled = plan.num_samples - (plan.num_gold if setting.rates == "known" else 0)
    each = sum(count * kind.cost for count, kind in zip(plan.labels, setting.labelers, strict=True))
    gold = plan.num_gold * setting.cost_gold if plan.num_gold else 0.0
    return plan.num_samples * setting.cost_sample + labelled * each + gold


_MOST_SWAPS = 200  # rounds of swaps; each one halves the number of repeats, or nearly


class Assignment(NamedTuple):
    """Which labelers see which samples."""

    labelers: Int[np.ndarray, "samples each"]  # of each sample, ascending, all different
    per_labeler: Int[np.ndarray, " labelers"]  # number of samples of each labeler; they differ by one at most

    __repr__ = one_line

    @property
    def mask(self) -> Bool[np.ndarray, "samples labelers"]:
        """Whether a labeler sees a sample, as the noise models' `sample` takes it."""
        found = np.zeros((len(self.labelers), self.per_labeler.size), bool)
        np.put_along_axis(found, self.labelers, True, axis=1)
        return found


def regular_assignment(
    num_samples: int, num_labelers: int, labels_per_sample: int, *, key: Any = None
) -> Assignment:
    """Give every sample to as many labelers, and every labeler as many samples, at random.

    Args:
        num_samples, num_labelers: sizes.
        labels_per_sample: at least 1, at most `num_labelers`.
        key: of the draw; 0 if None.

    Raises:
        ValueError: sizes that cannot be met.

    >>> found = regular_assignment(num_samples=12, num_labelers=6, labels_per_sample=3)
    >>> found.labelers.shape, found.per_labeler.tolist()
    ((12, 3), [6, 6, 6, 6, 6, 6])
    """
    check_whole(num_samples=num_samples, num_labelers=num_labelers, labels_per_sample=labels_per_sample)
    if labels_per_sample > num_labelers:
        raise ValueError(
            f"labels_per_sample is {labels_per_sample} but there are {num_labelers} labelers, and nobody "
            "labels a sample twice; ask more people or for fewer labels"
        )
    rng = host_rng(as_key(key), "regular assignment")
    if 2 * labels_per_sample > num_labelers:
        unseen = _draw(rng, num_samples, num_labelers, num_labelers - labels_per_sample)
        mask = np.ones((num_samples, num_labelers), bool)
        np.put_along_axis(mask, unseen, False, axis=1)
        found = np.nonzero(mask)[1].reshape(num_samples, labels_per_sample)
    else:
        found = _draw(rng, num_samples, num_labelers, labels_per_sample)
    return Assignment(np.sort(found, axis=1), np.bincount(found.ravel(), minlength=num_labelers))


def _draw(rng: np.random.Generator, samples: int, labelers: int, each: int) -> np.ndarray:
    """(samples, each) different labelers in every row, each as often as any other, give or take one."""
    slots = np.resize(rng.permutation(labelers), samples * each)  # who gets one more is random too
    table = rng.permutation(slots).reshape(samples, each)
    for _ in range(_MOST_SWAPS):
        order = np.argsort(table, axis=1, kind="stable")
        ranked = np.take_along_axis(table, order, axis=1)
        row, place = np.nonzero(ranked[:, 1:] == ranked[:, :-1])
        if not row.size:
            return table
        here = np.ravel_multi_index((row, order[row, place + 1]), table.shape)
        flat = table.ravel()
        for a, b in zip(here, rng.integers(0, flat.size, here.size), strict=True):
            flat[a], flat[b] = flat[b], flat[a]
    raise RuntimeError(f"no assignment of {each} of {labelers} labelers to {samples} samples was found")
