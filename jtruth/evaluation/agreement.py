"""`labeler_agreement`: how much do labelers agree, all together and by twos, and how sure is that?

Agreement says how much labels can be trusted only as far as labelers do not make the same mistakes; it needs
no model and no truth, and is what most papers report. `jtruth.stats.agreement` has the coefficients.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from jtruth._random import as_key, stream
from jtruth._validation.terminal import plain
from jtruth.answers import Answer, Column, Shown, Table, facts, warning_notes
from jtruth.labels import Labels, must_be_labels
from jtruth.stats.agreement import TITLES, Agreement, agreement, cohen, first_labels, labeler_pairs, overall

_MOST_PAIRS = 200


@dataclass(frozen=True, repr=False)
class LabelerAgreement(Answer):
    """Coefficients of all labelers together, and Cohen's kappa of every two who share samples."""

    overall: dict[str, Agreement]
    pairs: dict[tuple[str, str], Agreement]  # the most samples in common first
    weights: str
    differences: str
    num_left_out: int  # pairs with one sample in common, and those beyond the 200 that share the most
    warnings: tuple[str, ...] = ()

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        together = [{"coefficient": name, **one._asdict()} for name, one in self.overall.items()]
        pairs = [
            {"pair": f"{plain(a)}, {plain(b)}", "first": a, "second": b, **kappa._asdict()}
            for (a, b), kappa in self.pairs.items()
        ]  # fmt: skip
        columns = (Column("value", "value", ("low", "high")), Column("num_samples", "samples"))
        out = (
            f"{self.num_left_out} pairs with fewer samples in common are not shown."
            if self.num_left_out
            else ""
        )
        first = next(iter(self.overall))
        blocks = (
            Table("overall", "All labelers together", "coefficient", columns, together,
                  missing="undefined", by_name=True, say=lambda name: TITLES[name]),
            Table("pairs", f"Cohen's kappa of two labelers ({self.weights} weights)", "pair", columns, pairs,
                  out, missing="undefined", aside=("pair",), say=str),
            warning_notes(self.warnings),
            facts(weights=self.weights, differences=self.differences, num_left_out=self.num_left_out,
                  level=self.overall[first].level),
        )  # fmt: skip
        about = f"{len(self.pairs)} pairs of labelers; {self.weights} weights, {self.differences} differences"
        sentence = f"{TITLES[first]} {self.overall[first]}; 0 is chance, 1 is full agreement.{_range(pairs)}"
        return Shown("How much do the labelers agree?", about, sentence, blocks)


def _range(pairs: list[dict[str, Any]]) -> str:
    """Which two agree least, and which most, of several."""
    known = sorted((row for row in pairs if not np.isnan(row["value"])), key=lambda row: row["value"])
    if len(known) < 2:
        return ""
    ends = [f"{row['value']:.3f} ({row['pair']})" for row in (known[0], known[-1])]
    return f" Of two labelers Cohen's kappa is from {' to '.join(ends)}."


def labeler_agreement(
    labels: Labels,
    *,
    weights: str = "nominal",
    differences: str | None = None,
    level: float = 0.95,
    key: Any = None,
) -> LabelerAgreement:
    """Coefficients of agreement with percentile-t intervals over samples: the same as those of `inspect`.

    Args:
        labels: noisy labels; of several labels of a sample by one labeler the first counts in pairs.
        weights: "nominal", "linear" or "quadratic" in the distance of classes in their order.
        differences: of Krippendorff's alpha, "nominal", "ordinal" or "interval"; None: nominal, and interval
            for quadratic weights.
        level: of the intervals.
        key: a whole number or a JAX key; 0 if None.

    Raises:
        ValueError: unknown weights or differences, linear weights without saying which differences alpha
            takes.

    >>> found = labeler_agreement(Labels.from_matrix([[0, 0], [1, 1], [0, 0], [1, 1], [0, 1], [1, 1]], 2))
    >>> round(found.pairs["0", "1"].value, 3), round(found.overall["gwet_ac1"].value, 3)
    (0.667, 0.676)
    """
    if differences is None:
        if weights == "linear":
            raise ValueError("alpha has no linear differences: say differences='ordinal' or 'interval'")
        differences = "interval" if weights == "quadratic" else "nominal"
    labels = must_be_labels(labels)
    key, size = as_key(key), (labels.num_labelers, labels.num_samples)
    together = overall(labels.counts(), key, kind=weights,
                       differences=differences, level=level)  # fmt: skip
    sample, labeler, label = labels.entries()
    shared = sparse.triu(labeler_pairs(sample, labeler, label, size).shared).tocoo()
    enough = shared.data > 1
    order = np.argsort(-np.asarray(shared.data, np.int64)[enough], kind="stable")[:_MOST_PAIRS]
    columns = _first_labels(sample, labeler, label, size)
    names = tuple(map(str, labels.workers or range(labels.num_labelers)))
    pairs = {}
    for a, b in zip(shared.row[enough][order].tolist(), shared.col[enough][order].tolist(), strict=True):
        one, two = (columns[[t]].toarray()[0] - 1 for t in (a, b))
        kappa = cohen(one, two, labels.num_classes, weights)
        pairs[names[a], names[b]] = agreement(kappa, stream(key, "agreement of two", a, b), level)
    return LabelerAgreement(together, pairs, weights, differences, shared.data.size - len(pairs))


def _first_labels(
    sample: np.ndarray, labeler: np.ndarray, label: np.ndarray, size: tuple[int, int]
) -> sparse.csr_array:
    """(labelers, samples) code + 1 of the first label that each gave to each sample."""
    first = first_labels(sample, labeler, size[0])
    given = (label[first] + 1, (labeler[first], sample[first]))
    return sparse.csr_array(given, shape=size)
