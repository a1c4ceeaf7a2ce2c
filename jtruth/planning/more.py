"""Interval widths that more labels or more gold would give, simulated from the present labels.

True classes are drawn from their posterior, then further labels of people like those in the file, or true
classes of random samples; `prevalence` or `evaluate` gives the widths, on common random numbers.
`benchmarks/more_labels.py` measures their errors. If (nearly) all samples are verified only more samples
help: those are bootstrapped from the verified ones, with their labels.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from jtruth._host import picked
from jtruth._one_line import one_line
from jtruth._random import Stated, as_key, host_rng, seeded, stated
from jtruth._validation import choose
from jtruth._validation.in_range import check_not_negative, check_whole
from jtruth._validation.words import number_of, series
from jtruth.answers import Answer, Column, Document, Table, how, warning_notes
from jtruth.answers.blocks import facts_of
from jtruth.evaluation import evaluate, prevalence
from jtruth.evaluation.inputs import read, read_gold
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import JointPosterior, fit_joint

_REDRAWN = 20  # draws of a labeler who has not labelled the sample; then a new one
_OFF = (  # the worst of the settings in benchmarks/more_labels.py
    "median error in other simulations: 1 % (90th percentile 3 %) for labels, 12 % (30 %) for verified labels"
)
_SETS, _QUICK = 8, 20_000  # data sets that a width is the mean of, where there are at most so many labels
_FEWEST = 20  # verified samples that new ones can be drawn from
_MEANT = {"population": "new samples", "in-sample": "these samples"}


class Offer(NamedTuple):
    """Labels that may be bought."""

    each: tuple[int, ...] = (1, 2, 3)  # more labels of each sample
    verified: tuple[int, ...] = (30, 100)  # true classes of samples at random
    cost_label: float = 1.0
    cost_gold: float = np.inf  # of a verified label; infinite: not given
    new: tuple[int, ...] = (30, 100, 300)  # verified new samples, where fewer than those are not verified

    __repr__ = one_line


OFFER = Offer()


@dataclass(frozen=True, repr=False)
class MoreData(Answer):
    """Expected width of an interval, now and with more labels or verified labels."""

    metric: str
    target: str
    level: float
    offer: Offer
    rows: tuple[dict[str, Any], ...]  # what is bought, what it costs, the width that it gives
    num_sets: int  # data sets that each width is the mean of
    key: Stated
    warnings: tuple[str, ...] = ()

    def blocks(self) -> Document:
        """Build the document of the result."""
        columns = (
            Column("num_labels", "labels", form="d"), Column("num_gold", "verified", form="d"),
            *[Column("num_new", "new samples", form="d")] * any(row["num_new"] for row in self.rows),
            Column("cost", f"cost ({self.offer.cost_label:g} per label)", form=".6g"),
            Column("width", "mean width", form=".2f"),
        )  # fmt: skip
        costs = {"cost_label": self.offer.cost_label, "cost_gold": self.offer.cost_gold}
        gold = f"{costs['cost_gold']:g}" if np.isfinite(costs["cost_gold"]) else "not given (--cost-gold)"
        drawn = number_of(self.num_sets, "data set")
        blocks = (
            Table("options", "Options", "buy", columns, self.rows, unit=None, draw="width",
                  say=_option),
            warning_notes(self.warnings),
            how(("cost", f"a label {self.offer.cost_label:g}, a verified label {gold}"),
                ("width", "; ".join(filter(None, [f"mean of {drawn}, simulated", _spread(self.rows), _OFF]))),
                ("assumption", "new labelers are like those in the file, and labels predict the true class")),
            facts_of(self, "metric", "target", "level", "num_sets", "key"), costs,
        )  # fmt: skip
        many, level = self.metric == "prevalence", f"{100 * self.level:g} %"
        what = f"intervals of the class shares for {_MEANT[self.target]} have a mean width"
        what = what if many else f"interval of {self.metric} for {_MEANT[self.target]} has a width"
        last = {(bool(row["num_gold"]), bool(row["num_new"])): row for row in self.rows[1:]}
        now = _width_text(self.rows[0]["width"])
        widths = [(_width_text(row["width"]), _option(row["buy"])) for row in last.values()]
        text = [f"{width}{' (no change)' * (width == now)} with {what}" for width, what in widths]
        first = f"The {level} {what} of {now}"
        first += ". The width would be " if text else ""
        about = f"Widths with more data are simulated; key {self.key}"
        return Document("How many more labels?", about, f"{first}{series(text) if text else ''}.", blocks)


def _width_text(width: float | None) -> str:
    return "undetermined" if width is None else f"{100 * width:.0f} points"


def _option(buy: Any) -> str:
    return "no more data" if buy == "nothing" else str(buy).replace(" each", " per sample")


def _spread(rows: Sequence[dict[str, Any]]) -> str:
    """Largest relative standard deviation of single data sets, by kind."""
    found = {}
    for row in rows[1:]:
        if row["width"] and row["sd"] is not None:
            kind = "verified labels" if row["num_gold"] else "labels"
            found[kind] = max(found.get(kind, 0.0), row["sd"] / row["width"])
    some = [f"{max(1, round(100 * off))} % for {kind}" for kind, off in found.items()]
    return f"standard deviation of one set up to {', '.join(some)}" if some else ""


@seeded
def more_data(
    labels: Labels, gold: Any = None, *, y_pred: Any = None, metric: str = "prevalence", offer: Offer = OFFER,
    key: Any = None, num_sets: int | None = None, progress: Callable[[int, int], None] | None = None,
    **options: Any,
) -> MoreData:  # fmt: skip
    """Interval widths that more labels of each sample, or verified labels, would give.

    Args:
        labels: the present labels; their labelers are learned as by `fit_joint`.
        gold: known classes of samples chosen at random, as `prevalence` takes them.
        y_pred: (samples,) predictions for `metric`; or the confusion matrix (classes, classes) of a
            hypothetical classifier. None for "prevalence".
        metric: "prevalence", the share of class `positive` (the mean over all classes if none is named), or a
            metric of `evaluate`.
        offer: options and their costs.
        key: a whole number or a JAX key; 0 if None.
        num_sets: data sets that each width is the mean of; None: 8, or 2 of over 20,000 labels.
        progress: called with (answers done, answers planned).
        options: of `prevalence` or `evaluate`: positive (a name), assume, labelers_are, target, level.

    Raises:
        ValueError: labels from which error rates cannot be learned; an unknown metric.

    >>> z = np.random.default_rng(0).integers(0, 10, (60, 4)) < np.repeat([[8], [2]], 30, axis=0)
    >>> found = more_data(Labels.from_matrix(z.astype(int), 2), offer=Offer((1,), (30,)), num_sets=1)
    >>> [row["buy"] for row in found.rows], found.rows[2]["width"] < found.rows[0]["width"]
    (['nothing', '1 more label each', '30 verified labels'], True)
    """
    reported, key = stated(key), as_key(key)
    num_sets = num_sets or (_SETS if labels.num_labels <= _QUICK else 2)
    check_whole(num_sets=num_sets)
    check_not_negative(offer.cost_label, "cost_label")
    known, guessed = read_gold(gold, labels)[0], np.ndim(y_pred) == 2
    if metric != "prevalence":
        named = [labels.class_names[0]] * labels.num_samples if guessed else y_pred
        data = read(named, labels, None, None, gold, options.get("positive"))
        y_pred, options["positive"] = y_pred if guessed else data.y_pred, data.classes[data.positive]
    labels = replace(labels, inferred=())  # classes are codes from here
    fit = fit_joint(labels, y_pred=None if guessed else y_pred, gold=known, key=key)
    if not fit.usable:
        raise ValueError(f"the labelers cannot be learned from these labels: {' '.join(fit.warnings)}")
    plans = _plans(offer, known, options.get("target", "population"))
    widths: list[list[float]] = [[] for _ in plans]
    for s in range(num_sets):
        rng = host_rng(key, "more data", s)
        truth, more, order = drawn_from(labels, known, fit, max(offer.each, default=0), rng)
        guess = picked(np.asarray(y_pred)[truth], rng.random(truth.size)) if guessed else y_pred
        for k, (n, g, new) in enumerate(plans):
            if k or not s or guessed:  # of what is there, once is enough
                verified = known.copy()
                verified[order[:g]] = truth[order[:g]]
                bought = more[n], verified, guess
                bought = with_new(*bought, new, rng) if new else bought
                widths[k].append(width_of(*bought, metric, {"key": key, **options}))
            if progress is not None:
                progress(s * len(plans) + k + 1, num_sets * len(plans))
    rows = []
    each = labels.num_labels / labels.num_samples
    for (n, g, new), found in zip(plans, widths, strict=True):
        what = number_of(g, "verified label") if g else "nothing"
        what = f"{number_of(n, 'more label')} each" if n else what
        what = f"{new} new verified samples" if new else what
        number, g = n * labels.num_samples + round(new * each), g + new
        cost = number * offer.cost_label + (g * offer.cost_gold if g else 0.0)
        sd = float(np.std(found, ddof=1)) if len(found) > 1 else np.nan
        rows.append({"buy": what, "num_labels": number, "num_gold": g, "num_new": new,
                     "cost": cost if np.isfinite(cost) else None,
                     **{name: v if np.isfinite(v) else None
                        for name, v in (("width", float(np.mean(found))), ("sd", sd))}})  # fmt: skip
    asked = {"target": "population", "level": 0.95} | options
    doubts = ("The classifier is hypothetical; give --predictions if there is one.",) if guessed else ()
    return MoreData(metric, asked["target"], asked["level"], offer, tuple(rows), num_sets, reported, doubts)


def _plans(offer: Offer, known: np.ndarray, target: str) -> list[tuple[int, int, int]]:
    """Options (labels of each sample, verified labels, new samples) that can change the width."""
    left = int((known < 0).sum())
    each, gold = offer.each if left else (), sorted({min(g, left) for g in offer.verified} - {0})
    helps = target == "population" and left <= max(offer.verified, default=0) and known.size - left >= _FEWEST
    new = [(0, 0, m) for m in offer.new if helps]
    return [(0, 0, 0), *((n, 0, 0) for n in each), *((0, g, 0) for g in gold), *new]


def with_new(
    labels: Labels, known: np.ndarray, y_pred: Any, new: int, rng: np.random.Generator
) -> tuple[Labels, np.ndarray, Any]:
    """Labels, known classes and predictions with new samples: verified ones, drawn again."""
    drawn = rng.choice(np.flatnonzero(known >= 0), new)
    sample, labeler, label = labels.entries()
    order, ends = np.argsort(sample, kind="stable"), np.cumsum(labels.labels_per_sample())
    entries = [order[ends[i] - labels.labels_per_sample()[i] : ends[i]] for i in drawn]
    at, place = np.concatenate(entries), np.repeat(np.arange(new), list(map(len, entries)))
    columns = {"sample": (sample, labels.num_samples + place), "labeler": (labeler, labeler[at]),
               "label": (label, label[at])}  # fmt: skip
    longer = {name: np.concatenate(both).astype(np.int32) for name, both in columns.items()}
    grown = replace(labels, **longer, num_samples=labels.num_samples + new, tasks=None, self_agreement=None)
    guesses = None if y_pred is None else np.concatenate([np.asarray(y_pred), np.asarray(y_pred)[drawn]])
    return grown, np.concatenate([known, known[drawn]]), guesses


def drawn_from(
    labels: Labels, known: np.ndarray, fit: JointPosterior, most: int, rng: np.random.Generator
) -> tuple[np.ndarray, list[Labels], np.ndarray]:
    """True classes; the labels with 0, 1, ..., `most` more of each sample; unverified samples, shuffled."""
    sample, people = np.arange(labels.num_samples), labels.num_labelers
    truth = np.where(known >= 0, known, picked(fit.class_posterior, rng.random(sample.size)))
    share = labels.labels_per_labeler() / labels.labels_per_labeler().sum()
    like, grown = rng.choice(people, most, p=share), [labels]
    taken = labels.entries()[0].astype(np.int64) * people + labels.entries()[1]
    for j in range(most):
        who = rng.choice(people, sample.size, p=share)
        for _ in range(_REDRAWN):
            again = np.isin(sample * people + who, taken)
            who = np.where(again, rng.choice(people, sample.size, p=share), who)
        again = np.isin(sample * people + who, taken)  # a new labeler, like one of these
        taken = np.concatenate([taken, (sample * people + who)[~again]])
        label = picked(fit.mean_matrices[np.where(again, like[j], who), truth], rng.random(sample.size))
        columns = {"sample": sample, "labeler": np.where(again, people + j, who), "label": label}
        longer = {name: np.concatenate([getattr(grown[-1], name), new]) for name, new in columns.items()}
        names = (*grown[-1].worker_names, f"new {j + 1}")
        grown.append(replace(labels, **longer, num_labelers=len(names), workers=names, self_agreement=None))
    return truth, grown, rng.permutation(np.flatnonzero(known < 0))


def width_of(labels: Labels, gold: np.ndarray, y_pred: Any, metric: str, options: dict[str, Any]) -> float:
    """Width of the interval; NaN if not identified."""
    options |= {"gold": gold} if (gold >= 0).any() else {}
    if metric == "prevalence":
        positive = options.pop("positive", None)
        shares = prevalence(labels, **options).shares
        dists = [dist for name, dist in shares.items() if positive in (None, name)]
    else:
        metrics = evaluate(y_pred, labels, **options).metrics
        choose("metric", metric, ("prevalence", *metrics))
        dists = [metrics[metric]]
    ends = [dist.interval(options.get("level", 0.95)) for dist in dists]
    return float(np.mean([high - low for low, high in ends])) if ends else float("nan")
