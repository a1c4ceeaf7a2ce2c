"""Which class has each sample, how sure is that, and who disagrees? One door to every consensus method.

`consensus` hands labels to a method of `jtruth.learning.methods` and keeps what people ask of a consensus:
the most probable class of each sample, its probability, and the labelers who said something else. A
probability is what its method believes. Votes, and methods that take labelers to err independently, are
often too sure of themselves; only the truth of some samples chosen at random (`gold`) can judge that.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jtruth._random import Stated, as_key, stated
from jtruth._validation.terminal import plain
from jtruth._validation.words import Read, number_of
from jtruth.answers import Answer, Column, Curve, Series, Shown, Table, facts, how, warning_notes
from jtruth.evaluation.inputs import as_labels, read_gold
from jtruth.labels import Labels
from jtruth.learning import Fit
from jtruth.learning.methods import deserted, method_called

_TIE = 1e-9  # two classes whose probabilities differ by less are tied
_POINTS = 51  # of a curve
_NAMED = 6  # labelers who disagree, by name in a line of the text


@dataclass(frozen=True, repr=False)
class Consensus(Answer):
    """The consensus on every sample. The order of samples is that of the labels."""

    method: str
    assumes: str  # what the method takes for granted of the labelers
    labels: Labels
    label: np.ndarray  # (samples,) code of the most probable class; of tied ones the first
    probability: np.ndarray  # (samples,) of that class
    class_posterior: np.ndarray  # (samples, classes)
    tied: np.ndarray  # (samples,) whether another class is as probable
    disagrees: np.ndarray  # (labels,) whether an entry of `labels` differs from the consensus; False at -1
    gold: np.ndarray  # (samples,) known classes, -1 where unknown
    fit: Fit  # what the method returned
    warnings: tuple[str, ...]
    key: Stated

    def who_disagrees(self) -> list[tuple[str, ...]]:
        """For each sample the labelers who gave it another class, in the order of the labels."""
        workers = self.labels.workers or tuple(range(self.labels.num_labelers))
        found: list[list[str]] = [[] for _ in range(self.labels.num_samples)]
        sample, labeler, _ = self.labels.arrays
        for k in np.flatnonzero(self.disagrees):
            found[sample[k]].append(str(workers[labeler[k]]))
        return [tuple(dict.fromkeys(names)) for names in found]

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Header and rows: task, label, a probability of each class, number of labels, who disagrees."""
        header, rows = consensus_table(self.labels, self.class_posterior)
        counts = self.labels.labels_per_sample().tolist()
        ends = zip(rows, counts, self.who_disagrees(), strict=True)
        return [*header, "labels", "disagree"], [[*row, n, " ".join(who)] for row, n, who in ends]

    def labelers(self) -> list[dict[str, Any]]:
        """Each labeler's number of labels, and how many of them differ from the consensus, worst first."""
        workers = self.labels.workers or tuple(range(self.labels.num_labelers))
        _, labeler, _ = self.labels.arrays
        given = self.labels.labels_per_labeler()
        against = np.bincount(labeler[self.disagrees], minlength=given.size)
        order = np.lexsort((-given, -against / np.maximum(given, 1)))
        return [
            {"worker": str(workers[t]), "num_labels": int(given[t]), "num_disagree": int(against[t])}
            for t in order
        ]

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        names, size = tuple(map(str, self.labels.class_names)), self.labels.num_samples
        header, table = self.table()
        given = (dict(zip(header, row, strict=True)) for row in table)
        samples = [
            {"task": str(row["task"]), "label": row["label"], "probability": p, "tied": tied,
             "num_labels": row["labels"], "disagree": list(who), "who": _first(who),
             **{name: row[name] for name in header[2:-2]}}
            for row, p, tied, who in zip(
                given, self.probability.tolist(), self.tied.tolist(), self.who_disagrees(), strict=True)
        ]  # fmt: skip
        labelers = self.labelers()
        for row in labelers:
            row["share"] = row["num_disagree"] / row["num_labels"] if row["num_labels"] else None
        against, number = int(self.disagrees.sum()), self.labels.num_labels
        share = f"{against} of {number} labels disagree with it ({100 * against / max(number, 1):.1f} %)"
        sentence = f"Mean probability of the consensus {self.probability.mean():.3f}; {share}."
        blocks = (
            Table("samples", "The samples, least certain first", "task",
                  (Column("label", "class"), Column("probability", "probability"),
                   Column("num_labels", "labels"), Column("who", "who disagrees")), samples,
                  aside=("who", *header[2:-2]), order=np.argsort(self.probability, kind="stable").tolist()),
            Table("labelers", "Labelers, those whose labels disagree most often with it first", "worker",
                  (Column("num_labels", "labels"), Column("share", "share that disagrees")), labelers,
                  missing="no label", aside=("share",)),
            _certainty(self.probability), warning_notes(self.warnings), how(("assumed", self.assumes)),
            facts(
                method=self.method, assumes=self.assumes, key=self.key, classes=names,
                num_labelers=self.labels.num_labelers, num_labels=number, prior=self.fit.prior,
                converged=self.fit.converged, num_steps=self.fit.num_steps,
                log_likelihood=self.fit.log_likelihood,
            ),
        )  # fmt: skip
        about = f"{number_of(size, 'sample')} by {self.method}; key {self.key}"
        return Shown("Which class has each sample?", about, sentence, blocks)


def _certainty(probability: np.ndarray) -> Curve:
    """What share of the samples has a consensus of this probability or more."""
    x = np.linspace(probability.min(), 1.0, _POINTS)
    share = (np.clip(probability, 0, 1)[None, :] >= x[:, None] - _TIE).mean(axis=1)
    title = "Samples whose consensus is at least so probable"
    note = "What the method believes is no share that is right: only gold can judge that."
    points = {"x": x.tolist(), "mean": share.tolist()}
    series = (Series("", points),)
    return Curve("certainty", title, "probability of the consensus", "share of samples", series, note)


def _first(who: tuple[str, ...]) -> str:
    """Some of those who disagree."""
    more = f" and {len(who) - _NAMED} more" if len(who) > _NAMED else ""
    return ", ".join(map(plain, who[:_NAMED])) + more


def consensus(
    labels: Labels,
    method: str = "dawid_skene",
    *,
    gold: Any = None,
    prior: Any = None,
    key: Any = None,
    **options: Any,
) -> Consensus:
    """The most probable class of each sample by one of the methods of `jtruth.learning.methods.METHODS`.

    Args:
        labels: the noisy labels.
        method: a name in that table.
        gold: known classes: (samples,) with -1 where unknown, or a Series or dict by task id.
        prior: (classes,) class shares, where they are known and the method takes them.
        key: a whole number or a JAX key; 0 if None.
        options: further options of the method's fit.

    Raises:
        ValueError: an unknown method, or input that it cannot use.

    >>> from jtruth.labels import Labels
    >>> votes = Labels.from_matrix([["a", "a", "b"], ["b", "b", "b"], ["a", "a", "a"]], classes=["a", "b"])
    >>> found = consensus(votes, "majority_vote")
    >>> found.label.tolist(), found.probability.round(2).tolist(), found.who_disagrees()
    ([0, 1, 0], [0.67, 1.0, 1.0], [('2',), (), ()])
    """
    chosen = method_called(method)
    given_key, key = stated(key), as_key(key)
    labels = as_labels(labels)
    known, notes = read_gold(gold, labels)
    fit = chosen.fit(labels, key=key, gold=None if gold is None else known, prior=prior, **options)
    p = fit.class_posterior
    label, probability = p.argmax(axis=1), p.max(axis=1)
    tied = (p > probability[:, None] - _TIE).sum(axis=1) > 1
    sample, _, given = labels.arrays
    said = ()
    if tied.any():
        said = (f"{np.count_nonzero(tied)} samples are tied between classes; the first of these is given.",)
    return Consensus(
        method=method,
        assumes=chosen.sentence,
        labels=labels,
        label=label,
        probability=probability,
        class_posterior=p,
        tied=tied,
        disagrees=(given >= 0) & (given != label[sample]),
        gold=known,
        fit=fit,
        warnings=(*map(Read, labels.notes), *notes, *fit.warnings, *deserted(p, labels), *said),
        key=given_key,
    )


def consensus_table(labels: Labels, class_posterior: np.ndarray) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of a table: each task's most probable class and its class probabilities."""
    names = tuple(map(str, labels.class_names))
    best = [names[c] for c in class_posterior.argmax(axis=1)]
    rows = zip(labels.tasks or range(labels.num_samples), best, class_posterior.tolist(), strict=True)
    return ["task", "label", *(f"p_{name}" for name in names)], [[task, name, *p] for task, name, p in rows]
