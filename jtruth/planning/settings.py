"""Settings and plans of data collection, and the assignment of samples to labelers.

Labelers are typed as name:error:cost:people, the last optional, or learned from a file of labels and grouped
into at most three kinds by accuracy, each with the mean matrix of its members. The plan is for new samples.
"""

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float

from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng, seeded
from jtruth._validation import by_class, choose, positive_of
from jtruth._validation.in_range import check_not_negative, check_probabilities, check_whole
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import fit_joint
from jtruth.noise.base import as_matrices
from jtruth.posterior import validate_confusion, validate_prior
from jtruth.stats.estimates import check_level
from jtruth.tables.metrics import Metric, named_metric

MOST_MIXES = 600  # of labelers that a search tries
_MOST_PEOPLE = 5  # labels per sample of one kind that a search tries, for labelers of a file
_MOST_PATTERNS = 4000  # of labels in a mix, likewise
_ALONE = 3  # so few labelers are not put into kinds
_GRADES = ("good", "fair", "poor")
_MOST_SWAPS = 200  # rounds of swaps; each one halves the number of repeats, or nearly


class Labeler(NamedTuple):
    """One kind of labelers: `people` of them err independently of each other, all by the same matrix."""

    name: str
    # (classes, classes), rows = true class. A `Setting` makes it of the probability of a wrong label, spread
    # evenly over the wrong classes; of one for each true class; or of a noise model of one labeler.
    matrix: Any
    cost: float = 1.0  # of one label
    people: int = 1  # most labels of this kind for a sample

    __repr__ = one_line


@dataclass(frozen=True, repr=False, eq=False)
class Setting:
    """What plans have in common.

    Raises:
        ValueError: bad prior, matrix, metric, level or costs, kinds of the same name or of other classes.

    >>> made = Setting([0.7, 0.3], 0.9, [Labeler("crowd", [0.1, 0.3], 0.05, 5)])
    >>> made.confusion.round(2).tolist(), made.labelers[0].matrix.tolist(), round(made.value, 3)
    ([[0.9, 0.1], [0.1, 0.9]], [[0.9, 0.1], [0.3, 0.7]], 0.9)
    """

    prior: Any  # (classes,)
    confusion: Any  # (classes, classes) of the classifier, as guessed, rows = true class; or its accuracy
    labelers: Sequence[Labeler]
    _: KW_ONLY
    metric: str = "accuracy"  # any of `jtruth.tables.metrics`; precision, recall, ... are of class `positive`
    positive: int = 1  # code of the positive class
    # "known": prior and error rates are known when the answers are in; "learned": they must be learned from
    # the same labels, as `fit_joint` does
    rates: str = "learned"
    target: str = "population"  # how good the classifier is on new samples; or "in-sample", on these
    level: float = 0.95  # of the interval whose width is planned
    cost_sample: float = 0.0  # of a sample without labels
    cost_gold: float = np.inf  # of a gold answer; infinite: there are none

    __repr__ = one_line

    def __post_init__(self) -> None:
        prior = np.asarray(validate_prior(self.prior, len(self.prior)), np.float64)
        if (prior == 0).any():
            raise ValueError(f"prior[{int(np.argmin(prior))}] is 0: leave this class out of the plan")
        names = [kind.name for kind in self.labelers]
        if len(set(names)) < len(names) or not names:
            raise ValueError(f"give at least one kind of labeler, with different names; got {names}")
        choose("rates", self.rates, ("learned", "known"))
        choose("target", self.target, ("population", "in-sample"))
        check_level(self.level)
        check_not_negative(self.cost_sample, "cost_sample")
        if not self.cost_gold >= 0:  # it may be infinite
            raise ValueError(f"cost_gold is {self.cost_gold}; it must be 0 or more")
        if not 0 <= self.positive < prior.size:
            raise ValueError(f"positive is {self.positive}; classes are 0 to {prior.size - 1}")
        error = 1 - np.asarray(self.confusion) if np.ndim(self.confusion) == 0 else self.confusion
        object.__setattr__(self, "prior", prior)
        object.__setattr__(self, "confusion", _confusion(error, prior.size, "the classifier"))
        kinds = []
        for name, matrix, cost, people in self.labelers:
            rater = f"labeler {name!r}"
            check_not_negative(cost, f"the cost of {rater}")
            check_whole(people=people)
            kinds.append(Labeler(name, _confusion(matrix, prior.size, rater), float(cost), int(people)))
        object.__setattr__(self, "labelers", tuple(kinds))
        if not (self.terms[1] * self.table).sum() > 0:
            raise ValueError(
                f"{self.metric} is undefined for such a classifier: it never predicts class {self.positive}"
            )

    @property
    def table(self) -> Float[np.ndarray, "classes symbols"]:
        """Shares of the cells in the population, given the assumed classifier."""
        return self.prior[:, None] * self.confusion

    @cached_property
    def of_table(self) -> Metric:
        """The metric as a function of a table."""
        return named_metric(self.metric, range(self.prior.size), self.positive)

    @cached_property
    def terms(self) -> Float[np.ndarray, "2 classes symbols"]:
        """Per cell (classes, symbols), the two sums whose ratio is the metric, or its first order."""
        return self.of_table.terms(self.table)

    @cached_property
    def value(self) -> float:
        """The metric in the population, given the assumed classifier."""
        above, below = ((part * self.table).sum() for part in self.terms)
        return float(above / below)

    @cached_property
    def influence(self) -> Float[np.ndarray, "classes symbols"]:
        """Influence of one sample in a cell on N (metric - its value): the metric's linear form."""
        above, below = self.terms
        return (above - self.value * below) / (below * self.table).sum()


def _confusion(value: Any, classes: int, rater: str) -> Float[np.ndarray, "classes classes"]:
    """The matrix of error probabilities (one, or one for each class), of a matrix, or of a noise model."""
    matrices = as_matrices(value, 1, "error")
    error = np.asarray(value if matrices is value else matrices[0], np.float64)
    if error.ndim < 2 and error.size in (1, classes):
        rates = np.broadcast_to(error, (classes,))
        check_probabilities(rates, f"the error of {rater}")
        error = np.diag(1 - rates) + (1 - np.eye(classes)) * rates[:, None] / (classes - 1)
    if error.shape != (classes, classes):
        raise ValueError(f"{rater} has {error.shape[0]} classes (shape {error.shape}), the prior {classes}")
    return np.asarray(validate_confusion(error), np.float64)


class Plan(NamedTuple):
    """Data to buy. A fraction of a label is a share of the samples, chosen at random."""

    num_samples: int
    labels: tuple[float, ...]  # labels per sample of every kind; 1.5: two people, each three samples in four
    num_gold: int  # gold answers, to a random part of the samples

    __repr__ = one_line


def check_plan(setting: Setting, plan: Plan) -> Plan:
    """The plan; ValueError if it is impossible."""
    if plan.num_samples < 1 or not 0 <= plan.num_gold <= plan.num_samples:
        raise ValueError(f"a plan needs 1 or more samples and at most as many gold answers; got {plan}")
    if len(plan.labels) != len(setting.labelers):
        raise ValueError(f"labels has {len(plan.labels)} numbers for {len(setting.labelers)} kinds")
    for count, kind in zip(plan.labels, setting.labelers, strict=True):
        if not 0 <= count <= kind.people:
            raise ValueError(f"{count} labels per sample of {kind.name!r}, who are {kind.people}")
    return plan


def plan_cost(setting: Setting, plan: Plan) -> float:
    """Cost of the plan. With known rates samples with gold need no labels.

    >>> made = Setting([0.7, 0.3], 0.9, [Labeler("crowd", 0.2, 0.05, 5)], cost_sample=0.1, cost_gold=2)
    >>> print(f"{plan_cost(made, Plan(100, (3,), 10)):.2f}")
    45.00
    """
    labelled = plan.num_samples - (plan.num_gold if setting.rates == "known" else 0)
    labels_cost = sum(count * kind.cost for count, kind in zip(plan.labels, setting.labelers, strict=True))
    gold = plan.num_gold * setting.cost_gold if plan.num_gold else 0.0
    return plan.num_samples * setting.cost_sample + labelled * labels_cost + gold


@seeded
def read_setting(
    labelers: Sequence[str],
    labels: Labels | None = None,
    *,
    gold: Any = None,
    key: Any = None,
    prior: Sequence[float] | None = None,
    classifier: str = "0.9",
    cost_label: float = 1.0,
    **options: Any,
) -> Setting:
    """Make a setting from typed options.

    Args:
        labelers: "name:error:cost" or "name:error:cost:people"; error is a number, or one for each true class
            with slashes, "0.1/0.3". With `labels`, "name::cost" is the cost of one of their labelers.
        labels: from which labelers and prior are learned.
        gold: (samples,) known classes of these, -1 elsewhere.
        key: of learning: a whole number or a JAX key; 0 if None.
        prior: (classes,); even, or learned from `labels`, if None.
        classifier: its accuracy in every class; "0.85,0.1": its recall and false-alarm rate.
        cost_label: of a label by any other labeler of `labels`.
        options: of `Setting`: metric, positive, rates, target, level, cost_sample, cost_gold.

    Raises:
        ValueError: invalid text, no labelers, or an invalid `Setting`.

    >>> read_setting(["crowd:0.2:0.05:3"], prior=(0.3, 0.7), rates="known").labelers[0].people
    3
    """
    typed = [_typed(text) for text in labelers]
    if labels is None:
        if rateless := [name for name, errors, *_ in typed if not errors]:
            raise ValueError(
                f"labeler {rateless[0]!r} has no error rate, and there is no file of labels to learn it from"
            )
        kinds = [
            Labeler(name, errors if len(errors) > 1 else errors[0], 1.0 if cost is None else cost, people)
            for name, errors, cost, people in typed
        ]
        classes = max(2, *(len(errors) for _, errors, *_ in typed)) if typed else 2
        learned = np.full(classes, 1 / classes)
    else:
        known = [str(worker) for worker in labels.worker_names]
        for name, errors, cost, _ in typed:
            if errors or cost is None:
                raise ValueError(
                    f"labeler {name!r}: with a file of labels write name::cost; errors are learned"
                )
            if name not in known:
                raise ValueError(f"there is no labeler {name!r} in the labels")
        costs = {name: cost for name, _, cost, _ in typed if cost is not None}
        kinds, learned = kinds_of(labels, gold=gold, key=key, cost=cost_label, costs=costs)
    if not kinds:
        raise ValueError("there are no labelers: give --labeler name:error:cost, or a file of labels")
    guess = learned if prior is None else prior if labels is None else by_class(prior, labels.class_names)
    positive = options.setdefault("positive", 1 if labels is None else positive_of(labels)[0])
    return Setting(guess, guessed_classifier(classifier, len(guess), positive), kinds, **options)


def kinds_of(
    labels: Labels, *, gold: Any = None, key: Any = None, cost: float = 1.0,
    costs: dict[str, float] | None = None,
) -> tuple[list[Labeler], np.ndarray]:  # fmt: skip
    """Kinds of labelers, the best first, and the class prior; `costs` of labelers other than `cost`."""
    fit = fit_joint(labels, gold=gold, key=as_key(key))
    if not fit.usable:
        raise ValueError(f"the labelers cannot be learned from these labels: {' '.join(fit.warnings)}")
    counts, costs = labels.labels_per_labeler(), costs or {}
    names = [str(worker) for worker in labels.worker_names]
    prior = fit.prior.mean(axis=0)
    right = (np.diagonal(fit.mean_matrices, axis1=1, axis2=2) * prior).sum(axis=1)
    order = [int(t) for t in np.argsort(-right, kind="stable") if counts[t]]
    # Labelers with a price of their own are each a kind; the others, best first, are put into thirds.
    rest = [t for t in order if names[t] not in costs]
    groups = [[t] for t in order if names[t] in costs or len(rest) <= _ALONE]
    if len(rest) > _ALONE:
        groups += [part.tolist() for part in np.array_split(np.array(rest), len(_GRADES))]
    groups.sort(key=lambda members: -right[members].mean())
    for most in range(_MOST_PEOPLE, 0, -1):  # labels of one kind, so few that mixes and patterns stay few
        people = [min(len(members), most) for members in groups]
        patterns = prod(comb(n + labels.num_classes - 1, n) for n in people)
        if prod(n + 1 for n in people) <= MOST_MIXES and patterns <= _MOST_PATTERNS:
            break
    grades, kinds = iter(_GRADES), []
    for members in groups:
        matrix = np.average(fit.mean_matrices[members], axis=0, weights=counts[members])
        name = names[members[0]] if len(members) == 1 else next(grades)
        price = costs.get(names[members[0]], cost)
        matrix /= matrix.sum(axis=1, keepdims=True)
        kinds.append(Labeler(name, matrix, price, min(len(members), most)))
    return kinds, prior / prior.sum()


def _typed(text: str) -> tuple[str, list[float], float | None, int]:
    """Name, error rates, cost, people."""
    parts = text.split(":")
    try:
        if not (2 <= len(parts) <= 4 and parts[0]):
            raise ValueError
        errors = [float(part) for part in parts[1].split("/")] if parts[1] else []
        cost = float(parts[2]) if len(parts) > 2 and parts[2] else None
        people = int(parts[3]) if len(parts) > 3 else 1
    except ValueError:
        raise ValueError(
            f"labeler {text!r}: write name:error:cost or name:error:cost:people, such as crowd:0.2:0.05:5; "
            "error may be one number for each true class, 0.1/0.3"
        ) from None
    return parts[0], errors, cost, people


def guessed_classifier(text: str, classes: int, positive: int) -> Float[np.ndarray, "classes classes"]:
    """The confusion matrix of an accuracy, or of a recall and a false-alarm rate."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 2 or not all(0 <= p <= 1 for p in numbers):
        raise ValueError(
            f"classifier {text!r}: give its accuracy, 0.9, or its detection and false-alarm rate, 0.85,0.1"
        )
    if len(numbers) == 1:
        return _confusion(1 - numbers[0], classes, "the classifier")
    if classes != 2:
        raise ValueError(f"an operating point is for two classes; the prior has {classes}: give an accuracy")
    detection, alarm = numbers
    matrix = np.array([[1 - alarm, alarm], [1 - detection, detection]])
    return matrix if positive == 1 else matrix[::-1, ::-1]


@seeded
def regular_assignment(
    num_samples: int, num_labelers: int, labels_per_sample: int, *, key: Any = None
) -> Bool[np.ndarray, "samples labelers"]:
    """Assign samples to labelers at random, equally many (or one more) to each.

    Such a graph has few short cycles, so no method can do better, up to a constant, without looking at
    answers (Karger, Oh and Shah 2014). It is drawn by their configuration model; a labeler who got a sample
    twice swaps one of the two with a random slot.

    Args:
        num_samples, num_labelers: sizes.
        labels_per_sample: at least 1, at most `num_labelers`.
        key: seed of the draw; 0 if None.

    Returns:
        (samples, labelers) mask, as the noise models' `sample` takes it.

    Raises:
        ValueError: impossible sizes.

    >>> found = regular_assignment(num_samples=12, num_labelers=6, labels_per_sample=3)
    >>> found.shape, found.sum(axis=0).tolist()
    ((12, 6), [6, 6, 6, 6, 6, 6])
    """
    check_whole(num_samples=num_samples, num_labelers=num_labelers, labels_per_sample=labels_per_sample)
    if labels_per_sample > num_labelers:
        raise ValueError(
            f"labels_per_sample is {labels_per_sample} but there are {num_labelers} labelers, and each "
            "labels a sample once; ask more people or for fewer labels"
        )
    most = 2 * labels_per_sample > num_labelers
    per_sample = num_labelers - labels_per_sample if most else labels_per_sample
    drawn = _draw(host_rng(as_key(key), "regular assignment"), num_samples, num_labelers, per_sample)
    mask = np.full((num_samples, num_labelers), most)
    np.put_along_axis(mask, drawn, not most, axis=1)
    return mask


def _draw(rng: np.random.Generator, samples: int, labelers: int, per_sample: int) -> np.ndarray:
    """(samples, each) different labelers in every row, each equally often, up to one."""
    slots = np.resize(rng.permutation(labelers), samples * per_sample)  # who gets one more is random too
    table = rng.permutation(slots).reshape(samples, per_sample)
    for _ in range(_MOST_SWAPS):
        order = np.argsort(table, axis=1, kind="stable")
        ranked = np.take_along_axis(table, order, axis=1)
        row, place = np.nonzero(ranked[:, 1:] == ranked[:, :-1])
        if not row.size:
            return table
        cells = np.ravel_multi_index((row, order[row, place + 1]), table.shape)
        flat = table.ravel()
        for a, b in zip(cells, rng.integers(0, flat.size, cells.size), strict=True):
            flat[a], flat[b] = flat[b], flat[a]
    raise RuntimeError(f"no assignment of {per_sample} of {labelers} labelers to {samples} samples was found")
