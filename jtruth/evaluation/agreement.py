"""Agreement of labelers, and the consensus of the labels on each sample.

Agreement needs no model; it measures accuracy only as far as labelers make different mistakes. Votes, and
methods that assume independent errors, are often too confident; only gold can show that.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jtruth._random import Stated, as_key, host_rng, seeded, stated, stream
from jtruth._validation import choose, places
from jtruth._validation.words import LOOK, Read, number_of, plain, some
from jtruth.answers import Answer, Column, Curve, Document, Table, facts, how, warning_notes
from jtruth.answers.blocks import cell_text, facts_of
from jtruth.evaluation.checks.first_look import first_look
from jtruth.evaluation.inputs import as_labels, read_gold
from jtruth.evaluation.one_judge import labels_of_columns
from jtruth.evaluation.parts import LOOK_FIRST
from jtruth.inspection import coefficient_table
from jtruth.labels import Labels, must_be_labels
from jtruth.learning import Fit
from jtruth.learning.methods import deserted, method_called
from jtruth.stats import agreement as stats
from jtruth.stats.agreement import Agreement, agreement

_MOST_PAIRS = 200  # of labelers in an answer
_TIE = 1e-9  # two classes whose probabilities differ by less are tied
_POINTS = 51  # of a curve
_NAMED = 6  # labelers who disagree, by name in a line of the text


@dataclass(frozen=True, repr=False)
class LabelerAgreement(Answer):
    """Coefficients of all labelers together, and Cohen's kappa of pairs who share samples."""

    overall: dict[str, Agreement]
    pairs: dict[tuple[str, str], Agreement]  # the most samples in common first
    weights: str
    differences: str
    scale: str  # of the classes; if ordered, alpha by it is given too
    num_left_out: int  # pairs with one sample in common, and those beyond the 200 that share the most
    warnings: tuple[str, ...] = ()

    @property
    def kappa(self) -> Agreement:
        """Cohen's kappa of the pair with the most common samples."""
        return next(iter(self.pairs.values()))

    def blocks(self) -> Document:
        """Build the document of the result."""
        pairs = [
            {"pair": f"{plain(a)}, {plain(b)}", "first": a, "second": b, **kappa._asdict()}
            for (a, b), kappa in self.pairs.items()
        ]  # fmt: skip
        columns = (Column("value", "kappa", ("low", "high")), Column("num_samples", "samples"))
        order = np.argsort([-row["value"] for row in pairs], kind="stable").tolist()
        left, first = self.num_left_out, next(iter(self.overall))
        heading = f"Kappa of each pair of labelers (Cohen's, {self.weights} weights)"
        note = f"{number_of(left, 'pair')} with fewer common samples left out." if left else ""
        blocks = (
            coefficient_table("overall", "All labelers together", self.overall, columns[1]),
            Table("pairs", heading, "pair", columns, pairs,
                  note, missing="undefined", aside=("pair",), say=str, order=order),
            warning_notes(self.warnings), facts_of(self, "weights", "differences", "scale", "num_left_out"),
            facts(level=self.overall[first].level),
        )  # fmt: skip
        number = number_of(len(self.pairs), "pair")
        alpha = self.overall[first]
        about = f"{number} of labelers; {self.weights} weights; {self.differences} differences for alpha"
        if self.weights == self.differences == "nominal":
            about = f"{number} of labelers; classes are treated as unordered"
        if single := max(one.num_samples for one in self.overall.values()) - alpha.num_samples:
            about += f"; alpha leaves out {number_of(single, 'sample')} with one label"
        value = cell_text([alpha.value, alpha.low, alpha.high], ".2f", str(alpha))
        value = (
            value.replace("[", f"({100 * alpha.level:g} % interval ").replace(", ", " to ").replace("]", ")")
        )
        sentence = f"{stats.TITLES[first]} is {value}, where 0 is chance and 1 full agreement."
        known = sorted((row for row in pairs if not np.isnan(row["value"])), key=lambda row: row["value"])
        if len(known) > 1:  # which two agree least, and which most
            ends = [f"{row['value']:.2f} ({row['pair']})" for row in (known[0], known[-1])]
            sentence += f" Cohen's kappa of pairs ranges from {' to '.join(ends)}."
        elif known:
            sentence += f" Cohen's kappa is {self.kappa}."
        sentence = f"{sentence} {stats.from_unseen(self.overall)}".rstrip()
        return Document("How much do the labelers agree?", about, sentence, blocks)


@seeded
def labeler_agreement(
    labels: Any, other: Any = None, *, weights: str = "nominal", differences: str | None = None,
    level: float = 0.95, key: Any = None,
) -> LabelerAgreement:  # fmt: skip
    """Coefficients of agreement with posterior intervals, equal to those of `inspect`.

    Args:
        labels: noisy labels; of repeated labels by one labeler, pairs use the first. Or the labels of one
            labeler: a sequence in the order of the samples, or a dict or Series by task id.
        other: then the labels of another one.
        weights: "nominal", "linear" or "quadratic" in the distance of the classes: of their numbers
            (`labels.values`), or of their ranks if their scale is ordinal.
        differences: of Krippendorff's alpha, "nominal", "ordinal" or "interval" (distances as above). None:
            interval for quadratic weights, else nominal, with a second alpha by the scale of the classes.
        level: probability of the intervals.
        key: a whole number or a JAX key; 0 if None.

    Raises:
        ValueError: unknown weights or differences; an order or distances of three or more nominal classes;
            two sequences of different lengths.

    >>> round(labeler_agreement(["yes", "no", "yes", "yes"], ["yes", "no", "no", "yes"]).kappa.value, 3)
    0.5
    >>> found = labeler_agreement(Labels.from_matrix([[0, 0], [1, 1], [0, 0], [1, 1], [0, 1], [1, 1]], 2))
    >>> round(found.pairs["0", "1"].value, 3), round(found.overall["gwet_ac1"].value, 3)
    (0.667, 0.676)
    """
    labels = labels if other is None else labels_of_columns(first=labels, second=other)
    labels, beside = must_be_labels(labels), "nominal"
    if differences is None:
        ranked = "interval" if weights == "quadratic" or labels.scale == "interval" else "ordinal"
        differences, beside = ("nominal", labels.scale) if weights == "nominal" else (ranked, beside)
    choose("weights", weights, stats.WEIGHTS)
    kinds = {"weights": weights, "differences": differences}
    at = places(labels, next((f"{name}={kind!r}" for name, kind in kinds.items() if kind != "nominal"), ""))
    key, size = as_key(key), (labels.num_labelers, labels.num_samples)
    together = stats.overall(labels.counts(), key, kind=weights, differences=differences, places=at,
                             scale=beside, level=level)  # fmt: skip
    sample, labeler, label = labels.entries()
    first = stats.first_labels(sample, labeler, size[0])
    shared, left_out = in_common(sample[first], labeler[first], size)
    names, label = tuple(map(str, labels.worker_names)), label[first]
    pairs, beside = {}, None
    for (a, b), (one, two) in shared.items():
        kappa = stats.cohen(label[one], label[two], labels.num_classes, weights, at)
        beside = beside or stats.unseen(kappa, host_rng(key, "samples that no two saw"))
        one_key = stream(key, "agreement of two", a, b)
        pairs[names[a], names[b]] = agreement(kappa, one_key, level, beside=beside)
    found = first_look(labels, np.full(labels.num_samples, -1), {})
    alarms = tuple(f"{LOOK}{check.message}." for check in found if check.verdict == LOOK_FIRST)
    return LabelerAgreement(together, pairs, weights, differences, labels.scale, left_out, alarms)


def in_common(
    sample: np.ndarray, labeler: np.ndarray, size: tuple[int, int]
) -> tuple[dict[tuple[int, int], tuple[np.ndarray, np.ndarray]], int]:
    """Indices of the labels for common samples, of the pairs that share the most; number of other pairs."""
    shared, found, place = stats.shared_samples(sample, labeler, size), {}, np.full(size[1], -1)
    by_labeler = np.argsort(labeler.astype(np.min_scalar_type(size[0])), kind="stable")  # 16 bits: by radix
    ends = np.cumsum(np.bincount(labeler, minlength=size[0]))
    for a, b, _ in stats.most_shared(shared, 2)[:_MOST_PAIRS].tolist():
        one, two = (by_labeler[ends[t - 1] if t else 0 : ends[t]] for t in (a, b))
        place[sample[one]] = one
        met = place[sample[two]]
        found[a, b] = met[met >= 0], two[met >= 0]
        place[sample[one]] = -1
    return found, shared.nnz // 2 - len(found)


@dataclass(frozen=True, repr=False)
class Consensus(Answer):
    """The consensus on every sample, in the order of the samples of the labels."""

    method: str
    assumes: str  # the method's assumption about the labelers
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
        dissenters: list[list[str]] = [[] for _ in range(self.labels.num_samples)]
        (sample, labeler, _), names = self.labels.arrays, self.labels.worker_names
        for k in np.flatnonzero(self.disagrees):
            dissenters[sample[k]].append(str(names[labeler[k]]))
        return [tuple(dict.fromkeys(names)) for names in dissenters]

    def table(self) -> tuple[list[str], list[list[Any]]]:
        """Header and rows: task, label, a probability of each class, number of labels, who disagrees."""
        header, rows = consensus_table(self.labels, self.class_posterior)
        counts = self.labels.labels_per_sample().tolist()
        ends = zip(rows, counts, self.who_disagrees(), strict=True)
        return [*header, "labels", "disagree"], [[*row, n, " ".join(who)] for row, n, who in ends]

    def labelers(self) -> list[dict[str, Any]]:
        """Each labeler's number of labels, and how many differ from the consensus, worst first."""
        (_, labeler, _), names = self.labels.arrays, self.labels.worker_names
        number = self.labels.labels_per_labeler()
        against = np.bincount(labeler[self.disagrees], minlength=number.size)
        order = np.lexsort((-number, -against / np.maximum(number, 1)))
        rows = ((str(names[t]), int(number[t]), int(against[t])) for t in order)
        return [{"worker": who, "num_labels": n, "num_disagree": differ} for who, n, differ in rows]

    def blocks(self) -> Document:
        """Build the document of the result."""
        names, size = tuple(map(str, self.labels.class_names)), self.labels.num_samples
        _, table = consensus_table(self.labels, self.class_posterior)
        counts, tied = self.labels.labels_per_sample().tolist(), self.tied.tolist()
        columns = zip(table, self.probability.tolist(), tied, counts, self.who_disagrees(), strict=True)
        samples = [
            {"task": str(task), "label": label, "probability": p, "tied": tie, "num_labels": number,
             "disagree": list(who), "who": some(map(plain, who), _NAMED),
             **{f"p_{name}": share for name, share in zip(names, shares, strict=True)}}
            for (task, label, *shares), p, tie, number, who in columns
        ]  # fmt: skip
        labelers = self.labelers()
        for row in labelers:
            row["share"] = row["num_disagree"] / row["num_labels"] if row["num_labels"] else None
        against, number = int(self.disagrees.sum()), self.labels.num_labels
        share = f"{against} of {number} labels disagree with the consensus"
        sentence = f"{share} ({100 * against / max(number, 1):.0f} %). "
        sentence += (
            f"The mean probability of its classes is {cell_text([float(self.probability.mean())], 'p')}."
        )
        x = np.linspace(self.probability.min(), 1.0, _POINTS)
        certain = (np.clip(self.probability, 0, 1)[None, :] >= x[:, None] - _TIE).mean(axis=1)
        blocks = (
            Table("samples", "The samples, least certain first", "task",
                  (Column("label", "class"), Column("probability", "probability", form="p"),
                   Column("num_labels", "labels"), Column("who", "who disagrees")), samples,
                  aside=("who", *(f"p_{name}" for name in names)),
                  order=np.argsort(self.probability, kind="stable").tolist()),
            Table("labelers", "Labelers, those who disagree most often with the consensus first", "worker",
                  (Column("num_labels", "labels"), Column("share", "share that disagrees")), labelers,
                  missing="no label", aside=("share",)),
            Curve("certainty", "Share of samples by the probability of their consensus",
                  "probability of the consensus", "share of samples",
                  {"": {"x": x.tolist(), "mean": certain.tolist()}},
                  "These probabilities come from the model. Only verified labels can show the accuracy."),
            warning_notes(self.warnings), how(("assumed", self.assumes)),
            facts_of(self, "method", "assumes", "key"),
            facts(classes=names, num_labelers=self.labels.num_labelers, num_labels=number),
            facts_of(self.fit, "prior", "converged", "num_steps", "log_likelihood"),
        )  # fmt: skip
        about = f"{number_of(size, 'sample')} by {self.method}; key {self.key}"
        return Document("What is the class of each sample?", about, sentence, blocks)


@seeded
def consensus(
    labels: Labels, method: str = "dawid_skene", *, gold: Any = None, prior: Any = None, key: Any = None,
    **options: Any,
) -> Consensus:  # fmt: skip
    """The most probable class of each sample, by a method of `jtruth.learning.methods.METHODS`.

    Args:
        labels: the noisy labels.
        method: a name in that table.
        gold: known classes: (samples,) with -1 where unknown, or a Series or dict by task id.
        prior: (classes,) class shares, if they are known and the method uses them.
        key: a whole number or a JAX key; 0 if None.
        options: further options of the method's fit.

    Raises:
        ValueError: an unknown method, or unusable input.

    >>> votes = Labels.from_matrix([["a", "a", "b"], ["b", "b", "b"], ["a", "a", "a"]], classes=["a", "b"])
    >>> found = consensus(votes, "majority_vote")
    >>> found.label.tolist(), found.probability.round(2).tolist(), found.who_disagrees()
    ([0, 1, 0], [0.67, 1.0, 1.0], [('2',), (), ()])
    """
    chosen = method_called(method)
    labels = as_labels(labels)
    known, notes = read_gold(gold, labels)
    fit = chosen.fit(labels, key=as_key(key), gold=None if gold is None else known, prior=prior, **options)
    p = fit.class_posterior
    label, probability = p.argmax(axis=1), p.max(axis=1)
    tied = (p > probability[:, None] - _TIE).sum(axis=1) > 1
    sample, _, code = labels.arrays
    warnings = [*map(Read, labels.notes), *notes, *fit.warnings, *deserted(p, labels)]
    if tied.any():
        number = np.count_nonzero(tied)
        warnings.append(
            f"{number_of(number, 'sample is', 'samples are')} tied between classes; the first class is shown."
        )
    return Consensus(
        method, chosen.sentence, labels, label, probability, p, tied, (code >= 0) & (code != label[sample]),
        known, fit, tuple(warnings), stated(key),
    )  # fmt: skip


def consensus_table(labels: Labels, class_posterior: np.ndarray) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of a table: the most probable class of each task, and its class probabilities."""
    names = tuple(map(str, labels.class_names))
    best = [names[c] for c in class_posterior.argmax(axis=1)]
    rows = zip(labels.task_names, best, class_posterior.tolist(), strict=True)
    return ["task", "label", *(f"p_{name}" for name in names)], [[task, name, *p] for task, name, p in rows]
