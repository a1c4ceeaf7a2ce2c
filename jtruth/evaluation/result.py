"""The answer of `evaluate`: laws of the metrics with assumptions, checks and warnings, and its blocks."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from jtruth._random import Stated
from jtruth._validation.terminal import plain
from jtruth._validation.words import number_of
from jtruth.answers import (
    Answer,
    Column,
    Facts,
    Matrix,
    Shown,
    Table,
    check_notes,
    facts,
    finding_notes,
    how,
    law_row,
    sentence_notes,
    warning_notes,
)
from jtruth.answers.blocks import Block, Row, cell_text
from jtruth.evaluation.answers import WhatIf
from jtruth.evaluation.assumptions.sensitivity import Basis, Sensitivity, sensitivity
from jtruth.evaluation.inputs import Progress
from jtruth.evaluation.parts import (
    MORE_RIGHT,
    OF_LABELERS,
    OF_ONE_CLASS,
    PREDICTIVE,
    Assumption,
    Check,
    Labeler,
    assumption_table,
    counts_text,
    first_lines,
    interval_title,
    labeler_table,
    listed,
    loudest,
    metric_title,
    taken_as_true,
    undetermined,
)
from jtruth.inspection import Finding
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.estimates import Estimate
from jtruth.stats.regions import check_level
from jtruth.tables.joint import JointDensity, JointEstimate
from jtruth.tables.metrics import Metric, named_metric, of_one_class
from jtruth.tables.posterior import Cells, TablePosterior
from jtruth.testing.multiclass import CountDraws
from jtruth.testing.steps import FixedPoint


@dataclass(frozen=True, repr=False)
class Evaluation(Answer):
    """How good a classifier is, and how sure one may be. `print` it; `to_dict` for JSON.

    `metrics` maps names to `Estimate`s (mean, mode, sd, interval, region, density, sample). In binary
    problems: accuracy, precision, recall, false_alarm_rate, f1 of class `positive`.
    """

    method: str  # as `evaluate` was asked: "bayes", "majority_vote", ...
    target: str  # "in-sample" or "population": what the metrics are of
    level: float  # probability of the printed intervals
    interval_kind: str  # "posterior", "predictive" or "confidence interval"
    key: Stated  # of whatever was drawn; given again it draws the same
    metrics: Mapping[str, Estimate]
    posterior: TablePosterior  # of the count table, rows and columns in the order of `classes`
    cells: Cells  # mean and ends of the interval at `level` of each count
    num_samples: int
    num_labelers: int
    num_labels: int
    classes: tuple[str, ...]
    positive: str
    prior: np.ndarray  # of the classes, in the order of `classes`
    labelers: tuple[Labeler, ...]  # worst first; empty if not modelled
    baselines: Mapping[str, Mapping[str, float]]
    what_if: WhatIf  # what each assumption says
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    advice: tuple[str, ...] = ()  # what would make the answer better
    num_gold: int = 0
    log_evidence: float = float("nan")  # log p(y_pred, z | noise model, prior), where those are given
    fit: FixedPoint | CountDraws | JointPosterior | None = None  # of steps or draws
    basis: Basis | None = None  # input and model, which `sensitivity` moves
    rests_on: str = ""  # what a predictive law takes for granted
    suspicious: tuple[Finding, ...] = ()  # what is odd in the labels, as `inspect_labels` finds it
    headline: tuple[str, ...] = OF_ONE_CLASS  # metrics of the first sentence

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """What each assumption says, a row each; fitted when it is asked for the first time."""
        return self.what_if.rows

    @property
    def accuracy(self) -> Estimate:
        """Share of samples predicted right."""
        return self.metrics["accuracy"]

    @property
    def precision(self) -> Estimate:
        """Share of predicted positives that are positive."""
        return self.metrics["precision"]

    @property
    def recall(self) -> Estimate:
        """P_D, the share of positives that are predicted positive."""
        return self.metrics["recall"]

    @property
    def false_alarm_rate(self) -> Estimate:
        """P_FA, the share of negatives that are predicted positive."""
        return self.metrics["false_alarm_rate"]

    def f_score(self, beta: float = 1.0) -> Estimate:
        """F_beta of the positive class, in which recall weighs beta times as much as precision."""
        if not 0 < beta < np.inf:
            raise ValueError(f"F_beta for {beta!r}: it needs 0 < beta < inf (0: precision, inf: recall)")
        return self.estimate(f"f{beta:g}" if float(f"{beta:g}") == beta else f"f{float(beta)!r}")

    def estimate(self, metric: str) -> Estimate:
        """Law of any metric by name: "kappa", "f2", "recall[cat]"; see `jtruth.tables.metrics`."""
        return self.posterior.estimate(self._metric(metric))

    def _metric(self, name: str) -> Metric:
        return named_metric(name, self.classes, self.classes.index(self.positive))

    @property
    def confusion_matrix(self) -> np.ndarray:
        """(classes, symbols) posterior mean counts, rows true, columns predicted."""
        return self.cells.mean

    @property
    def confusion_low(self) -> np.ndarray:
        """Low ends of the elements' shortest intervals at `level`."""
        return self.cells.low

    @property
    def confusion_high(self) -> np.ndarray:
        """High ends of the elements' shortest intervals at `level`."""
        return self.cells.high

    def sensitivity(
        self,
        what: str = "shared_errors",
        *,
        values: Sequence[float] | np.ndarray | None = None,
        key: Any = None,
        progress: Progress | None = None,
    ) -> Sensitivity:
        """Posteriors along one assumption that is moved by hand; print it, or ask for its tipping points.

        Args:
            what: "shared_errors" (share of the classifier's errors that repeat a label), "hard_samples"
                (share of samples hard for labelers and classifier), "labeler_dependence" (share hard for the
                labelers only), "prior" (share of the positive class), "error_rates" (factor).
            values: where to look; for "shared_errors" how often the classifier copies.
            key: PRNG key; jax.random.key(0) if None.
            progress: called with (values done, values in all); some seconds for each on large sets.

        Returns:
            `jtruth.evaluation.assumptions.sensitivity.Sensitivity`.

        Raises:
            ValueError: an assumption that this answer does not rest on, or values that make no sense.
        """
        if self.basis is None:
            raise ValueError("this result does not know its input; use the one that evaluate returned")
        return sensitivity(
            self.basis, what, level=self.level, values=values, key=key, progress=progress, shown=self.headline
        )

    def joint(
        self,
        first: str = "recall",
        second: str = "false_alarm_rate",
        *,
        assumption: str | None = None,
    ) -> JointEstimate | JointDensity:
        """Joint posterior of two metrics by name.

        Args:
            first, second: as in `estimate`.
            assumption: name of one of `assumptions`; needed where the answer is predictive, a law for each
                metric by itself.

        Raises:
            ValueError: neither one law nor an assumption that has one, or counts that are not identified.
        """
        metrics = self._metric(first), self._metric(second)
        if assumption is None and self.interval_kind != PREDICTIVE:
            return self.posterior.joint(*metrics)
        if assumption not in self._with_tables:
            why = "has no joint posterior" if assumption is None else f"knows no {assumption!r}"
            names = ", ".join(self._with_tables)
            raise ValueError(f"this {self.interval_kind} law {why}; say under which assumption=...: {names}")
        return self._with_tables[assumption].joint(*metrics)

    @property
    def _with_tables(self) -> dict[str, TablePosterior]:
        """Posteriors of the assumptions that have one."""
        return {row.name: row.posterior for row in self.assumptions if row.posterior is not None}

    @property
    def assumed(self) -> tuple[str, ...]:
        """What every row of `assumptions` takes for granted: without gold, labels do not name the classes."""
        learned = self.labelers or self.interval_kind == PREDICTIVE
        return (MORE_RIGHT,) if learned and not self.num_gold else ()

    def with_warnings(self, sentences: Iterable[str]) -> "Evaluation":
        """The same answer with more warnings."""
        return replace(self, warnings=tuple(dict.fromkeys((*self.warnings, *sentences))))

    def at_level(self, level: float) -> "Evaluation":
        """The same answer with intervals of another probability (those of the counts stay)."""
        return replace(self, level=check_level(level))

    def blocks(self) -> Shown:
        """The question, the answer and what stands behind it, for all faces."""
        return evaluation_blocks(self, self.what_if.rows, self.what_if.doubts)

    def brief(self) -> Shown:
        """The same without what each assumption says, which may have to be fitted; one alone is named."""
        shown, found = evaluation_blocks(self), self.what_if
        if found.make is not None or len(found.rows) != 1:
            return shown
        return shown._replace(about=f"{shown.about}; assumed: {found.rows[0].sentence}")

    def __repr__(self) -> str:
        """One line: the sentence with the answer."""
        shown = self.brief()
        return f"Evaluation({' '.join([*shown.alarms, shown.sentence])})"


_TAKEN = {  # methods that know no uncertainty
    "labels": "the most probable class of each sample was taken as true",
    "majority_vote": "the majority vote was taken as true",
    "smyth": "the most probable classes by EM were taken as true",
}
_ENDS = ("low", "high")


def evaluation_blocks(
    found: Evaluation, assumptions: Sequence[Assumption] = (), doubts: Sequence[str] = ()
) -> Shown:
    """The answer, for all faces.

    Args:
        found: the answer.
        assumptions: what each of them says.
        doubts: of models behind these rows.
    """
    rows = {name: law_row(law, found.level) for name, law in found.metrics.items()}
    truth = f"{number_of(found.num_gold, 'true label')} known" if found.num_gold else "no true label known"
    about = f"{counts_text(found)}; key {found.key}"
    warnings = tuple(dict.fromkeys((*found.warnings, *doubts)))
    blocks: list[Block] = [
        *_metrics(found, rows), *_assumptions(found, assumptions), _confusion(found),
        labeler_table([asdict(one) for one in found.labelers], found.level, OF_LABELERS[found.target]),
        check_notes(found.checks), finding_notes(found.suspicious), warning_notes(warnings),
        sentence_notes("advice", "What would help", found.advice, "do"), *_facts(found, assumptions),
    ]  # fmt: skip
    alarms = tuple(first_lines(found.checks, found.warnings))
    question = f"How good is the classifier, with {truth}?"
    return Shown(question, about, headline(found, rows), tuple(blocks), alarms, loudest(found.checks))


def headline(found: Evaluation, rows: Mapping[str, Row]) -> str:
    """One sentence with the answer."""
    if all(row["mean"] is None for row in rows.values()):
        return "Not identified: these labels do not determine how good the classifier is."
    ends = _ends(found)
    parts, open_ = [], []
    for name in (name for name in found.headline if name in rows):
        row = rows[name]
        text = cell_text([row["mean"], *(row[end] for end in ends or ())], missing="undefined")
        if undetermined(row["low"], row["high"]):
            open_.append(metric_title(name))
        else:
            parts.append(f"{metric_title(name)} {text}")
    hardly = [f"hardly determined: {', '.join(open_)}"] if open_ else []
    kind, truth = f"{interval_title(found.level, found.interval_kind)}s", taken_as_true(found.num_gold)
    of = f" of class {found.positive!r}" if "recall" in found.headline else ""
    if found.method in _TAKEN:
        kind, truth = "no intervals", _TAKEN[found.method]
    text = f"{'; '.join([', '.join(parts), *hardly]).removeprefix('; ')} ({kind}{of}; {truth})."
    return text[0].upper() + text[1:]


def _ends(found: Evaluation) -> tuple[str, str] | None:
    return None if found.method in _TAKEN else _ENDS


def _metrics(found: Evaluation, rows: Mapping[str, Row]) -> list[Block]:
    """Metrics of the whole table; those of every class; in the JSON also those that nobody asked for."""
    naive, size = found.baselines.get("majority_vote", {}), len(found.classes)
    classes = [c for c in found.classes if size > 2 and any(name.endswith(f"[{c}]") for name in rows)]
    of = {c: {n.removesuffix(f"[{c}]"): n for n in rows if n.endswith(f"[{c}]")} for c in classes}
    single = {name for names in of.values() for name in names.values()}
    unasked = {name for name in rows if of_one_class(name) and "recall" not in found.headline}
    main = [
        {"metric": name, **row, "majority_vote": naive.get(name)}
        for name, row in rows.items() if name not in single | unasked
    ]  # fmt: skip
    ends = _ends(found)
    columns = [Column("mean", "mean [interval]" if ends else "mean", ends), Column("sd", "sd")]
    columns += [Column("majority_vote", "majority vote")] if naive else []
    title = f"Metrics, with {interval_title(found.level, found.interval_kind)}s" if ends else "Metrics"
    notes = [f"They rest on this: {found.rests_on}."] if found.rests_on else []
    never = {n: row["probability_defined"] or 0.0 for n, row in rows.items() if n in found.metrics}
    some = [f"{metric_title(n)} ({1 - p:.2g})" for n, p in never.items() if 0 < p < 1 - 1e-6]
    notes += [f"Undefined with some probability: {', '.join(some[:10])}."] if some else []
    nothing = all(row["mean"] is None for row in rows.values())
    parts: list[Block] = [
        Table("metrics", title, "metric", tuple(columns), main, " ".join(notes), "majority_vote",
              missing="not identified" if nothing else "undefined", by_name=True, aside=("majority_vote",),
              say=metric_title)
    ]  # fmt: skip
    if classes:
        heads = [
            Column((m, "mean"), metric_title(m), ((m, "low"), (m, "high")), ".2f") for m in of[classes[0]]
        ]
        each = [{"class": c, **{m: rows[n] for m, n in of[c].items()}} for c in classes]
        parts.append(Table("by_class", "Every class", "class", tuple(heads), each, missing="undefined",
                           by_name=True))  # fmt: skip
    return [*parts, facts(metrics={name: rows[name] for name in rows if name in single | unasked})]


def _assumptions(found: Evaluation, assumptions: Sequence[Assumption]) -> list[Block]:
    rows = [
        {
            "name": a.name,
            "sentence": a.sentence,
            "metrics": {name: law_row(law, found.level) for name, law in a.metrics.items()},
            "loo": None if a.loo is None else a.loo._asdict(),
        }
        for a in assumptions
    ]
    if len(rows) < 2:
        return [facts(assumptions=rows)]
    names = [name for name in found.headline if name in found.metrics]
    columns = [Column(("metrics", name, "mean"), metric_title(name)) for name in names]
    notes = ["Nobody can choose between these from the labels alone."] if found.rests_on else []
    if any(a.loo is not None for a in assumptions):
        parts = (
            ("elpd", "elpd", ".0f"),
            ("difference", "to the first", "+.0f"),
            ("difference_se", "+-", ".0f"),
        )
        columns += [Column(("loo", name), text, form=form) for name, text, form in parts]
        notes.append("elpd: how well a model predicts the labels, not who is right.")
        bad = sum(a.loo.num_bad for a in assumptions if a.loo is not None)
        notes += [f"{number_of(bad, 'bad term')} in these."] if bad else []
    return [assumption_table("assumptions", rows, columns, " ".join(notes))]


def _confusion(found: Evaluation) -> Block:
    """Expected counts by true and predicted class."""
    parts = found.confusion_matrix, found.confusion_low, found.confusion_high
    cells = {name: part.tolist() for name, part in zip(("mean", "low", "high"), parts, strict=True)}
    if not parts[0].size or np.isnan(parts[0]).any():
        return facts(confusion_matrix=cells)
    symbols = found.classes if parts[0].shape[1] == len(found.classes) else range(parts[0].shape[1])
    title = "Samples by true (rows) and predicted class (columns), expected"
    names = tuple(map(plain, found.classes)), tuple(plain(one) for one in symbols)
    return Matrix("confusion_matrix", title, *names, cells)


def _facts(found: Evaluation, assumptions: Sequence[Assumption]) -> list[Facts]:
    some = [a.sentence for a in assumptions] if len(assumptions) == 1 else []
    prior = listed(found.classes, [f"{p:.3f}" for p in found.prior])
    return [
        how(("method", found.method), ("target", found.target),
            ("interval", interval_title(found.level, found.interval_kind)), ("rests on", found.rests_on),
            *(("assumed", text) for text in (*some, *found.assumed)), ("class prior", prior)),
        facts(
            method=found.method, target=found.target, level=found.level, key=found.key,
            num_samples=found.num_samples, num_labelers=found.num_labelers, num_labels=found.num_labels,
            num_gold=found.num_gold, log_evidence=found.log_evidence, classes=found.classes,
            positive=found.positive, headline=found.headline, prior=found.prior, rests_on=found.rests_on,
            baselines=found.baselines, interval_kind=found.interval_kind, assumed=found.assumed,
        ),
    ]  # fmt: skip
