"""How good is every labeler? Accuracy and confusion matrix, predictive or by gold.

`evaluate_labelers`: without gold a labeler gets what a classifier gets, a predictive law
(`jtruth.evaluation.assumptions.model_error`); with gold labelers are judged by it
(`jtruth.evaluation.gold.tables`). Confusion matrices are those of independent errors.

`quick_labelers`: the same with independence read by weighed draws of the normal law around its mode, where
labels are few enough for them; else by EM, with the normal law around its mode. Millions of labels take
seconds, and so does a stream (`jtruth.learning.update`). `labelers_by_model`: an annotation model by NUTS.
EM and NUTS come without the checks against independent errors, and say so.

An interval wider than one half is not in the sentence. Who answers by habit, copies or changed
(`jtruth.learning.behaviour`) stands in the rows, and what is more probable than not becomes a sentence.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from jtruth._random import Stated, as_key, stated, stream
from jtruth._validation import choose
from jtruth._validation.words import Read, number_of, plain
from jtruth.answers import Answer, Check, Column, Document, Table, blocks, facts, how
from jtruth.answers.blocks import Row, cell_text, facts_of, law_column
from jtruth.answers.data import plain_json
from jtruth.evaluation import parts
from jtruth.evaluation.agreement import consensus_table
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.model_error import OVERALL, check_kind, laws_of, rests_on
from jtruth.evaluation.assumptions.registry import INDEPENDENT
from jtruth.evaluation.checks.first_look import first_look
from jtruth.evaluation.checks.of_labels import REFUSED, all_refused, drift_findings, missing_check
from jtruth.evaluation.checks.prior_sensitivity import labeler_check
from jtruth.evaluation.checks.verdicts import labeler_checks, refused
from jtruth.evaluation.gold import tables
from jtruth.evaluation.inputs import Inputs, Progress, as_labels, read_labels_alone, read_order
from jtruth.inspection import suspicions
from jtruth.labels import Labels
from jtruth.latent.infer.normal import MOST_TOGETHER
from jtruth.learning import LabelerDraws
from jtruth.learning.behaviour import Behaviour, labeler_behaviour
from jtruth.learning.em.columns import expected_counts, posterior_of
from jtruth.learning.em.laplace import laplace_draws
from jtruth.learning.em.streaming import Smoothing, Stream, begin_stream
from jtruth.learning.joint.guard import check_identified
from jtruth.learning.joint.inputs import prior_decides
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import check_level

NAMED = 0.5  # probability above which a labeler is named
_OFTEN, _MOST_CLASSES, _LISTED = 0.25, 12, 3
_MOST_SAVED, _FEWEST_SAVED = 200_000, 50  # numbers in a file of error rates, and draws


@dataclass(frozen=True, repr=False)
class LabelerReport(Answer):
    """Every labeler, worst first; `rows` are dictionaries ready for JSON."""

    level: float
    classes: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]  # worker, num_labels, accuracy, low, high, ...: see to_dict
    prior: tuple[float, ...]
    warnings: tuple[str, ...]
    posterior: JointPosterior | LabelerDraws  # of independent errors, gold clamped
    key: Stated
    checks: tuple[Check, ...] = ()
    assumed: tuple[str, ...] = ()  # what the numbers rest on, a sentence each
    suspicious: tuple[Check, ...] = ()  # what is odd in the labels, as `inspect_labels` finds it
    target: str = parts.IN_SAMPLE  # what accuracies are meant
    interval_kind: str = parts.PREDICTIVE  # or "posterior" (gold)
    rests_on: str = ""  # what the accuracies take for granted
    assumptions: tuple[tuple[str, str], ...] = ()  # name and sentence of those of `by_assumption`
    laws: Mapping[str, DrawsEstimate] = field(default_factory=dict)  # by worker; not of --fast

    def blocks(self) -> Document:
        """The question, the answer and what stands behind it, for all faces."""
        rows, estimand = self.rows, parts.OF_LABELERS[self.target]
        labels = number_of(sum(row["num_labels"] for row in rows), "label")
        about = f"{number_of(len(rows), 'labeler')}, {labels}; classes {parts.listed(self.classes)}"
        prior = parts.listed(self.classes, [f"{p:.3f}" for p in self.prior])
        named = [{"name": name, "sentence": text} for name, text in self.assumptions]
        shown_blocks = (
            parts.labeler_table(rows, self.level, estimand), *_of_classes(self),
            blocks.check_notes(self.checks), blocks.finding_notes(self.suspicious),
            blocks.warning_notes(self.warnings),
            how(("rests on", self.rests_on), ("class prior", prior), *(("assumed", s) for s in self.assumed)),
            facts_of(self, "level", "key", "target", "interval_kind", "rests_on", "classes", "prior",
                     "assumed"),
            facts(estimand=estimand, assumptions=named),
        )  # fmt: skip
        sentence = labelers_headline(rows, estimand, parts.interval_title(self.level, self.interval_kind))
        alarms, doubt = parts.first_lines(self.checks, self.warnings), parts.loudest(self.checks)
        return Document("How good is every labeler?", about, sentence, shown_blocks, alarms, doubt)

    def noise_dict(self, workers: Any = None) -> dict[str, Any]:
        """Error rates and prior as `read_noise` (and `--noise`) takes them: means, and draws beside them.

        Whoever takes the means for known forgets how well they are known: intervals become narrower.

        Args:
            workers: names of the labelers in the order of `posterior`; left out, no draws are written.
        """
        if not self.rows:
            raise ValueError("these labels do not determine error rates: there is nothing to save")
        matrices = {row["worker"]: row["confusion_matrix"]["mean"] for row in self.rows}
        rates = {"classes": list(self.classes), "prior": list(self.prior), "confusion_matrices": matrices}
        if workers is None:
            return rates
        return rates | {"draws": _saved_draws(self.posterior, list(map(str, workers)))}

    def consensus(self, labels: Labels) -> tuple[list[str], list[list[Any]]]:
        """Header and rows of a table: each task's most probable class and its class probabilities."""
        return consensus_table(labels, self.posterior.class_posterior)


def labeler_rows(
    workers: Sequence[Any],
    num_labels: np.ndarray,
    accuracies: Sequence[tuple[float, float, float]],
    fit: LabelerDraws | JointPosterior,
    level: float,
    by_assumption: Mapping[str, np.ndarray] | None = None,
) -> tuple[dict[str, Any], ...]:
    """A dictionary for each labeler, the worst first, who gave no labels last.

    `accuracies` are means and ends of intervals, confusion matrices those of `fit`; `by_assumption` mean
    accuracies under each, (labelers,); None: the fit is all there is.
    """
    matrices = ends_of(fit.matrices, level) | {"mean": fit.mean_matrices}
    if by_assumption is None:
        by_assumption = {"independent": np.array([mean for mean, _, _ in accuracies])}
    more = [
        {
            "by_assumption": {name: plain_json(values[t]) for name, values in by_assumption.items()},
            "confusion_matrix": {name: part[t].tolist() for name, part in matrices.items()},
        }
        for t in range(len(workers))
    ]
    return parts.worst_first(workers, num_labels, accuracies, more)


def ends_of(draws: np.ndarray, level: float) -> dict[str, np.ndarray]:
    """Mean and equal tails of draws along their first axis: "mean", "low" and "high"."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {"mean": draws.mean(axis=0), "low": low.astype(np.float64), "high": high.astype(np.float64)}


def _saved_draws(fit: LabelerDraws | JointPosterior, workers: list[str]) -> dict[str, Any]:
    """Draws of prior and matrices for a file of error rates; thinned to what a file can hold."""
    of_matrix = fit.matrix_draw if isinstance(fit, JointPosterior) else np.arange(len(fit.matrices))
    size, classes = fit.matrices.shape[1:3]
    most = max(_FEWEST_SAVED, _MOST_SAVED // (size * classes**2))
    at = np.unique(np.linspace(0, len(of_matrix) - 1, min(most, len(of_matrix))).astype(int))
    matrices = fit.matrices[at].astype(np.float64)
    matrices /= matrices.sum(axis=3, keepdims=True)
    return {
        "prior": fit.prior[of_matrix[at]].tolist(),
        "confusion_matrices": {name: matrices[:, t].tolist() for t, name in enumerate(workers)},
    }


def labelers_headline(rows: Any, estimand: str, kind: str) -> str:
    """One sentence with the answer, or why there is none."""
    rows = [row for row in rows if row["low"] is not None]
    if not rows:
        return "No answer: these labels do not determine how good the labelers are."
    sure = [row for row in rows if not parts.undetermined(row["low"], row["high"])]
    numbers = [cell_text([row["accuracy"], row["low"], row["high"]], ".2f") for row in sure]
    named = [f"{text} ({plain(row['worker'])})" for row, text in zip(sure, numbers, strict=True)]
    ends = named[:1] + named[1:][-1:]
    texts = [f"from {ends[0]} to {ends[-1]}"] if len(sure) > 1 else ends
    texts += [f"not determined for {len(rows) - len(sure)}"] if len(sure) < len(rows) else []
    sentence = f"{number_of(len(rows), 'labeler')}: {estimand}, {', '.join(texts)} ({kind}s)."
    return " ".join([sentence, *_not_apart(rows)])


def _not_apart(rows: list[Row]) -> list[str]:
    pairs = [(a, b) for a, b in pairwise(rows) if a["high"] >= b["low"]]
    if not pairs:
        return []
    if len(pairs) == len(rows) - 1:
        extreme = rows[0]["high"] >= rows[-1]["low"]
        which = "even the worst and the best" if extreme and len(rows) > 2 else "neighbours in this order"
        return [f"Intervals overlap: {which} are not told apart."]
    named = ", ".join(f"{plain(a['worker'])} and {plain(b['worker'])}" for a, b in pairs[:3])
    more = f" and {len(pairs) - 3} more pairs" if len(pairs) > 3 else ""
    return [f"Not told apart: {named}{more}."]


def _of_classes(report: LabelerReport) -> list[Table]:
    """The chance to give the right label, by class, and the cells beside the diagonal that hold most."""
    each = range(len(report.classes))
    if not report.rows or len(each) > _MOST_CLASSES:
        return []

    def law(row: Row, true: int, label: int) -> dict[str, float]:
        return {name: row["confusion_matrix"][name][true][label] for name in ("mean", "low", "high")}

    right = [{"worker": r["worker"], **{str(c): law(r, c, c) for c in each}} for r in report.rows]
    columns = [law_column(str(c), f"if {plain(report.classes[c])!r}", ".2f") for c in each]
    title = "If errors are independent: the chance to give the right label"
    tables = [Table("", title, "worker", tuple(columns), right)]
    cells = [
        {"worker": row["worker"], "class": report.classes[a], "says": report.classes[b], **law(row, a, b)}
        for row in report.rows
        for a in each
        for b in each
        if a != b and row["confusion_matrix"]["mean"][a][b] >= _OFTEN
    ]
    cells.sort(key=lambda cell: -cell["mean"])
    heads = (Column("class", "if the class is"), Column("says", "says"),
             Column("mean", "how often", ("low", "high"), ".2f"))  # fmt: skip
    return tables + ([Table("", "What labelers say instead", "worker", heads, cells)] if cells else [])


def behaviour_of(
    labels: Labels,
    prior: np.ndarray,
    matrices: np.ndarray,
    data: Inputs,
    order: np.ndarray | None,
    judged: bool = False,
) -> tuple[dict[str, dict[str, Any]], tuple[Check, ...], tuple[Check, ...]]:
    """By worker spam, drift and copies, ready for JSON; what was found; and the check for drift.

    `judged`: the last of `labels` is the classifier.
    """
    order = order if len(matrices) > 2 or data.num_gold else None  # of two nobody knows which changed
    behaviour = labeler_behaviour(labels, prior, matrices, order=order, gold=data.some_gold, key=data.key)
    workers = [str(name) for name in labels.worker_names]
    number = len(behaviour.pairs)
    first = np.full(len(workers), number)  # of the pairs that a labeler is in, the most probable
    np.minimum.at(first, behaviour.pairs.ravel(), np.repeat(np.arange(number), 2))
    rows = {}
    for t, (name, best) in enumerate(zip(workers, first.tolist(), strict=True)):
        drift = copy = None
        if behaviour.drift is not None and not np.isnan(behaviour.drift[t]).all():
            c = int(np.nanargmin(behaviour.drift[t]))  # the class in which the change is clearest
            drift = {"class": labels.class_names[c], "p_value": float(behaviour.drift[t, c])}
            drift |= {
                name: plain_json(getattr(behaviour, name)[t, c]) for name in ("moment", "before", "after")
            }
        if best < number:
            other = workers[int(behaviour.pairs[best].sum() - t)]
            copy = {"of": other, "probability": float(behaviour.duplicate[best])}
        rows[name] = {"spam": plain_json(behaviour.spam[t]), "drift": drift, "duplicate": copy}
    usage = matrices.mean(axis=1)  # what each says most, whatever the class is
    habits = [f"says {labels.class_names[row.argmax()]!r} in {row.max():.0%}" for row in usage]
    who = [*map(repr, workers[:-1]), "the classifier" if judged else repr(workers[-1])]
    found, checks = drift_findings(behaviour, who, list(map(str, labels.class_names)), order)
    return rows, (*_findings(behaviour, workers, habits), *found), checks


def _findings(behaviour: Behaviour, workers: list[str], habits: list[str]) -> list[Check]:
    spam = [f"{workers[t]!r} ({behaviour.spam[t]:.2f}, {habits[t]})" for t in _ranked(behaviour.spam)]
    pairs = [
        f"{workers[a]!r} and {workers[b]!r} ({p:.2f}; {same} of {shared} alike)"
        for (a, b), p, shared, same in zip(*behaviour[-4:], strict=True)
        if p > NAMED
    ]
    sentences = {
        "spam": (spam, "Answers by habit, whatever the class is (spam)", "Leave them out"),
        "duplicates": (pairs, "Labelers who repeat one another", "Keep one of each pair"),
    }
    findings = []
    for name, (who, what, todo) in sentences.items():
        more = f" and {len(who) - _LISTED} more in the JSON" if len(who) > _LISTED else ""
        text = f"{what}, with probability: {'; '.join(who[:_LISTED])}{more}. {todo}."
        findings += [Check(name, message=text)] if who else []
    return findings


def _ranked(probability: np.ndarray) -> np.ndarray:
    order = np.argsort(-np.nan_to_num(probability), kind="stable")
    return order[np.nan_to_num(probability)[order] > NAMED]


def certain_cells(matrix: Mapping[str, Any]) -> list[tuple[int, int]]:
    """Cells (true, said) that are said often, and certainly more often than the right class."""
    mean, low, high = (np.array(matrix[name], float) for name in ("mean", "low", "high"))
    above = (low > np.diagonal(high)[:, None]) & (mean >= _OFTEN)
    return [(int(a), int(b)) for a, b in np.argwhere(above & ~np.eye(len(low), dtype=bool))]


def swap_findings(rows: Sequence[dict[str, Any]], classes: Sequence[str]) -> tuple[Check, ...]:
    """Who says another class instead of the right one, or exchanges two; not who answers by habit."""
    texts = []
    for row in rows:
        cells = certain_cells(row["confusion_matrix"])
        if not cells or (row.get("spam") or 0.0) > NAMED:
            continue
        share = row["confusion_matrix"]["mean"]
        instead = [f"says {classes[b]!r} for {classes[a]!r} in {share[a][b]:.0%}" for a, b in cells]
        swapped = [f"{classes[a]!r} and {classes[b]!r}" for a, b in cells if a < b and (b, a) in cells]
        exchanged = f"exchanges {', '.join(swapped)}: " if swapped else ""
        texts.append(f"{row['worker']!r} {exchanged}{', '.join(instead[:_LISTED])}")
    if not texts:
        return ()
    more = f"; {number_of(len(texts) - _LISTED, 'labeler')} more in the page" if len(texts) > _LISTED else ""
    text = (
        f"Another class instead of the right one: {'; '.join(texts[:_LISTED])}{more}. Ask what they "
        "understood, or correct their labels."
    )
    return (Check("swaps", message=text),)


ONLY_GOLD = (
    "labels alone cannot show whether labelers are wrong together, hence the width: only gold can tell. Find "
    "out the truth of 30 samples chosen at random (gold=...)"
)
GOLD_IS_IN_SAMPLE = (
    "target={!r} has no answer with gold: gold says which of the labels given are right. Leave target out"
)


def evaluate_labelers(
    labels: Labels,
    *,
    key: Any = None,
    gold: Any = None,
    order: Any = None,
    target: str = parts.IN_SAMPLE,
    labelers_are: str | None = None,
    level: float = 0.95,
    progress: Progress | None = None,
) -> LabelerReport:
    """Accuracy and confusion matrix of each labeler when nobody knows the true classes.

    Args:
        labels: the noisy labels.
        key: a whole number or a JAX key; 0 if None.
        gold: (samples,) known classes, -1 where unknown; or a Series or dict by task id; a random part of all
            samples, or a `jt.io.Gold` that says how they were chosen. They correct the answer.
        order: (samples,) when each sample was labelled, on any scale; adds a check for labelers who change,
            and to each row the probability that its labeler did, and when.
        target: "in-sample", the share of the labels given that are right, or "population", the chance that a
            label for a new sample is right (without gold).
        labelers_are: "people", "experts", "llm_judges" or None: how far models of labels may be off.
        level: probability of the intervals.
        progress: called with (sweeps done, sweeps planned).

    Returns:
        A LabelerReport; print it. Without rows when the labels determine nothing, with the reason.
    """
    choose("target", target, tuple(parts.OF_LABELERS))
    data = read_labels_alone(labels, gold, key=key, level=level, labelers_are=labelers_are, progress=progress)
    data.target, when = target, read_order(order, data)
    if data.num_gold and target != parts.IN_SAMPLE:
        raise ValueError(GOLD_IS_IN_SAMPLE.format(target))
    return _report_of(data, when)


def _report_of(data: Inputs, when: np.ndarray | None = None) -> LabelerReport:
    labels, level, by_gold = data.own_labels(), data.level, data.num_gold > 0
    first = first_look(labels, data.gold, {}, by_gold and data.sampling.at_random)
    fit = ranges.labels_fit(data, ranges.ANSWER_EFFORT)
    doubt, key = check_identified(labels, None, None, False), stream(data.key, "labelers")
    if doubt is not None:
        members, doubts = [], [tables.NO_MODEL.format(doubt) if by_gold else doubt]
    else:
        known = {} if by_gold else {INDEPENDENT: fit}
        members, doubts = ranges.readings(data.without_gold(), key, known=known, keep_all=True)
    warnings = tuple(dict.fromkeys((*data.notes, *doubts, *(fit.warnings if by_gold else ()))))
    odd = suspicions(labels)
    if not by_gold and all(member.fit is None for member in members):
        none = (*first, *refused(fit.warnings[0]))
        return LabelerReport(level, data.classes, (), (), warnings, fit, data.stated, none, suspicious=odd)
    checks, prior = refused(fit.warnings[0]) if not fit.usable else (), fit.prior.mean(0)
    if fit.usable:  # what the labels say against independent errors of the labelers
        aside = stream(data.key, "labeler checks")
        checks = labeler_checks(labels, prior, fit.mean_matrices, aside, gold=data.gold)
        if data.target == parts.IN_SAMPLE and not by_gold:
            checks += labeler_check(labels, fit, level)
        checks += data.missing or missing_check(labels, fit.class_posterior)
    posterior = tables.labels_posterior([member.fit for member in members], labels)
    draws = ranges.labeler_draws(members, labels, data.target, data.key)
    laws = ranges.labeler_laws(draws, labels, data.labelers_are)
    if by_gold:
        without, laws = laws, tables.labeler_laws_by_gold(laws, labels, posterior, data.known, data.key)
        warnings += (*tables.kind_warnings(data.labelers_are, without, laws), *tables.gold_warnings(data))
        checks += tables.random_gold_checks(data, posterior)
    alone = next((member.fit for member in members if member.fit is not None), fit)
    means = {name: np.ma.masked_invalid(one).mean(axis=0).filled(np.nan) for name, one in draws.items()}
    rows = labeler_rows(labels.worker_names, labels.labels_per_labeler(), parts.means_and_ends(laws, level),
                        alone, level, means)  # fmt: skip
    readings = tuple((member.name, member.sentence) for member in members)
    if not by_gold and all_refused(checks):  # what each assumption says means nothing then
        rows, readings = tuple(row | {"by_assumption": {}} for row in rows), ()
        warnings = (REFUSED, *warnings)
    if fit.usable:
        habits, likely, changed = behaviour_of(labels, prior, fit.mean_matrices, data, when)
        checks += changed
        rows = tuple({**row, **habits[str(row["worker"])]} for row in rows)
        odd = (*swap_findings(rows, data.classes), *likely, *odd)
    return LabelerReport(
        level=level, classes=data.classes, rows=rows, prior=tuple(prior.tolist()),
        warnings=warnings if by_gold else (*warnings, ONLY_GOLD), posterior=fit, key=data.stated,
        checks=(*first, *checks), assumed=() if by_gold else (parts.MORE_RIGHT,), suspicious=odd,
        target=data.target, interval_kind="posterior" if by_gold else parts.PREDICTIVE,
        rests_on=tables.BY_GOLD if by_gold else rests_on(data.labelers_are), assumptions=readings,
        laws={str(name): law for name, law in zip(labels.worker_names, laws, strict=True)},
    )  # fmt: skip


_CHEAP = 50_000  # labels times classes
QUICK = (
    "the one reading of the labels is {}, not sampled. No check was made whether the labels contradict "
    "independent errors; without --fast they are, and other readings have a say (evaluate_labelers)"
)
BY_MODEL = "{}. No check was made whether the labels contradict independent errors (evaluate_labelers does)"

BY_ONE_MODEL = (
    "labels alone cannot show whether labelers are wrong together: these intervals take errors to be "
    "independent, and held real labelers in 18 to 80 % where samples differ in difficulty. Only gold can "
    "tell: find out the truth of 30 samples chosen at random (gold=...)"
)


_ONE_READING: dict[str, Any] = {
    "assumed": (parts.INDEPENDENT_ERRORS, parts.MORE_RIGHT),
    "assumptions": (("independent", parts.INDEPENDENT_ERRORS),),
}


def the_prior(num_classes: int) -> Smoothing:
    """Pseudo-counts that stand for the prior of `fit_joint` in the basis of the normal law."""
    return Smoothing(2.0, 1.0 / (num_classes - 1), 1.0)


def quick_labelers(labels: Labels | Stream, *, key: Any = None, level: float = 0.95) -> LabelerReport:
    """What `evaluate_labelers` says of each labeler, by the normal law around a mode instead of sampling.

    Where labels are few, and not too few for their labelers, all is as there, but that independence is read
    by weighed draws of that law. Else, and of a stream, EM and the law at its mode are the one reading: the
    share of the labels given that are right, expected at the mode, has the spread of the chance that a new
    label is right, and then the predictive law of `jtruth.evaluation.assumptions.model_error`.

    Args:
        labels: the noisy labels; or a stream of them, begun with `Smoothing` above 0 (`the_prior`).
        key, level: as for `evaluate_labelers`.

    Raises:
        ValueError: no label, or a stream without pseudo-counts.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [400, 300, 60, 50], axis=0)
    >>> report = quick_labelers(Labels.from_matrix(z, 2))
    >>> report.rows[0]["worker"], report.rows[0]["low"] < 0.87 < report.rows[0]["high"]
    ('1', True)
    """
    check_level(level)
    odd, notes = (), ()
    if isinstance(labels, Stream):
        state = labels
    else:
        named = as_labels(labels)
        cheap = named.num_labels * named.num_classes <= _CHEAP
        alone = named.num_labelers * named.num_classes**2 < MOST_TOGETHER and not prior_decides(named)
        if cheap and alone and check_identified(named, None, None, False) is None:
            data = read_labels_alone(named, key=key, level=level)
            data.normal = True
            return _report_of(data)
        odd, notes = suspicions(named), tuple(map(Read, named.notes))
        if named.tasks is None or named.workers is None:
            named = named.with_names(tasks=range(named.num_samples), workers=range(named.num_labelers))
        state = begin_stream(named, smoothing=the_prior(named.num_classes))
    posterior = posterior_of(state.patterns, state.prior, state.matrices)
    draws = laplace_draws(state, as_key(key), posterior)
    counts = expected_counts(state.patterns, posterior, len(state.workers))[0] + state.closed_matrices
    number, kind = counts.sum(axis=(1, 2)), check_kind(None)
    right = np.trace(counts, axis1=1, axis2=2) / np.maximum(number, 1)
    values = np.clip(draws.labeler_accuracy - draws.labeler_accuracy.mean(axis=0) + right, 0, 1)
    laws = laws_of({"independent": values}, OVERALL, kind, np.maximum(number, 1.0))
    rows = labeler_rows(state.workers, np.rint(number), parts.means_and_ends(laws, level), draws, level)
    warnings = (*notes, *draws.warnings, QUICK.format(draws.how), ONLY_GOLD)
    return LabelerReport(
        level, tuple(map(str, state.classes)), rows, tuple(draws.prior.mean(axis=0).tolist()), warnings,
        draws, stated(key), suspicious=odd, rests_on=rests_on(kind), **_ONE_READING,
    )  # fmt: skip


def labelers_by_model(
    labels: Labels, model: str, *, key: Any = None, level: float = 0.95, settings: Any = None
) -> LabelerReport:
    """Accuracy and confusion matrix of each labeler by an annotation model (NUTS).

    Args:
        labels, key, level: as for `evaluate_labelers`.
        model: a name of `jtruth.learning.annotation.bayes.MODELS`, such as "hierarchical_dawid_skene".
        settings: `jtruth.latent.NutsSettings`.

    Raises:
        ValueError: an unknown model, or no label.
    """
    from jtruth.latent import NutsSettings
    from jtruth.learning.annotation.bayes import MODELS, fit_nuts

    check_level(level)
    choose("model", model, tuple(MODELS))
    labels = as_labels(labels)
    fit = fit_nuts(model, labels, key=as_key(key), settings=settings or NutsSettings())
    draws = fit.matrix_draws()
    if fit.usable:
        accuracies = list(zip(*ends_of(draws.labeler_accuracy, level).values(), strict=True))
        rows = labeler_rows(labels.worker_names, labels.labels_per_labeler(), accuracies, draws, level)
        warnings, checks = (*draws.warnings, BY_MODEL.format(draws.how), BY_ONE_MODEL), ()
    else:
        rows, warnings, checks = (), fit.warnings, refused(fit.warnings[0])
    return LabelerReport(
        level, tuple(map(str, labels.class_names)), rows, tuple(draws.prior.mean(axis=0).tolist()),
        (*map(Read, labels.notes), *warnings), draws, stated(key), checks, suspicious=suspicions(labels),
        target=parts.POPULATION, interval_kind="posterior", **_ONE_READING,
    )  # fmt: skip
