"""alpha-calibration (50): the concentration of class probabilities around a classifier's f, and calibrators.

log alpha_0 is fitted by maximum likelihood of the histograms under Dir(alpha_0 f), with a penalty that draws
it to 0, where the distribution is broad:

    - sum_i log DirMult(y_i | alpha_i f_i) / sum_i n_i  +  lambda mean_i (log alpha_i)^2     (50)

(The authors' program divides the first term by N: the same with lambda divided by the mean number of labels.)
The paper's lambda = .005 was chosen for its 6,000 to 11,000 samples; for all N it would be a bias.
`fit_concentration_head` uses 1 / (2 sd^2 sum_i n_i) instead: a normal prior of log alpha_0 with sd = 3
(`benchmarks/calibration.py`). f stays; alpha_0 is a head linear in features. At infinity every sample has
Q = f, near 0 all labels of a sample agree (Mimori et al. 2021, 5.2). Labels of one sample follow an urn:
label j + 1 is class k with probability (alpha_0 f_k + l) / (alpha_0 + j) if l of the first j were k.
`log_dirichlet_multinomial` multiplies these, because differences of log-Gamma in float32 are wrong at 1e6.

**A fitted calibrator** scales the class probabilities ("alpha" leaves them), then fits alpha_0 by a head on
their logarithms. Calibrated class probabilities are softmax(W u + b) of logits u: temperature (W = v I,
b = 0), vector (W diagonal) and matrix scaling, and Dirichlet calibration, which is matrix scaling of u = log
f, by maximum likelihood of the labels (46)-(49), (82):

    - sum_i sum_k y_ik log p_ik / sum_i n_i  +  lambda_b mean_k b_k^2  +  lambda_w mean_{k != l} W_kl^2

All problems are convex. `fit_scaling` is pure JAX: penalties and data may be traced.
"""

from collections.abc import Callable
from functools import partial
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax.scipy.special import digamma
from jaxtyping import Array, Bool, Float, Int, PRNGKeyArray

from jtruth._arrays import AnyArray, as_array, safe_log
from jtruth._iterate import minimise
from jtruth._one_line import one_line
from jtruth._validation import choose
from jtruth.histograms.label_counts import Histograms, check_probabilities_of, epistemic_loss

Rows = Float[AnyArray, "samples classes"]
Samples = Float[AnyArray, " samples"]


@jax.custom_jvp
def _log_step(alpha: Array, f: Array, before: Array, same: Array) -> Array:
    """log of (alpha f + same) / (alpha + before + same), `before` labels of other classes; -inf if 0."""
    top, whole = alpha * f + same, alpha + before + same
    rest = (alpha * (1 - f) + before) / whole
    return jnp.where(rest < 0.5, jnp.log1p(-jnp.minimum(rest, 0.75)), safe_log(top / whole))


@_log_step.defjvp
def _log_step_jvp(primals: tuple, tangents: tuple) -> tuple:
    """d/d alpha = (f before - same (1 - f)) / (top whole) without cancellation, d/d f = alpha / top."""
    alpha, f, before, same = primals
    top, whole = alpha * f + same, alpha + before + same
    possible = top > 0
    safe = jnp.where(possible, top, 1.0)
    by_alpha = jnp.where(possible, (f * before - same * (1 - f)) / safe / whole, 0.0)
    by_f = jnp.where(possible, alpha / safe, 0.0)
    return _log_step(*primals), by_alpha * tangents[0] + by_f * tangents[1]


@eqx.filter_jit
def log_dirichlet_multinomial(
    histograms: Histograms, probabilities: Rows, concentration: Samples, *, coefficient: bool = True
) -> Samples:
    """Log pmf of label histograms, log DirMult(y | alpha_0 f), as in Mimori et al. (2021) (50).

    It and its gradients are accurate in float32 from alpha_0 = 1e-6 to 1e9. Memory grows with the largest
    count.

    Args:
        histograms: y, of labels.
        probabilities: f, (samples, classes).
        concentration: alpha_0, (samples,), above 0.
        coefficient: whether to include the multinomial coefficient.

    Returns:
        (samples,); -inf where a class with f = 0 occurs.
    """
    f = as_array(probabilities)
    alpha = jnp.asarray(concentration, f.dtype)
    y = jnp.asarray(histograms.counts)
    shape = (*y.shape, histograms.most)
    same_class = jnp.broadcast_to(jnp.arange(histograms.most, dtype=y.dtype), shape)
    before = jnp.broadcast_to((jnp.cumsum(y, axis=1, dtype=y.dtype) - y)[..., None], shape)
    used, same, others = same_class < y[..., None], same_class.astype(f.dtype), before.astype(f.dtype)
    steps = _log_step(
        jnp.broadcast_to(alpha[:, None, None], shape), jnp.broadcast_to(f[..., None], shape), others, same
    )
    if coefficient:
        steps = steps + jnp.log1p(others / (same + 1))
    return jnp.where(used, steps, 0.0).sum(axis=(1, 2))


@eqx.filter_jit
def disagreement_probability(probabilities: Rows, concentration: Samples | None = None) -> Samples:
    """Probability that two labels of a sample differ, alpha_0 / (alpha_0 + 1) (1 - sum f^2).

    Without a concentration (infinity) it is 1 - sum f^2. Averaged over an ensemble it is (72) or (73).
    Source: Mimori et al. (2021) (19), (71).
    """
    f = as_array(probabilities)
    gini = (f * (1 - f)).sum(axis=1)
    if concentration is None:
        return gini
    alpha = jnp.asarray(concentration, f.dtype)
    return alpha / (alpha + 1) * gini


@eqx.filter_jit
def posterior_probabilities(
    histograms: Histograms, probabilities: Rows, concentration: Samples
) -> Float[Array, "samples classes"]:
    """(19), (79): (alpha_0 f + y) / (alpha_0 + n), the class probabilities after these labels."""
    f = as_array(probabilities)
    alpha = jnp.asarray(concentration, f.dtype)[:, None]
    n = jnp.asarray(histograms.n).astype(f.dtype)[:, None]
    return (alpha * f + jnp.asarray(histograms.counts).astype(f.dtype)) / (alpha + n)


def best_concentration(
    disagreement: float | Float[AnyArray, "*shape"], gap: float | Float[AnyArray, "*shape"]
) -> tuple[Float[Array, "*shape"], Float[Array, "*shape"]]:
    """Best concentration alpha_0, D / gap, and the least no worse than infinity, (D - gap) / (2 gap).

    Args:
        disagreement: D = 1 - E sum_k Q_k^2, the probability that two labels differ, such as the mean of
            `disagreement(histograms)` over samples of one prediction Z.
        gap: for disagreement probabilities (61) 1 - sum_k Z_k^2 - D; for class probabilities after one label
            (69) their epistemic loss E sum_k (Z_k - Q_k)^2. Both are equal if Z = E Q (62).

    Returns:
        Best and least alpha_0, 0 or more; infinite where gap <= 0.

    Source: Mimori et al. (2021), Theorem 1.

    >>> print(*(f"{alpha:.1f}" for alpha in best_concentration(0.4, 0.1)))
    4.0 1.5
    """
    positive = jnp.asarray(gap) > 0
    best = jnp.where(positive, disagreement / jnp.where(positive, gap, 1.0), jnp.inf)
    return best, jnp.maximum((best - 1) / 2, 0.0)


@eqx.filter_jit
def opinion_gain(probabilities: Rows, concentration: Samples, *, unit: str = "squared") -> Samples:
    """Expected information of one more label about class probabilities.

    Args:
        probabilities: f, (samples, classes).
        concentration: alpha_0, after the labels so far: `posterior_probabilities` and alpha_0 + n.
        unit: "squared": expected fall of E |zeta - E zeta|^2, (1 - sum f^2) / (alpha_0 + 1)^2; "bits": mutual
            information of the label and zeta.
    """
    f = as_array(probabilities)
    alpha = jnp.asarray(concentration, f.dtype)[:, None]
    choose("unit", unit, ("squared", "bits"))
    if unit == "squared":
        return (f * (1 - f)).sum(axis=1) / (alpha[:, 0] + 1) ** 2
    log_f = jnp.where(f > 0, safe_log(f), 0.0)
    inside = digamma(alpha * f + 1) - digamma(alpha + 1) - log_f  # -H(zeta) averages to sum f (psi - psi)
    return (f * inside).sum(axis=1) / jnp.log(jnp.asarray(2.0, f.dtype))


def one_label(label: Int[AnyArray, " samples"], num_classes: int) -> Histograms:
    """Histograms of one label each."""
    counts = jax.nn.one_hot(jnp.asarray(label), num_classes, dtype=jnp.int32)
    return Histograms(counts, counts.sum(axis=1), 1)


PENALTY = 0.005  # the paper's lambda_alpha, for its 6,000 and more samples
_PRIOR_SD = 3.0  # of log alpha_0 in a normal prior
_HEAD_STEPS, _PATIENCE = 300, 20  # of the solver of heads, and steps without improvement

Where = Bool[AnyArray, " samples"] | None
Head = tuple[Float[Array, " features"], Float[Array, ""]]  # log alpha_0 = features @ weights + bias


@partial(jax.jit, static_argnames="coefficient")
def concentration_loss(
    log_concentration: Float[Array, " samples"],
    histograms: Histograms,
    probabilities: Rows,
    *,
    penalty: Any = PENALTY,
    coefficient: bool = True,
    where: Where = None,
) -> Float[Array, ""]:
    """Loss of alpha-calibration (50), of the samples `where`, as a function of log alpha_0.

    Times N its gradient is (51) if all samples have equally many labels. Other arguments are those of
    `log_dirichlet_multinomial`. Source: Mimori et al. (2021) (50), (51).
    """
    t = as_array(log_concentration)
    f, mask = jnp.asarray(probabilities, t.dtype), jnp.ones(t.shape, bool) if where is None else where
    log_p = log_dirichlet_multinomial(histograms, f, jnp.exp(t), coefficient=coefficient)
    number = mask.sum().astype(t.dtype)
    total = jnp.where(mask, jnp.asarray(histograms.n), 0).sum().astype(t.dtype)
    return -jnp.where(mask, log_p, 0.0).sum() / total + penalty * jnp.where(mask, t**2, 0.0).sum() / number


def fit_concentration_head(
    key: Any, features: Float[AnyArray, "samples features"], histograms: Histograms, probabilities: Rows
) -> Head:
    """Fit log alpha_0(x) = x w + b with early stopping by (50) on held-out samples.

    The penalty is that of the module docstring; b starts at the best constant.

    Args:
        key: of the split: a fifth is held out, as in the paper.
        features: (samples, features), such as the classifier's last layer or its logits.
        histograms, probabilities: of the same samples.
    """
    f = as_array(probabilities)
    x = jnp.asarray(features, f.dtype)
    validation = jax.random.permutation(jax.random.split(key)[1], jnp.arange(f.shape[0]) % 5 == 0)
    centre, sd = x.mean(axis=0), x.std(axis=0)
    sd = jnp.where(sd > 0, sd, 1.0)
    standard = (x - centre[None]) / sd[None]

    def loss(params: Head, where: Array) -> Array:
        t = standard @ params[0] + params[1]
        number = jnp.where(where, jnp.asarray(histograms.n), 0).sum().astype(f.dtype)
        penalty = 1 / (2 * _PRIOR_SD**2 * jnp.maximum(number, 1))
        return concentration_loss(t, histograms, f, penalty=penalty, coefficient=False, where=where)

    # Early stopping pulls the level towards the start, so this is the best constant of all samples.
    flat, everywhere = jnp.zeros_like(sd), jnp.ones_like(validation)
    level, *_ = minimise(
        lambda b: loss((flat, b), everywhere), jnp.zeros((), f.dtype), max_steps=_HEAD_STEPS, tol=1e-4
    )
    start = flat, level
    weights, bias = _early_stopped(lambda p: loss(p, ~validation), lambda p: loss(p, validation), *start)
    return weights / sd, bias - centre @ (weights / sd)


def _early_stopped(train: Any, validation: Any, *start: Array) -> tuple:
    """Minimise `train`; the parameters with the least `validation`."""
    solver = optax.lbfgs()

    def step(carry: tuple) -> tuple:
        params, state, best, least, since, count = carry
        value, gradient = jax.value_and_grad(train)(params)
        extra = {"value": value, "grad": gradient, "value_fn": train}
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # optax needs both
            updates, state = solver.update(gradient, state, params, **extra)
        params = optax.apply_updates(params, updates)
        now = validation(params)
        better = now < least
        best = jax.tree.map(lambda new, old: jnp.where(better, new, old), params, best)
        return params, state, best, jnp.minimum(now, least), jnp.where(better, 0, since + 1), count + 1

    def unfinished(carry: tuple) -> Array:
        return (carry[-1] < _HEAD_STEPS) & (carry[-2] < _PATIENCE)

    zero = jnp.zeros((), jnp.int32)
    first = (start, solver.init(start), start, validation(start), zero, zero)
    return jax.lax.while_loop(unfinished, step, first)[2]


_MOST_STEPS = 500
SCALINGS = ("temperature", "vector", "matrix", "dirichlet")
Logits = Float[AnyArray, "samples classes"]
Number = float | Float[Array, ""]
# W (classes, classes), whose row k makes the new logit k, and b (classes,).
Scaling = tuple[Float[Array, "classes classes"], Float[Array, " classes"]]


def scaled_log_probabilities(scaling: Scaling, logits: Logits) -> Float[Array, "samples classes"]:
    """(46)-(47): log softmax(W u + b). For "dirichlet" the logits are log probabilities."""
    weights, bias = scaling
    moved = jnp.matmul(as_array(logits), weights.T, precision="highest") + bias[None]
    return jax.nn.log_softmax(moved, axis=1)


def scaling_loss(
    weights: Float[Array, "classes classes"],
    bias: Float[Array, " classes"],
    logits: Logits,
    histograms: Histograms,
    *,
    bias_penalty: Number = 0.0,
    weight_penalty: Number = 0.0,
) -> Float[Array, ""]:
    """(82) of the scaled probabilities, with (48) and (49)."""
    u = as_array(logits)
    log_p = scaled_log_probabilities((weights, bias), u)
    y = jnp.asarray(histograms.counts).astype(u.dtype)
    size = u.shape[1]
    off = weights * (1 - jnp.eye(size, dtype=u.dtype))
    penalty = bias_penalty * (bias**2).mean() + weight_penalty * (off**2).sum() / (size * (size - 1))
    return -(y * log_p).sum() / y.sum() + penalty


def _expand(params: dict[str, Array], size: int) -> tuple[Array, Array]:
    """W and b of the free parameters."""
    bias = params.get("bias", jnp.zeros(size, params["weights"].dtype))
    w = params["weights"]
    return (w if w.ndim == 2 else jnp.diag(jnp.broadcast_to(w, (size,)))), bias


def fit_scaling(
    logits: Logits, histograms: Histograms, method: str, **penalties: Number
) -> tuple[Scaling, Array, Array]:
    """W and b by L-BFGS from W = I, b = 0, `scaling_loss` there, and convergence."""
    u, size = as_array(logits), histograms.num_classes
    shape = {"temperature": (), "vector": (size,)}.get(method, (size, size))
    first = jnp.eye(size, dtype=u.dtype) if len(shape) == 2 else jnp.ones(shape, u.dtype)
    start = {"weights": first} | ({} if method == "temperature" else {"bias": jnp.zeros(size, u.dtype)})

    def objective(params: dict) -> Array:
        return scaling_loss(*_expand(params, size), u, histograms, **penalties)

    tol = 0.1 * float(jnp.finfo(u.dtype).eps) ** 0.5
    params, value, converged, _ = minimise(objective, start, max_steps=_MOST_STEPS, tol=tol)
    return _expand(params, size), value, converged


CALIBRATIONS = (*SCALINGS, "alpha")
_FLOOR = -30.0  # of a log probability that is a feature of the head


class Calibrated(NamedTuple):
    """A distribution Dir(concentration * probabilities) for each sample."""

    probabilities: Float[AnyArray, "samples classes"]
    concentration: Float[AnyArray, " samples"]

    __repr__ = one_line

    @property
    def disagreement(self) -> Samples:
        """(71): probability that two labels differ."""
        return disagreement_probability(self.probabilities, self.concentration)


def calibrated(scaling: Scaling | None, head: Head, probabilities: Rows) -> Calibrated:
    """Calibrated predictions of the classifier that scaling and head were fitted to."""
    p = as_array(probabilities)
    scaled = p if scaling is None else jnp.exp(scaled_log_probabilities(scaling, safe_log(p)))
    features = jnp.maximum(safe_log(scaled), _FLOOR)
    return Calibrated(scaled, jnp.exp(features @ head[0] + head[1]))


def fit_calibrator(
    key: PRNGKeyArray, histograms: Histograms, probabilities: Rows, *, method: str = "alpha"
) -> Callable[[Rows], Calibrated]:
    """Fit a calibrator of predicted class probabilities on label histograms.

    Args:
        key: of the validation split of the head.
        histograms, probabilities: of the same samples.
        method: "alpha" (class probabilities stay), "temperature", "vector", "matrix" or "dirichlet".

    Raises:
        ValueError: a probability of 0 where its logarithm is needed or its class occurs, or a class without
            labels.
    """
    choose("method", method, CALIBRATIONS)
    check_probabilities_of(histograms, probabilities)
    p = np.asarray(probabilities)
    p = p if jnp.issubdtype(p.dtype, jnp.floating) else p.astype(np.float64)
    zero = np.argwhere((p == 0) & ((np.asarray(histograms.counts) > 0) if method == "alpha" else True))
    if len(zero):
        i, k = map(int, zero[0])
        why = "but was given" if method == "alpha" else f"which method={method!r} cannot scale"
        raise ValueError(
            f"sample {i} has probability 0 of class {k}, {why} ({len(zero)} such): give logits, or "
            "probabilities that were not rounded to 0"
        )
    absent = np.flatnonzero(np.asarray(histograms.counts).sum(axis=0) == 0)
    if absent.size and method not in ("alpha", "temperature"):  # would send its probability to 0
        raise ValueError(
            f"no label of class {absent[0]} in the samples to fit on ({absent.size} classes are missing): "
            "use more samples, or method='temperature'"
        )
    return partial(calibrated, *_fit(key, histograms, p, method))


@eqx.filter_jit
def _fit(key, histograms, p, method) -> tuple[Scaling | None, Head]:
    scaling, scaled = None, as_array(p)
    if method != "alpha":
        log_p = safe_log(scaled)
        full = method in ("matrix", "dirichlet")
        penalties = {"bias_penalty": 0.1, "weight_penalty": 1.0 if full else 0.0}  # temperature: no bias
        scaling, *_ = fit_scaling(log_p, histograms, method, **penalties)
        scaled = jnp.exp(scaled_log_probabilities(scaling, log_p))
    features = jnp.maximum(safe_log(scaled), _FLOOR)
    head = fit_concentration_head(key, features, histograms, scaled)
    return scaling, head


def epistemic_after_one_label(histograms: Histograms, dist: Calibrated) -> Samples:
    """Unbiased epistemic loss (10) of the posterior (19) after one label, by the other labels.

    sum_k y_k / n EL(y - e_k, (alpha_0 f + e_k) / (alpha_0 + 1)); NaN for samples of fewer than three labels.
    """
    y = jnp.asarray(histograms.counts)
    f = as_array(dist.probabilities)

    def after(k: Array) -> Array:
        label = one_label(jnp.full(len(y), k), y.shape[1])
        rest = Histograms(jnp.maximum(y - label.counts, 0), jnp.asarray(histograms.n) - 1, histograms.most)
        posterior = posterior_probabilities(label, f, dist.concentration)
        share = jnp.take(y, k, axis=1).astype(f.dtype) / jnp.maximum(histograms.n, 1).astype(f.dtype)
        loss = epistemic_loss(rest, posterior).sum(axis=1)
        return jnp.where(share > 0, share * loss, 0.0)

    total = jax.lax.map(after, jnp.arange(y.shape[1])).sum(axis=0)
    return jnp.where(jnp.asarray(histograms.n) > 2, total, jnp.nan)
