"""Which class has each sample, how sure is that, and who disagrees? One door to every consensus method.

`consensus` hands labels to a method of `jtruth.learning.methods` and keeps what people ask of a consensus:
the most probable class of each sample, its probability, and the labelers who said something else. A
probability is what its method believes. Votes, and methods that take labelers to err independently, are
often too sure of themselves; only the truth of some samples chosen at random (`gold`) can judge that.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from jtruth._frames import frame
from jtruth._one_line import one_line
from jtruth._pictures import as_printed, picture
from jtruth._random import Stated, as_key, stated
from jtruth._validation.terminal import plain
from jtruth._version import __version__
from jtruth.evaluation._given import as_labels
from jtruth.evaluation.inputs import read_gold
from jtruth.labels import Labels
from jtruth.learning.methods import Learned, deserted, method_called

_TIE = 1e-9  # two classes whose probabilities differ by less are tied
_SHOWN = 10  # samples, and labelers, in the text
_NAMED = 6  # labelers who disagree, by name in a line of the text


@dataclass(frozen=True)
class Consensus:
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
    fit: Learned  # what the method returned
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

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        names = tuple(map(str, self.labels.class_names))
        columns = zip(
            self.labels.tasks or range(self.labels.num_samples),
            self.label.tolist(),
            self.probability.tolist(),
            self.tied.tolist(),
            self.labels.labels_per_sample().tolist(),
            self.who_disagrees(),
            strict=True,
        )
        return {
            "jtruth": __version__,
            "method": self.method,
            "assumes": self.assumes,
            "key": self.key,
            "classes": list(names),
            "num_labelers": self.labels.num_labelers,
            "num_labels": self.labels.num_labels,
            "prior": self.fit.prior.tolist(),
            "converged": self.fit.converged,
            "num_steps": self.fit.num_steps,
            "log_likelihood": None if np.isnan(self.fit.log_likelihood) else self.fit.log_likelihood,
            "samples": [
                {"task": str(task), "label": names[c], "probability": p, "tied": tied, "num_labels": n,
                 "disagree": list(who)}
                for task, c, p, tied, n, who in columns
            ],
            "labelers": self.labelers(),
            "warnings": list(self.warnings),
        }  # fmt: skip

    plot = picture
    _repr_html_ = as_printed
    __repr__ = one_line

    def to_frame(self, backend: str | None = None) -> Any:
        """`table` as a data frame of "pandas", "polars" or "pyarrow"; the first installed if None."""
        header, rows = self.table()
        return frame([dict(zip(header, row, strict=True)) for row in rows], backend)

    def __str__(self) -> str:
        return consensus_text(self.to_dict())


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
        warnings=(*labels.notes, *notes, *fit.warnings, *deserted(p, labels), *said),
        key=given_key,
    )


def consensus_table(labels: Labels, class_posterior: np.ndarray) -> tuple[list[str], list[list[Any]]]:
    """Header and rows of a table: each task's most probable class and its class probabilities."""
    names = tuple(map(str, labels.class_names))
    best = [names[c] for c in class_posterior.argmax(axis=1)]
    rows = zip(labels.tasks or range(labels.num_samples), best, class_posterior.tolist(), strict=True)
    return ["task", "label", *(f"p_{name}" for name in names)], [[task, name, *p] for task, name, p in rows]


def consensus_text(d: dict[str, Any]) -> str:
    """The whole text; `d` is what `Consensus.to_dict` returns."""
    samples, against = d["samples"], sum(row["num_disagree"] for row in d["labelers"])
    mean = sum(row["probability"] for row in samples) / len(samples)
    lines = [
        f"{len(samples)} samples by {d['method']}: mean probability of the consensus {mean:.3f}; "
        f"{against} of {d['num_labels']} labels disagree with it ({100 * against / d['num_labels']:.1f} %).",
        f"assumed: {d['assumes']}",
        "",
        "least certain: task, class, probability, labels, who disagrees",
    ]
    for row in sorted(samples, key=lambda row: row["probability"])[:_SHOWN]:
        who = [plain(name) for name in row["disagree"]]
        more = f" and {len(who) - _NAMED} more" if len(who) > _NAMED else ""
        lines.append(
            f"{plain(row['task']):>14}  {plain(row['label']):<14} {row['probability']:.3f} "
            f"{row['num_labels']:>6}  {', '.join(who[:_NAMED]) or '-'}{more}"
        )
    lines += ["", "labelers whose labels disagree most often with it: labeler, labels, share"]
    for row in d["labelers"][:_SHOWN]:
        share = row["num_disagree"] / row["num_labels"] if row["num_labels"] else float("nan")
        said = f"{share:.2f}" if row["num_labels"] else "no label"
        lines.append(f"{plain(row['worker']):>14} {row['num_labels']:>6}  {said}")
    if d["warnings"]:
        lines += ["", "warnings", *(f"  {text}" for text in d["warnings"])]
    return "\n".join(lines)
