"""The result of `evaluate`: posteriors of metrics, assumptions, checks, warnings, and its document."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from jtruth._random import Stated
from jtruth._validation import positive_line
from jtruth._validation.words import number_of, plain, series
from jtruth.answers import Answer, Check, Column, Document, Matrix, Table
from jtruth.answers import blocks as block
from jtruth.answers.blocks import Block, Row, cell_text, dist_column, facts, facts_of, how, share_text
from jtruth.answers.data import dist_row
from jtruth.answers.require import Gate, Quantity, require
from jtruth.evaluation import one_judge, parts
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.sensitivity import Basis, Sensitivity, sensitivity
from jtruth.evaluation.inputs import Progress
from jtruth.evaluation.methods import TAKEN
from jtruth.evaluation.parts import Assumption
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.estimates import Estimate, check_level
from jtruth.tables.metrics import Metric, named_metric, of_one_class, ratio
from jtruth.tables.new_samples import NewSamples
from jtruth.tables.posterior import Cells, JointDensity, JointEstimate, TablePosterior, estimates
from jtruth.testing.multiclass import CountDraws
from jtruth.testing.steps import FixedPoint

_ORDER = ("accuracy", "recall", "specificity", "false_alarm_rate", "precision", "f1", "kappa", "mcc")
_EQUAL = 0.0005  # two numbers that look the same in a table
NOT_FITTED = (
    "The labels alone cannot tell whether labelers and classifier make the same mistakes, and the estimates "
    "depend on it. To add the estimate under each assumption, which takes some seconds, use "
    "report(path, full=True)."
)
AS_VOTE = "Without verified labels, the best estimate is the majority-vote score."


@dataclass(frozen=True, repr=False)
class Evaluation(Answer):
    """Posteriors of a classifier's metrics, with checks and warnings. `print` it; `to_dict` for JSON.

    `metrics` maps names to `Estimate`s (mean, mode, sd, interval, region, density, sample). With two classes
    these are accuracy, precision, recall, false_alarm_rate and f1 of class `positive`.
    """

    method: str  # of `evaluate`: "bayes", "majority_vote", ...
    target: str  # "in-sample" or "population"
    level: float  # probability of the printed intervals
    interval_kind: str  # "posterior", "predictive" or "confidence interval"
    key: Stated  # seed of all random draws
    metrics: Mapping[str, Estimate]
    posterior: TablePosterior  # of the count table, rows and columns in the order of `classes`
    cells: Cells  # mean and ends of the interval at `level` of each count
    num_samples: int
    num_labelers: int
    num_labels: int
    classes: tuple[str, ...]
    positive: str
    prior: np.ndarray  # of the classes, in the order of `classes`
    labelers: tuple[dict[str, Any], ...]  # a row each, worst first; empty if not modelled
    baselines: Mapping[str, Mapping[str, float]]
    what_if: Sequence[Assumption] | None  # under each assumption; None: computed from `basis` on request
    checks: tuple[Check, ...]
    warnings: tuple[str, ...]
    advice: tuple[str, ...] = ()  # what would narrow the intervals
    num_gold: int = 0
    num_calibration: int = 0  # verified items of other data, for the error rates
    log_evidence: float = float("nan")  # log p(y_pred, z | noise model, prior), if those are given
    fit: FixedPoint | CountDraws | JointPosterior | None = None  # by steps or draws
    basis: Basis | None = None  # input and model, for `sensitivity_analysis`
    rests_on: str = ""  # assumption of a predictive distribution
    suspicious: tuple[Check, ...] = ()  # unusual patterns in the labels, by `inspect_labels`
    headline: tuple[str, ...] = parts.OF_ONE_CLASS  # metrics of the first sentence
    positive_chosen: str = ""  # how the positive class was, in words
    graded: str = ""  # what is graded, in words
    verified: np.ndarray | None = None  # of a judge of two classes: (2, 2) counts of verified samples

    @property
    def assumptions(self) -> tuple[Assumption, ...]:
        """Metrics under each assumption, fitted at the first access."""
        return self.views[0]

    @property
    def views(self) -> tuple[tuple[Assumption, ...], tuple[str, ...]]:
        """These assumptions, and warnings about the models behind them."""
        if self.what_if is not None or self.basis is None:
            return tuple(self.what_if or ()), ()
        return ranges.what_if(*self.basis)

    @property
    def accuracy(self) -> Estimate:
        """Share of samples predicted correctly."""
        return self.metrics["accuracy"]

    @property
    def precision(self) -> Estimate:
        """Share of predicted positives that are positive."""
        return self.metrics["precision"]

    @property
    def recall(self) -> Estimate:
        """Share of positives that are predicted positive (TPR, P_D)."""
        return self.metrics["recall"]

    @property
    def false_alarm_rate(self) -> Estimate:
        """Share of negatives that are predicted positive (FPR, P_FA)."""
        return self.metrics["false_alarm_rate"]

    @property
    def specificity(self) -> Estimate:
        """Share of negatives that are predicted negative (TNR)."""
        return self.estimate("specificity")

    @property
    def fpr(self) -> Estimate:
        """`false_alarm_rate` by its name in scikit-learn."""
        return self.false_alarm_rate

    @property
    def fnr(self) -> Estimate:
        """Share of positives that are predicted negative (FNR)."""
        return self.estimate("fnr")

    @property
    def sensitivity(self) -> Estimate:
        """`recall` by its name in medicine."""
        return self.recall

    def f_score(self, beta: float = 1.0) -> Estimate:
        """F_beta of the positive class, in which recall weighs beta times as much as precision."""
        if not 0 < beta < np.inf:
            raise ValueError(f"F_beta for {beta!r}: it needs 0 < beta < inf (0: precision, inf: recall)")
        return self.estimate(f"f{beta:g}" if float(f"{beta:g}") == beta else f"f{float(beta)!r}")

    def estimate(self, metric: str) -> Estimate:
        """Distribution of a metric by name: "kappa", "f2", "recall[cat]"; see `jtruth.tables.metrics`."""
        return self.posterior.estimate(self._metric(metric))

    def require(self, *requirements: str, confidence: float = 0.95) -> Gate:
        """Check requirements, "accuracy >= .9" or "recall[disease] > .8"; see `jtruth.answers.require`."""
        if self.method in TAKEN:
            raise ValueError(
                f"method={self.method!r} gives no uncertainty, so no requirement has a probability"
            )
        return require(self, self._quantity, requirements, confidence, self.num_gold, "accuracy >= .9")

    def _quantity(self, name: str) -> Quantity:
        metric = self._metric(name)
        dist = self.metrics.get(metric.name) or self.posterior.estimate(metric)
        (above, below), share = metric.terms(self.cells.mean), self.cells.mean / self.cells.mean.sum()
        of_one = (share * (above - dist.mean * below) ** 2).sum()  # the delta method's, of a ratio exactly
        return Quantity(dist, float(ratio(of_one, (share * below).sum() ** 2)))

    def _metric(self, name: str) -> Metric:
        return named_metric(name, self.classes, self.classes.index(self.positive))

    @property
    def confusion_matrix(self) -> np.ndarray:
        """Posterior mean counts (classes, symbols); rows are true classes, columns predictions."""
        return self.cells.mean

    @property
    def confusion_low(self) -> np.ndarray:
        """Low ends of the shortest intervals of these counts at `level`."""
        return self.cells.low

    @property
    def confusion_high(self) -> np.ndarray:
        """High ends of the shortest intervals of these counts at `level`."""
        return self.cells.high

    @cached_property
    def in_sample(self) -> "Evaluation":
        """The same result for these samples, without the rows of labelers and of PPI++."""
        if not isinstance(self.posterior, NewSamples):
            return self
        return self._about(parts.IN_SAMPLE, self.posterior.in_sample)

    @cached_property
    def population(self) -> "Evaluation":
        """The same result for new samples of the same kind; itself if the method has none."""
        if self.target == parts.POPULATION or self.method in TAKEN:
            return self
        return self._about(parts.POPULATION, NewSamples(self.posterior, self.key))

    def _about(self, target: str, table: TablePosterior) -> "Evaluation":
        """The result for another target."""
        basis = self.basis and (replace(self.basis[0], target=target), self.basis[1])
        rows, answered = self.what_if, (self.classes, self.classes.index(self.positive))
        if rows is not None and basis is not None:
            tables = [(row, getattr(row.posterior, "in_sample", row.posterior)) for row in rows]
            rows = [
                row._replace(posterior=new, metrics=estimates(new, *answered, more=basis[0].more))
                for row, new in (
                    (row, basis[0].about(t)) for row, t in tables if isinstance(t, TablePosterior)
                )
            ]
        metrics = {name: table.estimate(self._metric(name)) for name in self.metrics}
        return replace(self, target=target, posterior=table, metrics=metrics, what_if=rows, basis=basis,
                       labelers=())  # fmt: skip

    def sensitivity_analysis(
        self,
        what: str = "shared_errors",
        *,
        values: Sequence[float] | np.ndarray | None = None,
        key: Any = None,
        progress: Progress | None = None,
    ) -> Sensitivity:
        """Posteriors as one assumption is varied, with their tipping points.

        Args:
            what: "shared_errors" (share of the classifier's errors that repeat a label), "hard_samples"
                (share of samples that are hard for labelers and classifier), "labeler_dependence" (share that
                is hard for the labelers only), "prior" (share of the positive class), or "error_rates" (a
                factor).
            values: grid of values; for "shared_errors" the probability that the classifier copies a label.
            key: a whole number or a JAX key; 0 if None.
            progress: called with (values done, values planned); each takes some seconds on large data.

        Raises:
            ValueError: an assumption that this result does not make, or invalid values.
        """
        if self.basis is None:
            raise ValueError("this result does not hold its input; use the one that evaluate returned")
        how = {"level": self.level, "values": values, "key": key, "progress": progress}
        return sensitivity(self.basis, what, printed=self.headline, **how)

    def joint(
        self, first: str = "recall", second: str = "false_alarm_rate", *, assumption: str | None = None
    ) -> JointEstimate | JointDensity:
        """Joint posterior of two metrics, named as in `estimate`.

        Args:
            first: name of a metric.
            second: name of a metric.
            assumption: one of `assumptions`; needed if the result is predictive, because a predictive
                distribution is of one metric.

        Raises:
            ValueError: a predictive result without an assumption, or counts that are not identified.
        """
        metrics = self._metric(first), self._metric(second)
        if assumption is None and self.interval_kind != parts.PREDICTIVE:
            return self.posterior.joint(*metrics)
        tables = {row.name: row.posterior for row in self.assumptions if row.posterior is not None}
        if assumption not in tables:
            why = "has no joint posterior" if assumption is None else f"has no assumption {assumption!r}"
            names = ", ".join(tables)
            raise ValueError(f"this {self.interval_kind} answer {why}; give assumption=..., one of {names}")
        return tables[assumption].joint(*metrics)

    @property
    def assumed(self) -> tuple[str, ...]:
        """Assumption behind every row of `assumptions`: without gold, labels do not name the classes."""
        learned = self.labelers or self.interval_kind == parts.PREDICTIVE
        return (parts.MORE_RIGHT,) if learned and not self.num_gold else ()

    def at_level(self, level: float) -> "Evaluation":
        """The same result with intervals of another probability; intervals of the counts stay."""
        return replace(self, level=check_level(level))

    def blocks(self) -> Document:
        """Build the document of the result."""
        return evaluation_blocks(self, *self.views)

    def brief(self, *, page: bool = False) -> Document:
        """Build the document without rows of assumptions, or with those that are fitted (`page`)."""
        document, there = evaluation_blocks(self, self.what_if if page else ()), self.what_if or ()
        return document if page or len(there) != 1 else document._replace(
            about=f"{document.about}; assumption: {there[0].sentence}")  # fmt: skip

    def __repr__(self) -> str:
        document = self.brief()
        return f"Evaluation({' '.join([*document.alarms, document.sentence.partition('. ')[0]])})"


def evaluation_blocks(
    result: Evaluation, assumptions: Sequence[Assumption] | None = (), doubts: Sequence[str] = ()
) -> Document:
    """Build the document; with rows of assumptions, and doubts on their models, or None: how to get them."""
    rows = {name: dist_row(dist, result.level) for name, dist in result.metrics.items()}
    kind = parts.interval_title(result.level, result.interval_kind)
    alone = [a.sentence for a in assumptions] if assumptions and len(assumptions) == 1 else []
    prior = parts.listed(result.classes, [f"{p:.3f}" for p in result.prior])
    judge = one_judge.youden_words(result.posterior, result.verified, result.level)
    blocks: list[Block] = [
        *_metrics(result, rows, kind), _assumptions(result, assumptions), _confusion(result),
        parts.labeler_table(result.labelers, result.level,
                            parts.OF_LABELERS[result.target]),
        block.check_notes(result.checks), block.finding_notes(result.suspicious),
        block.warning_notes(tuple(dict.fromkeys((*result.warnings, *doubts)))),
        block.sentence_notes("advice", "What would narrow the intervals", result.advice, "do"),
        how(("method", result.method), ("target", f"{result.target}, {parts.ABOUT[result.target]}"),
            ("interval", kind), ("judge", judge), ("assumption of the width", result.rests_on),
            *(("assumption", text) for text in (*alone, *result.assumed)),
            ("class prior", prior)),
        facts_of(result, "method", "target", "level", "key", "num_samples", "num_labelers", "num_labels",
                 "num_gold", "num_calibration", "log_evidence", "classes", "positive", "positive_chosen",
                 "verified", "headline", "prior", "rests_on", "baselines", "interval_kind", "assumed"),
        facts(**_other_target(result)),
    ]  # fmt: skip
    truth = f"{number_of(result.num_gold, 'true label')} known" if result.num_gold else "no true label known"
    about, sentence = f"{parts.counts_text(result)}; key {result.key}", _headline(result, rows, kind)
    doubt = parts.loudest(result.checks, bool(result.num_gold or result.rests_on))
    question = f"How good is the classifier, with {truth}?"
    return Document(question, about, sentence, tuple(blocks), lines=_lines(result), **doubt)


def _lines(result: Evaluation) -> tuple[str, ...]:
    if "recall" not in result.headline:
        return ()
    first = positive_line(result.classes, result.positive, result.positive_chosen)
    if len(result.classes) > 2:
        first = f"{first.removesuffix('.')} (of precision, recall and F1)."
    if result.verified is None:
        return (first,)
    called = float(result.confusion_matrix[:, 1].sum() / result.num_samples)
    worth = one_judge.worth_words(result.posterior, result.verified, called, result.classes, 1, result.level)
    words = one_judge.confusion_words(result.verified, result.classes)
    return first, f"{words} {worth}".strip()


def _other_target(result: Evaluation) -> dict[str, Any]:
    if isinstance(result.posterior, NewSamples):
        name, table = "in_sample", result.posterior.in_sample
    elif result.target == parts.IN_SAMPLE and result.method not in TAKEN:
        name, table = parts.POPULATION, NewSamples(result.posterior, result.key)
    else:
        return {}
    dists = {m: table.estimate(result._metric(m)) for m in result.headline if m in result.metrics}
    return {name: {m: dist_row(dist, result.level) for m, dist in dists.items()}}


def _headline(result: Evaluation, rows: Mapping[str, Row], kind: str) -> str:
    if all(row["mean"] is None for row in rows.values()):
        return "Not identified: these labels do not determine how good the classifier is."
    texts, wide, ends = [], [], ("mean",) if result.method in TAKEN else ("mean", "low", "high")
    renamed = {} if result.verified is None else one_judge.NAMES
    few = next((text for text in result.warnings if text.startswith(parts.FEW_GOLD)), "")
    few = few.removeprefix(parts.UNCERTAIN).partition(". ")[0]
    rare = {name for name in rows if of_one_class(name)}
    if result.verified is not None:
        true = dict(zip(("specificity", "recall"), result.verified.sum(axis=1), strict=True))
        rare = {name for name, number in true.items() if number < parts.FEW}
    names = sorted((name for name in result.headline if name in rows), key=_place)
    for name in names:
        row, title = rows[name], renamed.get(name) or parts.metric_title(name)
        signed, values = name in ("kappa", "mcc"), [row[end] for end in ends]  # these go from -1 to 1
        known = bool(texts) or result.method in TAKEN
        kind_of = "" if known else parts.plain_interval(kind)
        value = cell_text(values, ".2f", "undefined") if signed else share_text(values, kind_of)
        texts.append(f"{title} {value}")
        part = 0.5 if signed else 1.0
        low, high = (None if row[end] is None else part * row[end] for end in ("low", "high"))
        wide += [title] * (parts.undetermined(low, high) or bool(few and name in rare))
    why = few
    if not why and result.interval_kind == parts.PREDICTIVE:
        why = parts.SHARED
    first = f"{series(texts)} {parts.ABOUT[result.target]}"
    which = f"intervals of {series(wide)} are" if 1 < len(wide) < len(names) else "intervals are"
    which = f"interval of {wide[0]} is" if len(wide) == 1 else which
    doubt = [f"the {which} wide{f': {why}' if why else ''}"] if wide else []
    random = parts.RANDOM_GOLD in result.warnings
    truth = TAKEN.get(result.method) or parts.taken_as_true(result.num_gold, result.num_calibration, random)
    first = f"{plain(result.graded)}: {first}" if result.graded else f"{first[0].upper()}{first[1:]}"
    return ". ".join((first, *(f"{text[0].upper()}{text[1:]}" for text in (*doubt, truth)))) + "."


def _place(name: str) -> float:
    """Order of a metric in sentences and tables."""
    return _ORDER.index(name) if name in _ORDER else _ORDER.index("kappa") - 0.5


def _metrics(result: Evaluation, rows: Mapping[str, Row], kind: str) -> list[Block]:
    naive, title = result.baselines.get("majority_vote", {}), parts.metric_title
    renamed = {} if result.verified is None else one_judge.NAMES
    of = {c: {n.removesuffix(f"[{c}]"): n for n in rows if n.endswith(f"[{c}]")} for c in result.classes}
    of = {c: names for c, names in of.items() if names and len(result.classes) > 2}
    single = {name for names in of.values() for name in names.values()}
    single |= {name for name in rows if of_one_class(name) and "recall" not in result.headline}
    single |= {"false_alarm_rate"} if renamed else set()
    main = [
        {"metric": name, **row, "majority_vote": naive.get(name)}
        for name, row in rows.items() if name not in single
    ]  # fmt: skip
    exact = result.method in TAKEN
    mean = Column("mean", "mean") if exact else Column("mean", "estimate [interval]", ("low", "high"))
    columns = [mean, Column("sd", "SD", detail=True)]
    columns += [Column("majority_vote", "against the majority vote")] if naive else []
    notes = [f"The widths assume: {result.rests_on}."] if result.rests_on else []
    never = {n: row["probability_defined"] or 0.0 for n, row in rows.items()}
    some = [f"{title(n)} ({1 - p:.2g})" for n, p in never.items() if 0 < p < 1 - 1e-6]
    notes += [f"These metrics may be undefined (probability): {', '.join(some[:10])}."] if some else []
    lost = [f"{title(n)}[{c}]" for c, names in of.items() for n, name in names.items() if never[name] == 0]
    notes += [f"Macro averages leave out classes without a value: {', '.join(lost[:10])}."] if lost else []
    nothing = all(row["mean"] is None for row in rows.values())
    blocks: list[Block] = [
        Table("metrics", "Metrics" if exact else f"Metrics, with {kind}s and standard deviations (SD)",
              "metric", tuple(columns), main, " ".join(notes), "majority_vote",
              missing="not identified" if nothing else "undefined", by_name=True,
              aside=("majority_vote",), say=lambda name: renamed.get(name) or title(name),
              order=sorted(range(len(main)), key=lambda k: _place(main[k]["metric"])))
    ]  # fmt: skip
    if of:
        heads = tuple(dist_column(m, title(m), ".2f") for m in next(iter(of.values())))
        each = [{"class": c, **{m: rows[n] for m, n in names.items()}} for c, names in of.items()]
        blocks.append(Table("by_class", "Metrics of each class", "class", heads, each, missing="undefined",
                            by_name=True))  # fmt: skip
    equal = [abs(row["mean"] - row["majority_vote"]) < _EQUAL for row in main if row["metric"] in
             result.headline and row["mean"] is not None and row["majority_vote"] is not None]  # fmt: skip
    if result.interval_kind == parts.PREDICTIVE and equal and all(equal):
        blocks.append(block.sentence_notes("", "", [AS_VOTE], "look"))
    return [*blocks, facts(metrics={name: rows[name] for name in rows if name in single})]


def _assumptions(result: Evaluation, assumptions: Sequence[Assumption] | None) -> Block:
    if assumptions is None:
        return block.sentence_notes("", parts.BY_ASSUMPTION, [NOT_FITTED], "how")
    rows = [
        {"name": a.name, "sentence": a.sentence, "loo": a.loo,
         "metrics": {name: dist_row(dist, result.level) for name, dist in a.metrics.items()}}
        for a in assumptions
    ]  # fmt: skip
    if len(rows) < 2:
        return facts(assumptions=rows)
    names = [name for name in result.headline if name in result.metrics]
    columns = [Column(("metrics", name, "mean"), parts.metric_title(name)) for name in names]
    notes = ["The labels alone cannot tell which assumption holds."] if result.rests_on else []
    loo = [a.loo for a in assumptions if a.loo is not None]
    if loo:
        columns += [
            Column(("loo", "elpd"), "elpd", form=".0f"),
            Column(("loo", "difference"), "elpd difference", form="+.0f"),
            Column(("loo", "difference_se"), "se of difference", form=".0f"),
        ]
        notes.append("The elpd measures how well a model predicts the labels, not who is right.")
        bad = sum(int(one["num_bad"]) for one in loo)
        notes += [f"{number_of(bad, 'term')} of the elpd cannot be trusted."] if bad else []
    return parts.assumption_table(rows, columns, " ".join(notes))


def _confusion(result: Evaluation) -> Block:
    cells = {name: part.tolist() for name, part in result.cells._asdict().items()}
    mean = result.cells.mean
    if not mean.size or np.isnan(mean).any():
        return facts(confusion_matrix=cells)
    numbered = tuple(map(str, range(mean.shape[1])))
    symbols = result.classes if len(numbered) == len(result.classes) else numbered
    title = "Confusion matrix: expected samples by true class (rows) and predicted class (columns)"
    names = tuple(map(plain, result.classes)), tuple(map(plain, symbols))
    return Matrix("confusion_matrix", title, *names, cells)
