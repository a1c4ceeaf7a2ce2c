"""Which samples to find the truth of next, and how many would be enough.

True classes that correct labels must be a probability sample. The most doubtful samples are none: they say
nothing of the others. So there is one design, a stratified random sample. Strata are what the classifier says
and what the labels say (their vote); without predictions the vote alone. The answers are spread over the
strata in proportion to their sizes, so every sample has the same chance.

Where one stratum holds 85 % of the samples or more, as it does where a class is rare, half of the
answers go to all other strata: these hold what precision, recall and F1 are made of. On public sets of 2 to
10 % positives the interval of F1 was so .39 wide instead of .54 (30 answers) and .14 instead of .31 (100),
that of accuracy .13 instead of .11 and .05 both times, at coverages of .96 or more (8 sources). Choosing
samples by their doubt was no narrower.

The order of asking. In stratum h of N_h samples let u_h be uniform in [0, 1] and r_h its rate, 1 if answers
are proportional. The j-th sample of a random order of the stratum is asked at time (j - u_h) / (N_h r_h), so
that at time t floor(N_h r_h t + u_h) have been asked, N_h r_h t on average. Whoever stops early has a
stratified sample, and a second round continues the first: u_h is drawn so that what is known now is what the
first round would have asked.
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

_RARE = 0.15  # share of the samples in all strata but the largest, up to which these get half of the answers
_TIED = 1e-9  # probabilities that differ by less are equal
_FULLY_CROSSED = 5  # classes, above which it is only told whether the labels agree with the prediction
_AGREEMENT = ("labels say another class", "labels are tied", "labels agree")
UNEQUAL = (
    "the verified labels were chosen with unequal probabilities, in other strata than those of these labels "
    "and predictions, so the sample cannot be continued. Ask for new items without them"
)


@dataclass(frozen=True, repr=False)
class GoldRequest(Answer):
    """Samples to find out the truth of, in the order in which to ask, and the strata they come from."""

    samples: Int[np.ndarray, " asked"]  # indices
    strata: Int[np.ndarray, " samples"]  # of all samples: hand them over as `jt.io.Gold(classes, strata=...)`
    names: tuple[str, ...]  # what each stratum is
    to_halve: int  # further verified labels that would about halve an interval

    @property
    def sizes(self) -> Int[np.ndarray, " strata"]:
        """How many samples each stratum has."""
        return np.bincount(self.strata, minlength=len(self.names))

    def blocks(self) -> Document:
        """The question, the answer and what stands behind it, for all faces."""
        of = self.strata[self.samples].tolist()
        rows = [{"sample": int(i), "stratum": self.names[h], "stratum_size": int(self.sizes[h])}
                for i, h in zip(self.samples, of, strict=True)]  # fmt: skip
        columns = (Column("stratum", "stratum"), Column("stratum_size", "size of the stratum", form="d"))
        sentence = f"Verify these {number_of(len(rows), 'sample')}, a stratified random sample."
        if self.to_halve:
            sentence += (
                f" About {self.to_halve} more verified labels would halve the intervals for these samples."
            )
        blocks = (
            Queue("samples", "Samples to verify", "sample", columns, rows),
            facts(strata=self.strata, to_halve=self.to_halve),
        )
        about = "Return the answers with their strata: jt.io.Gold(classes, strata=...)"
        return Document("Which samples should be verified next?", about, sentence, blocks)


def gold_that_halves(known: int, size: float) -> int:
    """How many more random gold answers about halve an interval, its width ~ sqrt(1/known - 1/size).

    `size` is inf where the interval is of new samples.
    """
    if known in (0, size):
        return int(size - known)
    return int(np.ceil(1.0 / ((1 / known - 1 / size) / 4 + 1 / size))) - known


def by_vote(
    symbols: Int[np.ndarray, " samples"], num_symbols: int, guess: Float[np.ndarray, "samples classes"]
) -> tuple[Int[np.ndarray, " samples"], np.ndarray | None]:
    """Cells of the samples by what labels make most probable, or, of many classes, whether they agree.

    Of tied classes the one that is commonest in all samples counts; if they are as common too, all of them
    together. The second array says which classes each cell stands for; None of 0, 1, 2: no, tied, agreed.
    """
    classes = guess.shape[1]
    common = np.unique(np.round(guess.sum(axis=0), 6), return_inverse=True)[1]
    rank = np.where(guess >= guess.max(axis=1, keepdims=True) - _TIED, common, -1)
    top = rank == rank.max(axis=1, keepdims=True)
    if classes <= _FULLY_CROSSED or num_symbols != classes:
        _, first, cell = np.unique(top @ 2.0 ** np.arange(classes), return_index=True, return_inverse=True)
        return cell, top[first]
    return top[np.arange(symbols.size), symbols] * (1 + (top.sum(axis=1) == 1)), None


def strata_of(
    labels: Labels, y_pred: Int[np.ndarray, " samples"] | None
) -> tuple[Int[np.ndarray, " samples"], tuple[str, ...]]:
    """The stratum of each sample, by prediction (if there is one) and vote, and their names."""
    names, shares = tuple(map(str, labels.class_names)), smoothed_vote_shares(labels.counts())
    symbols = np.zeros(labels.num_samples, int) if y_pred is None else np.asarray(y_pred)
    cell, tops = by_vote(symbols, 1 if y_pred is None else labels.num_classes, shares)
    pairs, stratum = np.unique(np.stack([symbols, cell]), axis=1, return_inverse=True)
    said = []
    for symbol, vote in pairs.T.tolist():
        text = _AGREEMENT[vote] if tops is None else "labels say "
        text += " or ".join(names[c] for c in np.flatnonzero([] if tops is None else tops[vote]))
        said.append(text if y_pred is None else f"{names[symbol]} predicted, {text}")
    return stratum.reshape(-1), tuple(said)


@seeded
def ask_next(
    labels: Labels,
    num: int,
    *,
    y_pred: Int[np.ndarray, " samples"] | None = None,
    gold: Gold | None = None,
    key: Any = None,
) -> GoldRequest:
    """Choose samples to verify: a random sample, stratified by prediction and vote.

    Args:
        labels: the noisy labels.
        num: how many new samples. Whoever stops after some of them has a stratified sample too.
        y_pred: (samples,) codes of the classifier's predictions, if one is to be judged.
        gold: classes that are known, -1 elsewhere: these samples are skipped, and the new ones complete them.
        key: of the choice, which is a random one: a whole number or a JAX key; 0 if None.

    Raises:
        ValueError: more samples wanted than there are without gold, or gold of unequal chances that were
            those of other strata.

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
        rate = np.where(
            np.arange(sizes.size) == sizes.argmax(), 0.5 / (1 - others / size), 0.5 / (others / size)
        )
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
    """An error if gold had unequal chances that are not those of these strata."""
    known = np.asarray(gold.classes) >= 0
    sample = gold_sample(known, **gold.how)
    if np.ptp(sample.inclusion) < 1e-9:
        return
    if gold.strata is not None and gold.inclusion is None:
        both = [
            np.unique(one, return_inverse=True)[1] for one in (np.asarray(gold.strata)[known], strata[known])
        ]
        if len(np.unique(both, axis=1).T) == both[0].max() + 1 == both[1].max() + 1:
            return
    raise ValueError(UNEQUAL)
