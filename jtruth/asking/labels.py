"""Choose labels to collect next, for a metric or for the classes.

**For a metric** (`next_labels`). The expected reduction of the posterior variance is computed for every
sample and labeler: with two classes, known rates and few distinct samples exactly, else from draws of the
unknown rates (ratios linearised). With m[i, c] = E[M | data, y_i = c], the expected reduction by an answer k
of labeler t is the variance of E[M | data, k] over the answers; with unknown rates, averaged over their draws
d,

    P[k] = mean_d sum_c p_d[i, c] psi_d[t, c, k]
    E[M | k] = mean_d sum_c p_d[i, c] psi_d[t, c, k] m_d[i, c] / P[k].

Reductions add up only approximately, so ask for some, then compute again. This is no random choice of
samples: it is valid for labels of labelers, whose errors are modelled, but not for gold of PPI++
(`ask_next`).

**For the classes** (`expected_gain_of_labels`). Given the class posterior rho_i of sample i, the answer of
labeler t reduces the entropy on average by I(Z_t; Y | z_i), the information of the channel psi_t with prior
rho_i.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int
from scipy.special import softmax

from jtruth._arrays import AnyArray, safe_log
from jtruth._host import evenly, known_classes, labels_log_likelihood, log, log_odds, majority
from jtruth._random import as_key, seeded
from jtruth._validation import choose, collapse_rows, positive_of
from jtruth._validation.in_range import check_codes, check_positive
from jtruth.answers import Answer, Column, Document, Queue, facts, warning_notes
from jtruth.information.dist import label_distribution
from jtruth.labels import Labels, must_be_labels
from jtruth.learning.joint.posterior import fit_joint
from jtruth.noise import ConfusionMatrices, NoiseModel
from jtruth.noise.base import Strata, current, sum_over_labels
from jtruth.posterior import check_not_contradictory, class_posterior, validate_prior
from jtruth.tables.metrics import Metric, expected_table, named_metric
from jtruth.testing.binary.exact import confusion_nodes, count_table
from jtruth.testing.binary.operating_point import collapse
from jtruth.testing.multiclass import count_posterior

# p(y_i = c | data, draw) and E[M | data, draw, y_i = c] of distinct samples, both (draws, rows, classes); and
# the variance of the metric now.
Values = tuple[np.ndarray, np.ndarray, float]


def reductions(
    probability: Float[np.ndarray, "draws rows classes"], metric: Float[np.ndarray, "draws rows classes"],
    matrices: Float[np.ndarray, "draws labelers classes classes"],
) -> Float[np.ndarray, "rows labelers"]:  # fmt: skip
    """Expected reduction of the variance of the metric for every row and labeler."""
    draws = len(probability)
    weighted = probability * (metric - (probability * metric).sum(2).mean())  # centred: nothing cancels
    drop = np.zeros((probability.shape[1], matrices.shape[1]))
    for t in range(drop.shape[1]):
        rows = matrices[:, t]  # (draws, classes, answers)
        chance = np.einsum("dic,dck->ik", probability, rows, optimize=True) / draws
        moment = np.einsum("dic,dck->ik", weighted, rows, optimize=True) / draws
        by_answer = moment**2 / np.where(chance > 0, chance, 1)
        drop[:, t] = by_answer.sum(axis=1) - moment.sum(axis=1) ** 2
    return np.maximum(drop, 0.0)


def exact_values(
    log_odds: Float[np.ndarray, " samples"],
    y_pred: np.ndarray,
    metric: Metric,
    first: Int[np.ndarray, " rows"],
) -> Values:
    """Two classes, known rates: by exact tables in which one sample (`first` of its row) is certain."""
    now = count_table(collapse(log_odds, y_pred)).estimate(metric)
    log_p, mean = np.empty((2, len(first), 2))
    for r, i in enumerate(first):
        for c, sign in enumerate((-1.0, 1.0)):
            if log_odds[i] == -sign * np.inf:
                log_p[r, c], mean[r, c] = -np.inf, 0.0
                continue
            moved = log_odds.copy()
            moved[i] = sign * np.inf
            table = count_table(collapse(moved, y_pred))
            dist = table.estimate(metric)
            defined = float(log(np.array(dist.probability_defined)))
            log_p[r, c] = table.log_evidence - np.logaddexp(0.0, -sign * log_odds[i]) + defined
            mean[r, c] = dist.mean if dist.probability_defined > 0 else 0.0
    return softmax(log_p, axis=1)[None], mean[None], now.sd**2


def drawn_values(
    log_likelihood: Float[np.ndarray, "draws rows classes"],
    prior: Float[np.ndarray, "draws classes"],
    confusion: Float[np.ndarray, "draws classes symbols"],
    y_pred: Int[np.ndarray, " rows"],
    size: Int[np.ndarray, " rows"],
    metric: Metric,
    target: str,
) -> Values:
    """Any number of classes: by draws, linearised at the expected table; `size` samples are in each row."""
    p = softmax(log_likelihood + log(prior)[:, None] + log(np.swapaxes(confusion, 1, 2))[:, y_pred], axis=2)
    if target == "population":
        table = prior[:, :, None] * confusion
        values = np.asarray(metric.of_table(table))
        return p, np.broadcast_to(values[:, None, None], p.shape), float(values.var())
    parts = metric.terms(None)[:, :, y_pred].swapaxes(1, 2)  # (2, rows, classes)
    above, below = (((p * part).sum(2) * size).sum(1) for part in parts)
    centre = above / below
    influence = (parts[0] - centre[:, None, None] * parts[1]) / below[:, None, None]
    influence = influence - (p * influence).sum(2, keepdims=True)
    within = ((p * influence**2).sum(2) * size).sum(1)
    return p, centre[:, None, None] + influence, float(centre.var() + within.mean())


IF_INDEPENDENT = "If the classifier and all labelers err independently"
_MOST_TABLES = 150  # distinct samples up to which every table is computed exactly
_DRAWS = 400  # of unknown rates, where there is no exact way
_FEWEST_DRAWS, _MOST_CELLS = 50, 4_000_000  # draws times distinct samples in memory
_TARGETS = ("in-sample", "population")


class Aim(NamedTuple):
    """The metric of `next_labels`."""

    metric: str = "accuracy"  # any of `jtruth.tables.metrics`
    positive: int | None = None  # code of the positive class; chosen as by `evaluate` if None
    target: str = "in-sample"  # the metric on these samples; or "population"


_ACCURACY = Aim()


@dataclass(frozen=True, repr=False)
class LabelRequest(Answer):
    """Labels to ask for, the most useful for their cost first; a labeler of -1 is a gold answer."""

    samples: Int[np.ndarray, " asked"]
    labelers: Int[np.ndarray, " asked"]
    drop: Float[np.ndarray, " asked"]  # of the variance of the metric, expected of this answer alone
    reductions: Float[np.ndarray, "samples labelers"]  # of every label that could be asked for; 0 if given
    gold_reductions: Float[np.ndarray, " samples"]  # if the class of a sample became known
    variance: float  # of the metric now
    metric: str
    method: str
    warnings: tuple[str, ...]

    def blocks(self) -> Document:
        """Build the document of the result."""
        share = self.drop / max(self.variance, 1e-300)
        rows = [{"sample": int(i), "labeler": "gold" if t < 0 else str(t), "drop": float(d)}
                for i, t, d in zip(self.samples, self.labelers, share, strict=True)]  # fmt: skip
        sd = float(np.sqrt(self.variance))
        columns = (Column("labeler", "labeler"), Column("drop", "reduction of variance", form=".2%"))
        blocks = (
            Queue("requests", "Labels to ask for, in order", "sample", columns, rows),
            warning_notes(self.warnings), facts(metric=self.metric, method=self.method, sd=sd),
        )  # fmt: skip
        sentence = f"{IF_INDEPENDENT}, {self.metric} has standard deviation {sd:.4f} ({self.method})."
        about = "drop: expected relative reduction of the variance by this label alone"
        return Document("Which labels should be collected next?", about, sentence, blocks)


@seeded
def next_labels(
    labels: Labels,
    y_pred: Int[np.ndarray, " samples"],
    num: int,
    *,
    key: Any = None,
    aim: Aim = _ACCURACY,
    rates: tuple[Any, Any] | None = None,
    gold: Any = None,
    prices: tuple[Any, float] = (None, np.inf),
) -> LabelRequest:
    """Choose labels by the expected reduction of a metric's posterior variance per cost (question: Su 6.3.2).

    Args:
        labels: the present labels; a labeler who has labelled a sample is not asked again.
        y_pred: (samples,) predicted classes.
        num: number of labels; at most one for a sample.
        key: a whole number or a JAX key; 0 if None.
        aim: the metric. One that is no ratio of two sums, such as kappa, is linearised around the table of
            the majority vote unless it is exact.
        rates: known error rates, (labelers, classes, classes), and the class prior, (classes,). Otherwise
            `fit_joint` learns them, and answers are also valued for what they add about labelers.
        gold: (samples,) known classes, -1 where unknown.
        prices: of a label, (labelers,), equal if None, and of a gold answer; infinite: there are none.

    Raises:
        ValueError: sizes that do not match, costs that are not positive, or more labels than can be asked
            for.

    >>> z = np.array([[1, 1, 1], [0, 0, 0], [1, 0, -1], [0, 0, -1]])
    >>> good = np.tile([[0.8, 0.2], [0.2, 0.8]], (3, 1, 1))
    >>> asked = next_labels(Labels.from_matrix(z, 2), np.array([1, 0, 1, 0]), 1,
    ...                     aim=Aim("precision"), rates=(good, [0.5, 0.5]))
    >>> asked.samples.tolist(), asked.labelers.tolist()  # labelers disagree on 2, which is predicted positive
    ([2], [2])
    """
    key = as_key(key)
    metric, positive, target = aim
    labels, (costs, cost_gold), y = must_be_labels(labels), prices, np.asarray(y_pred)
    choose("target", target, _TARGETS)
    classes, workers = labels.num_classes, labels.num_labelers
    known = np.full(labels.num_samples, -1) if gold is None else np.asarray(gold)
    check_codes(y, classes, "y_pred", size=labels.num_samples)
    check_codes(known, classes, "gold", size=labels.num_samples, missing=True)
    price = np.ones(workers) if costs is None else np.asarray(costs, np.float64)
    check_positive(price, "costs", f"prices of {workers} labelers", size=workers)
    if not cost_gold > 0:  # it may be infinite
        raise ValueError(f"gold costs {cost_gold}; give a price above 0")
    y, known, price = y.astype(int), known.astype(int), np.append(price, cost_gold)
    voted = expected_table(majority(labels.counts()), y, classes)
    named = named_metric(metric, range(classes), positive_of(labels, positive, known)[0])
    # Exact for a ratio, else to first order.
    asked = named._replace(joint=named.terms(voted + 1 / voted.size))
    # Samples with the same labels, prediction and gold are one row.
    rows = collapse_rows(np.column_stack([labels.patterns().inverse, y, known]))
    num_draws = min(_DRAWS, max(_FEWEST_DRAWS, _MOST_CELLS // len(rows[0])))
    if rates is None:
        valued = _learned(labels, y, known, rows, asked, target, key, num_draws)
    else:
        valued = _known(labels, y, known, rows, asked, target, key, (*rates, num_draws))
    (probability, of_class, variance), psi, method, warnings = valued
    truth = np.broadcast_to(np.eye(classes)[None, None], (len(psi), 1, classes, classes))
    drop = reductions(probability, of_class, np.concatenate([psi, truth], axis=1))[rows[1]]
    drop[:, :-1][labels.has_labelled()] = 0.0
    drop[known >= 0] = 0.0
    return _chosen(drop, price, num, variance, metric, method, warnings)


def _chosen(drop, price, num, variance, metric, method, warnings) -> LabelRequest:
    worth = drop / price
    best = worth.max(axis=1)
    possible = int((best > 0).sum())
    if not possible:
        raise ValueError(
            "no other label would be informative: each sample is verified or has a label of every labeler"
        )
    if not 1 <= num <= possible:
        raise ValueError(f"num is {num}, but another label would be informative for {possible} samples only")
    first = np.argsort(-best, kind="stable")[:num]
    column = worth[first].argmax(axis=1)
    labelers = np.where(column == drop.shape[1] - 1, -1, column)
    return LabelRequest(
        first, labelers, drop[first, column], drop[:, :-1], drop[:, -1], float(variance), metric, method,
        warnings,
    )  # fmt: skip


def _log_likelihood(labels: Labels, gold: np.ndarray, matrices: np.ndarray) -> np.ndarray:
    """log p(labels | class) of every draw of the matrices, (draws, samples, classes); gold is certain."""
    return known_classes(labels_log_likelihood(matrices, *labels.arrays, labels.num_samples), gold)


Valued = tuple[Values, np.ndarray, str, tuple[str, ...]]  # values, draws of the matrices, method, warnings


def _known(labels, y, gold, rows, asked: Metric, target, key, rates) -> Valued:
    matrices, prior, num_draws = rates
    pi = np.asarray(validate_prior(prior, labels.num_classes, labels.class_names), np.float64)
    psi = np.asarray(ConfusionMatrices(matrices).matrices, np.float64)[None]
    if psi.shape[1] != labels.num_labelers:
        raise ValueError(f"matrices are for {psi.shape[1]} labelers; the labels have {labels.num_labelers}")
    log_lik = _log_likelihood(labels, gold, psi)[0]
    check_not_contradictory(log_lik, prior=pi)
    first, _, size = rows
    if labels.num_classes == 2 and target == "in-sample" and len(first) <= _MOST_TABLES:
        return exact_values(log_odds(log_lik, pi), y, asked, first), psi, "exact, rates known", ()
    if labels.num_classes == 2:
        k = confusion_nodes(count_table(collapse(log_odds(log_lik, pi), y)), num_draws)
    else:
        k = evenly([count_posterior(log_lik, pi, y, key=key).confusion], num_draws)
    same, pis, psis = (np.broadcast_to(a, (len(k), *a.shape)) for a in (log_lik[first], pi, psi[0]))
    values = drawn_values(same, pis, k, y[first], size, asked, target)
    return values, psis, f"{len(k)} draws of the classifier's matrix, rates known", ()


def _learned(labels, y, gold, rows, asked: Metric, target, key, num_draws) -> Valued:
    fit = fit_joint(labels, y_pred=y, gold=gold, key=key)
    if not fit.usable or fit.classifier is None:
        raise ValueError(f"the labelers cannot be learned from these labels: {' '.join(fit.warnings)}")
    psi, draw = (evenly([column], num_draws) for column in (fit.matrices, fit.matrix_draw))
    psi = psi.astype(np.float64)
    psi /= psi.sum(axis=3, keepdims=True)
    first, _, size = rows
    log_lik = _log_likelihood(labels.restrict(first), gold[first], psi)
    values = drawn_values(log_lik, fit.prior[draw], fit.classifier[draw], y[first], size, asked, target)
    return values, psi, f"{len(draw)} draws of the joint posterior, rates learned", fit.warnings


def expected_gain_of_labels(
    noise, labels: Labels, prior: Float[AnyArray, " classes"]
) -> Float[Array, "samples labelers"]:
    """Expected reduction of the entropy of each sample's class, in bits, by one more label of each labeler.

    For any noise model of this package. A labeler who has labelled a sample has gain 0.

    Args:
        noise: as for `label_distribution`; a difficulty for each sample of `labels` is used.
        labels: the present labels; samples without labels have the prior as posterior.
        prior: (classes,).

    Returns:
        (samples, labelers), bits.

    Raises:
        ValueError: sizes that do not match, bad prior, or labels that are impossible under every class.

    >>> from jtruth.noise import SharedErrors
    >>> good = [[.8, .2], [.2, .8]]
    >>> labels = Labels.from_matrix(np.array([[1, -1]]), num_classes=2)
    >>> for copying in (0., .5, 1.):
    ...     model = SharedErrors([good, good], good, copying)
    ...     gain = expected_gain_of_labels(model, labels, np.ones(2) / 2)
    ...     print(np.round(np.asarray(gain, float), 3))
    [[0.    0.182]]
    [[0.    0.113]]
    [[0. 0.]]
    """
    prior = validate_prior(prior, labels.num_classes, labels.class_names)
    dist = label_distribution(noise, num_labelers=labels.num_labelers)
    if dist.num_classes != labels.num_classes:
        raise ValueError(f"the labels have {labels.num_classes} classes but the model has {dist.num_classes}")
    if dist.of_sample is None:
        states, stratum = _unobserved(dist, labels, prior), None
    elif isinstance(noise, NoiseModel):
        states = class_posterior(noise.log_likelihood(labels), prior)[:, None, :]
        stratum = jnp.asarray(dist.of_sample, jnp.int32)
    else:
        raise ValueError("observed strata do not show which sample is in which: give the noise model")
    gains = _gains(states, jnp.asarray(np.moveaxis(dist.rows, 1, 0), states.dtype), stratum)
    return jnp.where(jnp.asarray(labels.has_labelled()), 0.0, gains)


def _unobserved(dist: Strata, labels: Labels, prior: np.ndarray) -> Float[Array, "samples strata classes"]:
    """p(stratum, class | labels of the sample): Bayes' rule with pairs of both as the classes."""
    strata, _, classes, _ = dist.rows.shape
    (rows, weights, share) = current(dist.rows, dist.weights, prior)
    labeler, label = jnp.asarray(labels.labeler), jnp.asarray(labels.label)
    log_rows = safe_log(jnp.moveaxis(rows, 3, 0))  # (symbols, strata, labelers, classes)
    of_label = log_rows[label, :, labeler].reshape(-1, strata * classes)
    joint = (weights * share[None, :]).ravel()
    pairs = class_posterior(sum_over_labels(of_label, labels), joint / joint.sum())
    return pairs.reshape(-1, strata, classes)


@jax.jit
def _gains(
    states: Float[Array, "samples strata classes"],
    rows: Float[Array, "labelers kinds classes symbols"],
    stratum: Int[Array, " samples"] | None,
) -> Float[Array, "samples labelers"]:
    """Information of class and answer for every sample, by labeler to save memory."""

    def of_labeler(row):
        row = row[None] if stratum is None else row[stratum][:, None]  # (1 or samples, strata, c, symbols)
        joint = (states[..., None] * row).sum(axis=1)  # (samples, classes, symbols)
        product = joint.sum(axis=2, keepdims=True) * joint.sum(axis=1, keepdims=True)
        return jax.scipy.special.kl_div(joint, product).sum(axis=(1, 2)) / np.log(2)  # no term is negative

    return jax.lax.map(of_labeler, rows).T
