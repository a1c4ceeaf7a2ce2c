"""Words that answers of this room share: what is meant by a target, what was taken as true, who doubts."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from jtruth._validation.terminal import plain
from jtruth._validation.words import number_of, some
from jtruth.answers import Column, Table
from jtruth.stats.estimates import Estimate
from jtruth.tables.metrics import title

INDEPENDENT = "given the true class, the labelers err independently of one another"
MORE_RIGHT = "labelers are more often right than wrong (else the same labels would mean the opposite)"
IN_SAMPLE, POPULATION = "in-sample", "population"
TARGETS = (IN_SAMPLE, POPULATION)
OF_LABELERS = {
    IN_SAMPLE: "share of the labels given that are right",
    POPULATION: "chance that a label for a new sample is right",
}
OF_ONE_CLASS = ("recall", "precision", "accuracy")
OF_ALL_CLASSES = ("accuracy", "macro_recall", "macro_f1")
BY_ASSUMPTION = "What each assumption says"
_DETERMINED = 0.5  # width of an interval above which nothing is determined
_MOST_NAMES = 12


def metric_title(name: str) -> str:
    """A metric as people call it; the name of a class, recall[my_class], stays what it is."""
    metric, bracket, of_class = name.partition("[")
    return title(metric) + (f"[{plain(of_class[:-1])}]" if bracket else "")


def undetermined(low: float | None, high: float | None) -> bool:
    """Whether an interval is so wide that its middle is no answer, and no headline."""
    return low is not None and high is not None and high - low > _DETERMINED


def interval_title(level: float, kind: str) -> str:
    """Intervals of a kind: "95 % predictive interval"."""
    return f"{100 * level:g} % {kind.removesuffix(' interval')} interval"


def loudest(checks: Sequence[Any]) -> str:
    """How many checks speak against what the answer rests on, in a sentence; empty if none does."""
    against = [check.name for check in checks if check.verdict == "does not fit"]
    if not against:
        return ""
    number = f"{len(against)} checks speak" if len(against) > 1 else "1 check speaks"
    return f"{number} against independent errors: {some(against, 3)}."


def interval_text(law: Estimate, level: float) -> str:
    """Mean and interval of a law that may be undefined."""
    if np.isnan(law.mean):
        return "undefined"
    low, high = law.interval(level)
    return f"{law.mean:.3f} [{low:.3f}, {high:.3f}]"


def listed(names: Sequence[Any], more: Sequence[str] = ()) -> str:
    """The first names, each with what stands beside it."""
    said = [f"{name!r} {text}".strip() for name, text in zip(names, more or [""] * len(names), strict=False)]
    left = f" and {len(said) - _MOST_NAMES} more" if len(said) > _MOST_NAMES else ""
    return ", ".join(said[:_MOST_NAMES]) + left


def counts_text(found: Any) -> str:
    """How many samples, labels and labelers."""
    labels = f"{number_of(found.num_samples, 'sample')}, {number_of(found.num_labels, 'label')}"
    return f"{labels} by {number_of(found.num_labelers, 'labeler')}"


def taken_as_true(num_gold: int) -> str:
    """How many labels were taken as true."""
    if not num_gold:
        return "no label was taken as true"
    return f"{number_of(num_gold, 'gold label')} {'was' if num_gold == 1 else 'were'} taken as true"


def assumption_table(name: str, rows: Sequence[dict], columns: Sequence[Column], note: str = "") -> Table:
    """What each assumption says: means, for none of them is the answer."""
    return Table(name, BY_ASSUMPTION, "sentence", tuple(columns), rows, note, say=str)
