"""Draws of the count table of score bins, and curves from them, for given or learned error rates.

Under one assumption: two classes by the walk of `jtruth.testing.binary.chain` over the bins; more by
`count_posterior`, or `fit_joint` with the bins as predictions and rows Dirichlet(2/bins). Calibration on
other items (`calibrated`) gives draws of the error rates, each with its own class shares. Without an
assumption there are twelve bins, so that the prior of a row adds little, half of the mass being that of the
positives by the labels, else few bins hold them (`bin_edges`); each number of a curve is widened like a
metric of the whole table (`assumptions.model_error`). With gold there are draws of the table of bins
(`gold.tables`).
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth import _validation as check
from jtruth._host import log, log_odds
from jtruth._one_line import one_line
from jtruth._random import Key, host_rng, stream
from jtruth.answers.blocks import share_text
from jtruth.answers.data import dist_row
from jtruth.answers.require import Quantity
from jtruth.evaluation import inputs, one_judge, parts
from jtruth.evaluation.assumptions.model_error import OVERALL, PredictiveTable, dist_of
from jtruth.evaluation.assumptions.registry import drawn_rates
from jtruth.evaluation.by_draws import rows_drawn, tables_drawn
from jtruth.evaluation.calibrated import Calibrated
from jtruth.evaluation.checks.prior_sensitivity import doubts_of, table_doubts
from jtruth.evaluation.gold.tables import learned_table
from jtruth.learning.joint.guard import check_identified
from jtruth.learning.joint.inputs import DirichletPriors
from jtruth.learning.joint.posterior import JointPosterior, fit_joint
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate, check_level
from jtruth.tables.curves import Band, Curves, against_rest, curves, whole_roc
from jtruth.tables.new_samples import new_tables
from jtruth.tables.posterior import TableDraws, thinned
from jtruth.testing.binary.chain import symbol_chain, symbol_walk
from jtruth.testing.multiclass import count_posterior

Codes = Int[np.ndarray, " samples"]
Scores = Float[np.ndarray, " samples"]
BINS = 12
DRAWS = 2000
_NOTHING = "scores cannot be graded"  # where error rates cannot be learned
_RARE_SHARE = 0.15  # of a class, below which areas by gold are doubtful
RARE = (
    "One class is rare. Areas estimated by gold are then often too low: on public data, 95 % intervals "
    "covered about half of them. Metrics of predictions are not affected."
)


Number = float | int
AT = ("accuracy", "recall", "specificity", "precision", "false_alarm_rate")  # rates at a threshold


class AtThreshold(NamedTuple):
    """Metrics of predicting positive at or above a threshold."""

    threshold: float  # infinite: nothing is predicted positive; minus infinity: everything
    false_alarm_rate: Estimate
    recall: Estimate
    precision: Estimate
    accuracy: Estimate
    specificity: Estimate
    cost: Estimate | None = None  # mean of a sample
    cheapest: tuple[float, float] | None = None  # the level's middle part of the thresholds that are cheapest

    __repr__ = one_line

    def row(self, level: float) -> dict[str, Any]:
        """Plain values; None for an infinite threshold."""
        where = {np.inf: "nothing", -np.inf: "everything"}.get(self.threshold, f"{self.threshold:g}")
        cells: dict[str, Any] = {"threshold": self.threshold, "from": where}
        for name in (*AT, "cost"):
            dist = getattr(self, name)
            cells[name] = None if dist is None else dist_row(dist, level)
        return cells | {"cheapest": self.cheapest}

    def sentence(self, level: float) -> str:
        """Accuracy, sensitivity and specificity at the threshold, in words."""
        text = ", ".join(
            f"{one_judge.NAMES.get(name, name)} {share_text([dist.mean, *dist.interval(level)[:2]])}"
            for name, dist in ((name, getattr(self, name)) for name in AT[:3])
        )
        cheapest = "" if self.cost is None else f" (mean cost {parts.interval_text(self.cost, level)})"
        where = f"At threshold {self.threshold:g}"
        if np.isinf(self.threshold):
            where = f"With {'no' if self.threshold > 0 else 'every'} sample called positive"
        return f"{where}: {text}{cheapest}."


def checked_cost(cost: tuple[Number, Number]) -> tuple[float, float]:
    """Costs of a false positive and of a false negative; ValueError if they are invalid."""
    costs = np.asarray(cost, np.float64)
    if costs.shape != (2,) or not np.isfinite(costs).all() or (costs < 0).any() or not costs.any():
        raise ValueError(
            f"cost is {cost}; give the costs of a false positive and of a false negative, neither negative "
            "and not both 0"
        )
    return float(costs[0]), float(costs[1])


def quantities(
    areas: Mapping[str, Estimate], share: float, asked: Sequence[AtThreshold]
) -> dict[str, Quantity]:
    """Numbers for requirements, by name; `share` is that of the positives.

    A rate x of a part of the items has a variance of x (1 - x) over the part by one verified item. An area x
    has at most x (1 - x) / n by n items of the rarer class (Birnbaum and Klose 1957).
    """
    named, part = dict(areas), {"auc": min(share, 1 - share), "average_precision": share}
    for one in asked:
        called = share * one.recall.mean + (1 - share) * one.false_alarm_rate.mean
        named |= {name: getattr(one, name) for name in AT}
        part |= {"accuracy": 1.0, "recall": share, "precision": called}
        part |= dict.fromkeys(("specificity", "false_alarm_rate"), 1 - share)
    spread = {name: dist.mean * (1 - dist.mean) / max(part[name], 1e-9) for name, dist in named.items()}
    return {name: Quantity(dist, spread[name]) for name, dist in named.items()}


class PredictiveCurves(NamedTuple):
    """Curves under each base model; one number of the curve has a predictive distribution."""

    by_model: Mapping[str, Curves]  # by the name of the assumption
    labelers_are: str
    num_samples: int

    __repr__ = one_line

    @property
    def num_thresholds(self) -> int:
        """One more than the number of bins."""
        return next(iter(self.by_model.values())).num_thresholds

    def dist(
        self, of: Callable[[Curves], DrawsEstimate], bounds: tuple[Number, Number] = (0, 1)
    ) -> DrawsEstimate:
        """Predictive distribution of a number of the curve; a point if it is the same for all curves."""
        draws, (low, high) = {name: of(one).draws for name, one in self.by_model.items()}, map(float, bounds)
        bins = np.arange(1.0, self.num_thresholds)
        other = of(curves(np.stack([[bins, bins], [bins, bins[::-1] ** 2]])))  # arbitrary tables
        if len(np.unique(np.concatenate([other.draws, *draws.values()]))) == 1:
            return other
        return dist_of(draws, OVERALL, self.labelers_are, float(self.num_samples), (low, high))

    def roc(self, level: float = 0.95, points: int = 51) -> Band:
        """Recall by false-alarm rate, as `Curves.roc`."""
        each, names = range(self.num_thresholds), ("false_alarm", "detection")
        rates = [np.array([self.dist(lambda c, n=n, k=k: c.at(n, k)).mean for k in each]) for n in names]
        x = np.union1d(np.linspace(0, 1, points), rates[0])
        dists = [self.dist(lambda c, v=v: c.detection_by(v)) for v in x]
        return whole_roc(self._band(x, dists, level), *rates)

    def precision_recall(self, level: float = 0.95, points: int = 50) -> Band:
        """Precision by recall, for recalls above 0."""
        x = np.linspace(0, 1, points + 1)[1:]
        return self._band(x, [self.dist(lambda c, v=v: c.precision_by(v)) for v in x], level)

    def _band(self, x: np.ndarray, dists: Sequence[DrawsEstimate], level: float) -> Band:
        """Bands; the wide one has Bonferroni's level for the inner points of the curve, one for each edge."""
        wide = 1 - (1 - check_level(level)) / max(self.num_thresholds - 2, 1)
        low, high = np.array([dist.equal_tails(level) for dist in dists]).T
        low_all, high_all = np.array([dist.equal_tails(wide) for dist in dists]).T
        return Band(x, np.array([dist.mean for dist in dists]), low, high, low_all, high_all, level)


def for_new(whole: Curves | PredictiveCurves, key: Key) -> Curves | PredictiveCurves:
    """Curves of new samples, given those of these samples; see `tables.new_samples`."""
    if isinstance(whole, PredictiveCurves):
        return whole._replace(by_model={name: _new(one, key) for name, one in whole.by_model.items()})
    return _new(whole, key)


def _new(one: Curves, key: Key) -> Curves:
    return curves(new_tables(np.diff(one.above)[:, :, ::-1], key))


def with_bins(data: inputs.Inputs, coded: Codes) -> inputs.Inputs:
    """The same input with bins of a score as predictions."""
    classes = len(data.classes)
    number = max(int(coded.max()) + 1, classes + 1)  # never as many as classes: bins are no classes
    flat = np.full((classes, number), 2.0 / number)
    return replace(data, y_pred=coded, symbols=flat, positive=1)


def learned_curves(data: inputs.Inputs, coded: Codes) -> tuple[Curves | PredictiveCurves, tuple[str, ...]]:
    """Curves by gold or by the base models, and warnings; ValueError if no model can be fitted."""
    table, doubts, _ = learned_table(with_bins(data, coded), "curves by gold", _NOTHING, rising=data.positive)
    if isinstance(table, PredictiveTable):
        tables = {name: thinned([one], DRAWS).counts for name, one in table.by_model.items()}
        by_model = {name: curves(against_rest(counts, data.positive)) for name, counts in tables.items()}
        return PredictiveCurves(by_model, data.labelers_are, coded.size), tuple(doubts)
    whole = curves(against_rest(table.counts[::2], data.positive))
    rare = (RARE,) if min(whole.share.mean, 1 - whole.share.mean) < _RARE_SHARE else ()
    return whole, (*rare, *doubts)


_DRAWS, _WALKS, _RATE_DRAWS, _COARSE = 4000, 2000, 50, 4
_RATES_AT_ONCE = 20_000_000  # numbers in the array of all samples' log-odds by drawn error rates
_FEWEST_RATES, _MOST_RATES, _LEAST = 40, 200, 1e-6  # drawn from a calibration; the least share of a class
_SWEEPS, _APART = 200, 20  # of Gibbs sampling of more than two classes, and between those that are kept
_MOST_BINS = 200
_PURE, _MOVED = 0.1, 1 / 3  # the other prior, Dirichlet(.1) over bins; of the interval's width
PRIOR_DRIVEN = (
    "The area depends on the prior: {:.3f} [{:.3f}, {:.3f}] if neighboring scores are similar, as assumed, "
    "but {:.3f} [{:.3f}, {:.3f}] if bins may be pure. More labels per sample or gold would decide."
)
AGAINST_PRIOR = "The labels contradict the class prior: check {}."
GIVEN = "the given prior", "the given error rates and prior"
Tables = Int[np.ndarray, "draws classes bins"]


def bin_edges(scores: Scores, bins: int, positive: Scores | None = None) -> Float[np.ndarray, " inner_edges"]:
    """Inner edges of at most `bins` (2 to 200) bins of about equal mass; equal scores share a bin.

    With probabilities `positive` half of the mass is that of the positives. Bins of equal numbers would put
    rare positives into one or two, which changes the average precision.
    """
    if not 2 <= bins <= _MOST_BINS:
        raise ValueError(f"bins is {bins}; give 2 to {_MOST_BINS}")
    distinct, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    if distinct.size <= bins:
        return distinct[1:]
    mass = counts / scores.size
    if positive is not None and 0 < positive.sum() < positive.size:
        positives = np.bincount(place, positive)
        total = positives.sum()
        mass = 0.5 * positives / total + 0.5 * (counts - positives) / (scores.size - total)
    before = np.cumsum(mass) - mass + 1e-9
    wanted = np.arange(1, bins) / bins
    return distinct[np.unique(np.clip(np.searchsorted(before, wanted), 1, distinct.size - 1))]


def finite_scores(scores: check.Aligned) -> Scores:
    """The values as finite numbers; ValueError otherwise."""
    try:
        values = np.asarray(scores.values).astype(np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"scores must be numbers: {error}") from None
    bad = np.flatnonzero(~np.isfinite(values))
    if bad.size:
        entry = scores.entries.entry(bad, "score", float(values[bad[0]]))
        raise ValueError(f"{entry} but scores must be finite ({bad.size} such)")
    return values


def score_tables(data: inputs.Inputs, coded: Codes, values: Scores) -> tuple[Tables, tuple[str, ...]]:
    """Draws of tables of bins (`coded`) if errors are independent, and warnings."""
    if len(data.classes) > 2:
        return _many_classes(data, coded)
    return _exact(data, coded) if data.model is not None else _learned(data, coded, values)


def _many_classes(data: inputs.Inputs, coded: Codes) -> tuple[Tables, tuple[str, ...]]:
    if data.model is None:
        _, doubts, posterior = learned_table(with_bins(data, coded), "", _NOTHING)
        driven = [d for one in posterior for d in doubts_of(_area(one.fit, data.positive), one.fit, 0.95)]
        return thinned([one.posterior for one in posterior], _DRAWS).counts, (*doubts, *driven)
    number = max(int(coded.max()) + 1, 2)
    drawn = count_posterior(
        data.model.log_likelihood, data.model.prior, coded, num_symbols=number, alpha=2.0 / number,
        key=stream(data.key, "score tables, many classes"),
    )  # fmt: skip
    doubts = () if drawn.converged else ("The draws of score tables did not converge.",)
    area = curves(against_rest(drawn.counts, data.positive)).auc.draws
    fixed = np.full(drawn.counts.shape[1:], 2.0 / number)
    doubts += table_doubts({"the area": area}, drawn, fixed, 0.95)
    return thinned([drawn], _DRAWS).counts, doubts


def _exact(data: inputs.Inputs, coded: Codes) -> tuple[Tables, tuple[str, ...]]:
    model, number = check.present(data.model, "the noise model"), max(int(coded.max()) + 1, 2)
    key, odds = data.key, log_odds(model.log_likelihood, model.prior)
    walks = symbol_walk(odds, coded, number, float(model.prior[1]), stream(key, "score tables"), _WALKS)
    pure = symbol_chain(odds, coded, number, _PURE).tables(stream(key, "another prior"), _WALKS // 2)
    return _walked(walks, pure.counts, data.positive, GIVEN[1])


def _walked(
    walks: tuple[TableDraws, np.ndarray, float],
    others: Int[np.ndarray, "others classes bins"],
    positive: int,
    given: str = "",
) -> tuple[Tables, tuple[str, ...]]:
    """Tables of `symbol_walk`, and warnings that the prior of classes (`given`) or bins matters."""
    tables, against = walks[0].counts, (AGAINST_PRIOR.format(given),) if walks[2] != 1 and given else ()
    return tables, (*against, *prior_driven(tables, others, positive))


def prior_driven(
    tables: Tables, others: Int[np.ndarray, "others classes bins"], positive: int
) -> tuple[str, ...]:
    """A warning if another prior of the bins changes the area.

    With few labels a sample, the labels do not show how far wrongly ranked samples are off: a prior of
    similar neighbors spreads them, one of pure bins moves them together.
    """
    dists = [curves(against_rest(some, positive)).auc for some in (tables, others)]
    (low, high), (a, b) = (dist.interval(0.95) for dist in dists)
    if not abs(dists[1].mean - dists[0].mean) > _MOVED * (high - low):
        return ()
    return (PRIOR_DRIVEN.format(dists[0].mean, low, high, dists[1].mean, a, b),)


def _learned(data: inputs.Inputs, coded: Codes, values: Scores) -> tuple[Tables, tuple[str, ...]]:
    """Draws given draws of error rates and prior, and warnings about those."""
    key, coarse = data.key, bin_edges(values, _COARSE)
    rough, symbols = np.searchsorted(coarse, values, side="right"), max(coarse.size + 1, 2)
    fit = rates_with(rough, symbols, data, stream(key, "score rates"))
    odds, prior = odds_given_rates(fit, data, _RATE_DRAWS)
    given = "" if data.prior is None else GIVEN[0]
    tables, doubts = _given_rates(odds, prior, coded, data, given)
    return tables, (*fit.warnings, *doubts, *doubts_of(_area(fit, data.positive), fit, 0.95))


def _given_rates(
    odds: np.ndarray, prior: np.ndarray, coded: np.ndarray, data: inputs.Inputs, given: str = ""
) -> tuple[Tables, tuple[str, ...]]:
    """Tables of two classes by draws of error rates and prior, `_WALKS` in all, and warnings."""
    number, key, each = max(int(coded.max()) + 1, 2), data.key, _WALKS // len(odds)
    walks = symbol_walk(odds, coded, number, prior, stream(key, "tables given rates"), each * len(odds))
    pure = []
    for k in range(0, len(odds), 5):
        draw = stream(key, "another prior given rates", k)
        pure.append(symbol_chain(odds[k], coded, number, _PURE).tables(draw, each).counts)
    return _walked(walks, np.concatenate(pure), data.positive, given)


def calibrated_tables(data: inputs.Inputs, coded: Codes, found: Calibrated) -> tuple[Tables, tuple[str, ...]]:
    """Draws of tables of bins by error rates of other items (evenly by their accuracy), and warnings."""
    classes, order = len(data.classes), np.argsort(np.trace(found.verdict_rates, axis1=1, axis2=2))
    few = int(np.clip(_RATES_AT_ONCE // coded.size, _FEWEST_RATES, _MOST_RATES))
    some = order[((np.arange(few) + 0.5) * len(order) / few).astype(int)]
    rates, shares = np.maximum(found.verdict_rates[some], 1e-12), np.clip(found.new[some], _LEAST, 1 - _LEAST)
    if classes == 2:
        odds = log(rates[:, 1]) - log(rates[:, 0]) + log(shares[:, 1:]) - log(shares[:, :1])
        return _given_rates(odds[:, found.verdict], shares[:, 1], coded, data)
    rng, number = host_rng(data.key, "tables by calibration"), max(int(coded.max()) + 1, 2)
    cell, times = np.unique(found.verdict * number + coded, return_counts=True)
    verdict, of_bin = np.divmod(cell, number)
    given, one_hot = np.moveaxis(shares[:, :, None] * rates[:, :, verdict], 1, 2), np.eye(number)[of_bin]
    table, kept = np.zeros((few, classes, number)), []
    for sweep in range(_SWEEPS):  # each draw of the error rates is a chain
        k = rows_drawn(table + 2.0 / number, rng)
        table = tables_drawn(given * np.moveaxis(k[:, :, of_bin], 1, 2), times, one_hot, rng)
        if 2 * sweep >= _SWEEPS and sweep % _APART == 0:
            kept.append(table)
    return np.concatenate(kept).astype(np.int64), ()


def rates_with(rough: Codes, num_symbols: int | None, data: inputs.Inputs, key: Key) -> JointPosterior:
    """Fit independent errors with these symbols (None: classes) as predictions; ValueError if that fails."""
    labels = data.own_labels()
    doubt = check_identified(labels, rough, data.some_gold, informed=False)
    if doubt is not None:
        raise ValueError(doubt)
    fit = fit_joint(labels, y_pred=rough, gold=data.some_gold, prior=data.prior, key=key,
                    priors=DirichletPriors(num_symbols=num_symbols))  # fmt: skip
    if not fit.usable:
        raise ValueError(fit.warnings[0])
    return fit


def _area(fit: JointPosterior | None, positive: int) -> dict[str, np.ndarray]:
    """Draws of the area by the bins in the fit, one for each draw of its prior."""
    if fit is None or fit.counts is None:
        return {}
    tables = against_rest(fit.counts[fit.matrix_draw], positive)
    return {"the area (of coarse bins)": curves(tables).auc.draws}


def odds_given_rates(
    fit: JointPosterior, data: inputs.Inputs, number: int
) -> tuple[Float[np.ndarray, "rates samples"], Float[np.ndarray, " rates"]]:
    """Log-odds of all samples, and class priors, for at most `number` draws of the error rates."""
    few = min(number, max(_RATES_AT_ONCE // data.y_pred.size, 8), len(fit.matrices))
    drawn = ((log_odds(log_p, prior), prior[1]) for _, log_p, prior in drawn_rates(fit, data, few))
    odds, shares = map(np.array, zip(*drawn, strict=True))
    return odds, shares
