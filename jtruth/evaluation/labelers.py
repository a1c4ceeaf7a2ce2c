"""`evaluate_labelers`: accuracy and confusion matrix of every labeler, predictive or corrected by gold.

Without gold an accuracy has a predictive distribution (`assumptions.model_error`), with gold a posterior
(`gold.tables`). Confusion matrices assume independent errors. Rows also say who labels at random, copies
others or changed (`jtruth.learning.behaviour`).

Clear differences come from the distribution of the difference of two labelers, in which shared errors cancel
(`model_error.first_larger`). If the labelers are not people no difference is clear; the result then says
which are if errors are independent, unless a check contradicts that.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np

from jtruth._host import cross_table
from jtruth._random import Stated, seeded, stream
from jtruth._validation import choose, positive_line
from jtruth._validation.words import number_of, plain, series, some
from jtruth.answers import Answer, Check, Column, Document, Table, blocks, facts, how
from jtruth.answers.blocks import Row, dist_column, facts_of, share_text
from jtruth.answers.data import plain_json
from jtruth.evaluation import one_judge, parts
from jtruth.evaluation.agreement import consensus_table
from jtruth.evaluation.assumptions import ranges
from jtruth.evaluation.assumptions.model_error import UNKNOWN_KIND, first_larger, width_assumption
from jtruth.evaluation.assumptions.registry import INDEPENDENT
from jtruth.evaluation.checks.first_look import first_look
from jtruth.evaluation.checks.of_labels import REFUSED, all_refused, missing_check
from jtruth.evaluation.checks.prior_sensitivity import labeler_check
from jtruth.evaluation.checks.verdicts import labeler_checks, refused
from jtruth.evaluation.errors_by_column import ErrsOn
from jtruth.evaluation.gold import tables
from jtruth.evaluation.habits import behaviour_of, repeats_table, swap_findings, with_repeats
from jtruth.evaluation.inputs import Inputs, Progress, read_labels_alone, read_order
from jtruth.inspection import suspicions
from jtruth.labels import Labels
from jtruth.learning import LabelerDraws
from jtruth.learning.joint.guard import check_identified
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.stats.estimates import Estimate
from jtruth.tables.new_samples import new_shares
from jtruth.tables.posterior import TableDraws

SURE = 0.95  # probability from which a difference is clear, and a labeler labels at random
_OFTEN, _MOST_CLASSES, _LISTED, _ENDS = 0.25, 12, 3, 12
_MOST_SAVED, _FEWEST_SAVED = 200_000, 50  # numbers in a file of error rates, and draws
_DRAWS = 4000  # of labelers' accuracies, to compare them


@dataclass(frozen=True, repr=False)
class LabelerReport(Answer):
    """Accuracy of every labeler, worst first; `rows` are dictionaries ready for JSON."""

    level: float
    classes: tuple[str, ...]
    rows: tuple[dict[str, Any], ...]  # worker, num_labels, accuracy, low, high, ...: see to_dict
    prior: tuple[float, ...]
    warnings: tuple[str, ...]
    posterior: JointPosterior | LabelerDraws  # of independent errors, gold clamped
    key: Stated
    checks: tuple[Check, ...] = ()
    assumed: tuple[str, ...] = ()  # assumptions, a sentence each
    suspicious: tuple[Check, ...] = ()  # unusual patterns in the labels, by `inspect_labels`
    target: str = parts.IN_SAMPLE  # what accuracies are meant
    interval_kind: str = parts.PREDICTIVE  # or "posterior" (gold)
    rests_on: str = ""  # assumption of the accuracies
    assumptions: tuple[tuple[str, str], ...] = ()  # name and sentence of those of `by_assumption`
    dists: Mapping[str, Estimate] = field(default_factory=dict)  # by worker; not of --fast
    clear: tuple[tuple[str, str], ...] = ()  # (better, worse) of workers of whom that is clear
    clear_if: str = ""  # what that assumes, beginning with "if"
    advice: tuple[str, ...] = ()
    positive: str = ""  # of two classes, if gold gives the accuracy in each
    positive_chosen: str = ""  # how it was, in words
    errs: ErrsOn | None = None  # what errors go with, by gold and other columns: see `errs_on`

    def blocks(self) -> Document:
        """Build the document of the result."""
        rows, estimand = self.rows, parts.OF_LABELERS[self.target]
        labels = number_of(sum(row["num_labels"] for row in rows), "label")
        about = f"{number_of(len(rows), 'labeler')}, {labels}; classes {parts.listed(self.classes)}"
        prior = parts.listed(self.classes, [f"{p:.3f}" for p in self.prior])
        named = [{"name": name, "sentence": text} for name, text in self.assumptions]
        judged = [row for row in rows if "in_words" in row]
        words = [f"{plain(row['worker'])}: {' '.join(row['in_words'])}" for row in judged]
        columns = one_judge.COLUMNS if judged else ()
        shown_blocks = (
            parts.labeler_table(rows, self.level, estimand, columns), *repeats_table(rows),
            *_of_classes(self), blocks.sentence_notes("", "By verified labels", words, "how"),
            blocks.check_notes(self.checks), blocks.finding_notes(self.suspicious),
            blocks.warning_notes(self.warnings),
            *(() if self.errs is None else self.errs.blocks().blocks),
            blocks.sentence_notes("advice", "What would narrow the intervals", self.advice, "do"),
            how(("assumption of the width", self.rests_on), ("class prior", prior),
                *(("assumption", s) for s in self.assumed)),
            facts_of(self, "level", "key", "target", "interval_kind", "rests_on", "classes", "prior",
                     "assumed", "positive", "positive_chosen"),
            facts(estimand=estimand, assumptions=named),
        )  # fmt: skip
        kind = parts.interval_title(self.level, self.interval_kind)
        sentence = labelers_headline(rows, estimand, kind, self.clear, self.clear_if)
        doubt = parts.loudest(self.checks, bool(self.rests_on))
        lines = (positive_line(self.classes, self.positive, self.positive_chosen),) if judged else ()
        if len(rows) == len(judged) == 1:
            sentence, lines = f"{sentence} {rows[0]['in_words'][0]}", (*lines, *rows[0]["in_words"][1:])
        question = "How good is each labeler?"
        return Document(question, about, sentence, shown_blocks, lines=lines, **doubt)

    def noise_dict(self, workers: Any = None) -> dict[str, Any]:
        """Error rates and prior in the format of `read_noise` (and `--noise`): means, and draws if possible.

        Means used as if they were known make intervals too narrow.

        Args:
            workers: names of the labelers in the order of `posterior`; without them no draws are written.
        """
        if not self.rows:
            raise ValueError("these labels do not determine error rates: there is nothing to save")
        matrices = {row["worker"]: row["confusion_matrix"]["mean"] for row in self.rows}
        rates = {"classes": list(self.classes), "prior": list(self.prior), "confusion_matrices": matrices}
        if workers is None:
            return rates
        return rates | {"draws": _saved_draws(self.posterior, list(map(str, workers)))}

    def consensus(self, labels: Labels) -> tuple[list[str], list[list[Any]]]:
        """Header and rows of a table: the most probable class of each task, and its class probabilities."""
        return consensus_table(labels, self.posterior.class_posterior)


def labeler_rows(
    workers: Sequence[Any],
    num_labels: np.ndarray,
    accuracies: Sequence[tuple[float, float, float]],
    fit: LabelerDraws | JointPosterior,
    level: float,
    by_assumption: Mapping[str, np.ndarray] | None = None,
) -> tuple[dict[str, Any], ...]:
    """A dictionary for each labeler, the worst first; `accuracies` are (mean, low, high)."""
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
    """Mean and equal-tailed ends of draws along their first axis: "mean", "low" and "high"."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2], axis=0)
    return {"mean": draws.mean(axis=0), "low": low.astype(np.float64), "high": high.astype(np.float64)}


def _saved_draws(fit: LabelerDraws | JointPosterior, workers: list[str]) -> dict[str, Any]:
    """Draws of prior and matrices for a file of error rates, thinned to a limited size."""
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


def labelers_headline(
    rows: Any, estimand: str, kind: str, clear: Sequence[tuple[str, str]] = (), clear_if: str = ""
) -> str:
    """The headline; `clear` and `clear_if` as in `LabelerReport`."""
    rows = [row for row in rows if row["low"] is not None]
    if not rows:
        return "Not identified: these labels do not determine how good the labelers are."
    wide = [plain(row["worker"]) for row in rows if parts.undetermined(row["low"], row["high"])]
    numbers = [share_text([row["accuracy"], row["low"], row["high"]]) for row in rows]
    named = [f"{text} ({plain(row['worker'])})" for row, text in zip(rows, numbers, strict=True)]
    ends = named[:1] + named[1:][-1:]
    verb = "ranges from" if len(ends) > 1 else "is"
    sentence = f"Estimated {estimand} {verb} {' to '.join(ends)}, with {parts.plain_interval(kind)}s."
    if wide:
        most = f"{100 * parts.DETERMINED:.0f} points"
        named_wide = series(wide) if len(wide) <= _LISTED else some(wide, _LISTED)
        which = f"The intervals of {named_wide} are wider than {most}"
        which = f"All intervals are wider than {most}" if 1 < len(wide) == len(rows) else which
        which = f"The interval is wider than {most}" if len(rows) == 1 else which
        sentence += f" {which}: {parts.SHARED}."
    random = [r for r in rows if (r.get("spam") or 0.0) >= SURE]
    named = [f"{plain(row['worker'])} labels at random (probability {row['spam']:.2f})." for row in random]
    named = named[:_LISTED] + ([f"So do {len(named) - _LISTED} others."] if len(named) > _LISTED else [])
    return " ".join([sentence, *named, *clear_sentences(clear, clear_if, len(rows))])


def clear_sentences(clear: Sequence[tuple[str, str]], clear_if: str, number: int) -> list[str]:
    """Sentences on the labelers that are clearly worse or better than the most others."""
    if not clear:
        return []

    def compared(place: int, pairs: Sequence[tuple[str, str]], than: str) -> str:
        who = Counter(pair[place] for pair in pairs).most_common(1)[0][0]
        others = [plain(pair[1 - place]) for pair in pairs if pair[place] == who]
        more = len(others) - _LISTED
        shown = others if more < 2 else [*others[:_LISTED], f"{more} others"]
        shown = ["all others"] if 1 < len(others) == number - 1 else shown
        return f"{plain(who)} is {than} than {series(shown)}"

    worst = Counter(pair[1] for pair in clear).most_common(1)[0][0]
    rest = [pair for pair in clear if pair[1] != worst]
    sentences = [compared(1, clear, "worse"), *([compared(0, rest, "better")] if rest else [])]
    text, given = " and ".join(sentences), f"{clear_if}, " * bool(clear_if)
    start = f"{given}the ranking is clearer than the accuracies: " if clear_if else ""
    text = f"{start}{text}, each with a probability of {100 * SURE:g} % or more."
    more = [] if len(clear) == number * (number - 1) // 2 else ["The other differences are not clear."]
    return [f"{text[0].upper()}{text[1:]}" if clear_if else text, *more]


def clear_pairs(
    rows: Sequence[Row], workers: Sequence[Any], better: Callable[[np.ndarray], np.ndarray]
) -> tuple[tuple[str, str], ...]:
    """Pairs (better, worse) of workers with P(better) of .95 or more, of many at both ends of `rows`."""
    place = {str(name): t for t, name in enumerate(workers)}
    known = [row["worker"] for row in rows if row["low"] is not None]
    ends = known if len(known) <= 2 * _ENDS else known[:_ENDS] + known[-_ENDS:]
    pairs = [(one, other) for other, one in combinations(ends, 2)]
    if not pairs:
        return ()
    p = better(np.array([[place[one], place[other]] for one, other in pairs]))
    return tuple(pair for pair, sure in zip(pairs, p, strict=True) if sure >= SURE)


def by_draws(draws: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """P(the first of a pair is more accurate) by joint draws (draws, labelers)."""
    return lambda pairs: (draws[:, pairs[:, 0]] > draws[:, pairs[:, 1]]).mean(axis=0)


def _of_classes(report: LabelerReport) -> list[Table]:
    """Tables of the recall in each class, and of the most frequent confusions."""
    each = range(len(report.classes))
    if not report.rows or len(each) > _MOST_CLASSES:
        return []

    def dist(row: Row, true: int, label: int) -> dict[str, float]:
        return {name: row["confusion_matrix"][name][true][label] for name in ("mean", "low", "high")}

    right = [{"worker": r["worker"], **{str(c): dist(r, c, c) for c in each}} for r in report.rows]
    columns = [dist_column(str(c), f"if {plain(report.classes[c])!r}", ".2f") for c in each]
    title = "Probability of the right label in each class, if errors are independent"
    tables = [Table("", title, "worker", tuple(columns), right)]
    cells = [
        dist(row, a, b)
        | {"what": f"{plain(row['worker'])}: {plain(report.classes[a])} as {plain(report.classes[b])}"}
        for row in report.rows
        for a in each
        for b in each
        if a != b and row["confusion_matrix"]["mean"][a][b] >= _OFTEN
    ]
    cells.sort(key=lambda cell: -float(cell["mean"]))
    heads = (Column("mean", "probability", ("low", "high"), ".2f"),)
    title = "Most frequent confusions: true class as label given"
    return tables + ([Table("", title, "what", heads, cells, say=str)] if cells else [])


@seeded
def evaluate_labelers(
    labels: Labels,
    *,
    key: Any = None,
    gold: Any = None,
    order: Any = None,
    target: str = parts.POPULATION,
    labelers_are: str | None = None,
    level: float = 0.95,
    progress: Progress | None = None,
) -> LabelerReport:
    """Accuracy and confusion matrix of each labeler, without known true classes.

    Args:
        labels: the noisy labels.
        key: a whole number or a JAX key; 0 if None.
        gold: (samples,) known classes, -1 where unknown; or a Series or dict by task id; a random part of all
            samples, or a `jt.io.Gold` that says how they were chosen. They correct the estimates.
        order: (samples,) time of each label, on any scale; adds a check for labelers who change, and to each
            row the probability and time of a change.
        target: "population", the probability that a label for a new sample is right, or "in-sample", the
            share of these labels that are right.
        labelers_are: "people" narrows intervals; "experts", "llm_judges" and None are the same.
        level: probability of the intervals.
        progress: called with (sweeps done, sweeps planned).

    Returns:
        A LabelerReport; print it. Without rows, and with the reason, if the labels determine nothing.
    """
    choose("target", target, tuple(parts.OF_LABELERS))
    data = read_labels_alone(labels, gold, key=key, level=level, labelers_are=labelers_are, progress=progress)
    data.target, when = target, read_order(order, data)
    return report_of(data, when)


def report_of(data: Inputs, when: np.ndarray | None = None) -> LabelerReport:
    """The report on labels that were read; `when` is the time of each label."""
    labels, level, by_gold = data.own_labels(), data.level, data.num_gold > 0
    alone = by_gold and labels.num_labelers == 1  # gold is all there is to grade by
    first = first_look(labels, data.gold, {}, by_gold and data.sampling.at_random)
    fit = ranges.labels_fit(data, ranges.ANSWER_EFFORT)
    doubt, key = check_identified(labels, None, None, False), stream(data.key, "labelers")
    if doubt is not None:
        members, doubts = [], [tables.NO_MODEL.format(doubt) if by_gold else doubt]
        doubts = [] if alone else doubts
    else:
        known = {} if by_gold else {INDEPENDENT: fit}
        members, doubts = ranges.base_models(data.without_gold(), key, known=known, keep_all=True)
    warnings = tuple(dict.fromkeys((*data.notes, *doubts, *(fit.warnings if by_gold and not alone else ()))))
    odd = () if alone else suspicions(labels)
    if not by_gold and all(member.fit is None for member in members):
        none = (*first, *refused(fit.warnings[0]))
        return LabelerReport(level, data.classes, (), (), warnings, fit, data.stated, none, suspicious=odd)
    checks, prior = refused(fit.warnings[0]) if not fit.usable and not alone else (), fit.prior.mean(0)
    if fit.usable and not alone:  # checks of independent errors
        aside = stream(data.key, "labeler checks")
        checks = labeler_checks(labels, prior, fit.mean_matrices, aside, gold=data.gold)
        if not by_gold:
            checks += labeler_check(labels, fit, level)
        checks += data.missing or missing_check(labels, fit.class_posterior)
    posterior = tables.labels_posterior([member.fit for member in members], labels)
    draws = ranges.labeler_draws(members, labels, data.key)
    dists = ranges.labeler_dists(draws, labels, data.labelers_are)
    if by_gold:
        counted = tables.labeler_tables_by_gold(labels, posterior, data.known, data.key)
        without, dists = dists, tables.dists_by_gold(dists, counted)
        warnings += (
            *tables.kind_warnings(data.labelers_are, without, dists),
            *tables.gold_warnings(data),
            *tables.few_of_labelers(labels, data.gold),
            *tables.few_of_classes(data, range(len(data.classes))),
        )
        checks += tables.random_gold_checks(data, posterior)
    dists = ranges.about_labelers(dists, labels, data.target)
    alone = next((member.fit for member in members if member.fit is not None), fit)
    means = {name: np.ma.masked_invalid(one).mean(axis=0).filled(np.nan) for name, one in draws.items()}
    rows = labeler_rows(labels.worker_names, labels.labels_per_labeler(), parts.means_and_ends(dists, level),
                        alone, level, means)  # fmt: skip
    rows = with_repeats(rows, labels, level)
    if by_gold and labels.num_classes == 2:
        rows = _against_gold(rows, counted, data)
    sentences = tuple((member.name, member.sentence) for member in members)
    clear, clear_if = _clear(data, rows, draws, dists, fit, checks)
    if not by_gold and all_refused(checks):  # then estimates under each assumption are meaningless
        rows, sentences = tuple(row | {"by_assumption": {}} for row in rows), ()
        warnings = (REFUSED, *warnings)
    if fit.usable:
        habits, likely, changed = behaviour_of(labels, prior, fit.mean_matrices, data, when)
        checks += changed
        rows = tuple({**row, **habits[str(row["worker"])]} for row in rows)
        odd = (*swap_findings(rows, data.classes), *likely, *odd)
    return LabelerReport(
        level=level, classes=data.classes, rows=rows, prior=tuple(prior.tolist()),
        warnings=warnings if by_gold else (*warnings, parts.ONLY_GOLD), posterior=fit, key=data.stated,
        checks=(*first, *checks), assumed=() if by_gold else (parts.MORE_RIGHT,), suspicious=odd,
        target=data.target, interval_kind="posterior" if by_gold else parts.PREDICTIVE,
        rests_on=tables.BY_GOLD if by_gold else width_assumption(data.labelers_are), assumptions=sentences,
        clear=clear, clear_if=clear_if,
        dists={str(name): dist for name, dist in zip(labels.worker_names, dists, strict=True)},
        advice=tables.advice(data, None) if by_gold else (),
        positive=data.classes[data.positive] if by_gold else "",
        positive_chosen=data.chosen if by_gold else "",
    )  # fmt: skip


def _against_gold(
    rows: Sequence[dict[str, Any]], counted: Sequence[TableDraws | None], data: Inputs
) -> tuple[dict[str, Any], ...]:
    labels, known, found = data.own_labels(), data.gold, {}
    sample, labeler, label = labels.entries()
    for t, table in ((t, table) for t, table in enumerate(counted) if table is not None):
        own, seen = labeler == t, (labeler == t) & (known[sample] >= 0)
        verified = cross_table(known[sample[seen]], label[seen], (2, 2)).astype(np.int64)
        called = float((label[own] == data.positive).mean())
        found[str(labels.worker_names[t])] = one_judge.judge_row(
            data.about(table), verified, called, data.classes, data.positive, data.level)  # fmt: skip
    return tuple(row | found.get(row["worker"], {}) for row in rows)


def _clear(
    data: Inputs, rows: Sequence[Row], draws: Mapping[str, np.ndarray], dists: Sequence[Estimate],
    fit: JointPosterior, checks: Sequence[Check],
) -> tuple[tuple[tuple[str, str], ...], str]:  # fmt: skip
    labels, refuted = data.own_labels(), any(check.verdict == "does not fit" for check in checks)
    names, kind = labels.worker_names, data.labelers_are
    if data.num_gold:
        keys = (stream(data.key, "labelers by gold", t) for t in range(len(dists)))
        apart = [dist.sample(key, _DRAWS) for dist, key in zip(dists, keys, strict=True)]
        return clear_pairs(rows, names, by_draws(np.stack(apart, axis=1))), ""
    sizes = np.maximum(labels.labels_per_labeler(), 1).astype(np.float64)
    if data.target == parts.POPULATION:
        draws = {name: new_shares(one, sizes, data.key) for name, one in draws.items()}
    clear = clear_pairs(rows, names, lambda pairs: first_larger(draws, pairs, kind, sizes))
    if clear or kind != UNKNOWN_KIND or refuted or not fit.usable or INDEPENDENT not in draws:
        return clear, ""
    return clear_pairs(rows, names, by_draws(draws[INDEPENDENT])), "if errors are independent"
