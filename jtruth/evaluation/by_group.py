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

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int, Num

from jtruth import _validation as check
from jtruth._one_line import one_line
from jtruth._random import Key, host_rng
from jtruth._validation.terminal import plain
from jtruth._validation.words import quoted
from jtruth.answers import Column, Facts, Table, facts, law_row
from jtruth.answers.blocks import cell_text
from jtruth.evaluation.compared import TOLD, Laws, Pair, difference_rows
from jtruth.evaluation.inputs import concrete
from jtruth.evaluation.parts import taken_as_true
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
        aligned = check.align(concrete(given, "by"), labels, "by")
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

    names: tuple[str, ...]
    positive: str
    sizes: tuple[int, ...]
    num_gold: tuple[int, ...]
    label_shares: tuple[float, ...]  # of the labels given
    in_common: dict[Pair, int]  # items that two groups share; of first < second
    laws: Laws  # of these samples
    new: Laws  # of new items like these

    __repr__ = one_line

    @property
    def shares(self) -> dict[str, DrawsEstimate]:
        """The law of each group's share."""
        return dict(zip(self.names, self.laws.values, strict=True))

    @property
    def ranking(self) -> tuple[str, ...]:
        """Names, the largest mean first."""
        means = {name: law.mean for name, law in self.shares.items()}
        return tuple(sorted(self.names, key=lambda name: -means[name]))

    @property
    def differences(self) -> dict[tuple[str, str], DrawsEstimate]:
        """First minus second, of the samples at hand."""
        return {(self.names[a], self.names[b]): law for (a, b), law in self.laws.differences.items()}

    def better(self, first: str, second: str, *, new: bool = False) -> float:
        """P(the share of the first is larger), ties halved; of new items like these if `new`."""
        laws = self.new if new else self.laws
        return laws.better(self.names.index(first), self.names.index(second), 0.0)

    def with_pairs(self, pairs: dict[Pair, tuple[DrawsEstimate, DrawsEstimate]]) -> "GroupShares":
        """The same with other laws of differences: of these samples, of new items."""
        here, new = ({pair: laws[k] for pair, laws in pairs.items()} for k in (0, 1))
        return replace(self, laws=self.laws._replace(differences={**self.laws.differences, **here}),
                       new=self.new._replace(differences={**self.new.differences, **new}))  # fmt: skip

    @property
    def little(self) -> tuple[str, ...]:
        """Which groups have little gold, where there is some."""
        few = [name for name, n in zip(self.names, self.num_gold, strict=True) if n < FEW]
        return _little(few, "gold answers") if any(self.num_gold) else ()

    @cached_property
    def best(self) -> dict[str, float]:
        """Probability of each to have the largest share of all; equal ones share it."""
        return dict(zip(self.names, self.laws.ranks(1.0)[:, 0].tolist(), strict=True))

    def sentence(self, kind: str, level: float) -> str:
        """Who has the largest share, and whether that can be told."""
        first, second = self.ranking[:2]
        says = {name: f"{plain(name)} ({_law_text(self.shares[name], level)})" for name in (first, second)}
        p, kind = self.better(first, second), f"{kind}s; {taken_as_true(sum(self.num_gold))}"
        if p < TOLD:
            whole = "Gold and labels" if sum(self.num_gold) else "Labels alone"
            return (
                f"{whole} cannot tell whether {says[first]} or {says[second]} has the larger share of class "
                f"{self.positive!r}: {plain(first)} with probability {p:.2f} ({kind})."
            )
        return (
            f"{says[first]} has a larger share of class {self.positive!r} than {says[second]} with "
            f"probability {p:.2f}, and the largest of all with {self.best[first]:.2f} ({kind})."
        )

    def blocks(self, level: float) -> tuple[Table, Table, Facts]:
        """Groups, the largest share first; differences, of neighbours first."""
        return self._groups(level), self._differences(level), facts(**{"by.positive": self.positive})

    def _groups(self, level: float) -> Table:
        rows = []
        for name, below in zip(self.ranking, (*self.ranking[1:], None), strict=True):
            g = self.names.index(name)
            rows.append({"group": name, **law_row(self.laws.values[g], level), "best": self.best[name],
                         "above_next": None if below is None else self.better(name, below),
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
        return Table("by.groups", title, "group", tuple(columns), rows, cross="label_share")

    def _differences(self, level: float) -> Table:
        place, rows = {name: g for g, name in enumerate(self.names)}, []
        for row in difference_rows(self.differences, self.ranking, level):
            first, second = row["first"], row["second"]
            rows.append(row | {
                "first_larger": self.better(first, second),
                "first_larger_new": self.better(first, second, new=True),
                "items_in_common": self.in_common[tuple(sorted((place[first], place[second])))],  # type: ignore
            })  # fmt: skip
        columns = (Column("mean", "difference", ("low", "high"), "+.3f"),
                   Column("first_larger", "P(the first is larger)", form=".2f"),
                   Column("first_larger_new", "of new items too", form=".2f"))  # fmt: skip
        return Table("by.differences", "Differences of groups", "difference", columns, rows, unit=None,
                     aside=("difference",), say=str)  # fmt: skip


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
        groups.names, groups.classes[groups.positive], tuple(size.tolist()), tuple(gold_of.tolist()),
        tuple(label_shares.tolist()), common, laws_of(columns), laws_of(new),
    )  # fmt: skip


def apart(laws: Sequence[DrawsEstimate], key: Key) -> Float[np.ndarray, "draws groups"]:
    """Draws of laws whose errors are taken as independent, together."""
    rng, size = host_rng(key, "groups apart"), max(law.draws.size for law in laws)
    return np.stack([rng.permutation(np.resize(law.draws, size)) for law in laws], axis=1)


def laws_of(columns: Float[np.ndarray, "draws groups"]) -> Laws:
    """Values and differences of groups, by draws of all of them together."""
    each = [np.ascontiguousarray(column) for column in columns.T]
    differences = {(a, b): DrawsEstimate(each[a] - each[b]) for a, b in combinations(range(len(each)), 2)}
    return Laws(tuple(map(DrawsEstimate, each)), differences, columns)


def _chance(groups: ReadGroups, share: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, dict[Pair, int]]:
    """Covariance of the shares of as many new items, (groups, groups), and how many items groups share."""
    size, number = groups.sizes, len(groups.names)
    covariance, common = np.diag(share * (1 - share) / size), {}
    order = [np.flatnonzero(groups.code == g) for g in range(number)]
    for a, b in combinations(range(number), 2):
        same, one, two = np.intersect1d(groups.item[order[a]], groups.item[order[b]], return_indices=True)
        common[a, b] = same.size
        if same.size > 1:
            both = np.cov(p[order[a]][one], p[order[b]][two], ddof=0)[0, 1]
            covariance[a, b] = covariance[b, a] = same.size * both / (size[a] * size[b])
    return covariance, common


def _law_text(law: DrawsEstimate, level: float) -> str:
    low, high = law.interval(level)
    return cell_text([law.mean, low, high])
