"""Which system, prompt or site has the larger share of a class? Groups judged by the same labelers.

The group of a sample is the symbol of the count table n[true class, group], as a prediction is elsewhere,
so every way to hold such a table answers: labelers' error rates are learned from all groups together, and
shares are free in each, p(class, group) = pi[class] K[class, group]. What that takes for granted is that a
labeler errs alike in every group. Judges that are kinder to one system than to another break it, and labels
alone cannot show it; gold corrects each group by its own answers.

Without gold each share is widened by how far metrics of one class were off elsewhere (`model_error.CLASS`):
a group is known less well than the whole, whose row is too narrow for groups. Part of such an error is
common to all groups and would cancel in a difference; on public sets much of it did not (labelers misjudged
queries and problems one by one), so the errors of two groups are taken as independent. Measured there, and
by simulation: `benchmarks/groups.py`.

Two groups may hold answers to the same items (tasks that both systems had). In the samples at hand that
changes nothing. Of new items it does: the share of a group there has the law of its share here plus the
chance of the draw, with variance s (1 - s) / n, and covariances by the m items in common,

    cov(share_a, share_b) = m cov(p_a, p_b) / (n_a n_b),

p the probabilities of the class at these items: what is easy for both tells nothing, and cancels.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num

from jtruth import _validation as check
from jtruth._one_line import one_line
from jtruth._random import Key, host_rng
from jtruth._validation.words import plain, quoted
from jtruth.answers import Column, Facts, Table, facts, law_row
from jtruth.evaluation import inputs
from jtruth.evaluation.compared import TOLD, Laws, Pair, difference_rows, difference_table
from jtruth.evaluation.parts import interval_text, taken_as_true
from jtruth.labels import Labels
from jtruth.learning.joint.hierarchical import named
from jtruth.stats.draws import DrawsEstimate

MOST, FEW = 50, 5  # groups; samples and gold answers of a group below which that is said
_JEFFREYS = 0.5  # samples of each class and group that the prior is worth
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
    """The group of each sample, and what each is about; for `prevalence(by=...)`."""

    group: Any  # (samples,) names; or a Series or dict by task id
    item: Any = None  # (samples,) likewise: groups with items in common are paired; None: no two have any
    positive: int | str | None = None  # the class whose share is compared, by code or name; class 1 if None

    __repr__ = one_line


class ReadGroups(NamedTuple):
    """Groups as checked."""

    names: tuple[str, ...]
    code: Int[np.ndarray, " samples"]
    item: Int[np.ndarray, " samples"]
    positive: int
    classes: tuple[str, ...]
    notes: tuple[str, ...]

    __repr__ = one_line

    @property
    def symbols(self) -> Float[np.ndarray, "classes symbols"]:
        """Prior of groups as predictions; one that never occurs keeps them from passing for the classes."""
        number = len(self.names) + (len(self.names) == len(self.classes))
        return np.full((len(self.classes), number), _JEFFREYS)

    @property
    def sizes(self) -> Int[np.ndarray, " groups"]:
        """Samples of each."""
        return np.bincount(self.code, minlength=len(self.names))

    def of_tables(self, counts: Num[np.ndarray, "draws classes symbols"]) -> np.ndarray:
        """Draws of the share in each group, (draws, groups)."""
        return counts[:, self.positive, : len(self.names)] / self.sizes


def read_groups(by: Any, labels: Labels) -> ReadGroups:
    """Names, codes and items of `Groups`, or of the group of each sample alone.

    Raises:
        ValueError: groups or items of other samples, samples without one, fewer than 2 groups or above 50.
    """
    by = by if isinstance(by, Groups) else Groups(by)
    found, notes = {}, []
    for what, given in (("group", by.group), ("item", by.item)):
        given = np.arange(labels.num_samples) if given is None else given
        aligned = check.align(inputs.concrete(given, "by"), labels, "by")
        found[what] = named(aligned.values, what, labels.num_samples, "samples", labels.tasks)
        notes += aligned.notes if what == "group" else ()
    (names, code), (_, item) = found["group"], found["item"]
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
    size = np.bincount(code)
    notes += _little([names[g] for g in np.flatnonzero(size < FEW)], "samples")
    return ReadGroups(names, code, item, positive, tuple(map(str, labels.class_names)), tuple(notes))


def _little(names: Sequence[str], what: str) -> tuple[str, ...]:
    return (LITTLE.format(quoted(names, 6), FEW, what),) if names else ()


@dataclass(frozen=True, repr=False)
class GroupShares:
    """The share of a class in each group, and who has more."""

    positive: str
    laws: Laws  # of these samples
    new: Laws  # of new items like these
    sizes: tuple[int, ...]
    num_gold: tuple[int, ...]
    label_shares: tuple[float, ...]  # of the labels given
    in_common: Mapping[Pair, int]  # items that two groups share

    __repr__ = one_line

    @property
    def names(self) -> tuple[str, ...]:
        """Of the groups."""
        return tuple(self.laws.values)

    def with_pairs(self, pairs: dict[Pair, tuple[DrawsEstimate, DrawsEstimate]]) -> "GroupShares":
        """The same with other laws of differences: of these samples, of new items."""
        found = [
            replace(old, differences={**old.differences, **{pair: laws[k] for pair, laws in pairs.items()}})
            for k, old in enumerate((self.laws, self.new))
        ]
        return replace(self, laws=found[0], new=found[1])

    @property
    def little(self) -> tuple[str, ...]:
        """Which groups have little gold, where there is some."""
        few = [name for name, n in zip(self.names, self.num_gold, strict=True) if n < FEW]
        return _little(few, "gold answers") if any(self.num_gold) else ()

    def sentence(self, kind: str, level: float) -> str:
        """Who has the largest share, and whether that can be told."""
        first, second = self.laws.ranking[:2]
        says = {n: f"{plain(n)} ({interval_text(self.laws.values[n], level)})" for n in (first, second)}
        p, kind = self.laws.better(first, second), f"{kind}s; {taken_as_true(sum(self.num_gold))}"
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
        laws, best, order, rows = self.laws, self.laws.best, self.laws.ranking, []
        for name, below in zip(order, (*order[1:], None), strict=True):
            g = self.names.index(name)
            rows.append({"group": name, **law_row(laws.values[name], level), "best": best[name],
                         "above_next": None if below is None else laws.better(name, below),
                         "label_share": self.label_shares[g], "num_samples": self.sizes[g],
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
        return groups, self._differences(level), facts(**{"by.positive": self.positive})

    def _differences(self, level: float) -> Table:
        rows = []
        for row in difference_rows(self.laws.differences, self.laws.ranking, level):
            pair = row["first"], row["second"]
            rows.append(row | {
                "first_larger": self.laws.better(*pair), "first_larger_new": self.new.better(*pair),
                "items_in_common": self.in_common.get(pair, self.in_common.get(pair[::-1])),
            })  # fmt: skip
        columns = (Column("first_larger", "P(the first is larger)", form=".2f"),
                   Column("first_larger_new", "of new items too", form=".2f"))  # fmt: skip
        return difference_table("by.differences", "Differences of groups", rows, columns)


def group_shares(
    groups: ReadGroups, columns: np.ndarray, labels: Labels, gold: np.ndarray, p: np.ndarray, key: Key
) -> GroupShares:
    """The answer from draws of all shares together.

    Args:
        groups: as read.
        columns: (draws, groups).
        labels: what was given.
        gold: (samples,) -1 where unknown.
        p: (samples,) probability of the class.
        key: of the draws of new items.
    """
    size, gold_of = groups.sizes, np.bincount(groups.code[gold >= 0], minlength=len(groups.names))
    covariance, common = _chance(groups, columns.mean(axis=0), p)
    root, axes = np.linalg.eigh(covariance)
    normal = host_rng(key, "new items").standard_normal(columns.shape)
    new = columns + normal @ (axes * np.sqrt(np.maximum(root, 0.0))).T
    sample, _, label = labels.entries()
    given, number = groups.code[sample], size.size
    said = np.bincount(given, weights=label == groups.positive, minlength=number)
    label_shares = said / np.maximum(np.bincount(given, minlength=number), 1)
    return GroupShares(
        groups.classes[groups.positive], laws_of(groups.names, columns), laws_of(groups.names, new),
        tuple(size.tolist()), tuple(gold_of.tolist()), tuple(label_shares.tolist()), common,
    )  # fmt: skip


def apart(laws: Sequence[DrawsEstimate], key: Key) -> Float[np.ndarray, "draws groups"]:
    """Draws of laws whose errors are taken as independent, together."""
    rng, size = host_rng(key, "groups apart"), max(law.draws.size for law in laws)
    return np.stack([rng.permutation(np.resize(law.draws, size)) for law in laws], axis=1)


def laws_of(names: Sequence[str], columns: Float[np.ndarray, "draws groups"], sign: float = 1.0) -> Laws:
    """Values and differences of groups, by draws of all of them together."""
    each = {name: np.ascontiguousarray(column) for name, column in zip(names, columns.T, strict=True)}
    differences = {(a, b): DrawsEstimate(each[a] - each[b]) for a, b in combinations(names, 2)}
    return Laws({name: DrawsEstimate(draws) for name, draws in each.items()}, differences, columns, sign)


def _chance(groups: ReadGroups, share: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, dict[Pair, int]]:
    """Covariance of the shares of as many new items, (groups, groups), and how many items groups share."""
    size, number = groups.sizes, len(groups.names)
    covariance, common = np.diag(share * (1 - share) / size), {}
    order = [np.flatnonzero(groups.code == g) for g in range(number)]
    for a, b in combinations(range(number), 2):
        same, one, two = np.intersect1d(groups.item[order[a]], groups.item[order[b]], return_indices=True)
        common[groups.names[a], groups.names[b]] = same.size
        if same.size > 1:
            both = np.cov(p[order[a]][one], p[order[b]][two], ddof=0)[0, 1]
            covariance[a, b] = covariance[b, a] = same.size * both / (size[a] * size[b])
    return covariance, common
