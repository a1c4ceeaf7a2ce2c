"""Agreement of labelers who give sets of classes, or numbers on a continuous scale.

Both functions take plain columns, one row a label; the statistics are those of `jtruth.stats.raters`.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from jtruth._random import Key, as_key, seeded, stream
from jtruth._validation import as_list, brief, collapse_rows
from jtruth._validation.words import number_of, plain, some
from jtruth.answers import Answer, Column, Document, Table, facts, how, warning_notes
from jtruth.answers.blocks import dist_column, facts_of
from jtruth.evaluation.agreement import in_common
from jtruth.inspection import coefficient_table
from jtruth.learning.values import Values, members
from jtruth.stats.agreement import Agreement, agreement, krippendorff, separate_groups
from jtruth.stats.estimates import check_level
from jtruth.stats.raters import DISTANCES, alpha_of_numbers, intraclass, limits_of_agreement, set_distances

_TASKS = Column("num_samples", "tasks")
_SHOWN = 10  # pairs on a screen
_MOST_SETS = 1000  # different ones, which take half a minute
_TITLES = {
    "masi": "MASI distance", "jaccard": "Jaccard distance", "equal": "equal or not",
    "icc_2_1": "ICC(2,1): one rater", "icc_2_k": "ICC(2,k): mean of k raters",
    "icc_3_1": "ICC(3,1): consistency", "krippendorff": "alpha, interval",
}  # fmt: skip
_WORDS = {0.5: "poorly", 0.75: "moderately", 0.9: "well", np.inf: "very well"}  # up to; Koo and Li (2016)


@dataclass(frozen=True, repr=False)
class SetAgreement(Answer):
    """Krippendorff's alpha of sets by each distance, and of each class alone."""

    overall: dict[str, Agreement]  # by distance
    by_class: dict[str, Agreement]  # is the class in the set?
    shares: dict[str, float]  # of the sets with a class
    distance: str
    num_sets: int
    warnings: tuple[str, ...] = ()

    def blocks(self) -> Document:
        """Build the document of the result."""
        binary = "jt.evaluate_labelers(jt.Labels.from_long(task, worker, [{!r} in one for one in sets]))"
        classes = [
            {"class": name, **one._asdict(), "share": self.shares[name], "next": binary.format(name)}
            for name, one in self.by_class.items()
        ]
        columns = (Column("value", "alpha", ("low", "high")), Column("share", "share of sets"))
        first = self.overall[self.distance]
        order = np.argsort([row["value"] for row in classes], kind="stable").tolist()  # undefined ones last
        known = [classes[k] for k in order if not np.isnan(classes[k]["value"])]
        sentence = f"Alpha of sets ({_TITLES[self.distance]}) is {first} (0: chance, 1: full agreement)."
        if len(known) > 1:
            ends = [f"{plain(row['class'])!r} ({row['value']:.3f})" for row in (known[0], known[-1])]
            sentence += f" Agreement is lowest on {ends[0]} and highest on {ends[1]}."
        blocks = (
            coefficient_table("overall", "Krippendorff's alpha of whole sets", self.overall, _TASKS,
                              titles=_TITLES),
            Table("classes", "Agreement on each class, lowest first", "class", columns, classes,
                  missing="undefined", order=order),
            warning_notes(self.warnings), facts_of(self, "distance", "num_sets"), facts(level=first.level),
        )  # fmt: skip
        about = f"{self.num_sets} sets of {first.num_samples} tasks; classes "
        about, following = about + some(map(plain, self.by_class)), known[0]["next"] if known else ""
        return Document("How much do labelers agree on sets?", about, sentence, blocks, next=following)


@seeded
def set_agreement(
    task: Iterable, worker: Iterable, sets: Iterable[Iterable], *, distance: str = "masi",
    level: float = 0.95, key: Key | None = None,
) -> SetAgreement:  # fmt: skip
    """Krippendorff's alpha of sets of classes, and of each class alone, with posterior intervals.

    Args:
        task, worker: ids, one a row.
        sets: for each row the classes that the worker named; an empty set means that none holds.
        distance: of two sets, "masi", "jaccard" or "equal", for the headline; the result has all three.
        level: probability of the intervals.
        key: a whole number or a JAX key; 0 if None.

    Raises:
        ValueError: a row that is no set, a second set of a worker for a task, one worker, fewer than two
            tasks with sets of two workers, or sets that are all equal or over 1000 different ones.

    >>> sets = [["cat"], ["cat", "dog"], ["dog"], ["dog"], [], [], ["cat"], ["cat"]]
    >>> found = set_agreement([0, 0, 1, 1, 2, 2, 3, 3], ["x", "y"] * 4, sets)
    >>> {name: round(one.value, 3) for name, one in found.overall.items()}
    {'masi': 0.781, 'jaccard': 0.829, 'equal': 0.696}
    """
    member, classes = members(as_list(sets, "sets"))
    rows, task, *_, notes = _shared(Values.from_long(task, worker, member), "worker")
    member, key = member[rows], as_key(key)
    first, code, _ = collapse_rows(member)
    if first.size < 2 or first.size > _MOST_SETS:
        raise ValueError(
            f"alpha of sets needs 2 to {_MOST_SETS} different sets; here they are "
            f"{'all equal' if first.size < 2 else first.size}. Analyse one class at a time instead"
        )
    votes = np.zeros((task[-1] + 1, first.size), np.int64)
    np.add.at(votes, (task, code), 1)
    apart = {name: set_distances(name, member[first]) for name in dict.fromkeys((distance, *DISTANCES))}
    overall = {name: agreement(krippendorff(votes, apart=d), key, level) for name, d in apart.items()}
    yes, number = votes @ member[first], votes.sum(axis=1)
    by_class = {}
    for k, name in enumerate(classes):
        alpha = krippendorff(np.stack([number - yes[:, k], yes[:, k]], axis=1))
        by_class[str(name)] = agreement(alpha, stream(key, "class", k), level)
    shares = dict(zip(by_class, member.mean(axis=0).tolist(), strict=True))
    return SetAgreement(overall, by_class, shares, distance, len(rows), notes)


@dataclass(frozen=True, repr=False)
class RatingAgreement(Answer):
    """Intraclass correlations and alpha of all raters; bias and limits of agreement of pairs."""

    overall: dict[str, Agreement]  # icc_2_1, icc_2_k, icc_3_1, krippendorff
    pairs: dict[tuple[str, str], dict[str, Any]]  # bias, lower and upper limit; most tasks in common first
    k: float  # ratings whose mean ICC(2,k) is of: the harmonic mean number of ratings of a task
    complete: bool  # every rater rated every task
    num_left_out: int  # pairs with one task in common, and those beyond the 200 that share the most
    warnings: tuple[str, ...] = ()

    def blocks(self) -> Document:
        """Build the document of the result."""
        single, mean = self.overall["icc_2_1"], self.overall["icc_2_k"]
        pairs = [
            {"pair": f"{plain(a)} - {plain(b)}", "first": a, "second": b, **row}
            for (a, b), row in self.pairs.items()
        ]
        far = [-max(-row["lower"]["mean"], row["upper"]["mean"]) for row in pairs]
        order = np.argsort(far, kind="stable")[:_SHOWN].tolist()
        left = len(pairs) - len(order) + self.num_left_out
        note = "If differences are normal, 95 % of them lie between the limits."
        note += (
            f" {number_of(left, 'pair')} with narrower limits or fewer tasks are not shown." if left else ""
        )
        ways = "" if self.complete else ", approximate because ratings are missing (Henderson's method 3)"
        columns = [dist_column(t.split()[0], t, ".3g") for t in ("bias", "lower limit", "upper limit")]
        blocks = (
            coefficient_table("overall", "All raters together", self.overall, _TASKS, titles=_TITLES),
            Table("pairs", "Limits of agreement (first rater minus second), widest first", "pair",
                  (*columns, _TASKS), pairs, note, unit=None, aside=("pair",),
                  say=str, order=order),
            warning_notes(self.warnings),
            how(("ICC", f"two-way random model, intervals by F (McGraw and Wong 1996){ways}")),
            facts_of(self, "k", "complete", "num_left_out"), facts(level=single.level),
        )  # fmt: skip
        low, high = (next(w for end, w in _WORDS.items() if x <= end) for x in (single.low, single.high))
        far = low if low == high else f"{low} to {high}"
        sentence = f"Raters agree {far}: ICC(2,1) {single}. The mean of {self.k:.3g} raters has ICC {mean}."
        about = f"{single.num_samples} tasks, {'no' if self.complete else 'some'} ratings missing"
        return Document("How much do the raters agree?", about, sentence, blocks)


@seeded
def rating_agreement(
    task: Iterable, worker: Iterable, values: Any, *, level: float = 0.95, key: Key | None = None
) -> RatingAgreement:
    """Intraclass correlations, alpha and limits of agreement of numbers on a continuous scale.

    Args:
        task, worker: ids, one a row.
        values: a finite number a row; leave out rows without a rating.
        level: probability of the intervals.
        key: a whole number or a JAX key for the interval of alpha; 0 if None.

    Raises:
        ValueError: a value that is not finite, a second value of a worker for a task, one worker, fewer than
            two tasks with values of two workers, values that are all equal, or too few.

    >>> y = [9, 2, 5, 8, 6, 1, 3, 2, 8, 4, 6, 8, 7, 1, 2, 6, 10, 5, 6, 9, 6, 2, 4, 7]
    >>> found = rating_agreement(np.repeat(range(6), 4), list("abcd") * 6, y)  # Shrout and Fleiss 1979
    >>> str(found.overall["icc_2_1"]), round(found.pairs["a", "b"]["bias"]["mean"], 2)
    ('0.290 [0.019, 0.761]', 5.17)
    """
    check_level(level)
    values = as_list(values, "values")
    for row, value in enumerate(values):
        if type(value) not in (int, float) or not abs(value) < np.inf:
            advice = f"{brief(value)} is not a finite number; leave out rows without a rating"
            raise ValueError(f"row {row}: {advice}")
    rows, task, rater, names, notes = _shared(Values.from_long(task, worker, values), "rater")
    y = np.array(values, np.float64)[rows]
    if (y == y[0]).all():
        raise ValueError(f"agreement is undefined, because all values are {y[0]:g}")
    size = (len(names), int(task[-1]) + 1)
    if (groups := separate_groups(task, rater, size)) > 1:
        notes += (f"The raters form {groups} groups without a common task, and are compared within groups.",)
    overall, k = intraclass(task, rater, y, level)
    overall["krippendorff"] = agreement(alpha_of_numbers(task, y), as_key(key), level)
    shared, left_out = in_common(task, rater, size)
    pairs = {
        (names[a], names[b]): {**limits_of_agreement(y[one] - y[two], level), "num_samples": one.size}
        for (a, b), (one, two) in shared.items()
    }
    return RatingAgreement(overall, pairs, k, task.size == size[0] * size[1], left_out, notes)


def _shared(
    values: Values, what: str
) -> tuple[np.ndarray, np.ndarray, np.ndarray, tuple[str, ...], tuple[str, ...]]:
    """Rows of tasks with two or more labelers, by task; codes of tasks and of labelers, names, notes."""
    if len(values.workers) < 2:
        raise ValueError(f"agreement needs two {what}s, but there is only {some(map(plain, values.workers))}")
    rows = np.flatnonzero(np.bincount(values.sample)[values.sample] > 1)
    rows = rows[np.argsort(values.sample[rows], kind="stable")]
    tasks, task = np.unique(values.sample[rows], return_inverse=True)
    if tasks.size < 2:
        raise ValueError(
            f"only {number_of(tasks.size, 'task')} of {len(values.tasks)} with rows of two {what}s or more: "
            "agreement needs two such tasks"
        )
    known, labeler = np.unique(values.labeler[rows], return_inverse=True)
    alone = [plain(values.workers[t]) for t in sorted(set(range(len(values.workers))) - set(known.tolist()))]
    note = f"{number_of(len(alone), what)} left out (no task in common with others): {some(alone)}."
    return rows, task, labeler, tuple(str(values.workers[t]) for t in known), (note,) * bool(alone)
