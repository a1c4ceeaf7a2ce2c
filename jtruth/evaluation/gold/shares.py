"""`prevalence`: class shares (pass rates, prevalences) from noisy labels and a little gold.

Three rules, by the strength of their assumptions:

- gold, by default: gold corrects the labels in each stratum of the samples, as for a classifier
  (`jtruth.evaluation.gold.tables`). Valid if labelers copy each other or share mistakes.
- assume="independent": the joint posterior of labelers and classes, with gold clamped. Much narrower, but
  badly wrong if errors are not independent given the class.
- no gold: a predictive posterior (`jtruth.evaluation.assumptions.model_error`). Without a sample with three
  labels the result is "not identified", without numbers.

The share is that of new samples of the same kind, or of these samples (`target`). Coverage and width were
measured in `benchmarks/judges.py`.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from jtruth._host import majority
from jtruth._random import Stated, host_rng, seeded, stream
from jtruth._validation import choose, present
from jtruth._validation.words import Tip, number_of, plain, series
from jtruth.answers import Answer, Column, Document, Table, check_notes, dist_row, facts, how, warning_notes
from jtruth.answers.blocks import share_text
from jtruth.answers.require import Gate, Quantity, named_quantity, require
from jtruth.evaluation import calibrated, parts
from jtruth.evaluation import groups as grouped
from jtruth.evaluation.assumptions import model_error, ranges
from jtruth.evaluation.assumptions.ranges import labels_fit
from jtruth.evaluation.assumptions.registry import ASSUMPTIONS, INDEPENDENT
from jtruth.evaluation.checks.first_look import first_look
from jtruth.evaluation.checks.of_labels import refusal
from jtruth.evaluation.checks.prior_sensitivity import share_doubts
from jtruth.evaluation.gold import tables as by_gold
from jtruth.evaluation.inputs import Inputs, Progress, read_labels_alone
from jtruth.evaluation.over_time import symbols_of, table_of, tables_of
from jtruth.inspection import suspicions
from jtruth.labels import Labels
from jtruth.learning.em.columns import CodedPatterns
from jtruth.learning.em.laplace import laplace_draws
from jtruth.learning.em.streaming import Stream
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.learning.methods import clamp
from jtruth.stats import elsewhere
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.tables.new_samples import class_shares, new_share

POST_STRATIFIED = (
    "verified labels correct the labels, separately for the samples of each vote; labelers may share mistakes"
)
NOT_IDENTIFIED = (
    "Not identified: no sample has three labels and there is no gold, so all error rates fit equally well. "
    "Collect a third label for some samples, or verify 30 random samples."
)
VOUCHED = Tip(
    "Verified labels of 30 random samples would show whether labelers share mistakes, which this answer "
    "rules out (gold=..., --gold FILE; jtruth.asking.ask_next chooses them)."
)
CLAMPED = (
    "Verified labels hardly change this answer, because the labels outweigh them. If labelers may share "
    "mistakes, leave assume out."
)


@dataclass(frozen=True, repr=False)
class Prevalence(Answer):
    """Share of each class; `print` it, `to_dict` for JSON."""

    level: float
    rule: str  # "post-stratification", "joint posterior", "predictive" or "not identified"
    shares: Mapping[str, Estimate]  # by class name, of the target; empty if not identified
    counted: Mapping[str, Estimate]  # of the samples at hand
    label_shares: Mapping[str, float]  # of the labels as given
    num_samples: int
    num_labelers: int
    num_labels: int
    num_gold: int
    assumption: str
    warnings: tuple[str, ...]
    key: Stated
    class_posterior: np.ndarray | None = None  # (samples, classes) given everything
    source: Any = None  # `TableDraws` by gold, or a JointPosterior
    assumptions: Mapping[str, Mapping[str, float]] = field(default_factory=dict)  # by sentence, without gold
    checks: tuple[parts.Check, ...] = ()
    target: str = parts.POPULATION  # or "in-sample"
    groups: grouped.Groups | None = None  # if the group of each sample was given
    rates: tuple[dict[str, Any], ...] = ()  # of judges in each class, by calibration
    num_calibration: int = 0  # verified items of other data
    given: tuple[dict[str, Any], ...] = ()  # labels as given in each group, where no share is identified

    @property
    def in_sample(self) -> "Prevalence":
        """The same result for these samples."""
        if self.target == parts.IN_SAMPLE:
            return self
        groups = self.groups and self.groups._replace(dists=self.groups.in_sample)
        return replace(self, target=parts.IN_SAMPLE, shares=self.counted, groups=groups)

    def require(self, *requirements: str, confidence: float = 0.95) -> Gate:
        """Check "pass >= .8", or with groups "site_a > site_b"; see `jtruth.answers.require`."""
        example = f"{[*self.label_shares][-1]} >= .8"
        return require(self, self._quantity, requirements, confidence, self.num_gold, example)

    def _quantity(self, name: str) -> Quantity:
        if name in self.shares:
            return Quantity(self.shares[name])
        if name in self.label_shares:
            return Quantity(DrawsEstimate(np.array([np.nan])))
        if self.groups is not None:
            return named_quantity(name, self.groups.dists, "group")
        raise ValueError(f"there is no class {name!r}; classes: {parts.listed([*self.label_shares])}")

    def blocks(self) -> Document:
        """Build the document of the result."""
        of = {parts.POPULATION: "among new samples", parts.IN_SAMPLE: "in these samples"}[self.target]
        rows = [
            {"class": name, **dist_row(dist, self.level), "label_share": self.label_shares.get(name)}
            for name, dist in self.shares.items()
        ]
        kind = parts.interval_title(self.level, parts.PREDICTIVE if self.assumptions else "posterior")
        one = self.num_labelers == 1
        columns = (
            Column("mean", "share [interval]", ("low", "high")),
            Column("label_share", "uncorrected" if one else "share of labels"),
        )
        views = [{"sentence": text, "shares": dict(shares)} for text, shares in self.assumptions.items()]
        heads = [Column(("shares", name), plain(name)) for name in self.shares]
        of_groups = () if self.groups is None else self.groups.blocks(self.level)
        if self.given:
            as_given = Column("share", "share of labels"), Column("num_labels", "labels")
            of_groups = (Table("given", "Labels as given, uncorrected", "group", as_given, self.given),)
        blocks = (
            *of_groups,
            Table("shares", f"Share of each class {of}, with {kind}s", "class", columns, rows,
                  cross="label_share", by_name=True, aside=("label_share",)),
            calibrated.rates_table(self.rates, self.level), parts.assumption_table(views, heads),
            check_notes(self.checks), warning_notes(self.warnings),
            how(("method", self.rule), ("assumption", self.assumption)),
            facts(
                target=self.target, estimand=f"share of each class {of}", rule=self.rule,
                in_sample={name: dist_row(dist, self.level) for name, dist in self.counted.items()},
                level=self.level, key=self.key, num_samples=self.num_samples,
                num_labelers=self.num_labelers, num_labels=self.num_labels, num_gold=self.num_gold,
                label_shares=self.label_shares, assumption=self.assumption,
                num_calibration=self.num_calibration,
            ),
        )  # fmt: skip
        gold = f"{number_of(self.num_gold, 'verified label')} (gold)" if self.num_gold else "none verified"
        gold = parts.taken_as_true(0, self.num_calibration) if self.num_calibration else gold
        about = f"{parts.counts_text(self)}, {gold}; key {self.key}"
        if self.groups is not None:
            question = f"Which group has the largest share of class {self.groups.positive!r}?"
            sentence = self.groups.sentence(kind, self.level, self.target, self.num_calibration)
            return Document(question, about, sentence, blocks)
        texts, sentence = [], "Not identified: these labels do not determine the share of any class."
        for row in sorted(rows, key=lambda row: -row["mean"])[:3]:
            share = share_text([row["mean"], row["low"], row["high"]])
            texts.append(f"{share} are {row['class']!r}")
        what = {parts.POPULATION: "Of new samples", parts.IN_SAMPLE: "Of these samples"}[self.target]
        if texts:
            top = max(rows, key=lambda row: row["mean"])
            sentence = f"{what}, {series(texts)} ({parts.plain_interval(kind)}s)."
            if any(parts.undetermined(row["low"], row["high"]) for row in rows):
                sentence += f" The intervals are wide: {parts.SHARED}." if self.assumptions else ""
            if top["label_share"] is not None:
                sentence += f" Of the labels, {100 * top['label_share']:.0f} % say {top['class']!r}."
        return Document("What share of the samples is of each class?", about, sentence, blocks)


@seeded
def prevalence(
    labels: Labels | Stream,
    *,
    key: Any = None,
    gold: Any = None,
    calibration: Any = None,
    assume: str | None = None,
    labelers_are: str | None = None,
    by: Any = None,
    target: str = parts.POPULATION,
    level: float = 0.95,
    progress: Progress | None = None,
) -> Prevalence:
    """Estimate the share of each class, and its share in each group of samples.

    Args:
        labels: noisy labels of these samples; or a stream of them (`jtruth.learning.stream_of_table`), begun
            with `Smoothing` above 0, without gold, calibration, assume and by.
        key: a whole number or a JAX key; 0 if None.
        gold: (samples,) known classes, -1 where unknown; or a Series or dict by task id; a random sample, or
            a `jt.io.Gold` that says how they were chosen.
        calibration: (labels, gold) of other items, or the result of `jtruth.io.read`: error rates come from
            there (`jtruth.evaluation.calibrated`) instead of gold.
        assume: None, for the rule with the weakest assumptions, or "independent".
        labelers_are: "people", "experts", "llm_judges" or None, as for `evaluate`.
        by: (samples,) the group of each sample, such as the system that made it, or `Groups`; then `groups`
            of the result has the share of one class in each group, and their differences.
        target: "population", new samples of the same kind, or "in-sample", these samples.
        level: probability of the printed intervals.
        progress: called with (sweeps done, sweeps planned).

    Raises:
        ValueError: unusable input; a class that looks like a missing value, unless `classes` named it.

    >>> z = np.repeat([[1, 1, 1], [0, 0, 0], [1, 1, 0], [0, 1, 0]], [50, 30, 10, 10], axis=0)
    >>> gold = np.full(100, -1)
    >>> gold[::4] = z[::4, 0]
    >>> found = prevalence(Labels.from_matrix(z, 2), gold=gold, key=0)
    >>> print(found.rule, f"{found.shares['1'].mean:.1f}")
    post-stratification 0.6
    """
    if assume not in (None, "independent"):
        raise ValueError(f"assume must be None or 'independent'; got {assume!r}")
    choose("target", target, parts.TARGETS)
    if isinstance(labels, Stream):
        if not gold is calibration is assume is by is None:
            raise ValueError("a stream has no samples by name: leave gold, calibration, assume and by out")
        return _of_stream(labels, key, labelers_are, target, level)
    if calibration is not None:
        labels, calibration = calibrated.together(labels, calibration, gold=gold, assume=assume)
    how = {"key": key, "level": level, "labelers_are": labelers_are, "progress": progress}
    data = read_labels_alone(labels, gold, assume=assume, **how)
    data.target = target
    labels = data.own_labels()
    odd = {check.name: check.message for check in suspicions(labels)}
    if "abstention" in odd and "classes" in labels.inferred and not {"none", "unknown"} & set(data.classes):
        raise ValueError(f"{odd['abstention']} If it is a class, name all classes: classes=[...].")
    data.notes += tuple(odd[name] for name in ("typing_error", "abstention") if name in odd)
    groups = None if by is None else grouped.read_groups(by, labels)
    if groups is not None and not groups.shared(data.gold):
        data.y_pred, data.symbols = groups.group, groups.symbols
    if calibration is not None:
        return _by_calibration(data, groups, calibration)
    if data.num_gold and data.open:
        return _by_gold(data, groups)
    if not data.num_gold and by_gold.too_few_labels(labels):
        given = () if groups is None else _given(labels, groups)
        return _answer(data, warnings=(*data.notes, NOT_IDENTIFIED), given=given)
    fit = labels_fit(data)
    if data.open:
        return _predicted(data, fit, groups)
    if not fit.usable:
        return _answer(data, warnings=(*data.notes, *fit.warnings), source=fit)
    answer = _answer(
        data, "joint posterior", present(fit.class_counts, "the class counts") / labels.num_samples,
        parts.INDEPENDENT_ERRORS if data.num_gold else f"{parts.INDEPENDENT_ERRORS}; {parts.MORE_RIGHT}",
        (*data.notes, CLAMPED if data.num_gold else VOUCHED, *share_doubts(labels, fit, data.level),
         *fit.warnings),
        class_posterior=fit.class_posterior, source=fit,
    )  # fmt: skip
    if groups is None:
        return answer
    if groups.shared(data.gold):
        symbol, tables = tables_of(labels, groups.code, fit.prior[fit.matrix_draw], fit.matrices)
        here, new = groups.of_evidence(data.gold, symbol, data.key, tables)
        return _with_groups(answer, data, groups, here, {}, *groups.how(data.gold), new=new)
    columns = groups.of_tables(present(fit.counts, "the counts of groups"))
    return _with_groups(answer, data, groups, columns, {}, grouped.SAME_ERRORS)


def _given(labels: Labels, groups: grouped.Groups) -> tuple[dict[str, Any], ...]:
    """Share of the positive class among the labels of each group, uncorrected."""
    votes = np.zeros((len(groups.names), labels.num_classes))
    np.add.at(votes, groups.group, labels.counts())
    number = votes.sum(axis=1).astype(int)
    rows = zip(groups.names, votes[:, groups.code] / np.maximum(number, 1), number, strict=True)
    return tuple({"group": str(g), "share": float(share), "num_labels": int(n)} for g, share, n in rows)


def _answer(
    data: Inputs, rule: str = "not identified", shares: Any = (), assumption: str = "none",
    warnings: tuple[str, ...] = (), size: int | None = None, **fields: Any,
) -> Prevalence:  # fmt: skip
    """Build the `Prevalence`; `shares` are draws (draws, classes), or the distribution of each class."""
    labels, names = data.own_labels(), data.classes
    size = labels.num_samples if size is None else size
    votes = labels.counts().sum(axis=0)
    if isinstance(shares, np.ndarray):
        counted: list[Any] = [DrawsEstimate(np.array(column)) for column in shares.T]
        new = class_shares(np.rint(shares * labels.num_samples))
    else:
        counted = list(shares)
        new = [new_share(dist, size) for dist in counted]
    dists = new if data.target == parts.POPULATION else counted
    return Prevalence(
        level=data.level, rule=rule, shares=dict(zip(names, dists, strict=False)), target=data.target,
        counted=dict(zip(names, counted, strict=False)),
        label_shares=dict(zip(names, (votes / max(votes.sum(), 1)).tolist(), strict=True)),
        num_samples=labels.num_samples, num_labelers=labels.num_labelers, num_labels=labels.num_labels,
        num_gold=data.num_gold, assumption=assumption, warnings=warnings, key=data.stated,
        checks=first_look(labels, data.gold, {}), **fields,
    )  # fmt: skip


def _by_gold(data: Inputs, groups: grouped.Groups | None) -> Prevalence:
    h, doubts = by_gold.unaided_posterior(replace(data.without_gold(), key=stream(data.key, "labels only")))
    tables = by_gold.tables_by_gold(data, h, "shares by gold")
    shares = tables.counts.sum(axis=2) / data.gold.size
    p = h * (shares.mean(axis=0) / h.mean(axis=0))
    p = clamp(p / p.sum(axis=1, keepdims=True), data.gold)
    notes = [text for text in by_gold.gold_warnings(data) if text != by_gold.RANDOM_GOLD]
    few = by_gold.few_of_classes(data, range(len(data.classes)))
    doubts = doubts if data.num_gold < data.gold.size else ()  # else labels are not used
    doubts = (*data.notes, *model_error.of_no_effect(data.labelers_are), *doubts, *notes, *few)
    answer = _answer(data, "post-stratification", shares, POST_STRATIFIED, doubts, class_posterior=p,
                     source=tables)  # fmt: skip
    if groups is None:
        return answer
    if groups.shared(data.gold):
        known, aside = np.where(data.gold < 0, -1, data.gold == groups.code), stream(data.key, "by symbol")
        symbol, both = grouped.tables_by_gold(h[:, groups.code], known, by_gold.how_chosen(data.known), aside)
        here, new = groups.of_evidence(data.gold, symbol, data.key, both)
        return _with_groups(answer, data, groups, here, {}, *groups.how(data.gold), new=new)
    pairs = {}
    if by_gold.equal_chances(data):
        is_class, known = data.gold == groups.code, data.gold >= 0
        pairs = grouped.paired_shares(groups, h[:, groups.code], is_class, known, data.key)
    answer = _with_groups(answer, data, groups, groups.of_tables(tables.counts), pairs, grouped.BY_GOLD)
    return replace(answer, warnings=(grouped.PAIRED, *answer.warnings)) if pairs else answer


def _by_calibration(
    data: Inputs, groups: grouped.Groups | None, calibration: calibrated.Calibration
) -> Prevalence:
    shared = groups is not None and groups.shared(data.gold)
    found = calibrated.by_calibration(data, calibration, hard=elsewhere.verdicts if shared else None)
    answer = _answer(
        data, "calibration", found.of_all / data.y_pred.size, "", (*found.warnings, *data.notes),
        class_posterior=found.class_posterior, rates=found.rates,
    )  # fmt: skip
    answer = replace(answer, **found.basis | {"checks": (*answer.checks, *found.basis["checks"])})
    if groups is None:
        return answer
    if not shared:
        return _with_groups(answer, data, groups, groups.of_tables(found.counts), {}, grouped.SAME_ERRORS)
    others = found.of_all * (np.arange(len(data.classes)) != groups.code) + 1e-9
    both = np.einsum("dc,dcs->ds", others / others.sum(axis=1, keepdims=True), found.verdict_rates)
    rates = np.stack([both, found.verdict_rates[:, groups.code]], axis=1)
    here, new = groups.of_evidence(data.gold, found.verdict, data.key, 1e6 * rates)  # as if of very many
    return _with_groups(answer, data, groups, here, {}, *groups.how(data.gold), new=new)


def _predicted(data: Inputs, fit: JointPosterior, groups: grouped.Groups | None) -> Prevalence:
    labels, kind, key = data.own_labels(), data.labelers_are, stream(data.key, "class shares")
    members, doubts = ranges.base_models(data, key, known={INDEPENDENT: fit}, keep_all=True)
    if all(member.fit is None for member in members):
        return _answer(data, warnings=(*data.notes, *doubts), source=fit)
    missing = (check.message for check in data.missing)
    warnings = (*data.notes, parts.ONLY_GOLD, *missing, *share_doubts(labels, fit, data.level), *doubts)
    refused = refusal(labels, key)
    size = float(labels.num_samples)
    drawn = {m.name: m.posterior.counts.sum(axis=2) / size for m in members}
    shares = model_error.dists_of(drawn, model_error.SHARE, kind, np.full(len(data.classes), size))
    rows = {m.sentence: dict(zip(data.classes, drawn[m.name].mean(0).tolist(), strict=True)) for m in members}
    assumed = f"{model_error.width_assumption(kind)}; {parts.MORE_RIGHT}"
    answer = _answer(
        data, parts.PREDICTIVE, shares, assumed, (*refused, *warnings), source=fit,
        class_posterior=by_gold.labels_posterior([m.fit for m in members], labels),
        assumptions={} if refused else rows,
    )  # fmt: skip
    if groups is None:
        return answer
    sizes, data = np.asarray(groups.sizes, np.float64), replace(data, key=key)
    if not groups.shared(data.gold):
        draws = {m.name: groups.of_tables(m.posterior.counts) for m in members}
        dists = model_error.dists_of(draws, model_error.CLASS, kind, sizes)
        columns, points = grouped.independent_draws(dists, key), [dist.mean for dist in dists]
        notes = grouped.SAME_ERRORS, grouped.WIDE
        return _with_groups(answer, data, groups, columns, {}, *notes, points=points)
    both = {}
    for m in members:
        p = (majority(labels.counts()) if m.fit is None else m.fit.class_posterior)[:, groups.code]
        symbol = symbols_of(p)
        both[m.name] = groups.of_evidence(data.gold, symbol, stream(key, m.name), table_of(p, symbol))
    draws = ({name: pair[k] for name, pair in both.items()} for k in (0, 1))
    dists = (model_error.dists_of(one, model_error.CLASS, kind, sizes) for one in draws)
    here, new = (grouped.independent_draws(one, key) for one in dists)
    return _with_groups(answer, data, groups, here, {}, *groups.how(data.gold), grouped.WIDE, new=new)


_LOOKED_AT = 50_000  # samples of a stream in which is looked for what is odd


def _of_stream(state: Stream, key: Any, labelers_are: str | None, target: str, level: float) -> Prevalence:
    """Predictive result by the Gaussian approximation at the mode of EM and by the majority vote."""
    rows, number = state.patterns, state.patterns.number
    size, sizes = int(number.sum()), (len(state.workers), len(state.classes))
    some = host_rng(key, "some of a stream").choice(number.size, min(size, _LOOKED_AT), p=number / size)
    seen = CodedPatterns(rows.codes(some), rows.length[some], number[some])
    labels = seen.labels(*sizes).with_names(workers=state.workers, classes=state.classes)
    data = read_labels_alone(labels, key=key, level=level, labelers_are=labelers_are)
    data.target, votes, kind = target, rows.labels(*sizes).counts(), data.labelers_are
    answer = _answer(data, warnings=(*state.warnings, NOT_IDENTIFIED))
    if rows.length.max() > 2:
        p = laplace_draws(state, data.key).prior  # of new samples; of these it lies closer to its mean
        mean, spread = p.mean(axis=0), np.maximum(p.var(axis=0), 1e-300)
        here = mean + (p - mean) * np.sqrt(np.maximum(1 - mean * (1 - mean) / (size * spread), 0))
        drawn = {"majority_vote": np.tile(number @ majority(votes) / size, (2, 1)), INDEPENDENT: here}
        entries = [(ASSUMPTIONS[name], draws.mean(axis=0)) for name, draws in drawn.items()]
        views = {entry.of_labelers or entry.sentence: mean for entry, mean in entries}
        refused = refusal(labels, data.key)
        shares = model_error.dists_of(drawn, model_error.SHARE, kind, np.full(sizes[1], float(size)))
        answer = _answer(
            data, parts.PREDICTIVE, shares, f"{model_error.width_assumption(kind)}; {parts.MORE_RIGHT}",
            (*refused, parts.ONLY_GOLD, *state.warnings), source=state, size=size,
            assumptions={} if refused else
            {text: dict(zip(data.classes, mean.tolist(), strict=True)) for text, mean in views.items()},
        )  # fmt: skip
    given = number @ votes
    given_shares = dict(zip(data.classes, (given / given.sum()).tolist(), strict=True))
    return replace(answer, num_samples=size, num_labels=int(given.sum()), label_shares=given_shares)


def _with_groups(
    answer: Prevalence, data: Inputs, groups: grouped.Groups, columns: np.ndarray, pairs: dict[Any, Any],
    *notes: str, points: list[float] | None = None, new: np.ndarray | None = None,
) -> Prevalence:  # fmt: skip
    p = present(answer.class_posterior, "the class posterior")[:, groups.code]
    shares = grouped.group_shares(groups, columns, data, p, pairs, points, new)
    few = () if new is not None else grouped.too_few(groups.names, shares.num_gold, "gold answers")
    return replace(answer, groups=shares, warnings=(*groups.notes, *notes, *few, *answer.warnings))
