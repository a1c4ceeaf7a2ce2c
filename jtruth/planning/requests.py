"""From what a person types to a plan: `jtruth plan`.

Labelers are typed as name:error:cost:people, the last optional, or learned from a file of labels, which are
put into at most three kinds by accuracy, each with the mean matrix of its members, so that mixes stay few. A
file's labels only say how well people label: the plan is for new samples.
"""

from collections.abc import Sequence
from math import comb, prod
from typing import Any, NamedTuple

import numpy as np

from jtruth._random import as_key
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import fit_joint
from jtruth.planning.search import MOST_MIXES, Limits, PlanSearch, cheapest_plan, narrowest_plan
from jtruth.planning.settings import ACCURACY, Labeler, Question, labeler, setting

_MOST_PEOPLE = 5  # labels per sample of one kind that a search tries, for labelers of a file
_MOST_PATTERNS = 4000  # of labels in a mix, likewise
_LIMITS = Limits()
_ALONE = 3  # so few labelers are not put into kinds
_GRADES = ("good", "fair", "poor")


class People(NamedTuple):
    """Who labels and who is tested, as a person types it."""

    # "name:error:cost" or "name:error:cost:people"; error is a number, or one for each true class with
    # slashes, "0.1/0.3". With `labels`, "name::cost" is the cost of one labeler of these.
    labelers: Sequence[str] = ()
    labels: Labels | None = None  # learn labelers and prior from these
    prior: Sequence[float] | None = None  # (classes,); even, or learned from `labels`, if None
    classifier: str = "0.9"  # its accuracy in every class; "0.85,0.1" its detection and false-alarm rate
    cost_label: float = 1.0  # of a label by a labeler of `labels` whose cost is not said


def plan_request(
    people: People,
    *,
    key: Any = None,
    width: float | None = None,
    budget: float | None = None,
    question: Question = ACCURACY,
    limits: Limits = _LIMITS,
    cost_sample: float = 0.0,
    cost_gold: float = np.inf,
) -> PlanSearch:
    """Search for a plan from text options.

    Args:
        people: labelers and classifier.
        key: a whole number or a JAX key; left out, it is 0.
        width, budget: one of them: how wide the interval may be, or what may be spent.
        question, cost_sample, cost_gold: see `setting`.
        limits: see `cheapest_plan`.

    Raises:
        ValueError: text that cannot be read, both or neither of width and budget, no labelers.

    >>> from jtruth.planning import Limits, People, Question
    >>> found = plan_request(
    ...     People(["crowd:0.2:0.05:3"]), budget=20.0, question=Question(rates="known"), cost_sample=0.02,
    ...     limits=Limits(num_sets=10))
    >>> found.best.plan
    Plan(num_samples=166, labels=(2.0,), num_gold=0)
    """
    labelers, labels, prior, classifier, cost_label = people
    costs: dict[str, float] = {"cost_sample": cost_sample, "cost_gold": cost_gold}
    if (width is None) == (budget is None):
        raise ValueError("say what is wanted: either width (--width .05) or budget (--budget 200)")
    typed = [_typed(text) for text in labelers]
    if labels is None:
        if rateless := [name for name, errors, *_ in typed if not errors]:
            raise ValueError(
                f"labeler {rateless[0]!r} has no error rate, and there is no file to learn it from"
            )
        kinds = [
            labeler(name, errors if len(errors) > 1 else errors[0], 1.0 if cost is None else cost, people)
            for name, errors, cost, people in typed
        ]
        even = kinds[0].matrix.shape[0] if kinds else 2
        guess = np.full(even, 1 / even) if prior is None else prior
    else:
        kinds, learned = kinds_of(labels, key=key, cost=cost_label, costs=_costs(typed, labels))
        guess = learned if prior is None else prior
    if not kinds:
        raise ValueError("there are no labelers: give --labeler name:error:cost, or a file of labels")
    classes = len(guess)
    kinds = [k if k.matrix.shape[0] == classes else _spread(k, classes) for k in kinds]
    made = setting(guess, _classifier(classifier, classes), kinds, question, **costs)
    if width is not None:
        return cheapest_plan(made, width, key=key, limits=limits)
    return narrowest_plan(made, float(budget or 0), key=key, limits=limits)


def kinds_of(
    labels: Labels, *, key: Any = None, cost: float = 1.0, costs: dict[str, float] | None = None
) -> tuple[list[Labeler], np.ndarray]:
    """Kinds of labelers, and the class prior, learned from labels by the joint posterior.

    Args:
        labels: of at least two labelers.
        key: a whole number or a JAX key; left out, it is 0.
        cost: of a label.
        costs: by labeler, where different; each of them is a kind of its own.

    Returns:
        Kinds, the best first, and (classes,) the posterior mean of the prior.

    Raises:
        ValueError: labels from which the labelers cannot be learned.
    """
    fit = fit_joint(labels, key=as_key(key))
    if not fit.usable:
        raise ValueError(f"the labelers cannot be learned from these labels: {' '.join(fit.warnings)}")
    given, costs = labels.labels_per_labeler(), costs or {}
    names = [str(worker) for worker in labels.worker_names]
    prior = fit.prior.mean(axis=0)
    right = (np.diagonal(fit.mean_matrices, axis1=1, axis2=2) * prior).sum(axis=1)
    order = [int(t) for t in np.argsort(-right, kind="stable") if given[t]]
    groups = sorted(_groups(order, [names[t] in costs for t in order]), key=lambda m: -right[m].mean())
    most = _most_people([len(members) for members in groups], labels.num_classes)
    grades, kinds = iter(_GRADES), []
    for members in groups:
        matrix = np.average(fit.mean_matrices[members], axis=0, weights=given[members])
        name = names[members[0]] if len(members) == 1 else next(grades)
        price = costs.get(names[members[0]], cost)
        kinds.append(
            Labeler(name, matrix / matrix.sum(axis=1, keepdims=True), price, min(len(members), most))
        )
    return kinds, prior / prior.sum()


def _groups(order: list[int], alone: list[bool]) -> list[list[int]]:
    """Labelers with a price of their own each by himself; the others, best first, in thirds."""
    own = [[t] for t, single in zip(order, alone, strict=True) if single]
    rest = [t for t, single in zip(order, alone, strict=True) if not single]
    if len(rest) <= _ALONE:
        return own + [[t] for t in rest]
    return own + [part.tolist() for part in np.array_split(np.array(rest), len(_GRADES))]


def _most_people(sizes: list[int], classes: int) -> int:
    """How many labels of one kind to try at most, so that mixes and patterns stay few."""
    for most in range(_MOST_PEOPLE, 1, -1):
        people = [min(size, most) for size in sizes]
        patterns = prod(comb(n + classes - 1, n) for n in people)
        if prod(n + 1 for n in people) <= MOST_MIXES and patterns <= _MOST_PATTERNS:
            return most
    return 1


def _typed(text: str) -> tuple[str, list[float], float | None, int]:
    """name, error rates, cost, people."""
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


def _costs(typed, labels: Labels) -> dict[str, float]:
    known = [str(worker) for worker in labels.worker_names]
    for name, errors, cost, _ in typed:
        if errors or cost is None:
            raise ValueError(f"labeler {name!r}: with a file of labels write name::cost; errors are learned")
        if name not in known:
            raise ValueError(f"there is no labeler {name!r} in the labels")
    return {name: cost for name, _, cost, _ in typed}


def _spread(kind: Labeler, classes: int) -> Labeler:
    """A symmetric kind typed by one number, for more than two classes."""
    errors = 1 - np.diag(kind.matrix)
    if kind.matrix.shape[0] != 2 or errors[0] != errors[1]:
        raise ValueError(f"labeler {kind.name!r} has {kind.matrix.shape[0]} classes, the prior {classes}")
    return labeler(kind.name, float(errors[0]), kind.cost, kind.people, classes)


def _classifier(text: str, classes: int) -> Any:
    """Accuracy, or (detection rate, false-alarm rate) as a matrix."""
    try:
        numbers = [float(part) for part in text.split(",")]
    except ValueError:
        numbers = []
    if not 1 <= len(numbers) <= 2 or not all(0 <= p <= 1 for p in numbers):
        raise ValueError(
            f"classifier {text!r}: give its accuracy, 0.9, or its detection and false-alarm rate, 0.85,0.1"
        )
    if len(numbers) == 1:
        return numbers[0]
    if classes != 2:
        raise ValueError(f"an operating point is for two classes; the prior has {classes}: give an accuracy")
    detection, alarm = numbers
    return [[1 - alarm, alarm], [1 - detection, detection]]
