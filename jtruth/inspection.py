"""A first look at labels: what is there, what is odd, and what can be estimated from it.

Everything here is counting; no model is fitted and no label is taken as true. What it finds odd need not be
wrong: each finding says what it may mean, and `next_steps` names the commands that answer more.
"""

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from jtruth._random import seeded
from jtruth._validation import places, quoted, some
from jtruth._validation.words import NO_ANSWER, is_list, number_of, plain, typing_error
from jtruth.answers import Answer, Check, Column, Document, Note, Notes, Table, finding_notes, how
from jtruth.answers.blocks import facts_of
from jtruth.labels import Labels, must_be_labels
from jtruth.stats import agreement as stats
from jtruth.stats.agreement import TITLES, Agreement, LabelerPairs

FEW_LABELS = 10  # a labeler with fewer labels says little about itself
LEAST_SHARED = 10  # labels of whom pairs are counted
MANY_SHARED = 20  # samples that two labelers share before full agreement is odd
_FEW_SINGLE = 0.01  # of the samples, below which those with one label are not worth a word
_ANY = "PRED.csv"  # what a command calls a file that is not there yet
HARDLY, _LISTED = 0.1, 8  # kappa of labelers with themselves that is hardly above chance; names in a list


def coefficient_table(
    name: str, title: str, found: Mapping[str, Agreement], *columns: Column,
    titles: Mapping[str, str] = TITLES, note: str = "",
) -> Table:  # fmt: skip
    """Coefficients of all labelers together, a row each."""
    rows = [{"coefficient": key, **one._asdict()} for key, one in found.items()]
    columns = (Column("value", "value", ("low", "high")), *columns)
    return Table(name, title, "coefficient", columns, rows, note, missing="undefined", by_name=True,
                 say=titles.__getitem__)  # fmt: skip


@dataclass(frozen=True, repr=False)
class Inspection(Answer):
    """Counts, agreement, odd things, and commands worth running."""

    num_samples: int
    num_labelers: int
    num_labels: int
    num_repeats: int  # labels beyond the first of a labeler for the same sample, counted or not
    classes: tuple
    class_shares: tuple  # share of all labels that each class has
    labels_per_sample: dict  # number of labels -> how many samples have so many
    labels_per_labeler: dict  # min, median, max
    agreement: float | None  # share of all label pairs of different labelers that agree; None without pairs
    coefficients: Mapping[str, Agreement]  # Krippendorff's alpha and others, with 95 % intervals; may be NaN
    findings: tuple[Check, ...]
    notes: tuple  # how the labels were read
    next_steps: tuple[dict[str, str], ...]  # a command ("" for a sentence alone), and what it answers

    def blocks(self) -> Document:
        """The question, the answer and what stands behind it, for all faces."""
        each = self.labels_per_labeler
        shares = [{"class": str(c), "share": p} for c, p in zip(self.classes, self.class_shares, strict=True)]
        order = sorted(range(len(shares)), key=lambda k: -shares[k]["share"])
        steps = [step for step in self.next_steps if step["command"] and _ANY not in step["command"]]
        alike = "" if self.agreement is None else f"{100 * self.agreement:.0f} %"
        counts = how(
            ("labels per sample", _distribution(self.labels_per_sample)),
            ("labels per labeler", f"{each['min']} to {each['max']}, median {each['median']:g}"),
            ("agreement of two labels by different labelers", alike or "none to compare"),
            title="Counts",
        )  # fmt: skip
        blocks = (
            Table("", "Class shares of the labels", "class", (Column("share", "share of labels"),),
                  shares, order=order),
            counts,
            coefficient_table("coefficients", "Agreement: 0 is chance, 1 is full", self.coefficients,
                              note=stats.from_unseen(self.coefficients)),
            finding_notes(self.findings, "findings"),
            Notes("notes", "How the file was read", [Note("read", text) for text in self.notes]),
            Notes("next_steps", "Next steps", [
                Note("do", "  # ".join(filter(None, step.values())), data=step) for step in self.next_steps
            ]),
            facts_of(self, "labels_per_sample", "labels_per_labeler", "agreement", "num_samples",
                     "num_labelers", "num_labels", "num_repeats", "classes", "class_shares"),
        )  # fmt: skip
        size = f"{number_of(self.num_samples, 'sample')}, {number_of(self.num_labelers, 'labeler')}"
        sentence = f"{size}, {number_of(self.num_labels, 'label')}, {len(self.classes)} classes. "
        sentence += f"Pairs of labels of the same sample agree in {alike} of cases. " * bool(alike)
        odd = len(self.findings)
        sentence += f"{number_of(odd, 'unusual pattern')}: see below." if odd else "Nothing looks unusual."
        first = "  # ".join(steps[0].values()) if steps else ""
        about = "Counts and shares of the labels; accuracy is not estimated here"
        return Document("What is in these labels?", about, sentence, blocks, next=first)


def _distribution(number: dict) -> str:
    if len(number) == 1:
        return f"{next(iter(number))} (all samples)"
    if len(number) <= 5:
        return ", ".join(f"{k} ({number_of(n, 'sample')})" for k, n in number.items())
    median = np.median(np.repeat(list(number), list(number.values())))
    return f"{min(number)} to {max(number)}, median {median:g}"


@seeded
def inspect_labels(
    labels: Labels, *, file: str = "LABELS.csv", options: str = "", beside: dict | None = None, key: Any = 0
) -> Inspection:
    """Look at labels before anything is estimated.

    Args:
        labels: any labels.
        file: what the commands in `next_steps` call the file.
        options: command line options that reading the file needs, for instance "--task item".
        beside: what of the file looks like "predictions", "gold" and "scores": "column:NAME", "export:NAME".
        key: of the samples drawn again for intervals of agreement.

    Example:
        >>> look = inspect_labels(Labels.from_matrix([[0, 0, 1], [1, 1, 1]], 2))
        >>> print(f"{look.agreement:.3f} {look.coefficients['krippendorff'].value:.3f}")
        0.667 0.375
    """
    labels = must_be_labels(labels)
    per_sample, per_labeler, votes = labels.labels_per_sample(), labels.labels_per_labeler(), labels.counts()
    pairs, own = pairs_of(labels), labels.self_agreement
    alpha = stats.overall(votes, key, places=places(labels), scale=labels.scale)
    steps = _next_steps(labels, pairs, f"{shlex.quote(file)} {options}".strip(), beside or {})
    found = (*_chance(alpha), *_findings(labels, pairs))
    middle = {"min": int(per_labeler.min()), "median": float(np.median(per_labeler))}
    return Inspection(
        num_samples=labels.num_samples, num_labelers=labels.num_labelers, num_labels=labels.num_labels,
        num_repeats=0 if own is None else int(own["repeats"].sum()), classes=labels.class_names,
        class_shares=tuple((votes.sum(axis=0) / max(1, votes.sum())).tolist()),
        labels_per_sample={int(k): int(n) for k, n in enumerate(np.bincount(per_sample)) if n},
        labels_per_labeler=middle | {"max": int(per_labeler.max())}, agreement=_agreement(labels, votes),
        coefficients=alpha, findings=tuple(Check(name, message=text) for name, text in found),
        notes=labels.notes, next_steps=tuple({"command": line, "answers": what} for line, what in steps),
    )  # fmt: skip


def suspicions(labels: Labels) -> tuple[Check, ...]:
    """What is odd in these labels, the most serious first: the same for a first look and for every answer."""
    return tuple(Check(name, message=text) for name, text in _findings(labels, pairs_of(labels)))


def pairs_of(labels: Labels) -> LabelerPairs:
    """Who agrees with whom; pair by pair of those with `LEAST_SHARED` labels. Counted once, as patterns."""
    if "_pairs" not in (kept := vars(labels)):
        patterns = labels.patterns()
        repeated = patterns.labels.has_repeats()  # then the first counts, and patterns have no order
        each = repeated or 2 * patterns.labels.num_samples > labels.num_samples  # few are equal
        alone = None if repeated else np.ones(labels.num_labels, np.int64)
        sample, labeler, label, times = (*labels.entries(None), alone) if each else patterns.entries()
        size = labels.num_labelers, (labels if each else patterns.labels).num_samples
        kept["_pairs"] = stats.labeler_pairs(sample, labeler, label, size, LEAST_SHARED, times)
    return kept["_pairs"]


def _agreement(labels: Labels, votes: np.ndarray) -> float | None:
    """Share of the pairs of labels of a sample, by two different labelers, that agree; repeats count too."""
    sample, labeler, label = labels.entries()
    own = sample.astype(np.int64) * labels.num_labelers + labeler
    alone = [np.ones(own.size, np.int64)] * 2
    if labels.has_repeats():
        alone = [np.unique(code, return_counts=True)[1] for code in (own, own * votes.shape[1] + label)]
    numbers = votes.sum(axis=1).astype(np.int64), votes.astype(np.int64)  # labels of a sample; in each class
    met, agreed = (int((n**2).sum() - (m**2).sum()) for n, m in zip(numbers, alone, strict=True))
    return agreed / met if met else None


def _findings(labels: Labels, pairs: LabelerPairs) -> Iterator[tuple[str, str]]:
    """Name and text of odd things, the most serious first."""
    yield from _of_labelers(labels, pairs)
    yield from _of_classes(labels)
    yield from _of_numbers(labels, pairs)


def _named(labels: Labels, which: np.ndarray) -> str:
    workers = labels.worker_names
    return quoted((workers[t] for t in np.flatnonzero(which)), 4)


def _of_labelers(labels: Labels, pairs: LabelerPairs) -> Iterator[tuple[str, str]]:
    """Labelers who cannot be compared, or do not seem to answer the question."""
    row, labeler, _, _ = labels.patterns().entries()
    if len(words := _vocabularies(labels)) > 1:
        first = "; ".join(f"{who}: {what}" for who, what in words[:3])
        advice = "Translate them by --map a=x,b=x (numbers by --pass-at)"
        yield "vocabularies", f"Labelers use different words and share none ({first}). {advice}."
    groups = stats.separate_groups(row, labeler, (labels.num_labelers, int(row.max(initial=0)) + 1))
    if groups > 1 and pairs.met.any():
        what = f"The labelers fall into {groups} groups without a common sample"
        yield "separate_groups", f"{what}. Compare them within groups only."
    used = labels.used
    if who := _named(labels, stats.opposed(used, pairs, MANY_SHARED)):
        yield "opposed", f"Agreement with the others is below chance: {who}. Did they swap classes?"
    if who := _named(labels, ((used > 0).sum(axis=1) == 1) & (used.sum(axis=1) >= FEW_LABELS)):
        yield "constant", f"Labelers who always give the same class: {who}. Did they look at the samples?"


def _of_classes(labels: Labels) -> Iterator[tuple[str, str]]:
    """Classes that read like something else than one class."""
    names = list(map(str, labels.class_names))
    if lists := [name for name in names if is_list(name, labels.class_names)]:
        advice = "if a sample can have several classes, analyse one at a time (docs/labels_of_other_kinds.md)"
        yield "lists", f"Class {quoted(lists, 4)} looks like a list of classes: {advice}."
    number = labels.used.sum(axis=0).tolist()
    if "classes" in labels.inferred and (found := typing_error(names, number)):
        wrong, right = (names[k] for k in found)
        few, many = (number_of(int(number[k]), "label") for k in found)
        what = f"Class {wrong!r} ({few}) is one letter from {right!r} ({many}): a typing error?"
        yield "typing_error", f"{what} Correct it, or add --map {shlex.quote(f'{wrong}={right}')}."
    if unsure := [name for name in names if name.strip().casefold() in NO_ANSWER]:
        what = "looks like a missing answer, but counts as a class, and as wrong where another one is true"
        how_to = f"Leave it out (--abstain {shlex.quote(','.join(unsure))}; in Python abstain={unsure})"
        advice = f"{how_to}, or model it as a separate symbol (docs/labels_of_other_kinds.md)"
        yield "abstention", f"Class {quoted(unsure, 4)} {what}. {advice}."


def _of_numbers(labels: Labels, pairs: LabelerPairs) -> Iterator[tuple[str, str]]:
    """Copies, few labels, and labels that check nothing."""
    row, _, _, times = labels.patterns().entries()
    workers, totals = labels.worker_names, labels.used.sum(axis=1)
    if copies := stats.full_agreement(pairs, MANY_SHARED):
        names = "; ".join(
            f"{workers[i]!r} and {workers[j]!r} on {number_of(n, 'sample')}" for i, j, n in copies[:2]
        )
        who = "1 pair never disagrees" if len(copies) == 1 else f"{len(copies)} pairs never disagree"
        yield "copies", f"{who} ({names}). If one copied the other, keep one."
    few = (totals < FEW_LABELS) & (totals > 0)
    if names := _named(labels, few):
        who = number_of(int(few.sum()), "labeler")
        yield "few_labels", f"{who} gave fewer than {FEW_LABELS} labels: {names}. Expect wide intervals."
    if _FEW_SINGLE * labels.num_samples <= (single := int(times[(np.bincount(row) == 1)[row]].sum())):
        has = "has" if single == 1 else "have"
        text = f"{single} of {labels.num_samples} samples {has} only one label, so nothing checks it."
        yield "single_label", text
    if labels.self_agreement is not None and labels.self_agreement["pairs"].any():
        yield "repeats", " ".join(_of_repeats(labels, labels.self_agreement))


def _of_repeats(labels: Labels, own: np.ndarray) -> Iterator[str]:
    """How often labelers agree with themselves, who does how often, and what that may mean."""
    number, pairs, agree = (own[name].sum() for name in ("repeats", "pairs", "agree"))
    yield f"{number_of(int(number), 'label')} repeated: labelers agree with themselves in"
    share = own["agree"] / np.maximum(own["pairs"], 1)
    often = [t for t in np.argsort(share, kind="stable") if own["repeats"][t] >= FEW_LABELS]
    each = some([f"{labels.worker_names[t]!r} {100 * share[t]:.0f} %" for t in often], _LISTED)
    yield f"{100 * agree / pairs:.0f} % of repeats{f' ({each})' if each else ''}."
    if labels.has_repeats():
        yield "All count as independent, so intervals are too narrow (--repeats majority counts one)."
    used = labels.used
    chance = (used**2).sum(axis=1) / np.maximum(used.sum(axis=1), 1) ** 2 @ own["pairs"] / pairs
    if agree / pairs - chance < HARDLY * (1 - chance) and number >= FEW_LABELS:
        yield "That is hardly above chance: are they different questions? Name both columns (--task a,b)."


def _chance(coefficients: Mapping[str, Agreement]) -> Iterator[tuple[str, str]]:
    one = coefficients["krippendorff"]
    if one.low <= 0 and not one.unseen > 0.5:  # else few combinations of labels were seen: no evidence
        why = "they may have guessed, or their task ids belong to different samples"
        yield "no_agreement", f"Labelers agree no better than chance ({TITLES['krippendorff']} {one}): {why}."


def _vocabularies(labels: Labels) -> list[tuple[str, str]]:
    """(labelers, their classes) of groups of labelers who use two classes or more and share none."""
    labeler, label = np.nonzero(labels.used)
    group = stats.groups_of(labeler, label, (labels.num_labelers, labels.num_classes))
    workers, vocabularies = labels.worker_names, []
    for g in dict.fromkeys(group.tolist()):
        classes = np.unique(label[group == g])
        if classes.size > 1:  # one class alone is a labeler who never says another
            who = quoted((workers[t] for t in np.unique(labeler[group == g])), 3)
            vocabularies.append((who, quoted((labels.class_names[c] for c in classes), 4)))
    return vocabularies


def _next_steps(labels: Labels, pairs: LabelerPairs, file: str, beside: dict) -> Iterator[tuple[str, str]]:
    names = {role: shlex.quote(name) for role, name in beside.items()}
    gold = f" --gold {names['gold']}" if "gold" in names else ""
    if "predictions" in names:
        yield f"jtruth evaluate {file} --predictions {names['predictions']}{gold}", "grade the classifier"
    else:
        why = f"grade a classifier; {_ANY} has columns task, label"
        yield f"jtruth evaluate {file} --predictions {_ANY}", why
    if gold:
        yield f"jtruth labelers {file}{gold}", "grade each labeler by the verified labels"
    if not pairs.met.any():
        yield "", "No sample has labels of two labelers, so their accuracy is not identified."
        yield "", "Collect second labels of some samples, verify some, or give known error rates (--noise)."
        why = "choose samples to verify; fill in the table and use it as --gold"
        yield f"jtruth ask {file} --truth --out to_verify.csv", why
        return
    if "scores" in beside:
        yield f"jtruth evaluate {file} --predictions {names['scores']} --scores", "grade the scores"
    number = labels.labels_per_labeler()
    if np.count_nonzero(number) < 3:
        yield "", "Two labelers cannot show who is right when they disagree: add a third, or verified labels."
        yield f"jtruth agreement {file}", "compute the agreement of the two"
        return
    if not gold:
        yield f"jtruth labelers {file}", "estimate how good each labeler is"
    # Of labelers who labelled a sample twice one must say which label counts.
    sample, labeler, _ = labels.entries()
    once = np.unique(labeler * labels.num_samples + sample) // labels.num_samples
    known = (pairs.met > 0) & (np.bincount(once, minlength=number.size) == number)
    known &= number >= max(FEW_LABELS, float(np.median(number)))
    if known.any():
        worst = int(np.argmin(np.where(known, pairs.agreed_with / np.maximum(1, pairs.met), np.inf)))
        name = str(labels.worker_names[worst])
        share = 100 * pairs.agreed_with[worst] / pairs.met[worst]
        why = f"{plain(name)} agrees least with the others ({share:.0f} %)"
        yield f"jtruth evaluate {file} --rater {shlex.quote(name)}", why
