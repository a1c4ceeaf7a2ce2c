"""A first look at labels: what is there, what is odd, and what can be estimated from it.

Everything here is counting; no model is fitted and no label is taken as true. What it finds odd need not be
wrong: each finding says what it may mean, and `next_steps` names the commands that answer more.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from os import PathLike
from typing import Any

import numpy as np

from jtruth._one_line import one_line
from jtruth._pictures import as_printed, picture
from jtruth._validation import agreement, quoted
from jtruth._validation.guess import FileLook, look_at
from jtruth._validation.names import NO_ANSWER, is_list
from jtruth._validation.terminal import plain
from jtruth._validation.text import File, Table, read_table
from jtruth._validation.words import number_of
from jtruth.labels import Labels
from jtruth.stats.agreement import TITLES, Agreement, overall

FEW_LABELS = 10  # a labeler with fewer labels says little about itself
MANY_SHARED = 20  # samples that two labelers share before full agreement is odd


@dataclass(frozen=True)
class Finding:
    """Something odd in the labels, and what it may mean."""

    name: str
    message: str


@dataclass(frozen=True)
class Step:
    """A command worth running and what it answers (only a sentence where there is no command)."""

    command: str
    answers: str


@dataclass(frozen=True)
class Inspection:
    """Counts, agreement, odd things, and commands worth running."""

    num_samples: int
    num_labelers: int
    num_labels: int
    num_repeats: int  # labels beyond the first of a labeler for the same sample
    classes: tuple
    class_shares: tuple  # share of all labels that each class has
    labels_per_sample: dict  # number of labels -> how many samples have so many
    labels_per_labeler: dict  # min, median, max
    agreement: float | None  # share of pairs of labels of different labelers that agree; None without pairs
    coefficients: Mapping[str, Agreement]  # Krippendorff's alpha and others, with 95 % intervals; may be NaN
    findings: tuple[Finding, ...]
    notes: tuple  # what was said when the labels were read
    next_steps: tuple[Step, ...]

    plot = picture
    _repr_html_ = as_printed
    __repr__ = one_line

    def to_dict(self) -> dict[str, Any]:
        """Plain values, ready for JSON."""
        numbers = {
            name: {k: None if v != v else v for k, v in one._asdict().items()}
            for name, one in self.coefficients.items()
        }
        return asdict(replace(self, coefficients={})) | {"coefficients": numbers}

    def __str__(self) -> str:
        """What `jtruth inspect` prints."""
        given, shares = self.labels_per_labeler, zip(self.class_shares, self.classes, strict=True)
        by_share = [f"{plain(name)} {share:.1%}" for share, name in sorted(shares, key=lambda pair: -pair[0])]
        more = f" and {len(by_share) - 8} more" if len(by_share) > 8 else ""
        lines = [
            f"{number_of(self.num_samples, 'sample')}, {number_of(self.num_labelers, 'labeler')}, "
            f"{number_of(self.num_labels, 'label')}, {len(self.classes)} classes",
            f"labels per sample   {_distribution(self.labels_per_sample)}",
            f"labels per labeler  {given['min']} to {given['max']}, median {given['median']:g}",
            f"classes             {', '.join(by_share[:8])}{more}",
        ]
        if self.agreement is not None:
            lines.append(f"agreement           {self.agreement:.1%} of label pairs; 0 is chance, 1 is full:")
            lines += [f"  {TITLES[name]:<20}  {one}" for name, one in self.coefficients.items()]
        found = [*self.notes, *(finding.message for finding in self.findings)]
        lines += (
            ["", "Look at:", *(f"  - {text}" for text in found)] if found else ["", "Nothing odd was seen."]
        )
        width = max(len(step.command) for step in self.next_steps)
        steps = [
            f"  {s.command:<{width}}  # {s.answers}" if s.command else f"  {s.answers}"
            for s in self.next_steps
        ]
        return "\n".join([*lines, "", "Next:", *steps])


def _distribution(number: dict) -> str:
    if len(number) == 1:
        return f"{next(iter(number))} (all samples)"
    if len(number) <= 5:
        return ", ".join(f"{k} ({n} samples)" for k, n in number.items())
    median = np.median(np.repeat(list(number), list(number.values())))
    return f"{min(number)} to {max(number)}, median {median:g}"


def inspect_labels(
    labels: Labels, *, file: str = "LABELS.csv", options: str = "", key: Any = 0
) -> Inspection:
    """Look at labels before anything is estimated.

    Args:
        labels: any labels.
        file: what the commands in `next_steps` call the file.
        options: command line options that reading the file needs, for instance "--task item".
        key: of the samples drawn again for intervals of agreement.

    Example:
        >>> from jtruth.inspection import inspect_labels
        >>> from jtruth.labels import Labels
        >>> look = inspect_labels(Labels.from_matrix([[0, 0, 1], [1, 1, 1]], 2))
        >>> print(f"{look.agreement:.3f} {look.coefficients['krippendorff'].value:.3f}")
        0.667 0.375
    """
    per_sample, per_labeler, votes = labels.labels_per_sample(), labels.labels_per_labeler(), labels.counts()
    pairs = _pairs(labels)
    num_pairs, alpha = int(pairs.met.sum()), overall(votes, key)
    return Inspection(
        num_samples=labels.num_samples,
        num_labelers=labels.num_labelers,
        num_labels=labels.num_labels,
        num_repeats=labels.num_labels - pairs.num_first,
        classes=labels.class_names,
        class_shares=tuple((votes.sum(axis=0) / max(1, votes.sum())).tolist()),
        labels_per_sample={int(k): int(n) for k, n in enumerate(np.bincount(per_sample)) if n},
        labels_per_labeler={
            "min": int(per_labeler.min()),
            "median": float(np.median(per_labeler)),
            "max": int(per_labeler.max()),
        },
        agreement=int(pairs.agreed_with.sum()) / num_pairs if num_pairs else None,
        coefficients=alpha,
        findings=(*_no_agreement(alpha), *_findings(labels, pairs)),
        notes=labels.notes,
        next_steps=tuple(_next_steps(labels, pairs, f"{shlex.quote(file)} {options}".strip())),
    )


def inspect_file(
    path: str | PathLike | File | Table,
    *,
    sep: str | None = None,
    task: str = "task",
    worker: str = "worker",
    label: str = "label",
) -> FileLook:
    """What the columns of a text table look like, and how to read it if they are not task, worker, label.

    Args:
        path: the file, or "-" for standard input; or its table.
        sep: separator, a comma (in .tsv files a tab) unless given.
        task, worker, label: columns that are known; advice keeps to them.
    """
    table = path if isinstance(path, Table) else read_table(path, sep)
    return look_at(table, {"task": task, "worker": worker, "label": label})


def suspicions(labels: Labels) -> tuple[Finding, ...]:
    """What is odd in these labels, the most serious first: the same for a first look and for every answer."""
    return tuple(_findings(labels, _pairs(labels)))


def _pairs(labels: Labels) -> agreement.LabelerPairs:
    """Who agrees with whom; pair by pair of those who may have copied."""
    size = labels.num_labelers, labels.num_samples
    return agreement.labeler_pairs(*labels.entries(None), size, at_least=MANY_SHARED)


def _findings(labels: Labels, pairs: agreement.LabelerPairs) -> Iterator[Finding]:
    """Odd things, the most serious first."""
    workers = list(labels.workers or range(labels.num_labelers))
    given = labels.labels_per_labeler()
    sample, labeler, _ = labels.entries(None)

    def named(which: np.ndarray) -> str:
        return quoted((workers[t] for t in np.flatnonzero(which)), 4)

    words = _vocabularies(labels)
    if len(words) > 1:
        said = "; ".join(f"{who}: {what}" for who, what in words[:3])
        text = (
            f"Labelers use different words and share none ({said}): say which mean the same (--map a=x,b=x; "
            "numbers by --pass-at)."
        )
        yield Finding("vocabularies", text)
    groups = agreement.separate_groups(sample, labeler, (labels.num_labelers, labels.num_samples))
    if groups > 1 and pairs.met.any():
        text = f"The labelers fall into {groups} groups without a common sample: compare only within a group."
        yield Finding("separate_groups", text)
    opposed = agreement.opposed(labels.counts_by_labeler(), pairs, MANY_SHARED)
    if opposed.any():
        text = f"Less agreement with the others than by chance: {named(opposed)}. Did they swap classes?"
        yield Finding("opposed", text)
    constant = ((labels.counts_by_labeler() > 0).sum(axis=1) == 1) & (given >= FEW_LABELS)
    if constant.any():
        yield Finding("constant", f"Always the same class: {named(constant)}. Did they look at the samples?")
    lists = [str(name) for name in labels.class_names if is_list(str(name), labels.class_names)]
    if lists:
        text = (
            f"Class {quoted(lists, 4)} looks like a list of classes: if a sample can be of several, ask "
            "about each class by itself (docs/labels_of_other_kinds.md)."
        )
        yield Finding("lists", text)
    unsure = [str(name) for name in labels.class_names if str(name).strip().casefold() in NO_ANSWER]
    if unsure:
        text = (
            f"Class {quoted(unsure, 4)} reads like no answer, and as a class it is one more thing that a "
            "sample can be: leave these rows out if it means nothing, else make it a symbol "
            "(docs/labels_of_other_kinds.md)."
        )
        yield Finding("abstention", text)
    copies = agreement.full_agreement(pairs, MANY_SHARED)
    if copies:
        names = "; ".join(f"{workers[i]!r} and {workers[j]!r} on {n} samples" for i, j, n in copies[:2])
        who = "1 pair never disagrees" if len(copies) == 1 else f"{len(copies)} pairs never disagree"
        text = f"{who} ({names}). If one copied, keep one."
        yield Finding("copies", text)
    few = (given < FEW_LABELS) & (given > 0)
    if few.any():
        who = number_of(int(few.sum()), "labeler")
        text = f"{who} gave fewer than {FEW_LABELS} labels: {named(few)}. Expect wide intervals."
        yield Finding("few_labels", text)
    single = np.count_nonzero(labels.labels_per_sample() == 1)
    if single:
        text = f"{single} of {labels.num_samples} samples have one label: nothing there checks the labeler."
        yield Finding("single_label", text)
    repeats = labels.num_labels - pairs.num_first
    if repeats:
        text = f"{repeats} labels repeat a labeler on the same sample: they count as independent labels."
        yield Finding("repeats", text)


def _no_agreement(coefficients: Mapping[str, Agreement]) -> Iterator[Finding]:
    """Said where the interval of Krippendorff's alpha holds 0, or lies below it."""
    one = coefficients["krippendorff"]
    if one.low <= 0:
        text = (
            f"Labelers agree no better than by chance, as far as these labels tell ({TITLES['krippendorff']} "
            f"{one}): they may have guessed, or their task ids belong to different samples."
        )
        yield Finding("no_agreement", text)


def _vocabularies(labels: Labels) -> list[tuple[str, str]]:
    """(labelers, their classes) of groups of labelers who use two classes or more and share none."""
    _, labeler, label = labels.entries(None)
    group = agreement.groups_of(labeler, label, (labels.num_labelers, labels.num_classes))
    workers, found = labels.workers or range(labels.num_labelers), []
    for g in dict.fromkeys(group.tolist()):
        classes = np.unique(label[group == g])
        if classes.size > 1:  # one class alone is a labeler who never says another
            who = quoted((workers[t] for t in np.unique(labeler[group == g])), 3)
            found.append((who, quoted((labels.class_names[c] for c in classes), 4)))
    return found


def _never_twice(labels: Labels) -> np.ndarray:
    """Labelers who gave a sample one label at most; to grade the others one must say which label counts."""
    sample, labeler, _ = labels.entries()
    first = np.unique(labeler.astype(np.int64) * labels.num_samples + sample) // labels.num_samples
    return np.bincount(first, minlength=labels.num_labelers) == labels.labels_per_labeler()


def _next_steps(labels: Labels, pairs: agreement.LabelerPairs, file: str) -> Iterator[Step]:
    """Commands worth running, each with what it answers."""
    if not pairs.met.any():
        yield Step("", "No sample has labels of two labelers: how good they are is not identified.")
        yield Step("", "Let a second labeler label some samples, or add gold labels or known error rates:")
        yield Step(f"jtruth evaluate {file} --predictions PRED.csv --gold GOLD.csv", "gold for some samples")
        yield Step(f"jtruth evaluate {file} --predictions PRED.csv --noise NOISE.json", "known error rates")
        return
    yield Step(f"jtruth evaluate {file} --predictions PRED.csv", "how good a classifier is")
    number = labels.labels_per_labeler()
    if np.count_nonzero(number) < 3:
        yield Step(
            "", "Two labelers alone do not tell who is right when they disagree: add a third, or gold."
        )
        return
    yield Step(f"jtruth labelers {file}", "how good each labeler is")
    known = (pairs.met > 0) & (number >= max(FEW_LABELS, float(np.median(number)))) & _never_twice(labels)
    if known.any():
        worst = int(np.argmin(np.where(known, pairs.agreed_with / np.maximum(1, pairs.met), np.inf)))
        name = shlex.quote(str(labels.workers[worst] if labels.workers else worst))
        yield Step(f"jtruth evaluate {file} --rater {name}", "the labeler who agrees least, by the others")
