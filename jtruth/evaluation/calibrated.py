"""Error rates of judges from other items: `calibration=` of `prevalence` and `evaluate`.

Class shares may differ between the verified items and the new ones, the judges' errors given the class may
not (model: `jtruth.stats.elsewhere`). If the verified items are a random part of the new ones, `gold=` needs
fewer assumptions. A classifier is assumed to err independently of the judges, given the class. If predictions
are a judge's own labels, the result is that judge's table of classes and labels, and the other judges help to
infer the classes. Measured in `benchmarks/calibration_elsewhere.py`.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jtruth._one_line import one_line
from jtruth._random import host_rng
from jtruth._validation.words import LOOK, Read, number_of, part_of, plain, quoted, some
from jtruth.answers import Column, Table
from jtruth.evaluation.inputs import Inputs, as_labels, read_gold
from jtruth.evaluation.parts import Check
from jtruth.labels import Labels
from jtruth.stats import elsewhere

ASSUMED = "the judges' error rates are those on the calibration items; class shares may differ"
APART = "; the classifier errs independently of the judges, given the class"
PERSON = re.compile(r"(^|[\W_])(humans?|experts?|people|persons?|gold|truth)([\W_]|$)", re.IGNORECASE)
REPLACED = "noise", "prior", "gold", "assume", "order", "method"  # by a calibration
FEW = 10  # calibration items of a class below which a warning is given
_ODD, _SURE = 0.01, 0.975  # p-value of looking different; probability that a judge is better than guessing
_DRAWS = 20_000
WORTHLESS = (
    "the calibration does not show that {} is better than guessing: {} is {:.2f} [{:.2f}, {:.2f}], and "
    "guessing has 1. Corrected shares are very uncertain: add calibration items, or use another judge"
)
DIFFERENT = (
    "new items look too different from the calibration items to share error rates (p = {:.2g}): {} on {} of "
    "{} new items, where the calibration predicts {:.0f}. Verify some new items and use gold"
)
ONE_RATE = (
    "The judge's error rates are assumed equal in all groups, so groups differ by their class shares only. "
    "Verified labels in each group (gold) show whether the judge errs more in one."
)
ALIKE = "new items look like a mixture of the calibration's classes; a small change of a judge would not show"
FEW_OF = "The calibration has {}, so judges' errors on them are very uncertain. Verify more of them."
SAME = (
    "{} calibration items have the ids and labels of these samples, and would count twice. If people "
    "verified part of these samples, give their labels as gold instead of a calibration"
)
OVERLAP = (
    "{} have the ids of new samples but other labels. If they are the same items, leave them out of the new "
    "ones; otherwise ignore this."
)
OTHER_CLASSES = (
    "the classes differ: the calibration has {}, these labels have {}. Use the same names in both sets"
)
NO_TRUTH = (
    "calibration needs labels and verified classes of other items: {}give (labels, gold). On the command "
    "line add --gold column:NAME"
)


class Calibration(NamedTuple):
    """Labels of other items by the same judges, and the class of each item."""

    z: np.ndarray  # (items, judges), -1 where there is no label
    truth: np.ndarray  # (items,)
    judges: np.ndarray  # which labelers of the new items they are
    notes: tuple[str, ...] = ()

    __repr__ = one_line


def together(labels: Any, calibration: Any, **given: Any) -> tuple[Labels, Calibration]:
    """The new labels with all classes that either set names, and the calibration with the same codes.

    Args:
        labels: `Labels` of the new items.
        calibration: (labels, gold) of other items, or the result of `jtruth.io.read`. If its gold is None,
            the truth is the only labeler who is called human, expert or the like.
        given: other options by name; those that a calibration replaces must be None.

    Raises:
        ValueError: no truth, no common judge, a class without a calibration item, or the new items again.
    """
    if twice := [name for name in REPLACED if given.get(name) is not None]:
        raise ValueError(f"calibration sets the error rates: leave {' and '.join(twice)} out")
    labels = as_labels(labels)
    pair = (getattr(calibration, "labels", None), getattr(calibration, "gold", None))
    if pair[0] is None and isinstance(calibration, tuple | list) and len(calibration) == 2:
        pair = tuple(calibration)
    other, (gold, notes) = _with_truth(*pair)
    labels, other, gold = _common_classes(labels, other, gold)
    names, theirs = (list(map(str, one.worker_names)) for one in (labels, other))
    judges = [t for t, name in enumerate(names) if name in theirs]
    if not judges:
        raise ValueError(
            f"no judge has labels in both sets: the calibration has {quoted(theirs, 4)}, these labels have "
            f"{quoted(names, 4)}. Use the same names"
        )
    z = other.to_matrix()[:, [theirs.index(names[t]) for t in judges]]
    known = (gold >= 0) & (z >= 0).any(axis=1)
    absent = np.setdiff1d(np.arange(labels.num_classes), gold[known])
    if absent.size:
        raise ValueError(
            f"no calibration item is truly {quoted(labels.class_names[c] for c in absent)}, so the judges' "
            "errors on that class are unknown. Add items of that class, if possible as many as of the others"
        )
    notes += _same(labels, other, z, judges)
    if lost := int((~known).sum()):
        lacking = part_of(lost, known.size, "calibration item", "lacks", "lack")
        notes += (f"{lacking} a verified or a judge's label; not used.",)
    if alone := [name for name in names if name not in theirs]:
        notes += (f"Labels of {quoted(alone, 4)} are not used: the calibration has none of them.",)
    return labels, Calibration(z[known], gold[known], np.array(judges), notes)


def _with_truth(other: Any, gold: Any) -> tuple[Labels, tuple[np.ndarray, tuple[str, ...]]]:
    if not isinstance(other, Labels):
        raise ValueError(NO_TRUTH.format(""))
    if gold is not None:
        return other, read_gold(gold, other)
    people = [name for name in other.worker_names if PERSON.search(str(name))]
    if len(people) != 1:
        which = f"any of {quoted(people)} may hold the truth; " if people else "no labeler is called human; "
        raise ValueError(NO_TRUTH.format(which))
    if other.num_labelers == 1:
        raise ValueError(f"the calibration has labels of {people[0]!r} only: it needs a judge's labels too")
    note = f"Labels of {people[0]!r} were taken as the truth of the calibration items."
    return other.without_labeler(people[0]), (np.asarray(other.labels_of(people[0])), (Read(note),))


def _common_classes(labels: Labels, other: Labels, gold: np.ndarray) -> tuple[Labels, Labels, np.ndarray]:
    mine, theirs = (list(map(str, one.class_names)) for one in (labels, other))
    if mine == theirs:
        return labels, other, gold
    if not set(mine) & set(theirs):
        raise ValueError(OTHER_CLASSES.format(quoted(theirs, 4), quoted(mine, 4)))
    names = theirs if set(mine) <= set(theirs) else list(dict.fromkeys([*mine, *theirs]))
    codes = [np.array([*map(names.index, own), -1], np.int32) for own in (mine, theirs)]
    mine_now, other_now = (
        replace(one, label=code[np.asarray(one.label)], num_classes=len(names), classes=tuple(names))
        for one, code in zip((labels, other), codes, strict=True)
    )
    return mine_now, other_now, codes[1][gold]


def _same(labels: Labels, other: Labels, z: np.ndarray, judges: list[int]) -> tuple[str, ...]:
    """A note on items in both sets; ValueError if many have the same labels."""
    place = {str(task): i for i, task in enumerate(labels.tasks or ())}
    both = [(place[str(task)], i) for i, task in enumerate(other.tasks or ()) if str(task) in place]
    if not both:
        return ()
    here, there = map(list, zip(*both, strict=True))
    if len(both) >= FEW and np.array_equal(labels.to_matrix()[here][:, judges], z[there]):
        raise ValueError(SAME.format(len(both)))
    return (OVERLAP.format(number_of(len(both), "calibration item")),)


class Calibrated(NamedTuple):
    """Draws of the count table by calibration, with rates, checks and warnings."""

    counts: np.ndarray  # (draws, classes, symbols)
    of_all: np.ndarray  # (draws, classes) of all samples together
    new: np.ndarray  # (draws, classes) shares of the classes in new items
    class_posterior: np.ndarray  # (samples, classes)
    verdict: np.ndarray  # (samples,) codes; one more where there is no label
    verdict_rates: np.ndarray  # (draws, classes, verdicts) p(verdict | class)
    own: bool  # whether the predictions are labels of a judge
    rates: tuple[dict[str, Any], ...]  # of each judge in each class
    warnings: tuple[str, ...]
    basis: dict[str, Any]  # of the result: assumption, checks, number of calibration items

    __repr__ = one_line


def by_calibration(
    data: Inputs,
    calibration: Calibration,
    *,
    group: np.ndarray | None = None,
    hard: Callable | None = None,
) -> Calibrated:
    """Count table of classes and symbols of the new items; `hard`: verdicts are classes, no probabilities.

    With a `group` (samples,) of predictions, symbols are pairs, group C + class, as of `group_symbols`.
    `hard` maps verdicts to classes; None uses `verdicts`, probabilities of classes.
    """
    labels, classes, truth = data.own_labels(), len(data.classes), calibration.truth
    z, rng = labels.to_matrix()[:, calibration.judges], host_rng(data.key, "calibration from elsewhere")
    has = (z >= 0).any(axis=1)
    mine = [] if data.symbols is not None else np.flatnonzero((z == data.y_pred[:, None])[has].all(axis=0))
    own = len(mine) > 0  # the predictions are the labels of a judge
    group = np.zeros_like(data.y_pred) if group is None else group
    groups, column = int(group.max()) + 1, group * data.num_symbols + data.y_pred
    symbol, number = (group, groups) if own else (column, groups * data.num_symbols)
    h, judged = (hard or elsewhere.verdicts)(z[has], calibration.z, truth, classes)
    h, judged = (np.eye(classes)[one.argmax(axis=1)] if hard else one for one in (h, judged))
    table, rates, shares = elsewhere.corrected(h, symbol[has], number, judged, truth, rng)
    of_all, table = table[..., -1].sum(axis=2), table[..., :-1]
    counts = np.swapaxes(table, 2, 3).reshape(*table.shape[:2], -1) if own else table.sum(axis=2)
    if own and z.shape[1] > 1:
        old, (verdict, judged) = calibration.z[:, mine[0]], (one.argmax(axis=1) for one in (h, judged))
        there = old >= 0
        before = old[there], judged[there]
        counts = elsewhere.of_one_judge(z[has, mine[0]], verdict, before, truth[there], classes, rng,
                                        group[has], groups)  # fmt: skip
    for s in np.setdiff1d(symbol[~has], symbol[has]):  # without a label of a judge
        shares[:, s] = rng.dirichlet(np.full(classes, 1 / classes), len(shares))
    joint = shares[:, :, :, None] * rates[:, None]
    given = (joint / joint.sum(axis=2, keepdims=True)).mean(axis=0)  # (groups, classes, verdicts)
    p = shares.mean(axis=0)[symbol]
    p[has] = np.einsum("is,ics->ic", h, given[symbol[has]])
    unseen, at = column[~has], symbol[~has]
    for u, k, times in zip(*np.unique(unseen, return_index=True, return_counts=True), strict=True):
        counts[:, :, u] += rng.multinomial(times, shares[:, at[k]])
    of_all += rng.multinomial(int((~has).sum()), shares[:, -1])
    rows, checks = _of_judges(calibration, labels, data, rng)
    checks += _alike(z, calibration, labels, rng)
    loud = tuple(f"{LOOK}{check.message}." for check in checks if check.verdict == "does not fit")
    times = np.bincount(truth)
    few = [f"only {number_of(int(n), 'item')} of class {data.classes[c]!r}"
           for c, n in enumerate(times) if n < FEW]  # fmt: skip
    notes = (*calibration.notes, *([FEW_OF.format(some(few, 3))] if few else []))
    if not has.all():
        notes += (f"{number_of(int((~has).sum()), 'sample')} without a judge's label: assumed similar.",)
    assumed = ASSUMED if own or data.symbols is not None else ASSUMED + APART
    verdict = np.full(has.size, classes)
    verdict[has] = h.argmax(axis=1)
    verdict_rates = np.concatenate([rates, np.ones_like(rates[:, :, :1])], axis=2)
    basis = {"assumption": assumed, "checks": checks, "num_calibration": len(truth)}
    return Calibrated(
        counts, of_all, shares[:, -1], p, verdict, verdict_rates, own, rows, (*loud, *notes), basis
    )


def _alike(
    z: np.ndarray, calibration: Calibration, labels: Labels, rng: np.random.Generator
) -> tuple[Check, ...]:
    """Whether new items look as the calibration lets them, where that can be seen."""
    odd = elsewhere.mismatch(z, calibration.z, calibration.truth, labels.num_classes, rng)
    if odd is None:
        return ()
    names = [plain(labels.worker_names[t]) for t in calibration.judges]
    pairs = [f"{name} {labels.class_names[c]}" for name, c in zip(names, odd[1], strict=False)]
    what, of = ", ".join(pairs) or "rare labels", int((z >= 0).all(axis=1).sum())
    text, loud = DIFFERENT.format(odd[0], what, odd[2], of, odd[3]), odd[0] < _ODD
    return (Check("alike", odd[0], odd[0], *(("does not fit", text) if loud else ("fits", ALIKE))),)


def _of_judges(
    calibration: Calibration, labels: Labels, data: Inputs, rng: np.random.Generator
) -> tuple[tuple[dict[str, Any], ...], tuple[Check, ...]]:
    """Recall of each judge in each class, and checks that the judge is better than guessing."""
    classes, rows, checks = len(data.classes), [], ()
    tails, alone = [(1 - data.level) / 2, (1 + data.level) / 2], len(calibration.judges) == 1
    what = "sensitivity + specificity" if classes == 2 else "the sum of its recalls"
    for z, t in zip(calibration.z.T, calibration.judges, strict=True):
        name, there = plain(labels.worker_names[t]), z >= 0
        right = np.bincount(calibration.truth[there & (z == calibration.truth)], minlength=classes)
        size = np.bincount(calibration.truth[there], minlength=classes)
        dist = rng.beta(right + 0.5, size - right + 0.5, (_DRAWS, classes))
        for c, (low, high) in enumerate(np.quantile(dist, tails, axis=0).T.tolist()):
            share = float((right[c] + 0.5) / (size[c] + 1))
            rows.append({"name": f"{name}, true {data.classes[c]}", "worker": name, "class": data.classes[c],
                         "right": share, "low": low, "high": high, "num_labels": int(size[c])})  # fmt: skip
        total = dist.sum(axis=1)
        if (p := float((total > 1).mean())) < _SURE:
            text = WORTHLESS.format(name, what, total.mean(), *np.quantile(total, tails))
            verdict = "does not fit" if alone else "worth knowing"
            checks += (Check(f"worth of {name}", float(total.mean()), 1 - p, verdict, text),)
    return tuple(rows), checks


def rates_table(rows: Sequence[dict[str, Any]], level: float) -> Table:
    """Table of the judges' recalls on the calibration items."""
    columns = (Column("right", "share right", ("low", "high")), Column("num_labels", "items"))
    title = f"Judges on the calibration items, with {100 * level:g} % intervals"
    return Table("calibration", title, "name", columns, rows)
