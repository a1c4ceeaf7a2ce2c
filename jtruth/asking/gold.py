"""Choose samples to verify: a stratified random sample, and how many would be enough.

Strata are predictions and votes (without predictions votes alone), and answers are proportional to their
sizes. If one stratum has 85 % of the samples or more, because a class is rare, half of the answers are from
the others, on which precision, recall and F1 depend. On public sets of 2 to 10 % positives this reduced the
width of the interval of F1 from .54 to .39 (30 answers) and from .31 to .14 (100), at coverages of .96 or
more (8 sources). Choosing uncertain samples was no better.

Order of asking: in stratum h of N_h samples let u_h be uniform in [0, 1] and r_h its rate, 1 if answers are
proportional. The j-th sample of a random order of the stratum is asked at time (j - u_h) / (N_h r_h), so that
at time t floor(N_h r_h t + u_h) have been asked. A stopped round is a stratified sample, and a second round
continues the first: u_h is drawn so that the known samples are those of the first.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jtruth._host import smoothed_vote_shares
from jtruth._random import host_rng, seeded
from jtruth._validation.words import number_of
from jtruth.answers import Answer, Column, Document, Queue, facts
from jtruth.io.gold import Gold
from jtruth.labels import Labels
from jtruth.stats.ppi import gold_sample

Codes = Int[np.ndarray, " samples"]
_RARE = 0.15  # share of the samples in all strata but the largest, up to which these get half of the answers
_TIED = 1e-9  # probabilities that differ by less are equal
_FULLY_CROSSED = 5  # classes, above which only the labels agree with the prediction
_AGREEMENT = ("labels say another class", "labels are tied", "labels agree")
UNEQUAL = (
    "the verified labels were chosen with unequal probabilities, in other strata than those of these labels "
    "and predictions, so the sample cannot be continued. Ask for new items without them"
)


@dataclass(frozen=True, repr=False)
class GoldRequest(Answer):
    """Samples to verify, in the order in which to ask, and their strata."""

    samples: Int[np.ndarray, " asked"]  # indices
    strata: Codes  # of all samples: hand them over as `jt.io.Gold(classes, strata=...)`
    names: tuple[str, ...]  # what each stratum is
    to_halve: int  # further verified labels that would about halve an interval

    @property
    def sizes(self) -> Int[np.ndarray, " strata"]:
        """Number of samples in each stratum."""
        return np.bincount(self.strata, minlength=len(self.names))

    def blocks(self) -> Document:
        """Build the document of the result."""
        of = self.strata[self.samples].tolist()
        rows = [{"sample": int(i), "stratum": self.names[h], "stratum_size": int(self.sizes[h])}
                for i, h in zip(self.samples, of, strict=True)]  # fmt: skip
        columns = (Column("stratum", "stratum"), Column("stratum_size", "size of the stratum", form="d"))
        sentence = f"Verify these {number_of(len(rows), 'sample')}, a stratified random sample."
        if self.to_halve:
            sentence += (
                f" About {self.to_halve} more verified labels would halve the intervals for these samples."
            )
        queue = Queue("samples", "Samples to verify", "sample", columns, rows)
        blocks = queue, facts(strata=self.strata, to_halve=self.to_halve)
        about = "Return the answers with their strata: jt.io.Gold(classes, strata=...)"
        return Document("Which samples should be verified next?", about, sentence, blocks)


def gold_that_halves(known: int, size: float) -> int:
    """Number of further random verified labels that halve an interval; `size` inf: of new samples."""
    if known in (0, size):
        return int(size - known)
    return int(np.ceil(1.0 / ((1 / known - 1 / size) / 4 + 1 / size))) - known


def by_vote(
    symbols: Codes, num_symbols: int, guess: Float[np.ndarray, "samples classes"]
) -> tuple[Codes, np.ndarray | None]:
    """Cells of the samples by the most probable class of the labels, or, of many classes, by agreement.

    Ties go to the class that is most common in all samples. The second array has the classes of each cell;
    None for the cells 0, 1, 2: disagree, tied, agree.
    """
    classes = guess.shape[1]
    common = np.unique(np.round(guess.sum(axis=0), 6), return_inverse=True)[1]
    rank = np.where(guess >= guess.max(axis=1, keepdims=True) - _TIED, common, -1)
    top = rank == rank.max(axis=1, keepdims=True)
    if classes <= _FULLY_CROSSED or num_symbols != classes:
        _, first, cell = np.unique(top @ 2.0 ** np.arange(classes), return_index=True, return_inverse=True)
        return cell, top[first]
    return top[np.arange(symbols.size), symbols] * (1 + (top.sum(axis=1) == 1)), None


def strata_of(labels: Labels, y_pred: Codes | None) -> tuple[Codes, tuple[str, ...]]:
    """The stratum of each sample, by prediction (if there is one) and vote, and their names."""
    names, shares = tuple(map(str, labels.class_names)), smoothed_vote_shares(labels.counts())
    symbols = np.zeros(labels.num_samples, int) if y_pred is None else np.asarray(y_pred)
    cell, tops = by_vote(symbols, 1 if y_pred is None else labels.num_classes, shares)
    pairs, stratum = np.unique(np.stack([symbols, cell]), axis=1, return_inverse=True)
    stratum_names = []
    for symbol, vote in pairs.T.tolist():
        text = _AGREEMENT[vote] if tops is None else "labels say "
        text += " or ".join(names[c] for c in np.flatnonzero([] if tops is None else tops[vote]))
        stratum_names.append(text if y_pred is None else f"{names[symbol]} predicted, {text}")
    return stratum.reshape(-1), tuple(stratum_names)


@seeded
def ask_next(
    labels: Labels, num: int, *, y_pred: Codes | None = None, gold: Gold | None = None, key: Any = None
) -> GoldRequest:
    """Choose samples to verify: a random sample, stratified by prediction and vote.

    Args:
        labels: the noisy labels.
        num: number of new samples; the first of them are a stratified sample too.
        y_pred: (samples,) codes of the classifier's predictions, if one is evaluated.
        gold: known classes, -1 elsewhere: these samples are skipped, and the new ones complete them.
        key: seed of the random choice: a whole number or a JAX key.

    Raises:
        ValueError: more samples than there are without gold, or gold of unequal probabilities from other
            strata.

    >>> z = np.repeat([[0, 0, 0], [0, 0, 1], [1, 1, 1]], [150, 90, 60], axis=0)
    >>> asked = ask_next(Labels.from_matrix(z, 2), 30, key=0)
    >>> asked.names, np.bincount(asked.strata[asked.samples]).tolist()
    (('labels say 0', 'labels say 1'), [24, 6])
    """
    size = labels.num_samples
    known = np.zeros(size, bool) if gold is None else np.asarray(gold.classes) >= 0
    if not 1 <= num <= size - known.sum():
        raise ValueError(
            f"num must be 1 to {size - known.sum()}, the number of samples without gold; got {num}"
        )
    strata, names = strata_of(labels, y_pred)
    if gold is not None and known.any():
        _check_continues(gold, strata)
    sizes, had = np.bincount(strata), np.bincount(strata[known], minlength=len(names))
    rate, others = np.ones(sizes.size), size - sizes.max()
    if 0 < others <= _RARE * size:
        rate[:] = 0.5 / (others / size)
        rate[sizes.argmax()] = 0.5 / (1 - others / size)
    rng, pace = host_rng(key, "ask"), sizes * rate
    ahead = had - pace * known.sum() / size  # of what is known, before what would have been asked by now
    start = rng.uniform(np.clip(ahead, 0, 1), np.clip(ahead + 1, 0, 1))
    moment = np.full(size, np.inf)
    for h in range(sizes.size):
        left = rng.permutation(np.flatnonzero((strata == h) & ~known))
        moment[left] = (had[h] + 1 + np.arange(left.size) - start[h]) / pace[h]
    halve = gold_that_halves(int(known.sum()), size) if known.any() else 0
    return GoldRequest(np.argsort(moment, kind="stable")[:num], strata, names, halve)


def _check_continues(gold: Gold, strata: np.ndarray) -> None:
    """ValueError if gold had unequal probabilities that are not those of these strata."""
    known = np.asarray(gold.classes) >= 0
    sample = gold_sample(known, **gold.how)
    if np.ptp(sample.inclusion) < 1e-9:
        return
    if gold.strata is not None and gold.inclusion is None:
        pair = np.asarray(gold.strata)[known], strata[known]
        both = [np.unique(one, return_inverse=True)[1] for one in pair]
        if len(np.unique(both, axis=1).T) == both[0].max() + 1 == both[1].max() + 1:
            return
    raise ValueError(UNEQUAL)
