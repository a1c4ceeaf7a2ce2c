"""Judges whose error rates come from other items: `calibration=` of `prevalence` and `evaluate`.

The ordinary use of an LLM judge: some hundred items of another day or source have labels of people beside the
judge's, and of the new items only the judge speaks. The share of each class may differ, the judge's errors
given the class may not (`jtruth.stats.elsewhere` has the model). Where the items with human labels are a
random part of the new items, `gold=` is the answer instead, and takes less for granted.

Predictions of a classifier are groups of items, as systems are: what is taken for granted beside is that it
errs independently of the judges, given the class. Where the predictions are the only judge's own labels, his
table of classes and labels is the answer.

Measured coverage and width: `benchmarks/calibration_elsewhere.py`.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from jtruth._one_line import one_line
from jtruth._random import host_rng
from jtruth._validation.words import LOOK, number_of, plain, quoted, some
from jtruth.answers import Column, Table
from jtruth.evaluation.inputs import Inputs, as_labels, read_gold
from jtruth.evaluation.parts import Check
from jtruth.labels import Labels
from jtruth.stats import elsewhere

ASSUMED = "judges err given the class as they did on the calibration items; the shares may differ"
APART = "; the classifier errs independently of the judges, given the class"
FEW = 10  # calibration items of a class below which that is said
_ODD, _LOUD = 0.01, 0.002  # p-values from which new items look different, and stand above the answer
_SURE = 0.975  # probability of being better than guessing, below which a judge is worth nothing
_DRAWS = 20_000
WORTHLESS = (
    "the calibration does not show that {} is better than guessing: {} {} [{}, {}], where guessing has {}. The "
    "corrected shares say little; add calibration items, or use another judge"
)
DIFFERENT = (
    "new and calibration items look too different to share error rates (p = {:.2g}): {} {} {} of {} new items, "
    "where the calibration explains {:.0f}. Verify some new items and use gold"
)
FEW_OF = "calibration: {}. Verify more of them: the judge's errors on them are hardly known"
SAME = (
    "{} calibration items have the ids and labels of these samples, and would count twice. If people labelled "
    "a part of these very samples, give their labels as gold and leave calibration out"
)


class Calibration(NamedTuple):
    """Labels of other items by the same judges, and the class of each item."""

    z: np.ndarray  # (items, judges), -1 where there is no label
    truth: np.ndarray  # (items,)
    judges: np.ndarray  # which labelers of the new items they are
    notes: tuple[str, ...] = ()

    __repr__ = one_line


class Calibrated(NamedTuple):
    """Draws of the count table, and what is to be said of it."""

    counts: np.ndarray  # (draws, classes, symbols)
    of_all: np.ndarray  # (draws, classes) of all samples together
    class_posterior: np.ndarray  # (samples, classes)
    assumed: str
    rates: tuple[dict[str, Any], ...]  # of each judge in each class
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]

    __repr__ = one_line


def together(labels: Any, calibration: Any) -> tuple[Labels, Calibration]:
    """The new labels, with all classes that either set names, and the calibration in their terms.

    Args:
        labels: `Labels` of the new items.
        calibration: (labels, gold) of other items, or what `jtruth.io.read` returns; gold as elsewhere.

    Raises:
        ValueError: no common judge; a class without a calibration item; items that are the new ones.
    """
    labels, pair = (
        as_labels(labels),
        (getattr(calibration, "labels", None), getattr(calibration, "gold", None)),
    )
    if isinstance(calibration, tuple | list) and pair[0] is None and len(calibration) == 2:
        pair = tuple(calibration)
    if not isinstance(pair[0], Labels) or pair[1] is None:
        raise ValueError("calibration needs labels and true classes of other items: give (labels, gold)")
    other, (gold, notes) = pair[0], read_gold(pair[1], pair[0])
    labels, other, gold = _common_classes(labels, other, gold)
    names, theirs = (list(map(str, one.worker_names)) for one in (labels, other))
    judges = [t for t, name in enumerate(names) if name in theirs]
    if not judges:
        raise ValueError(
            f"no judge has labels in both sets: the calibration has {quoted(theirs, 4)}, these labels have "
            f"{quoted(names, 4)}. Write their names alike"
        )
    z = other.to_matrix()[:, [theirs.index(names[t]) for t in judges]]
    known = (gold >= 0) & (z >= 0).any(axis=1)
    absent = [str(labels.class_names[c]) for c in range(labels.num_classes) if not (gold[known] == c).any()]
    if absent:
        raise ValueError(
            f"no calibration item is truly {quoted(absent)}, so the judges' errors on that class are unknown. "
            "Add items of it, as many as of the others if you can"
        )
    _refuse_same(labels, other, z, judges)
    alone = [name for name in names if name not in theirs]
    if alone:
        notes += (f"labels of {quoted(alone, 4)} are not used: the calibration has none of them",)
    return labels, Calibration(z[known], gold[known], np.array(judges), notes)


def _common_classes(labels: Labels, other: Labels, gold: np.ndarray) -> tuple[Labels, Labels, np.ndarray]:
    mine, theirs = (list(map(str, one.class_names)) for one in (labels, other))
    if mine == theirs:
        return labels, other, gold
    names = theirs if set(mine) <= set(theirs) else list(dict.fromkeys([*mine, *theirs]))
    recoded = []
    for one, own in ((labels, mine), (other, theirs)):
        code = np.array([*map(names.index, own), -1], np.int32)
        label = code[np.asarray(one.label)]
        recoded.append(replace(one, label=label, num_classes=len(names), classes=tuple(names)))
    return *recoded, np.append(list(map(names.index, theirs)), -1)[gold]


def _refuse_same(labels: Labels, other: Labels, z: np.ndarray, judges: list[int]) -> None:
    if not (labels.tasks and other.tasks):
        return
    place = {str(task): i for i, task in enumerate(labels.tasks)}
    both = [(place[str(task)], i) for i, task in enumerate(other.tasks) if str(task) in place]
    if len(both) >= FEW:
        here, there = map(list, zip(*both, strict=True))
        if np.array_equal(labels.to_matrix()[here][:, judges], z[there]):
            raise ValueError(SAME.format(len(both)))


def by_calibration(data: Inputs, calibration: Calibration) -> Calibrated:
    """The count table of classes and symbols of the new items (predictions, or groups; one, if all alike)."""
    labels, classes = data.own_labels(), len(data.classes)
    z, truth = labels.to_matrix()[:, calibration.judges], calibration.truth
    has = (z >= 0).any(axis=1)
    rng = host_rng(data.key, "calibration from elsewhere")
    own = z.shape[1] == 1 and data.symbols is None and np.array_equal(z[has, 0], data.y_pred[has])
    symbol, number = (np.zeros_like(data.y_pred), 1) if own else (data.y_pred, data.num_symbols)
    h, judged = elsewhere.verdicts(z[has], calibration.z, truth, classes)
    found = elsewhere.corrected(h, symbol[has], number, judged, truth, rng)
    of_all, by_symbol = found.counts[..., -1].sum(axis=2), found.counts[..., :-1].sum(axis=2)
    counts = found.counts[..., 0] if own else by_symbol
    p = np.empty((labels.num_samples, classes))
    joint = found.shares[:, :, :, None] * found.rates[:, None]
    share = (joint / joint.sum(axis=2, keepdims=True)).mean(axis=0)  # (groups, classes, verdicts)
    p[has] = np.einsum("is,ics->ic", h, share[symbol[has]])
    p[~has] = found.shares.mean(axis=0)[symbol[~has]]
    for u, times in zip(*np.unique(data.y_pred[~has], return_counts=True), strict=True):
        counts[:, :, u] += rng.multinomial(times, found.shares[:, -1 if own else u])
    of_all += rng.multinomial(int((~has).sum()), found.shares[:, -1])
    rates, checks = _of_judges(calibration, labels, data, rng)
    odd = elsewhere.mismatch(z, calibration.z, truth, classes, rng)
    checks += () if odd is None else (_alike(odd, labels, calibration, int((z >= 0).all(axis=1).sum())),)
    loud = [check.message for check in checks if check.verdict == "does not fit"]
    notes = [*(f"{LOOK}{text}." for text in loud), *calibration.notes, *_few(data.classes, truth)]
    if not has.all():
        notes.append(
            f"{number_of(int((~has).sum()), 'sample')} without a label of these judges: like the others"
        )
    return Calibrated(
        counts, of_all, p, ASSUMED if own or number == 1 else ASSUMED + APART, rates, checks, tuple(notes)
    )


def _few(classes: Sequence[str], truth: np.ndarray) -> tuple[str, ...]:
    times = np.bincount(truth, minlength=len(classes))
    few = [
        f"{number_of(int(n), 'item')} of class {c!r}" for c, n in zip(classes, times, strict=True) if n < FEW
    ]
    return (FEW_OF.format(some([f"only {text}" for text in few], 3)),) if few else ()


def _of_judges(
    calibration: Calibration, labels: Labels, data: Inputs, rng: np.random.Generator
) -> tuple[tuple[dict[str, Any], ...], tuple[Check, ...]]:
    """Each judge's share of right labels in each class, and whether he is better than guessing."""
    classes, rows, checks = len(data.classes), [], ()
    for k, t in enumerate(calibration.judges):
        z, name = calibration.z[:, k], plain(labels.worker_names[t])
        there = z >= 0
        table = np.zeros((classes, classes))
        np.add.at(table, (calibration.truth[there], z[there]), 1)
        right, all_of = table.diagonal(), table.sum(axis=1)
        law = rng.beta(right + 0.5, all_of - right + 0.5, (_DRAWS, classes))
        tails = [(1 - data.level) / 2, (1 + data.level) / 2]
        for c, (low, high) in enumerate(np.quantile(law, tails, axis=0).T):
            of = {"name": f"{name}, true {data.classes[c]}", "worker": name, "class": data.classes[c]}
            share = (right[c] + 0.5) / (all_of[c] + 1)
            rows.append(of | {"right": float(share), "low": float(low), "high": float(high),
                              "num_labels": int(all_of[c])})  # fmt: skip
        total = law.sum(axis=1)
        p = float((total > 1).mean())
        if p < _SURE:
            what = "sensitivity + specificity" if classes == 2 else "sum of its recalls"
            middle, low, high = (f"{one:.2f}" for one in (total.mean(), *np.quantile(total, tails)))
            verdict = "does not fit" if len(calibration.judges) == 1 else "worth knowing"
            text = WORTHLESS.format(name, what, middle, low, high, 1)
            checks += (Check(f"worth of {name}", float(total.mean()), 1 - p, verdict, text),)
    return tuple(rows), checks


def _alike(odd: elsewhere.Mismatch, labels: Labels, calibration: Calibration, number: int) -> Check:
    """Whether new and calibration items may share error rates."""
    judges = [plain(labels.worker_names[t]) for t in calibration.judges]
    pairs = zip(judges, odd.pattern, strict=False)
    what = ", ".join(f"{judge} {labels.class_names[c]!s}" for judge, c in pairs) or "rare labels together"
    loud = odd.p_value < _ODD
    text = DIFFERENT.format(odd.p_value, what, "on", odd.found, number, odd.expected)
    good = "the new items' labels are a mixture of the calibration's classes, as they must be"
    return Check(
        "alike", odd.p_value, odd.p_value, "does not fit" if loud else "fits", text if loud else good
    )


def rates_table(rows: Sequence[dict[str, Any]], level: float) -> Table:
    """What the calibration says of each judge."""
    columns = (Column("right", "share right", ("low", "high")), Column("num_labels", "items"))
    return Table("calibration", f"Judges on the calibration items, with {100 * level:g} % intervals", "name",
                 columns, rows)  # fmt: skip
