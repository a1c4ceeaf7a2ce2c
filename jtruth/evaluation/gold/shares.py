"""How many samples truly are of each class? Pass rates and prevalences from noisy labels and a little gold.

Counting labels counts the labelers' mistakes too. Three rules, in the order of what they ask you to believe:

- gold, by default: learn from the gold how to read the class posterior of labels alone
  (`jtruth.learning.recalibration`). Survives labelers who copy each other or share mistakes.
- assume="independent": the joint posterior of labelers and classes with gold clamped, if there is any. Much
  narrower, right if labelers err independently given the class, and badly wrong if they do not.
- no gold: a range over the assumptions that have an answer (`jtruth.evaluation.assumptions.of_shares`). Only
  gold can tell which holds. Where no sample has three labels it is "not identified", and no number is given.

Measured coverage and width, beside raw shares, Rogan-Gladen and PPI++: `benchmarks/judges.py`. The target is
the share in the samples at hand, not in a population from which they may come.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from os import PathLike
from typing import Any

import numpy as np

from jtruth._frames import frame
from jtruth._one_line import one_line
from jtruth._page import Page, write_page
from jtruth._pictures import as_printed, picture
from jtruth._random import Key, Stated, as_key, stated, stream
from jtruth._validation import present
from jtruth._version import __version__
from jtruth.evaluation._given import as_labels
from jtruth.evaluation.as_json import estimate_dict
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.learned import labels_fit
from jtruth.evaluation.assumptions.of_shares import expected_shares, share_laws, share_ranges
from jtruth.evaluation.assumptions.registry import Progress, entries, nobody_judged
from jtruth.evaluation.checks.prior_driven import share_doubts
from jtruth.evaluation.gold.answer import labels_only_posterior, labels_posterior, too_few_labels
from jtruth.evaluation.inputs import read_gold
from jtruth.evaluation.page import prevalence_page
from jtruth.evaluation.parts import Check
from jtruth.evaluation.text import IN_SAMPLE, INDEPENDENT, MORE_RIGHT, PREDICTIVE, undetermined
from jtruth.labels import Labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.learning.recalibration import recalibrate
from jtruth.sampling.watch import Watch
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.stats.regions import check_level

RECALIBRATED = (
    "the class posterior of the labels ranks the samples; how to read it is learned from the gold. Labelers "
    "may share mistakes"
)
NO_GOLD = (
    "without gold nothing shows whether labelers make the same mistakes, and no range covers labelers who "
    "are wrong together by themselves, as where hard samples of one class look like another: only gold can "
    "tell. Find out the truth of 30 samples chosen at random (gold=...)"
)
NOT_IDENTIFIED = (
    "not identified: no sample has three labels and there is no gold, so any error rate of the labelers fits "
    "as well as any other. Get a third label for some samples, or find out the truth of 30 chosen at random"
)
CLAMPED = (
    "gold hardly moves this answer: the likelihood of all labels outweighs it. If labelers may share "
    "mistakes leave assume out"
)
RARE = (
    "only {} of {} gold answers are of class {!r}: its interval may hold the truth less often than it says "
    "(86 to 98 % instead of 95 % in simulations). Ask for more gold, likely samples of this class more often"
)
_LEAST = 5  # gold answers of a class below which that is said


@dataclass(frozen=True)
class Prevalence:
    """Share of each class in the samples; `print` it, `to_dict` for JSON."""

    level: float
    rule: str  # "recalibration", "joint posterior", "sensitivity range" or "not identified"
    shares: Mapping[str, Estimate]  # by class name; empty if not identified
    label_shares: Mapping[str, float]  # of the labels as given
    num_samples: int
    num_labelers: int
    num_labels: int
    num_gold: int
    assumption: str
    warnings: tuple[str, ...]
    key: Stated
    class_posterior: np.ndarray | None  # (samples, classes) given everything
    source: Any = None  # Recalibration or JointPosterior
    assumptions: Mapping[str, Mapping[str, Estimate]] = field(default_factory=dict)  # of a range, by sentence
    expected: Mapping[str, Estimate] = field(default_factory=dict)  # of a range: see `PREDICTIVE`

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "jtruth": __version__,
            "target": IN_SAMPLE,
            "estimand": "share of each class in these samples",
            "rule": self.rule,
            "level": self.level,
            "key": self.key,
            "num_samples": self.num_samples,
            "num_labelers": self.num_labelers,
            "num_labels": self.num_labels,
            "num_gold": self.num_gold,
            "shares": {name: estimate_dict(law, self.level) for name, law in self.shares.items()},
            "label_shares": dict(self.label_shares),
            "assumption": self.assumption,
            "assumptions": [
                {
                    "sentence": text,
                    "shares": {name: estimate_dict(law, self.level) for name, law in one.items()},
                }
                for text, one in self.assumptions.items()
            ],
            "expected": {name: estimate_dict(law, self.level) for name, law in self.expected.items()},
            "warnings": list(self.warnings),
        }

    plot = picture
    _repr_html_ = as_printed
    __repr__ = one_line

    def to_frame(self, backend: str | None = None) -> Any:
        """A row for each class as a data frame; backends as in `Evaluation.to_frame`."""
        rows = [
            {"class": name, **estimate_dict(law, self.level), "label_share": self.label_shares.get(name)}
            for name, law in self.shares.items()
        ]
        return frame(rows, backend)

    def page(self) -> Page:
        """The shares as a page."""
        return prevalence_page(self.to_dict())

    def report(self, path: str | PathLike) -> None:
        """Write a page to forward: one HTML file with pictures, that loads nothing from anywhere."""
        write_page(path, self.page())

    def __str__(self) -> str:
        gold = f"{self.num_gold} gold labels" if self.num_gold else "no gold label"
        gold += f"; key {self.key}"
        size = f"{self.num_samples} samples, {self.num_labels} labels by {self.num_labelers} labelers, {gold}"
        lines = []
        for name, law in self.shares.items():
            low, high, _ = law.interval(self.level)
            mean = "not determined" if undetermined({"low": low, "high": high}) else f"{law.mean:.3f}"
            lines.append(
                f"class {name!r}: {mean} [{low:.3f}, {high:.3f}] of the samples; of the labels "
                f"{self.label_shares[name]:.3f}"
            )
        if not lines:
            lines = ["Not identified: these labels do not determine the share of any class."]
        else:
            kind = "ranges" if self.assumptions else "posterior intervals"
            lines.append(f"{100 * self.level:g} % {kind} of the share in these samples; {self.rule}")
            lines.append(f"assumed: {self.assumption}")
            lines += [f"  {self._ends(one)}  {text}" for text, one in self.assumptions.items()]
            lines += [f"{PREDICTIVE}: {self._ends(self.expected)}"] if self.expected else []
        warnings = ["warnings", *(f"  {w}" for w in self.warnings)] if self.warnings else []
        return "\n".join([*lines, size, *warnings])

    def _ends(self, laws: Mapping[str, Estimate]) -> str:
        ends = {name: law.interval(self.level) for name, law in laws.items()}
        return ", ".join(f"{name!r} [{end.low:.3f}, {end.high:.3f}]" for name, end in ends.items())


def prevalence(
    labels: Labels,
    *,
    key: Any = None,
    gold: Any = None,
    assume: str | None = None,
    level: float = 0.95,
    progress: Progress | None = None,
) -> Prevalence:
    """Share of each class in the samples.

    Args:
        labels: noisy labels of these samples.
        key: a whole number or a JAX key; 0 if None.
        gold: (samples,) known classes, -1 where unknown; or a Series or dict by task id. Gold samples
            should be a random sample; chosen by their labels they serve as far as one bias and one slope say
            how to read the labels.
        assume: None, the rule that is safe with what there is: a range over assumptions, or gold; or
            "independent", for those who can vouch that labelers err independently.
        level: probability of the printed intervals.
        progress: called with (sweeps done, sweeps planned).

    Raises:
        ValueError: input that cannot be used.

    >>> z = np.repeat([[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0]], [50, 30, 10, 10], axis=0)
    >>> gold = np.full(100, -1)
    >>> gold[::4] = z[::4, 0]
    >>> found = prevalence(Labels.from_matrix(z, 2), gold=gold, key=0)
    >>> print(found.rule, f"{found.shares['1'].mean:.1f}")
    recalibration 0.6
    """
    level, given, key, labels = check_level(level), stated(key), as_key(key), as_labels(labels)
    if assume not in (None, "independent"):
        raise ValueError(f"assume must be None or 'independent'; got {assume!r}")
    names = tuple(map(str, labels.class_names))
    known, notes = read_gold(gold, labels)
    num_gold = int((known >= 0).sum())
    votes = labels.counts().sum(axis=0)
    about: dict[str, Any] = {
        "level": level,
        "label_shares": dict(zip(names, (votes / max(votes.sum(), 1)).tolist(), strict=True)),
        "num_samples": labels.num_samples,
        "num_labelers": labels.num_labelers,
        "num_labels": labels.num_labels,
        "num_gold": num_gold,
        "key": given,
    }
    if num_gold and assume is None:
        h, doubts = labels_only_posterior(labels, stream(key, "labels only"), progress)
        doubts = (*notes, *doubts)
        found = recalibrate(h, known, key=key)
        if not found.converged:
            doubts += (f"the importance sample is poor (effective size {found.ess:.0f})",)
        seen = np.bincount(known[known >= 0], minlength=len(names))
        doubts += tuple(RARE.format(seen[c], num_gold, names[c]) for c in np.flatnonzero(seen < _LEAST))
        laws = _laws(names, found.shares)
        return Prevalence(rule="recalibration", shares=laws, assumption=RECALIBRATED, warnings=doubts,
                          class_posterior=found.class_posterior, source=found, **about)  # fmt: skip
    nothing: dict[str, Any] = {"rule": "not identified", "shares": {}, "assumption": "none",
                               "class_posterior": None, **about}  # fmt: skip
    if not num_gold and too_few_labels(labels):
        return Prevalence(warnings=(*notes, NOT_IDENTIFIED), **nothing)
    fit, missing = labels_fit(labels, gold=known if num_gold else None, key=key, watch=Watch(progress))
    if not num_gold and assume is None:
        return _range(labels, (fit, missing), key, progress, notes, about)
    if not fit.usable:
        return Prevalence(warnings=(*notes, *fit.warnings), source=fit, **nothing)
    counts = present(fit.class_counts, "the class counts")
    doubt = CLAMPED if num_gold else NO_GOLD
    return Prevalence(rule="joint posterior", shares=_laws(names, counts / labels.num_samples),
                      assumption=INDEPENDENT if num_gold else f"{INDEPENDENT}; {MORE_RIGHT}",
                      warnings=(*notes, doubt, *share_doubts(labels, fit, about["level"]), *fit.warnings),
                      class_posterior=fit.class_posterior, source=fit, **about)  # fmt: skip


def _range(
    labels: Labels, fitted: tuple[JointPosterior, tuple[Check, ...]], key: Key, progress: Progress | None,
    notes: tuple[str, ...], about: dict[str, Any],
) -> Prevalence:  # fmt: skip
    """Nobody vouches for anything and there is no gold: what every assumption says."""
    data, names = nobody_judged(labels), tuple(map(str, labels.class_names))
    fit, data.missing = fitted
    some = [entry for entry in entries(data) if entry.shown]
    found, doubts = ranges.members(
        some, data, stream(key, "class shares"), progress=progress, known={"independent": fit}, keep_all=True
    )
    said = (check.message for check in data.missing)
    warnings = (*notes, NO_GOLD, *said, *share_doubts(labels, fit, about["level"]), *doubts)
    if all(member.fit is None for member in found):
        return Prevalence(rule="not identified", shares={}, assumption="none", class_posterior=None,
                          warnings=(*notes, *doubts), source=fit, **about)  # fmt: skip
    return Prevalence(
        rule="sensitivity range", shares=_named(names, share_ranges(found)), assumption=MORE_RIGHT,
        warnings=warnings, class_posterior=labels_posterior(found, labels), source=fit,
        assumptions={m.entry.said_of(data): _named(names, share_laws(m)) for m in found},
        expected=_named(names, expected_shares(found, labels.num_samples)), **about,
    )  # fmt: skip


def _named(names: tuple[str, ...], laws: Sequence[Estimate]) -> dict[str, Estimate]:
    return dict(zip(names, laws, strict=True))


def _laws(names: tuple[str, ...], shares: np.ndarray) -> dict[str, DrawsEstimate]:
    return {name: DrawsEstimate(shares[:, c].copy()) for c, name in enumerate(names)}
