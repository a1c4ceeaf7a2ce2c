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
from typing import Any, Unpack

import numpy as np
from jaxtyping import Array

from jtruth import _validation as check
from jtruth._random import Stated, as_key, stated, stream
from jtruth._validation.words import number_of, plain
from jtruth.answers import Answer, Column, Shown, Table, facts, how, law_row, warning_notes
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions.registry import check_assume
from jtruth.evaluation.by_group import PAIRED, SAME_ERRORS, WIDE, ReadGroups, apart, laws_of, read_groups
from jtruth.evaluation.compare import comparison_of, judged_together
from jtruth.evaluation.compared import Comparison, Laws, Pair, difference_table
from jtruth.evaluation.gold.answer import labels_only_posterior
from jtruth.evaluation.gold.shares import paired_shares, same_items
from jtruth.evaluation.inputs import Judging
from jtruth.evaluation.labeler_report import LabelerReport
from jtruth.evaluation.labelers import evaluate_labelers
from jtruth.evaluation.parts import interval_title
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.regions import check_level
from jtruth.tables.metrics import named_metric
from jtruth.tables.pairs import group_symbols, smaller_is_better
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
    whose = data.labels or Labels.from_matrix(np.zeros((data.y_pred.size, 1), int), classes=data.classes)
    groups, found = read_groups(by, whose), named_metric(metric, data.classes, data.positive)
    names, what = groups.names, group_symbols(len(groups.names), len(data.classes))
    codes, symbols = groups.code * what.num_classes + data.y_pred, what.prior(1.0, _RIGHT)
    part = replace(data, y_pred=codes, symbols=symbols, positive=1, key=stream(data.key, "groups"))
    table, doubts = judged_together(part, what)
    each = [table.estimate(what.of_one(found, g)) for g in range(len(names))]
    whole = isinstance(table, TableDraws)
    columns = np.stack([law.draws for law in each], axis=1) if whole else apart(each, data.key)
    laws = laws_of(names, columns, -1.0 if smaller_is_better(found) else 1.0)
    pairs = _paired(groups, data) if found.name == "accuracy" else {}
    laws = replace(laws, differences={**laws.differences, **pairs})
    said = [*groups.notes, *([PAIRED] if pairs else [])]
    said += [*([] if data.model else [SAME_ERRORS]), *([] if whole else [WIDE]), *doubts]
    return comparison_of(
        data, found, laws, [(names, what, table)], {"predictions": data.y_pred},
        [*inputs.warnings(data), *said], sizes=tuple(groups.sizes.tolist()),
    )  # fmt: skip


def _paired(groups: ReadGroups, data: inputs.Inputs) -> dict[Pair, DrawsEstimate]:
    """Differences in accuracy of groups that have the same items, by gold of both answers to some."""
    at_random = data.open and data.num_gold and data.sampling.at_random
    if not (at_random and same_items(groups, data.gold >= 0)):
        return {}
    h, _ = labels_only_posterior(data.own_labels(), stream(data.key, "labels only, of groups"))
    right = h[np.arange(len(h)), data.y_pred]
    pairs = paired_shares(groups, right, data.gold == data.y_pred, data.gold >= 0, data.key)
    return {pair: here for pair, (here, _) in pairs.items()}


@dataclass(frozen=True, repr=False)
class LabelersByGroup(Answer):
    """How good every labeler is in each group, and where one errs more than elsewhere."""

    reports: Mapping[str, LabelerReport]  # by group
    level: float
    key: Stated
    warnings: tuple[str, ...] = ()
    paired: Mapping[str, Mapping[Pair, DrawsEstimate]] = field(default_factory=dict)  # by labeler

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """A row for each labeler in each group, the worst first."""
        rows = [row | {"group": name} for name, report in self.reports.items() for row in report.rows]
        return tuple(sorted(rows, key=lambda row: row["accuracy"]))

    @property
    def laws(self) -> dict[str, Laws]:
        """By labeler the accuracies in those groups that determine it; independent where not paired."""
        found: dict[str, dict[str, DrawsEstimate]] = {}
        for name, report in self.reports.items():
            for worker, law in report.laws.items():
                if not np.isnan(law.draws).all():
                    found.setdefault(worker, {})[name] = law
        laws = {}
        for worker, mine in found.items():
            key = stream(as_key(self.key), f"labelers apart, {worker}")
            one = laws_of(tuple(mine), apart(list(mine.values()), key))
            laws[worker] = replace(one, differences={**one.differences, **self.paired.get(worker, {})})
        return laws

    @property
    def differences(self) -> dict[str, Mapping[Pair, DrawsEstimate]]:
        """By labeler: the accuracy in the first group minus that in the second."""
        return {worker: laws.differences for worker, laws in self.laws.items()}

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        first, gaps = next(iter(self.reports.values())), self._gaps()
        rows = [{**row, "name": f"{plain(row['worker'])} in {plain(row['group'])}"} for row in self.rows]
        columns = Column("accuracy", "accuracy", ("low", "high")), Column("num_labels", "labels")
        better = (Column("first_better", "P(better in the first)", form=".2f"),)
        said = dict.fromkeys((*self.warnings, *(t for one in self.reports.values() for t in one.warnings)))
        blocks = (
            Table("by.labelers", "Labelers in each group, the worst first", "name", columns, rows),
            difference_table("by.differences", "Differences of a labeler, the clearest first", gaps, better),
            warning_notes(tuple(said)),
            how(("rests on", first.rests_on), ("groups", "each is judged by its own labels")),
            facts(groups=list(self.reports), level=self.level, key=self.key),
        )  # fmt: skip
        about = f"{number_of(len(self.reports), 'group')}, {number_of(len(rows), 'row')}; key {self.key}"
        sentence = self._sentence(gaps, interval_title(self.level, first.interval_kind))
        return Shown("Does a labeler err more in one group than elsewhere?", about, sentence, blocks)

    def _gaps(self) -> list[dict[str, Any]]:
        """Differences of two groups for each labeler, the clearest first."""
        rows = []
        for worker, laws in self.laws.items():
            for (a, b), law in laws.differences.items():
                better = laws.better(a, b)
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
    notes = (*groups.notes, *([PAIRED] if paired else []))
    return LabelersByGroup(reports, level, stated(key), notes, paired)


def _paired_labelers(
    groups: ReadGroups, labels: Labels, known: np.ndarray, key: Any
) -> dict[str, dict[Pair, DrawsEstimate]]:
    """By labeler: his differences in accuracy between groups of which he labelled the same items."""
    sample, labeler, label = labels.entries()
    his_rows = [sample[labeler == t] for t in range(labels.num_labelers)]
    his_groups = [groups._replace(code=groups.code[rows], item=groups.item[rows]) for rows in his_rows]
    if not any(same_items(his, known[rows] >= 0) for his, rows in zip(his_groups, his_rows, strict=True)):
        return {}
    h, _ = labels_only_posterior(labels, stream(key, "labels only, of labelers in groups"))
    found = {}
    for t, name in enumerate(labels.worker_names):
        rows, his, code = his_rows[t], his_groups[t], label[labeler == t]
        pairs = paired_shares(
            his, h[rows, code], known[rows] == code, known[rows] >= 0, stream(key, "paired", t)
        )
        if pairs:
            found[str(name)] = {pair: one for pair, (one, _) in pairs.items()}
    return found
