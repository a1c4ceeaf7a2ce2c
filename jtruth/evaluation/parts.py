"""Checks, assumptions, rows of labelers, and phrases that the results of this module share."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jtruth._one_line import one_line
from jtruth._validation.words import Read, Tip, number_of, plain, some
from jtruth.answers import Check, Column, Curve, Table
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.estimates import Estimate
from jtruth.tables.metrics import title

WORTH_KNOWING = "worth knowing"  # the verdict on what is so and spoils no answer
PREDICTIVE = "predictive"  # kind of interval: models of labels, widened by how far they were off elsewhere
LOOK_FIRST = "look first"  # the verdict on what makes every number below it worthless
UNCERTAIN = "Uncertain estimates: "
FEW_GOLD = f"{UNCERTAIN}only "  # begins the warning that the headline repeats
FEW = 5  # verified samples of a labeler or class below which they are too few
FALSE_ALARM = 1e-4  # probability of one such verdict on labels that are what they seem, at most


def alarm(
    name: str, statistic: Any, p_value: Any, text: str, *, odd: float | None = None
) -> tuple[Check, ...]:
    """An alarm if the p-value is at most 1e-4 or None; up to `odd` a note; else nothing."""
    if p_value is not None and p_value > (FALSE_ALARM if odd is None else odd):
        return ()
    verdict = LOOK_FIRST if p_value is None or p_value <= FALSE_ALARM else WORTH_KNOWING
    return (Check(name, float(statistic), None if p_value is None else float(p_value), verdict, text),)


class Assumption(NamedTuple):
    """Metrics under one named assumption."""

    name: str
    sentence: str
    metrics: Mapping[str, Estimate] = {}  # computed for the rows that are shown
    # How well it predicts labels and prediction of a sample left out (PSIS-LOO), which picks nothing: "elpd",
    # its "difference" to the first model, "difference_se", and "num_bad" terms that cannot be trusted.
    loo: Mapping[str, float] | None = None
    posterior: Any = None  # of the count table, or `Curves`; None for rules that have none
    fit: JointPosterior | None = None  # None where nothing was sampled (the majority vote), and in rows

    __repr__ = one_line


INDEPENDENT_ERRORS = "labelers err independently of one another, given the true class"
MORE_RIGHT = "labelers are right more often than wrong (otherwise the same labels would mean the opposite)"
IN_SAMPLE, POPULATION = "in-sample", "population"
TARGETS = (IN_SAMPLE, POPULATION)
ABOUT = {IN_SAMPLE: "for these samples", POPULATION: "for new samples"}
OF_LABELERS = {IN_SAMPLE: "accuracy of the labels given", POPULATION: "accuracy of labelers on new samples"}
OF_ONE_CLASS = ("recall", "precision", "accuracy")
OF_ALL_CLASSES = ("accuracy", "macro_recall", "macro_f1")
BY_ASSUMPTION = "Estimates under each assumption"
RANDOM_GOLD = Read(
    "The verified samples are assumed to be chosen at random; if not, "
    "give gold=jt.io.Gold(classes, inclusion or strata)."
)
SHARED = "labelers may make the same mistakes, and labels alone cannot show these"
ONLY_GOLD = Tip(
    "Verified labels of 30 random samples would narrow the intervals (gold=..., --gold FILE; "
    "jtruth.asking.ask_next chooses them). Labels cannot show mistakes that labelers share."
)
DETERMINED = 0.5  # width of an interval above which nothing is determined
_MOST_NAMES = 12
_OF_DEPENDENCE = {  # checks that speak of independent errors alone
    "label patterns", "pairwise agreement", "labeler misfit", "labelers share errors",
    "classifier and hard samples", "classifier and single labelers",
    "groups of labelers", "groups of labelers, everybody in one",
}  # fmt: skip


def metric_title(name: str) -> str:
    """Title of a metric; the name of a class, as in recall[my_class], is unchanged."""
    metric, bracket, of_class = name.partition("[")
    return title(metric) + (f"[{plain(of_class[:-1])}]" if bracket else "")


def undetermined(low: float | None, high: float | None) -> bool:
    """Whether an interval is too wide for a point estimate in the headline."""
    return low is not None and high is not None and high - low > DETERMINED


def interval_title(level: float, kind: str) -> str:
    """Name of an interval: "95 % predictive interval"."""
    return f"{100 * level:g} % {kind.removesuffix(' interval')} interval"


def plain_interval(title: str) -> str:
    """The same for a headline, which says in words what the interval allows for: "95 % interval"."""
    return title.replace("posterior ", "").replace("predictive ", "")


def loudest(checks: Sequence[Check], allowed: bool = False) -> dict[str, Any]:
    """Fields of a `Document` on the failed checks; `allowed`: the result allows for dependent errors."""
    against = [check.name for check in checks if check.verdict == "does not fit"]
    if not against:
        return {}
    of = sum(check.verdict in ("fits", "does not fit") for check in checks)
    if against == ["prior-driven"]:
        why = "The intervals depend strongly on the default prior (summary(full=True) says how)"
        return {"doubt": f"{why}. Verified labels would change that."}
    kind = sum(name in _OF_DEPENDENCE for name in against)
    failed = f"{kind or len(against)} of {of} model checks"
    if kind and allowed:
        why = f"The labelers' errors are not independent ({failed} failed). The intervals allow for that."
        return {"doubt": why, "doubt_sign": "look"}
    if kind:
        why = f"This answer assumes independent errors, but {failed} disagree"
        return {"doubt": f"{why}. Verify random samples, or leave out assume='independent' if you gave it."}
    what = f"{failed} failed: {some(against, 3)}"
    return {"doubt": f"{what}. Verify random samples to see how far the answer is off."}


def interval_text(dist: Estimate, level: float) -> str:
    """Mean and interval of a distribution; "undefined" if it never is."""
    if np.isnan(dist.mean):
        return "undefined"
    low, high = dist.interval(level)
    return f"{dist.mean:.3f} [{low:.3f}, {high:.3f}]"


def listed(names: Sequence[Any], more: Sequence[str] = ()) -> str:
    """The first names, each followed by its text in `more`."""
    each = zip(names, more or [""] * len(names), strict=False)
    return some([f"{name!r} {text}".strip() for name, text in each], _MOST_NAMES)


def counts_text(answer: Any) -> str:
    """Numbers of samples, labels and labelers."""
    samples = number_of(answer.num_samples, "sample")
    if not answer.num_labels and answer.num_gold:
        return f"{samples}, {answer.num_gold} verified, no other labels"
    labels = number_of(answer.num_labels, "label")
    other = "other " * getattr(answer, "graded", "").startswith("Labeler ")
    return f"{samples}, {labels} by {number_of(answer.num_labelers, f'{other}labeler')}"


def taken_as_true(num_gold: int, num_calibration: int = 0, random: bool = False) -> str:
    """Number of verified labels (`random` ones) that were used, of these samples or of other items."""
    if num_calibration:
        return f"{number_of(num_calibration, 'verified calibration item')} set the error rates"
    if not num_gold:
        return "no verified labels (gold) were used"
    how = ", assumed to be a random sample" * random
    return f"{number_of(num_gold, 'verified label')} (gold) {'were' if num_gold > 1 else 'was'} used{how}"


def assumption_table(rows: Sequence[dict], columns: Sequence[Column], note: str = "") -> Table:
    """Table of the means under each assumption."""
    return Table("assumptions", BY_ASSUMPTION, "sentence", tuple(columns), rows, note, say=str)


def means_and_ends(dists: Iterable[Estimate], level: float) -> list[tuple[float, float, float]]:
    """Mean and both ends of the interval of each distribution."""
    return [(dist.mean, *dist.interval(level)[:2]) for dist in dists]


def worst_first(
    workers: Sequence[Any], num_labels: np.ndarray, accuracies: Sequence[tuple[float, float, float]],
    more: Sequence[Mapping[str, Any]] = (),
) -> tuple[dict[str, Any], ...]:  # fmt: skip
    """A row for each labeler, ready for JSON, the worst first; `accuracies` are (mean, low, high)."""
    rows = []
    for t in np.argsort([mean for mean, _, _ in accuracies], kind="stable").tolist():
        known = (None if np.isnan(value) else float(value) for value in accuracies[t])
        dist = dict(zip(("accuracy", "low", "high"), known, strict=True))
        also = more[t] if more else {}
        rows.append({"worker": str(workers[t]), "num_labels": int(num_labels[t]), **dist, **also})
    return tuple(rows)


def labeler_table(
    rows: Sequence[dict[str, Any]], level: float, what: str = "share right", more: Sequence[Column] = ()
) -> Table:
    """Table of labelers' accuracies, the worst first, with `more` columns."""
    title = f"{what[0].upper()}{what[1:]}, worst first, with {100 * level:g} % intervals"
    head, form = ("accuracy (%)", "%") if more else ("accuracy", ".3f")
    columns = (Column("accuracy", head, ("low", "high"), form), *more, Column("num_labels", "labels"))
    return Table("labelers", title, "worker", columns, rows, missing="no label given")


def curve_of(
    name: str, table: Table, axis: tuple[list[float], str, dict[float, str]] | None, y: str
) -> tuple[Curve, ...]:
    """The rows of a table of groups along their `axis` (see `Groups.axis`); none without an order."""
    if axis is None:
        return ()
    points = {"x": axis[0]} | {end: [row[end] for row in table.rows] for end in ("mean", "low", "high")}
    return (Curve(name, table.title, axis[1], y, {"": points}, named=axis[2]),)
