"""Which system, prompt or site has the larger share of a class? Groups judged by the same labelers.

The group of a sample is the symbol of the count table n[true class, group], as a prediction is elsewhere:
error rates are learned from all groups together, and shares are free in each. A labeler is taken to err alike
in every group; judges that are kinder to one system break it, which only gold of each group can show.

Without gold each share is widened by how far metrics of one class were off elsewhere, and errors of two
groups are taken as independent: much of them did not cancel on public sets (`benchmarks/groups.py`).

Of new items, of which two groups may hold m in common, the share of a group has the law of its share here
plus the chance of the draw, with variance s (1 - s) / n and, p the probabilities of the class at these items,

    cov(share_a, share_b) = m cov(p_a, p_b) / (n_a n_b).

Where gold says of some items in both groups what is true, differences are paired (`paired_shares`).

`labelers_by_group`: each group is judged by itself, so laws of two groups are independent.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num

from jtruth import _validation as check
from jtruth._host import cross_table
from jtruth._one_line import one_line
from jtruth._random import Key, Stated, as_key, host_rng, stated, stream
from jtruth._validation.words import LOOK, alike_note, number_of, plain, quoted
from jtruth.answers import Answer, Column, Document, Table, facts, how, law_row, warning_notes
from jtruth.answers.blocks import Facts
from jtruth.evaluation import inputs
from jtruth.evaluation.compared import TOLD, Laws, Pair, consistent, difference_rows, difference_table
from jtruth.evaluation.gold.tables import equal_chances, gold_tables, how_chosen, labels_only_posterior
from jtruth.evaluation.labelers import LabelerReport, evaluate_labelers
from jtruth.evaluation.parts import interval_text, interval_title, taken_as_true
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.learning.joint.hierarchical import named
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.stats.ppi import gold_sample

MOST, FEW = 50, 5  # groups; samples and gold answers of a group below which that is said
_JEFFREYS = 0.5  # samples of each class and group that the prior is worth
_DRAWS = 4000  # of a group, to compare groups
SAME_ERRORS = (
    "labelers are taken to err alike in all groups: if they are kinder to one, as LLM judges may be to their "
    "own answers, its share and all its differences are off, and only gold of each group can tell"
)
WIDE = (
    "how labelers mislead in one group is taken to say nothing of another, so differences are wide: only "
    "gold in each group can tell small ones"
)
BY_GOLD = (
    "gold of all groups together says what the labels are worth; the gold of a group, where there is some, "
    "corrects that group"
)
PAIRED = (
    "differences of groups that have the same items are paired, item by item: narrower than their shares tell"
)
LITTLE = "{} have fewer than {} {}: little is known of their shares"


class Groups(NamedTuple):
    """The group of each sample, and what each is about; for `prevalence(by=...)`.

    `read_groups` makes codes of groups and items; `group_shares` adds the answer.
    """

    group: Any  # (samples,) names; or a Series or dict by task id
    item: Any = None  # (samples,) likewise: groups with items in common are paired; None: no two have any
    positive: Any = None  # the class whose share is compared, by code or name; class 1 if None
    names: tuple[str, ...] = ()  # of the groups
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    laws: Any = None  # `Laws` of the shares in these samples
    new: Any = None  # of new items like these
    num_gold: tuple[int, ...] = ()
    label_shares: tuple[float, ...] = ()  # of the labels given
    in_common: Mapping[Pair, int] = {}  # items that two groups share

    __repr__ = one_line

    @property
    def symbols(self) -> Float[np.ndarray, "classes symbols"]:
        """Prior of groups as predictions; one that never occurs keeps them from passing for the classes."""
        number = len(self.names) + (len(self.names) == len(self.classes))
        return np.full((len(self.classes), number), _JEFFREYS)

    @property
    def code(self) -> int:
        """Of the positive class."""
        return self.classes.index(self.positive)

    @property
    def sizes(self) -> Int[np.ndarray, " groups"]:
        """Samples of each."""
        return np.bincount(self.group, minlength=len(self.names))

    def of_tables(self, counts: Num[np.ndarray, "draws classes symbols"]) -> np.ndarray:
        """Draws of the share in each group, (draws, groups)."""
        return counts[:, self.code, : len(self.names)] / self.sizes

    def sentence(self, kind: str, level: float) -> str:
        """Who has the largest share, and whether that can be told."""
        first, second = self.laws.ranking[:2]
        says = {n: f"{plain(n)} ({interval_text(self.laws.values[n], level)})" for n in (first, second)}
        p, kind = self.laws.p_better(first, second), f"{kind}s; {taken_as_true(sum(self.num_gold))}"
        if p < TOLD:
            whole = "Gold and labels" if sum(self.num_gold) else "Labels alone"
            return (
                f"{whole} cannot tell whether {says[first]} or {says[second]} has the larger share of class "
                f"{self.positive!r}: {plain(first)} with probability {p:.2f} ({kind})."
            )
        return (
            f"{says[first]} has a larger share of class {self.positive!r} than {says[second]} with "
            f"probability {p:.2f}, and the largest of all with {self.laws.best[first]:.2f} ({kind})."
        )

    def blocks(self, level: float) -> tuple[Table, Table, Facts]:
        """Groups, the largest share first; differences, of neighbours first."""
        laws, sizes, rows = self.laws, self.sizes, []
        best, order = laws.best, laws.ranking
        for name, below in zip(order, (*order[1:], None), strict=True):
            g = self.names.index(name)
            rows.append({"group": name, **law_row(laws.values[name], level), "best": best[name],
                         "above_next": None if below is None else laws.p_better(name, below),
                         "label_share": self.label_shares[g], "num_samples": int(sizes[g]),
                         "num_gold": self.num_gold[g]})  # fmt: skip
        columns = [
            Column("mean", "share [interval]", ("low", "high")),
            Column("best", "P(largest)", form=".2f"),
            Column("above_next", "P(above next)", form=".2f"),
            Column("label_share", "of the labels"),
            Column("num_samples", "samples"),
        ]
        columns += [Column("num_gold", "gold")] if sum(self.num_gold) else []
        title = f"Share of class {plain(self.positive)!r} in each group of these samples"
        groups = Table("by.groups", title, "group", tuple(columns), rows, cross="label_share")
        rows = []
        for row in difference_rows(self.laws.differences, self.laws.ranking, level):
            pair = row["first"], row["second"]
            rows.append(row | {
                "first_larger": self.laws.p_better(*pair), "first_larger_new": self.new.p_better(*pair),
                "items_in_common": self.in_common.get(pair, self.in_common.get(pair[::-1])),
            })  # fmt: skip
        columns = (Column("first_larger", "P(the first is larger)", form=".2f"),
                   Column("first_larger_new", "of new items too", form=".2f"))  # fmt: skip
        differences = difference_table("by.differences", "Differences of groups", rows, columns)
        return groups, differences, facts(**{"by.positive": self.positive})


def read_groups(by: Any, labels: Labels) -> Groups:
    """Names, codes and items of `Groups`, or of the group of each sample alone; or ValueError."""
    by = by if isinstance(by, Groups) else Groups(by)
    numbered, notes = {}, []
    for what, ids in (("group", by.group), ("item", by.item)):
        ids = np.arange(labels.num_samples) if ids is None else ids
        aligned = check.align(inputs.concrete(ids, "by"), labels, "by")
        numbered[what] = named(aligned.values, what, labels.num_samples, "samples", labels.tasks)
        notes += aligned.notes if what == "group" else ()
    (names, code), (_, item) = numbered["group"], numbered["item"]
    if not 2 <= len(names) <= MOST:
        what = f"one group, {names[0]!r}" if len(names) == 1 else f"{len(names)} groups"
        raise ValueError(f"by says {what}; give 2 to {MOST}, such as the system that made each sample")
    twice = np.flatnonzero(np.unique(np.stack([code, item]), axis=1, return_counts=True)[1] > 1)
    if twice.size:
        raise ValueError("an item stands twice in one group; give each sample of a group an item of its own")
    positive = labels.class_code(by.positive) if isinstance(by.positive, str) else by.positive
    positive = 1 if positive is None else positive
    if not 0 <= positive < labels.num_classes:
        raise ValueError(f"positive is {positive}, but there are {labels.num_classes} classes")
    notes += [f"{LOOK}{text[0].lower()}{text[1:]} Write them alike." for text in alike_note(names, "groups")]
    notes += too_few(names, np.bincount(code), "samples")
    classes = tuple(map(str, labels.class_names))
    return Groups(code, item, classes[positive], names, classes, tuple(notes))


def too_few(names: Sequence[str], number: Sequence[int] | np.ndarray, what: str) -> tuple[str, ...]:
    """Which groups have little of something, where there is some."""
    few = [name for name, n in zip(names, number, strict=True) if n < FEW]
    return (LITTLE.format(quoted(few, 6), FEW, what),) if few and any(number) else ()


def group_shares(
    groups: Groups, columns: np.ndarray, labels: Labels, gold: np.ndarray, p: np.ndarray, key: Key,
    paired: Mapping[Pair, tuple[DrawsEstimate, DrawsEstimate]] = MappingProxyType({}),
    points: Sequence[float] | None = None,
) -> Groups:  # fmt: skip
    """The answer from draws (draws, groups); `p` (samples,) are chances of the class, `paired` by gold.

    `points` as for `laws_of`.
    """
    size, gold_of = groups.sizes, np.bincount(groups.group[gold >= 0], minlength=len(groups.names))
    covariance, common = _chance(groups, columns.mean(axis=0), p)
    root, axes = np.linalg.eigh(covariance)
    normal = host_rng(key, "new items").standard_normal(columns.shape)
    new = columns + normal @ (axes * np.sqrt(np.maximum(root, 0.0))).T
    sample, _, label = labels.entries()
    votes = cross_table(groups.group[sample], label == groups.code, (size.size, 2))
    label_shares = votes[:, 1] / np.maximum(votes.sum(axis=1), 1)
    here, later = (
        laws_of(groups.names, draws, {pair: laws[k] for pair, laws in paired.items()}, points=points)
        for k, draws in enumerate((columns, new))
    )
    return groups._replace(
        laws=here, new=later, num_gold=tuple(gold_of.tolist()), label_shares=tuple(label_shares.tolist()),
        in_common=common,
    )  # fmt: skip


def apart(laws: Sequence[Estimate], key: Key) -> Float[np.ndarray, "draws groups"]:
    """Draws of distributions whose errors are taken as independent, together."""
    rng = host_rng(key, "groups apart")
    each = [law.draws if isinstance(law, DrawsEstimate) else law.sample(key, _DRAWS) for law in laws]
    size = max(draws.size for draws in each)
    return np.stack([rng.permutation(np.resize(draws, size)) for draws in each], axis=1)


def laws_of(
    names: Sequence[str], columns: Float[np.ndarray, "draws groups"], paired: Mapping[Pair, DrawsEstimate],
    sign: float = 1.0, points: Sequence[float] | None = None,
) -> Laws:  # fmt: skip
    """Values and differences of groups, by draws of all of them together; some differences are `paired`.

    `points` are given as the means of the groups; None: those of the draws.
    """
    each = {name: np.ascontiguousarray(column) for name, column in zip(names, columns.T, strict=True)}
    apart = {(a, b): DrawsEstimate(each[a] - each[b]) for a, b in combinations(names, 2)}
    middles = points or [None] * len(each)
    values = {name: DrawsEstimate(each[name], middle=m) for name, m in zip(each, middles, strict=True)}
    return Laws(values, consistent(values, {**apart, **paired}), columns, sign)


def _chance(groups: Groups, share: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, dict[Pair, int]]:
    """Covariance of the shares of as many new items, (groups, groups), and how many items groups share."""
    size, number = groups.sizes, len(groups.names)
    covariance, common = np.diag(share * (1 - share) / size), {}
    order = [np.flatnonzero(groups.group == g) for g in range(number)]
    for a, b in combinations(range(number), 2):
        same, one, two = np.intersect1d(groups.item[order[a]], groups.item[order[b]], return_indices=True)
        common[groups.names[a], groups.names[b]] = same.size
        if same.size > 1:
            both = np.cov(p[order[a]][one], p[order[b]][two], ddof=0)[0, 1]
            covariance[a, b] = covariance[b, a] = same.size * both / (size[a] * size[b])
    return covariance, common


def same_items(groups: Groups, known: np.ndarray) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]:
    """Rows of pairs of groups with the same items, if half of the gold of each is of items known in both."""
    by_item = np.argsort(groups.item)
    order = enumerate(by_item[groups.group[by_item] == g] for g in range(len(groups.names)))
    return {
        (first, second): (a, b) for (first, a), (second, b) in combinations(order, 2)
        if np.array_equal(groups.item[a], groups.item[b])
        and (known[a] & known[b]).sum() >= max(FEW, 0.5 * known[a].sum(), 0.5 * known[b].sum())
    }  # fmt: skip


def paired_shares(
    groups: Groups, chance: np.ndarray, sure: np.ndarray, known: np.ndarray, key: Any
) -> dict[Pair, tuple[DrawsEstimate, DrawsEstimate]]:
    """Differences of groups that have the same items: of these, and of as many new ones.

    Counted is a class, or being right: `chance` by the labels, `sure` where the truth is `known`, at random.
    Both answers to an item are one of four classes, whose counts gold of both corrects: what is hard for
    both cancels. New items are drawn together, so their variance is (share that differs - difference^2) / n.
    """
    differences = {}
    for pair, (a, b) in same_items(groups, known).items():
        gold = np.where(known[a] & known[b], 2 * sure[a] + sure[b], -1)
        one_of, other_of = (np.stack([1 - chance[rows], chance[rows]], axis=1) for rows in (a, b))
        guess = one_of[:, :, None] * other_of[:, None]
        draw = stream(key, "paired groups", pair[0] * MOST + pair[1])
        both = np.zeros(a.size, int), 1, guess.reshape(-1, 4), gold, gold_sample(gold >= 0)
        drawn = gold_tables(*both, draw)
        counts = drawn.counts[:, :, 0] / a.size
        gap, differ = counts[:, 2] - counts[:, 1], counts[:, 2] + counts[:, 1]
        spread = np.sqrt((differ - gap**2) / a.size)
        new = gap + spread * host_rng(draw, "new pairs of items").standard_normal(gap.size)
        names = groups.names[pair[0]], groups.names[pair[1]]
        differences[names] = DrawsEstimate(gap), DrawsEstimate(new)
    return differences


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
        by_worker: dict[str, dict[str, Estimate]] = {}
        for name, report in self.reports.items():
            for worker, law in report.laws.items():
                if not np.isnan(law.mean):
                    by_worker.setdefault(worker, {})[name] = law
        laws = {}
        for worker, mine in by_worker.items():
            key = stream(as_key(self.key), f"labelers apart, {worker}")
            columns, points = apart(list(mine.values()), key), [law.mean for law in mine.values()]
            laws[worker] = laws_of(tuple(mine), columns, self.paired.get(worker, {}), points=points)
        return laws

    @property
    def differences(self) -> dict[str, Mapping[Pair, DrawsEstimate]]:
        """By labeler: the accuracy in the first group minus that in the second."""
        return {worker: laws.differences for worker, laws in self.laws.items()}

    def blocks(self) -> Document:
        """The question, the answer and what stands behind it, for all faces."""
        first, gaps = next(iter(self.reports.values())), []
        for worker, laws in self.laws.items():
            for (a, b), law in laws.differences.items():
                better = laws.p_better(a, b)
                if better < 0.5:
                    a, b, better = b, a, 1 - better
                    law = DrawsEstimate(-law.draws, middle=-law.mean)
                gaps.append({"worker": worker, "first": a, "second": b, **law_row(law, self.level),
                             "difference": f"{plain(worker)}: {plain(a)} - {plain(b)}",
                             "first_better": better})  # fmt: skip
        gaps.sort(key=lambda row: -row["first_better"])
        rows = [{**row, "name": f"{plain(row['worker'])} in {plain(row['group'])}"} for row in self.rows]
        columns = Column("accuracy", "accuracy", ("low", "high")), Column("num_labels", "labels")
        better = (Column("first_better", "P(better in the first)", form=".2f"),)
        doubts = dict.fromkeys((*self.warnings, *(t for one in self.reports.values() for t in one.warnings)))
        blocks = (
            Table("by.labelers", "Labelers in each group, the worst first", "name", columns, rows),
            difference_table("by.differences", "Differences of a labeler, the clearest first", gaps, better),
            warning_notes(tuple(doubts)),
            how(("rests on", first.rests_on), ("groups", "each is judged by its own labels")),
            facts(groups=list(self.reports), level=self.level, key=self.key),
        )  # fmt: skip
        about = f"{number_of(len(self.reports), 'group')}, {number_of(len(rows), 'row')}; key {self.key}"
        sentence = self._sentence(gaps, interval_title(self.level, first.interval_kind))
        return Document("Does a labeler err more in one group than elsewhere?", about, sentence, blocks)

    def _sentence(self, gaps: list[dict[str, Any]], kind: str) -> str:
        if not gaps:
            return "No labeler has labels in two groups that determine how good he is: nothing to compare."
        clearest = gaps[0]
        text = (
            f"{plain(clearest['worker'])} is better in {plain(clearest['first'])} than in "
            f"{plain(clearest['second'])} with probability {clearest['first_better']:.2f}"
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
        gold: (samples,) known classes, -1 where unknown, or a `jt.io.Gold`; each group has its own.
        key, level, options: as for `evaluate_labelers`.

    Raises:
        ValueError: what `evaluate_labelers` refuses; fewer than 2 groups or above 50.
    """
    groups, data = read_groups(by, labels), inputs.read_labels_alone(labels, gold)
    known, equal = data.gold, not data.num_gold or equal_chances(data)
    chance = np.full(known.size, np.nan)  # only of gold it matters
    if not equal:
        chance[known >= 0] = how_chosen(data.known).inclusion
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
        pairs = paired_shares(
            his, h[rows, code], known[rows] == code, known[rows] >= 0, stream(key, "paired", t)
        )
        if pairs:
            differences[str(name)] = {pair: one for pair, (one, _) in pairs.items()}
    return differences
