"""`labelers_by_group`: accuracy of every labeler in each group, and their differences.

Each group is evaluated by its own labels, so two groups are independent unless gold of the same items pairs
them. Many groups, and days with little gold, are evaluated together (`over_time`): the class is whether a
label is right, and its symbol the probability of that by all labels.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jtruth import _validation as check
from jtruth._host import majority
from jtruth._random import Stated, as_key, seeded, stated, stream
from jtruth._validation.words import number_of, plain
from jtruth.answers import Answer, Column, Curve, Document, Table, dist_row, facts, how, warning_notes
from jtruth.evaluation import inputs
from jtruth.evaluation.assumptions import model_error
from jtruth.evaluation.assumptions.model_error import OVERALL, check_kind
from jtruth.evaluation.compared import Dists, Pair, difference_table
from jtruth.evaluation.gold.tables import equal_chances, how_chosen, labels_only_posterior
from jtruth.evaluation.groups import (
    FEW,
    PAIRED,
    Groups,
    compared_pairs,
    dists_of,
    independent_draws,
    paired_shares,
    read_groups,
    same_items,
    tables_by_gold,
)  # fmt: skip
from jtruth.evaluation.labelers import LabelerReport, evaluate_labelers
from jtruth.evaluation.over_time import symbols_of, table_of
from jtruth.evaluation.parts import IN_SAMPLE, interval_title, means_and_ends
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.stats.ppi import gold_sample

_CURVES = 4  # labelers in a picture


@dataclass(frozen=True, repr=False)
class LabelersByGroup(Answer):
    """Accuracy of every labeler in each group, and differences between groups."""

    reports: Mapping[str, LabelerReport]  # by group
    level: float
    key: Stated
    warnings: tuple[str, ...] = ()
    paired: Mapping[str, Mapping[Pair, DrawsEstimate]] = field(default_factory=dict)  # by labeler
    together: Mapping[str, Dists] = field(default_factory=dict)  # by labeler, of groups judged together
    groups: Groups | None = None  # these

    @property
    def rows(self) -> tuple[dict[str, Any], ...]:
        """A row for each labeler in each group, the worst first."""
        rows = [row | {"group": name} for name, report in self.reports.items() for row in report.rows]
        return tuple(sorted(rows, key=lambda row: row["accuracy"]))

    @property
    def dists(self) -> dict[str, Dists]:
        """By labeler, accuracies in the groups that determine them; independent unless paired."""
        if self.together:
            return dict(self.together)
        by_worker: dict[str, dict[str, Estimate]] = {}
        for name, report in self.reports.items():
            for worker, dist in report.dists.items():
                if not np.isnan(dist.mean):
                    by_worker.setdefault(worker, {})[name] = dist
        dists = {}
        for worker, mine in by_worker.items():
            key = stream(as_key(self.key), f"labelers apart, {worker}")
            columns, points = independent_draws([*mine.values()], key), [one.mean for one in mine.values()]
            dists[worker] = dists_of(tuple(mine), columns, self.paired.get(worker, {}), points=points)
        return dists

    @property
    def differences(self) -> dict[str, Mapping[Pair, DrawsEstimate]]:
        """By labeler, the accuracy in the first group minus that in the second."""
        return {worker: dists.differences for worker, dists in self.dists.items()}

    def blocks(self) -> Document:
        """Build the document of the result."""
        first, gaps = next(iter(self.reports.values())), []
        for worker, dists in self.dists.items():
            for (a, b), dist in dists.differences.items():
                better = dists.p_better(a, b)
                if better < 0.5:
                    a, b, better = b, a, 1 - better
                    dist = DrawsEstimate(-dist.draws, middle=-dist.mean)
                gaps.append({"worker": worker, "first": a, "second": b, **dist_row(dist, self.level),
                             "difference": f"{plain(worker)}: {plain(a)} - {plain(b)}",
                             "first_better": better})  # fmt: skip
        gaps.sort(key=lambda row: -row["first_better"])
        rows = [{**row, "name": f"{plain(row['worker'])} in {plain(row['group'])}"} for row in self.rows]
        columns = Column("accuracy", "accuracy", ("low", "high")), Column("num_labels", "labels")
        better = (Column("first_better", "P(better in the first)", form=".2f"),)
        doubts = dict.fromkeys((*self.warnings, *(t for one in self.reports.values() for t in one.warnings)))
        blocks = (
            Table("by.labelers", "Labelers in each group, worst first", "name", columns, rows),
            difference_table("by.differences", "Differences between groups, clearest first", gaps, better),
            *self._curve(),
            warning_notes(tuple(doubts)),
            how(("assumption", first.rests_on),
                ("groups", "fitted together" if self.together else "each fitted by its own labels")),
            facts(groups=list(self.reports), level=self.level, key=self.key, target=first.target),
        )  # fmt: skip
        about = f"{number_of(len(self.reports), 'group')}, {number_of(len(rows), 'row')}; key {self.key}"
        sentence = self._sentence(gaps, interval_title(self.level, first.interval_kind))
        return Document("Does a labeler err more in one group than in another?", about, sentence, blocks)

    def _curve(self) -> tuple[Curve, ...]:
        """Accuracies over ordered groups, of the labelers who vary most."""
        if self.groups is None or self.groups.when is None:
            return ()
        (x, axis, named), series = self.groups.axis(), {}
        spread = {name: -np.ptp(dists.columns.mean(axis=0)) for name, dists in self.dists.items()}
        for worker in sorted(spread, key=spread.__getitem__)[:_CURVES]:
            dists = self.dists[worker].values
            ends = map(list, zip(*means_and_ends(dists.values(), self.level), strict=True))
            places = [x[self.groups.names.index(name)] for name in dists]
            series[worker] = dict(zip(("x", "mean", "low", "high"), (places, *ends), strict=True))
        return (Curve("by.curve", "Accuracy in each group", axis, "accuracy", series, named=named),)

    def _sentence(self, gaps: list[dict[str, Any]], kind: str) -> str:
        if not gaps:
            return "Nothing to compare: no labeler has labels in two groups that determine the accuracy."
        clearest = gaps[0]
        text = (
            f"{plain(clearest['worker'])} is better in {plain(clearest['first'])} than in "
            f"{plain(clearest['second'])} with probability {clearest['first_better']:.2f}"
        )
        clear = sum(row["low"] > 0 for row in gaps)
        if clear:
            are = "is" if clear == 1 else "are"
            return f"{text}; {clear} of {len(gaps)} differences {are} clear ({kind}s)."
        return f"No difference is clear; the clearest is: {text} ({kind}s)."


@seeded
def labelers_by_group(
    labels: Labels, by: Any, *, gold: Any = None, key: Any = None, level: float = 0.95, **options: Any
) -> LabelersByGroup:
    """Accuracy of every labeler in each group of samples, and differences between groups.

    Args:
        labels: the noisy labels.
        by: (samples,) the group of each sample, 2 or more; or a Series or dict by task id.
        gold: (samples,) known classes, -1 where unknown, or a `jt.io.Gold`; each group has its own.
        key, level, options: as for `evaluate_labelers`.

    Raises:
        ValueError: input that `evaluate_labelers` refuses; fewer than 2 groups.
    """
    groups, data = read_groups(by, labels), inputs.read_labels_alone(labels, gold)
    known, equal = data.gold, not data.num_gold or equal_chances(data)
    chance = np.full(known.size, np.nan)  # only of gold it matters
    if not equal:
        chance[known >= 0] = how_chosen(data.known).inclusion
    if groups.shared(known):
        return _together(groups, data, gold, None if equal else chance, key, level, options)
    reports = {}
    for g, name in enumerate(groups.names):
        here = np.flatnonzero(groups.group == g)
        mine = labels.restrict(here)
        mine = mine.select_labelers(np.flatnonzero(mine.labels_per_labeler()))
        truth = check.with_tasks(known[here], mine.tasks) if (known[here] >= 0).any() else None
        truth = truth if equal or truth is None else Gold(truth, check.with_tasks(chance[here], mine.tasks))
        key_here = stream(as_key(key), "group", g)
        reports[str(name)] = evaluate_labelers(mine, gold=truth, key=key_here, level=level, **options)
    paired = _paired_labelers(groups, labels, known, as_key(key)) if data.num_gold and equal else {}
    notes = (*groups.notes, *([PAIRED] if paired else []))
    return LabelersByGroup(reports, level, stated(key), notes, paired)


def _together(
    groups: Groups, data: inputs.Inputs, gold: Any, chance: np.ndarray | None, key: Any, level: float,
    options: dict[str, Any],
) -> LabelersByGroup:  # fmt: skip
    """One report of all labels; then each labeler in each group, with error rates in common."""
    labels = data.own_labels()
    report, given = evaluate_labelers(labels, gold=gold, key=key, level=level, **options), as_key(key)
    (sample, labeler, label), posteriors = labels.entries(), {"vote": majority(labels.counts())}
    if data.num_gold:
        posteriors = {"": labels_only_posterior(labels, stream(given, "labels only, of groups"))[0]}
    elif report.rows:
        posteriors["learned"] = report.posterior.class_posterior
    kind, dists, all_rows = check_kind(options.get("labelers_are")), {}, {name: [] for name in groups.names}
    for t, worker in enumerate(map(str, labels.worker_names)):
        mine = np.flatnonzero(labeler == t)
        rows, draw, drawn = sample[mine], stream(given, "labeler in groups", t), {}
        there, place = np.unique(groups.group[rows], return_inverse=True)
        his = groups.only(there, place)
        truth = np.where(data.gold[rows] >= 0, data.gold[rows] == label[mine], -1)
        for name, posterior in posteriors.items() if mine.size else ():
            right = posterior[rows, label[mine]]
            if few := (truth >= 0).sum() < FEW:
                symbol = symbols_of(right)
                tables = table_of(right, symbol)
            else:
                chosen = gold_sample(truth >= 0, inclusion=None if chance is None else chance[rows])
                symbol, tables = tables_by_gold(right, truth, chosen, draw)
            drawn[name] = his.of_evidence(truth, symbol, draw, tables)[report.target != IN_SAMPLE]
        if not drawn:
            continue
        columns = next(iter(drawn.values()))
        if few:
            found = model_error.dists_of(drawn, OVERALL, kind, his.sizes.astype(np.float64))
            columns = independent_draws(found, draw)
        dists[worker] = dists_of(his.names, columns, {}, pairs=compared_pairs(columns.mean(axis=0)))
        for (name, dist), n in zip(dists[worker].values.items(), his.sizes.tolist(), strict=True):
            low, high = dist.interval(level)[:2]
            row = {"worker": worker, "num_labels": n, "accuracy": dist.mean, "low": low, "high": high}
            all_rows[name].append(row)
    notes = *groups.notes, *groups.how(data.gold)
    reports = {name: replace(report, rows=tuple(rows)) for name, rows in all_rows.items()}
    return LabelersByGroup(reports, level, stated(key), notes, {}, dists, groups)


def _paired_labelers(
    groups: Groups, labels: Labels, known: np.ndarray, key: Any
) -> dict[str, dict[Pair, DrawsEstimate]]:
    sample, labeler, label = labels.entries()
    his_rows = [sample[labeler == t] for t in range(labels.num_labelers)]
    his_groups = [groups._replace(group=groups.group[rows], item=groups.item[rows]) for rows in his_rows]
    if not any(same_items(his, known[rows] >= 0) for his, rows in zip(his_groups, his_rows, strict=True)):
        return {}
    h, _ = labels_only_posterior(labels, stream(key, "labels only, of labelers in groups"))
    differences = {}
    for t, name in enumerate(labels.worker_names):
        rows, his, code = his_rows[t], his_groups[t], label[labeler == t]
        draw, gold = stream(key, "paired", t), known[rows]
        if pairs := paired_shares(his, h[rows, code], gold == code, gold >= 0, draw):
            differences[str(name)] = {pair: one for pair, (one, _) in pairs.items()}
    return differences
