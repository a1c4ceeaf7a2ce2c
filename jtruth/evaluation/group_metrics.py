"""In which group (site, system, language) is a classifier better, and in which does a labeler err more?

`compare_groups`: the symbol of a sample is the pair of its group and what the classifier says of it, so the
table of one group is a part of the count table, and whoever holds that table (exact, by gold, vouched for, or
readings of labels: `compare`) answers for every group. Labelers' error rates are learned from all
groups together; shares of classes and errors of the classifier are free in each. Predictive laws of groups
are taken as independent, as in `by_group`.

`labelers_by_group`: each group is judged by itself, since that labelers err alike in all of them is what is
asked. So nothing ties two groups together, and their laws are independent.

Where two groups have the same items and gold says of some whether both answers are right, differences in
accuracy are paired in both, item by item (`paired_shares`): what is hard in both cancels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from itertools import combinations
from typing import Any, Unpack

import numpy as np
from jaxtyping import Array

from jtruth import _validation as check
from jtruth._random import Stated, as_key, stated, stream
from jtruth._validation.terminal import plain
from jtruth._validation.words import number_of
from jtruth.answers import Answer, Column, Shown, Table, facts, how, law_row, warning_notes
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions.registry import check_assume
from jtruth.evaluation.by_group import PAIRED, SAME_ERRORS, WIDE, ReadGroups, apart, laws_of, read_groups
from jtruth.evaluation.checks.first_look import look_at
from jtruth.evaluation.checks.of_labels import refusal
from jtruth.evaluation.compare import judged_together, law_in, rows_of, undefined
from jtruth.evaluation.compared import Comparison, Pair
from jtruth.evaluation.gold.answer import labels_only_posterior
from jtruth.evaluation.gold.shares import paired_shares
from jtruth.evaluation.inputs import Judging
from jtruth.evaluation.labeler_report import LabelerReport
from jtruth.evaluation.labelers import evaluate_labelers
from jtruth.evaluation.parts import PREDICTIVE, interval_title
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level
from jtruth.tables.metrics import named_metric
from jtruth.tables.pairs import group_symbols
from jtruth.tables.posterior import TableDraws

_RIGHT = 2 / 3  # of a row of the classifier in a group, whose prior is worth one sample


def compare_groups(
    y_pred: Any,
    labels: Labels | np.ndarray | Array,
    by: Any,
    *,
    metric: str = "accuracy",
    positive: int | str | None = None,
    **judging: Unpack[Judging],
) -> Comparison:
    """In which group of the samples is a classifier better, and with what probability?

    Args:
        y_pred: predictions, as for `evaluate`.
        labels: `Labels`, or the array log p(z_i | y_i = c) of shape (samples, classes).
        by: (samples,) the group of each sample, 2 to 50 of them; or a Series or dict by task id.
        metric: any metric of hard predictions by name, see `jtruth.tables.metrics`.
        positive: as for `evaluate`.
        judging: noise, prior, gold, assume, labelers_are, level, key, progress, as for `evaluate`.

    Returns:
        A `Comparison` whose names are the groups.

    Raises:
        ValueError: what `evaluate` refuses, groups of other samples, fewer than 2 groups or above 50.

    >>> import jtruth as jt
    >>> y = np.arange(60) % 2
    >>> labels, noise = jt.Labels.from_matrix(np.stack([y, y], axis=1), 2), jt.noise.Symmetric(0.1, 2)
    >>> site, y_pred = np.repeat(["a", "b"], 30), np.where(np.arange(60) < 30, y, 1 - y)
    >>> found = compare_groups(y_pred, labels, site, noise=noise, prior=[0.5, 0.5])
    >>> found.ranking, found.best["a"] > 0.99
    (('a', 'b'), True)
    """
    data = inputs.read_judged("compare_groups", y_pred, labels, judging, positive)
    check_assume(data.assume)
    groups, found = _groups(by, data), named_metric(metric, data.classes, data.positive)
    every, what = range(len(groups.names)), group_symbols(len(groups.names), len(data.classes))
    codes, symbols = groups.code * what.num_classes + data.y_pred, what.prior(1.0, _RIGHT)
    part = replace(data, y_pred=codes, symbols=symbols, positive=1, key=stream(data.key, "groups"))
    one, doubts = judged_together(tuple(every), part, what)
    each = [law_in(one.table, what.of_one(found, g)) for g in every]
    whole = isinstance(one.table, TableDraws)
    laws = laws_of(np.stack([law.draws for law in each], axis=1) if whole else apart(each, data.key))
    pairs = _paired(groups, data) if found.name == "accuracy" else {}
    laws = laws._replace(differences={**laws.differences, **pairs})
    said = (
        *groups.notes,
        *([PAIRED] if pairs else []),
        *([] if data.model else [SAME_ERRORS]),
        *([] if whole else [WIDE]),
        *doubts,
    )
    refused = refusal(data.own_labels(), data.key) if one.kind == PREDICTIVE else ()
    said = (*inputs.warnings(data), *refused, *said, *undefined(laws, groups.names, found))
    return Comparison(
        measure=found, margin=0.0, at_least=None, level=data.level, names=groups.names, laws=laws,
        interval_kind=one.kind, assumption=one.sentence, assumptions=() if refused else rows_of([one], found),
        agreement={}, num_samples=data.y_pred.size, num_gold=data.num_gold,
        positive=data.classes[data.positive], warnings=tuple(dict.fromkeys(said)), key=data.stated,
        checks=look_at(data, {"predictions": data.y_pred}), sizes=tuple(groups.sizes.tolist()),
    )  # fmt: skip


def _paired(groups: ReadGroups, data: inputs.Inputs) -> dict[Pair, DrawsEstimate]:
    """Differences in accuracy of groups that have the same items, by gold of both answers to some."""
    if not (data.open and data.num_gold and data.model is None and data.sampling.at_random):
        return {}
    h, _ = labels_only_posterior(data.own_labels(), stream(data.key, "labels only"))
    right = h[np.arange(len(h)), data.y_pred]
    pairs = paired_shares(groups, right, data.gold == data.y_pred, data.gold >= 0, data.key)
    return {pair: here for pair, (here, _) in pairs.items()}


def _groups(by: Any, data: inputs.Inputs) -> ReadGroups:
    """Groups of the samples; where there is a log-likelihood alone, by their order."""
    labels = data.labels
    if labels is None:
        numbered = np.zeros((data.y_pred.size, 1), int)
        labels = Labels.from_matrix(numbered, classes=data.classes)
    return read_groups(by, labels)


@dataclass(frozen=True, repr=False)
class LabelersByGroup(Answer):
    """How good every labeler is in each group, and where one errs more than elsewhere."""

    reports: Mapping[str, LabelerReport]  # by group
    level: float
    key: Stated
    warnings: tuple[str, ...] = ()
    paired: Mapping[str, Mapping[tuple[str, str], DrawsEstimate]] = field(default_factory=dict)

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """A row for each labeler in each group, the worst first."""
        rows = [row | {"group": name} for name, report in self.reports.items() for row in report.rows]
        return tuple(sorted(rows, key=lambda row: row["accuracy"]))

    @property
    def differences(self) -> dict[str, dict[tuple[str, str], DrawsEstimate]]:
        """By labeler: the accuracy in the first group minus that in the second."""
        laws: dict[str, dict[str, DrawsEstimate]] = {}
        for name, report in self.reports.items():
            for worker, law in report.laws.items():
                if not np.isnan(law.draws).all():
                    laws.setdefault(worker, {})[name] = law
        key = as_key(self.key)
        return {worker: _differences(worker, mine, key) | dict(self.paired.get(worker, {}))
                for worker, mine in laws.items()}  # fmt: skip

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        first = next(iter(self.reports.values()))
        rows = [{**row, "name": f"{plain(row['worker'])} in {plain(row['group'])}"} for row in self.rows]
        table = Table("by.labelers", "Labelers in each group, the worst first", "name", (
            Column("accuracy", "accuracy", ("low", "high")), Column("num_labels", "labels"),
        ), rows)  # fmt: skip
        gaps = self._gaps()
        columns = (Column("mean", "difference", ("low", "high"), "+.3f"),
                   Column("first_better", "P(better in the first)", form=".2f"))  # fmt: skip
        differences = Table("by.differences", "Differences of a labeler, the clearest first", "difference",
                            columns, gaps, unit=None, aside=("difference",), say=str)  # fmt: skip
        said = dict.fromkeys(
            (*self.warnings, *(text for one in self.reports.values() for text in one.warnings))
        )
        kind = interval_title(self.level, first.interval_kind)
        blocks = (
            table, differences, warning_notes(tuple(said)),
            how(("rests on", first.rests_on), ("groups", "each is judged by its own labels")),
            facts(groups=list(self.reports), level=self.level, key=self.key),
        )  # fmt: skip
        about = f"{number_of(len(self.reports), 'group')}, {number_of(len(rows), 'row')}; key {self.key}"
        question = "Does a labeler err more in one group than elsewhere?"
        return Shown(question, about, self._sentence(gaps, kind), blocks)

    def _gaps(self) -> list[dict[str, Any]]:
        """Differences of two groups for each labeler, the clearest first."""
        rows = []
        for worker, pairs in self.differences.items():
            for (a, b), law in pairs.items():
                better = float((law.draws > 0).mean() + 0.5 * (law.draws == 0).mean())
                if better < 0.5:
                    a, b, law, better = b, a, DrawsEstimate(-law.draws), 1 - better
                rows.append({"worker": worker, "first": a, "second": b, **law_row(law, self.level),
                             "difference": f"{plain(worker)}: {plain(a)} - {plain(b)}",
                             "first_better": better})  # fmt: skip
        return sorted(rows, key=lambda row: -row["first_better"])

    def _sentence(self, gaps: list[dict[str, Any]], kind: str) -> str:
        if not gaps:
            return "No labeler has labels in two groups that determine how good he is: nothing to compare."
        one = gaps[0]
        text = (
            f"{plain(one['worker'])} is better in {plain(one['first'])} than in {plain(one['second'])} with "
            f"probability {one['first_better']:.2f}"
        )
        clear = sum(row["low"] > 0 for row in gaps)
        if clear:
            are = "is" if clear == 1 else "are"
            return f"{text}; so clear {are} {clear} of {len(gaps)} differences ({kind}s)."
        return f"No difference is clear; the clearest: {text} ({kind}s)."


def _differences(
    worker: str, laws: Mapping[str, DrawsEstimate], key: Any
) -> dict[tuple[str, str], DrawsEstimate]:
    """Of every two groups; their laws are independent."""
    columns, names = apart(list(laws.values()), stream(key, f"labelers apart, {worker}")), list(laws)
    return {
        (names[a], names[b]): DrawsEstimate(columns[:, a] - columns[:, b])
        for a, b in combinations(range(len(names)), 2)
    }


def labelers_by_group(
    labels: Labels, by: Any, *, gold: Any = None, key: Any = None, level: float = 0.95, **options: Any
) -> LabelersByGroup:
    """How good is every labeler in each group, and does one err more in one of them?

    Args:
        labels: the noisy labels.
        by: (samples,) the group of each sample, 2 to 50 of them; or a Series or dict by task id.
        gold: (samples,) known classes, -1 where unknown; each group is corrected by its own.
        key: a whole number or a JAX key; 0 if None.
        level: probability of the intervals.
        options: labelers_are and progress of `evaluate_labelers`.

    Raises:
        ValueError: what `evaluate_labelers` refuses; fewer than 2 groups or above 50.
    """
    level, groups = check_level(level), read_groups(by, labels)
    known = inputs.read_gold(gold, labels)[0]
    reports = {}
    for g, name in enumerate(groups.names):
        here = np.flatnonzero(groups.code == g)
        mine = labels.restrict(here)
        mine = mine.select_labelers(np.flatnonzero(mine.labels_per_labeler()))
        own = check.with_tasks(known[here], mine.tasks) if (known[here] >= 0).any() else None
        key_here = stream(as_key(key), "group", g)
        reports[str(name)] = evaluate_labelers(mine, gold=own, key=key_here, level=level, **options)
    paired = _paired_labelers(groups, labels, known, as_key(key)) if gold is not None else {}
    return LabelersByGroup(
        reports, level, stated(key), (*groups.notes, *([PAIRED] if paired else [])), paired
    )


def _paired_labelers(
    groups: ReadGroups, labels: Labels, known: np.ndarray, key: Any
) -> dict[str, dict[tuple[str, str], DrawsEstimate]]:
    """By labeler: his differences in accuracy between groups of which he labelled the same items."""
    h, _ = labels_only_posterior(labels, stream(key, "labels only"))
    sample, labeler, label = labels.entries()
    found = {}
    for t, name in enumerate(labels.workers or range(labels.num_labelers)):
        rows, given = sample[labeler == t], label[labeler == t]
        his = groups._replace(code=groups.code[rows], item=groups.item[rows])
        pairs = paired_shares(
            his, h[rows, given], known[rows] == given, known[rows] >= 0, stream(key, "paired", t)
        )
        if pairs:
            found[str(name)] = {(groups.names[a], groups.names[b]): one for (a, b), (one, _) in pairs.items()}
    return found
