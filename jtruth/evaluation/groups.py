"""Class shares of groups (systems, prompts, sites, days) that the same labelers judge, and their differences.

The group of a sample is the symbol of the count table n[true class, group]. Error rates are learned from all
groups together and assumed equal in each, which only gold in each group can check; shares are free. Without
gold each share is widened by the errors of class metrics on public data. Errors of two groups are treated as
independent, because much of them did not cancel there (`benchmarks/groups.py`).

The share of new items of a group is Beta(k + 1/2, n - k + 1/2) if k of its n samples are of the class. Groups
with m common items are drawn together (a normal copula), with p the probabilities of the class and

    cov(share_a, share_b) = m cov(p_a, p_b) / (n_a n_b).

Where gold verifies some items in both groups, differences are paired (`paired_shares`). Above 50 groups, and
if groups are days with little gold, all share the same error rates (`over_time`); then only differences of
neighbors (in rank and in time) and of the extremes are computed.
"""

import re
from collections.abc import Mapping, Sequence
from itertools import combinations, pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num
from scipy import sparse
from scipy.special import betaincinv, ndtr

from jtruth import _validation as check
from jtruth._host import cross_table
from jtruth._one_line import one_line
from jtruth._random import Key, host_rng, stream
from jtruth._validation.times import times_of
from jtruth._validation.words import LOOK, alike_note, number_in, plain, quoted
from jtruth.answers import Column, Curve, Table, dist_row, facts
from jtruth.answers.blocks import Facts, share_text
from jtruth.evaluation import inputs
from jtruth.evaluation.compared import CLEAR, Dists, Pair, consistent, difference_rows, difference_table
from jtruth.evaluation.gold.tables import gold_tables
from jtruth.evaluation.over_time import (
    MOST_DAYS,
    Evidence,
    evidence_of,
    shares_apart,
    shares_in_order,
    symbols_of,
)  # fmt: skip
from jtruth.evaluation.parts import ABOUT, IN_SAMPLE, curve_of, taken_as_true
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate, draws_of
from jtruth.stats.estimates import Estimate
from jtruth.stats.ppi import gold_sample

Codes = Int[np.ndarray, " samples"]
Draws = Float[np.ndarray, "draws groups"]
# Groups whose differences are all computed; samples and gold answers of a group below which a note is given;
# gold answers of each day from which days are not smoothed; seconds of a day.
ALL_PAIRS, FEW, ENOUGH, _DAY = 50, 5, 20, 86_400.0
_JEFFREYS = 0.5  # samples of each class and group that the prior is worth
_RAKED = 30  # rounds of raking
_MONTH, _QUARTER = re.compile(r"\d{4}-\d\d"), re.compile(r"(\d{4})-Q([1-4])")
_MIDNIGHT = re.compile(r"[ T]00:00:00(\.0+)?$")
SAME_ERRORS = (
    "Error rates are assumed equal in all groups. If a judge favors one group, as LLM judges may favor their "
    "own answers, that group's share is biased, and only verified labels in each group can show it."
)
WIDE = (
    "Differences have wide intervals because label errors in one group say nothing about another. Verify "
    "labels in each group to see small differences."
)
BY_GOLD = "Verified labels of all groups are pooled; those of each group then adjust it."
PAIRED = (
    "Groups with the same items are compared item by item, so differences are narrower than their shares."
)
SMOOTHED = (
    "Groups are smoothed over time (a random walk that may jump). Use smooth=False to estimate each group "
    "alone."
)
LITTLE = "{} have fewer than {} {}, so their shares are very uncertain."
TOO_FINE = (
    "Most of the {} groups have fewer than {} samples. Group by day, week or month instead: by=... (at the "
    "command line --by week)."
)


class Groups(NamedTuple):
    """The group of each sample; for `prevalence(by=...)`.

    `read_groups` makes codes of groups and items; `group_shares` adds the result.
    """

    group: Any  # (samples,) names; or a Series or dict by task id
    item: Any = None  # (samples,) likewise: groups with items in common are paired; None: no two have any
    positive: Any = None  # the class whose share is compared, by code or name; as in `evaluate` if None
    smooth: bool | None = None  # whether groups in order borrow from neighbours; None: days with little gold
    when: Any = None  # (groups,) positions, in seconds or numbers; None: groups have no order
    dated: bool = False  # whether these are times
    names: tuple[str, ...] = ()  # of the groups
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    dists: Any = None  # `Dists` of the shares: what was asked for, new samples or these
    in_sample: Any = None  # of these samples
    num_gold: tuple[int, ...] = ()
    label_shares: tuple[float, ...] = ()  # of the labels given
    in_common: Mapping[Pair, int] = {}  # items that two groups share

    __repr__ = one_line

    @property
    def symbols(self) -> Float[np.ndarray, "classes symbols"]:
        """Prior of groups as predictions; an extra symbol keeps them from being read as the classes."""
        number = len(self.names) + (len(self.names) == len(self.classes))
        return np.full((len(self.classes), number), _JEFFREYS)

    @property
    def code(self) -> int:
        """Code of the positive class."""
        return self.classes.index(self.positive)

    @property
    def sizes(self) -> Int[np.ndarray, " groups"]:
        """Samples of each group."""
        return np.bincount(self.group, minlength=len(self.names))

    def shared(self, gold: Codes) -> bool:
        """Whether all groups share the error rates: there are many, or they are smoothed."""
        return len(self.names) > ALL_PAIRS or self.smoothed(gold)

    def smoothed(self, gold: Codes) -> bool:
        """Whether groups are smoothed over their order."""
        if self.when is None or self.smooth is False or not 3 <= len(self.names) <= MOST_DAYS:
            return False
        fewest = np.bincount(self.group[gold >= 0], minlength=len(self.names)).min()
        return bool(self.smooth or (self.dated and fewest < ENOUGH))

    def how(self, gold: Codes) -> tuple[str, ...]:
        """Sentences on the assumptions of shared error rates."""
        return (SAME_ERRORS, *([SMOOTHED] if self.smoothed(gold) else []))

    def of_evidence(
        self, gold: Codes, symbol: Codes, key: Key,
        tables: Num[np.ndarray, "draws 2 symbols"],
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Draws (draws, groups) of the share in these samples and in new ones, by shared error rates."""
        known, rng = np.where(gold < 0, -1, gold == self.code), host_rng(key, "shared error rates")
        evidence: Evidence = evidence_of(self.group, len(self.names), symbol, known, tables)
        smooth = self.smoothed(gold)
        new = shares_in_order(evidence, self.when, rng) if smooth else shares_apart(evidence, rng)
        return evidence.in_samples(rng, new), new

    def of_tables(self, counts: Num[np.ndarray, "draws classes symbols"]) -> np.ndarray:
        """Draws of the share in each group, (draws, groups)."""
        return counts[:, self.code, : len(self.names)] / self.sizes

    def sentence(self, kind: str, level: float, target: str, num_calibration: int = 0) -> str:
        """The group with the largest share and whether that is clear; for ordered groups the trend."""
        truth = taken_as_true(sum(self.num_gold), num_calibration)
        kind = f"{kind.replace('posterior ', '')}s {ABOUT[target]}; {truth}"
        first, second = self.dists.ranking[:2]
        ends = {n: [dist.mean, *dist.interval(level)[:2]] for n, dist in self.dists.values.items()}
        says = {n: f"{plain(n)} ({share_text(values)})" for n, values in ends.items()}
        p, of_class = self.dists.p_better(first, second), f"share of class {self.positive!r}"
        if self.when is not None:
            return f"The {of_class} {self.trend(says)} ({kind})."
        if p < CLEAR:
            return (
                f"It is not clear whether {says[first]} or {says[second]} has the larger {of_class}: "
                f"P({plain(first)} larger) = {p:.2f} ({kind})."
            )
        return (
            f"{says[first]} has a larger {of_class} than {says[second]} with probability {p:.2f}, and the "
            f"largest of all groups with probability {self.dists.best[first]:.2f} ({kind})."
        )

    def trend(self, says: Mapping[str, str]) -> str:
        """Change of the share from the first group to the last, with the largest and smallest."""
        start, *_, end = self.names
        rise, (largest, *_, smallest) = self.dists.p_better(end, start), self.dists.ranking
        went = f"rose with probability {rise:.2f}" if rise >= 0.5 else f"fell with probability {1 - rise:.2f}"
        went = went if max(rise, 1 - rise) >= CLEAR else "may have risen or fallen"
        others = [
            f"{most} {says[one] if one not in (start, end) else plain(one)}"
            for most, one in (("largest for", largest), ("smallest for", smallest))
        ]
        more = f"; it is {' and '.join(others)}" if len(self.names) > 2 else ""
        return f"{went}, from {says[start]} to {says[end]}{more}"

    def blocks(self, level: float) -> tuple[Table | Curve | Facts, ...]:
        """Tables of groups and differences, and a curve of ordered groups."""
        dists, sizes, order, rows = self.dists, self.sizes, self.dists.ranking, []
        best, below, before = dists.best, dict(pairwise(order)), dict(pairwise(self.names[::-1]))
        for name in order if self.when is None else self.names:
            g = self.names.index(name)
            rows.append({"group": name, **dist_row(dists.values[name], level), "best": best[name],
                         "above_next": dists.p_better(name, below[name]) if name in below else None,
                         **({} if self.when is None else {"above_previous": dists.p_better(name, before[name])
                                                         if name in before else None}),
                         "in_sample": dist_row(self.in_sample.values[name], level),
                         "label_share": self.label_shares[g], "num_samples": int(sizes[g]),
                         "num_gold": self.num_gold[g]})  # fmt: skip
        columns = [
            Column("mean", "share [interval]", ("low", "high")),
            Column("num_samples", "samples"),
            Column("best", "P(largest)", form=".2f"),
            Column("above_next", "P(above next)", form=".2f")
            if self.when is None
            else Column("above_previous", "P(above previous)", form=".2f", step=True),
            Column("label_share", "share of labels"),
        ]
        columns += [Column("num_gold", "verified")] if sum(self.num_gold) else []
        of = "among these samples" if self.dists is self.in_sample else "among new samples"
        title = f"Share of class {plain(self.positive)!r} in each group, {of}"
        groups = Table("by.groups", title, "group", tuple(columns), rows, cross="label_share",
                       order=[self.names.index(name) for name in order] if self.when is not None else (),
                       sequence=self.when is not None)  # fmt: skip
        differences = []
        ranked = order if self.when is None else self.names[::-1]
        for row in difference_rows(dists.differences, ranked, level):
            pair = row["first"], row["second"]
            differences.append(row | {
                "first_larger": dists.p_better(*pair),
                "first_larger_in_sample": self.in_sample.p_better(*pair),
                "items_in_common": self.in_common.get(pair, self.in_common.get(pair[::-1])),
            })  # fmt: skip
        columns = (Column("first_larger", "P(the first is larger)", form=".2f"),
                   Column("first_larger_in_sample", "in these samples", form=".2f"))  # fmt: skip
        table = difference_table("by.differences", "Differences of groups", differences, columns)
        axis = None if self.when is None else self.axis()
        curve = curve_of("by.curve", groups, axis, f"share of {plain(self.positive)!r}")
        return (groups, *curve, table, facts(**{"by.positive": self.positive}))

    def axis(self) -> tuple[list[float], str, dict[float, str]]:
        """Positions of ordered groups on an axis (times in days), its title, and their names."""
        x = ((self.when - self.when[0]) / _DAY if self.dated else self.when).tolist()
        return x, "time" if self.dated else "group", dict(zip(x, self.names, strict=True))

    def only(self, there: Int[np.ndarray, " some"], group: Int[np.ndarray, " labels"]) -> "Groups":
        """Some of the groups, with right or wrong labels as samples."""
        names, when = tuple(self.names[g] for g in there), None if self.when is None else self.when[there]
        classes = "wrong", "right"
        return self._replace(group=group, names=names, when=when, classes=classes, positive="right")


def tables_by_gold(
    p: Float[np.ndarray, " samples"], known: Codes, sample: Any, key: Key
) -> tuple[Codes, Float[np.ndarray, "draws 2 symbols"]]:
    """Symbols and tables (see `over_time`) by gold; `p` of class 1 by labels, `known` -1 if not verified.

    Gold gives the class counts of two strata, as without groups, and the split of these by symbol (raking:
    Deming and Stephan 1940). Many strata would be shrunk to the labels' estimate.
    """
    symbol = symbols_of(p, int(np.clip((known >= 0).sum() // 8, 2, 8)))
    number, guess = int(symbol.max()) + 1, np.stack([1 - p, p], axis=1)
    fine, coarse = (
        gold_tables(at, size + (size == 2), guess, known, sample, key).counts[:, :, :size]
        for at, size in ((symbol, number), ((p >= 0.5).astype(int), 2))
    )
    side = np.zeros((number, 2))
    side[symbol, (p >= 0.5).astype(int)] = 1.0
    tables, total = fine + _JEFFREYS, np.bincount(symbol)
    for _ in range(_RAKED):
        tables *= (coarse / np.maximum(tables @ side, 1e-300)) @ side.T
        tables *= total / np.maximum(tables.sum(axis=1, keepdims=True), 1e-300)
    return symbol, tables


def read_groups(by: Any, labels: Labels) -> Groups:
    """Names, codes and items of `Groups`, or of the group of each sample; ValueError if unusable."""
    by = by if isinstance(by, Groups) else Groups(by)
    numbered, notes = {}, []
    for what, ids in (("group", by.group), ("item", by.item)):
        ids = np.arange(labels.num_samples) if ids is None else ids
        aligned = check.align(inputs.concrete(ids, "by"), labels, "by")
        numbered[what] = named(aligned.values, what, labels.num_samples, "samples", labels.tasks)
        notes += aligned.notes if what == "group" else ()
    (names, code), (_, item) = numbered["group"], numbered["item"]
    if len(names) < 2:
        raise ValueError(
            f"by has one group, {names[0]!r}; give 2 or more, such as the system that made each sample"
        )
    names, code, when, dated, unclear = in_order(names, code)
    notes += unclear
    twice = np.flatnonzero(np.unique(np.stack([code, item]), axis=1, return_counts=True)[1] > 1)
    if twice.size:
        raise ValueError("an item occurs twice in one group; each sample of a group needs its own item")
    positive, _ = check.positive_of(labels, by.positive)
    notes += [f"{LOOK}{text[0].lower()}{text[1:]} Use one spelling." for text in alike_note(names, "groups")]
    sizes = np.bincount(code)
    fine = dated and len(names) > FEW and np.median(sizes) < FEW
    notes += [TOO_FINE.format(len(names), FEW)] if fine else too_few(names, sizes, "samples")
    classes = tuple(map(str, labels.class_names))
    return Groups(code, item, classes[positive], by.smooth, when, dated, names, classes, tuple(notes))


def in_order(
    names: tuple[str, ...], code: Codes
) -> tuple[tuple[str, ...], Codes, Float[np.ndarray, " groups"] | None, bool, list[str]]:
    """Sort groups that are numbers or times: names, codes, positions, whether they are times, notes.

    Ambiguous dates have no order, and a note says so.

    >>> in_order(("10", "9"), np.array([0, 1]))[:3]
    (('9', '10'), array([1, 0]), array([ 9., 10.]))
    """
    when, dated, notes = np.array([number_in(name) for name in names]), False, []
    if not np.isfinite(when).all():
        if all(_MIDNIGHT.search(name) for name in names):  # dates of NumPy and pandas
            names = tuple(_MIDNIGHT.sub("", name) for name in names)
        months = [_QUARTER.sub(lambda q: f"{q[1]}-{3 * int(q[2]) - 2:02}", name) for name in names]
        days = [f"{name}-01" if _MONTH.fullmatch(name) else name for name in months]
        try:
            when, dated = times_of(days, "groups"), True
        except ValueError as why:
            when, notes = None, [f"{why}. Without that, these groups have no order."]
    if when is None or len(np.unique(when)) < len(names):
        return names, code, None, False, notes
    order = np.argsort(when, kind="stable")
    return tuple(names[k] for k in order), np.argsort(order)[code], when[order], dated, notes


def too_few(names: Sequence[str], number: Sequence[int] | np.ndarray, what: str) -> tuple[str, ...]:
    """A note on groups with few of something, if any has some."""
    few = [name for name, n in zip(names, number, strict=True) if n < FEW]
    return (LITTLE.format(quoted(few, 6), FEW, what),) if few and any(number) else ()


def group_shares(
    groups: Groups, here: np.ndarray, data: inputs.Inputs, p: np.ndarray,
    paired: Mapping[Pair, tuple[DrawsEstimate, DrawsEstimate]] = MappingProxyType({}),
    points: Sequence[float] | None = None, new: np.ndarray | None = None,
) -> Groups:  # fmt: skip
    """Shares of groups from draws (draws, groups): `here` in these samples, and `new` ones.

    `p` (samples,) are class probabilities, `paired` differences by gold, `points` as for `dists_of`. Without
    `new`, draws for new samples are made from `here`. `data.target` selects the reported ones.
    """
    in_sample, gold, labels = data.target == IN_SAMPLE, data.gold, data.own_labels()
    size, gold_of = groups.sizes, np.bincount(groups.group[gold >= 0], minlength=len(groups.names))
    covariance, common = _chance(groups, here.mean(axis=0), p)
    of_new = points
    if new is None:
        new = _new_items(here, size, covariance, data.key)
        middle = here.mean(axis=0) if points is None else np.array(points)
        of_new = middle.tolist()  # unbiased; so are means of other answers about new samples
    sample, _, label = labels.entries()
    votes = cross_table(groups.group[sample], label == groups.code, (size.size, 2))
    label_shares = votes[:, 1] / np.maximum(votes.sum(axis=1), 1)
    pairs = compared_pairs((here if in_sample else new).mean(axis=0), ordered=groups.when is not None)
    own, other = (
        dists_of(groups.names, draws, {pair: dists[k] for pair, dists in paired.items()}, 1.0, middle, pairs)
        for k, (draws, middle) in enumerate(((here, points), (new, of_new)))
    )
    of_pair = {pair: int(common[tuple(map(groups.names.index, pair))]) for pair in own.differences}
    return groups._replace(
        dists=own if in_sample else other, in_sample=own, num_gold=tuple(gold_of.tolist()),
        label_shares=tuple(label_shares.tolist()), in_common=of_pair,
    )  # fmt: skip


def _new_items(here: Draws, size: np.ndarray, covariance: np.ndarray, key: Key) -> Draws:
    """Draws of shares of new items: Beta (Jeffreys), with a normal copula if groups share items."""
    hits, rng = here * size, host_rng(key, "new items")
    if not np.count_nonzero(covariance - np.diag(np.diagonal(covariance))):
        return rng.beta(hits + _JEFFREYS, size - hits + _JEFFREYS)
    spread = np.sqrt(np.maximum(np.diagonal(covariance), 1e-300))
    root, axes = np.linalg.eigh(covariance / np.outer(spread, spread))
    half = axes * np.sqrt(np.maximum(root, 0.0))
    half /= np.maximum(np.sqrt((half**2).sum(axis=1, keepdims=True)), 1e-12)
    normal = rng.standard_normal(here.shape) @ half.T
    return betaincinv(hits + _JEFFREYS, size - hits + _JEFFREYS, ndtr(normal))


def independent_draws(dists: Sequence[Estimate], key: Key) -> Draws:
    """Joint draws of distributions with independent errors."""
    rng = host_rng(key, "groups apart")
    each = [draws_of(dist) for dist in dists]
    size = max(draws.size for draws in each)
    return np.stack([rng.permutation(np.resize(draws, size)) for draws in each], axis=1)


def dists_of(
    names: Sequence[str], columns: Draws, paired: Mapping[Pair, DrawsEstimate],
    sign: float = 1.0, points: Sequence[float] | None = None, pairs: Sequence[tuple[int, int]] = (),
) -> Dists:  # fmt: skip
    """Values and differences of groups by joint draws, with means `points`; some differences are `paired`."""
    each, number = np.ascontiguousarray(columns.T), len(names)
    pairs = pairs or compared_pairs(columns.mean(axis=0) if points is None else np.array(points), sign)
    apart = {(names[a], names[b]): DrawsEstimate(each[a] - each[b]) for a, b in pairs}
    middles = points or [None] * number
    values = {name: DrawsEstimate(one, middle=m) for name, one, m in zip(names, each, middles, strict=True)}
    return Dists(values, consistent(values, {**apart, **paired}), columns, sign)


def compared_pairs(
    means: Float[np.ndarray, " groups"], sign: float = 1.0, ordered: bool = False
) -> list[tuple[int, int]]:
    """Pairs to compare: all; of many groups neighbors and both ends, in rank and (`ordered`) in order."""
    size, rank = means.size, np.argsort(-sign * np.nan_to_num(means), kind="stable").tolist()
    if size <= ALL_PAIRS:
        return list(combinations(range(size), 2))
    near = [*pairwise(rank), (rank[0], rank[-1])]
    near += [*pairwise(range(size)), (0, size - 1)] if ordered else []
    return sorted({(min(pair), max(pair)) for pair in near})


def _chance(groups: Groups, share: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(groups, groups): covariance of the shares of as many new items, and number of common items."""
    size, number = groups.sizes, len(groups.names)
    shape = number, int(groups.item.max()) + 1
    cells, values = (groups.group, groups.item), (np.ones(p.size), p)
    has, chances = (sparse.csr_array((one, cells), shape=shape) for one in values)
    common, sums = ((one @ has.T).toarray() for one in (has, chances))
    both = (chances @ chances.T).toarray() - sums * sums.T / np.maximum(common, 1)
    covariance = np.where(common > 1, both, 0.0) / np.outer(size, size)
    np.fill_diagonal(covariance, share * (1 - share) / size)
    return covariance, common


def same_items(groups: Groups, known: np.ndarray) -> dict[tuple[int, int], tuple[np.ndarray, np.ndarray]]:
    """Rows of pairs of groups with the same items, if half of the gold of each is known in both."""
    by_item = np.argsort(groups.item)
    if len(groups.names) > ALL_PAIRS:
        return {}
    order = enumerate(by_item[groups.group[by_item] == g] for g in range(len(groups.names)))
    return {
        (first, second): (a, b) for (first, a), (second, b) in combinations(order, 2)
        if np.array_equal(groups.item[a], groups.item[b])
        and (known[a] & known[b]).sum() >= max(FEW, 0.5 * known[a].sum(), 0.5 * known[b].sum())
    }  # fmt: skip


def paired_shares(
    groups: Groups, chance: np.ndarray, sure: np.ndarray, known: np.ndarray, key: Any
) -> dict[Pair, tuple[DrawsEstimate, DrawsEstimate]]:
    """Differences of groups with the same items: of these items, and of as many new ones.

    The outcome is a class, or being right: probability `chance` by the labels, `sure` where the truth is
    `known`, at random. The outcomes of an item in both groups form four classes, whose counts gold of both
    corrects. New items are drawn together, so their variance is (share that differs - difference^2) / n.
    """
    differences = {}
    for pair, (a, b) in same_items(groups, known).items():
        gold = np.where(known[a] & known[b], 2 * sure[a] + sure[b], -1)
        one_of, other_of = (np.stack([1 - chance[rows], chance[rows]], axis=1) for rows in (a, b))
        guess = one_of[:, :, None] * other_of[:, None]
        draw = stream(key, "paired groups", pair[0] * ALL_PAIRS + pair[1])
        both = np.zeros(a.size, int), 1, guess.reshape(-1, 4), gold, gold_sample(gold >= 0)
        drawn = gold_tables(*both, draw)
        counts = drawn.counts[:, :, 0] / a.size
        gap, differ = counts[:, 2] - counts[:, 1], counts[:, 2] + counts[:, 1]
        spread = np.sqrt((differ - gap**2) / a.size)
        new = gap + spread * host_rng(draw, "new pairs of items").standard_normal(gap.size)
        names = groups.names[pair[0]], groups.names[pair[1]]
        differences[names] = DrawsEstimate(gap), DrawsEstimate(new)
    return differences


def named(
    entries: Any, what: str, size: int, axis: str, names: tuple | None
) -> tuple[tuple[str, ...], np.ndarray]:
    """Distinct names in `entries` (size,), and the number of each entry's.

    Raises:
        ValueError: another shape, or entries without a name.
    """
    values = np.asarray(entries)
    if values.shape != (size,):
        raise ValueError(f"{what}s has shape {values.shape}; give one {what} for each of the {size} {axis}")
    missing = [k for k, name in enumerate(values.tolist()) if name is None or name == "" or name != name]
    if missing:
        called = names or tuple(range(size))
        raise ValueError(f"{axis} without a {what}: {quoted(called[k] for k in missing)}; name one for each")
    found, number = np.unique(values.astype(str), return_inverse=True)
    return tuple(found.tolist()), number.ravel()
