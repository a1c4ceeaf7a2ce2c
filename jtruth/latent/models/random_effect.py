"""Gradual difficulty for labelers and classifier, two classes; its levels are nodes of a Gauss rule.

A sample of class c has a hidden ease e ~ N(0, 1), and given both everybody errs independently:

  P(labeler t is right | c, e)    = sigmoid(a[t, c] + m[c] + lam[c] e)
  P(classifier is right | c, e)   = sigmoid(k[c] + kap[c] e)

with a ~ N(0, .8), m ~ N(1.2, 1), lam ~ N+(0, 1), kap ~ N+(lam, .5), k ~ N(1.2, 1.2) and a uniform class
share. Where labels are few, a = spread[c] u with u ~ N(0, 1) and log spread ~ N(log .8, .75).

Coordinates are logit of the share of class 1, [log spread,] a or u, m, soft lam, k, soft kap. A slope is
log(1 + exp(3 soft)) / 3, so that its coordinate is about its logarithm near 0 and the slope itself beyond a
third; with the logarithm everywhere the posterior is a horn.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erfc
from scipy.special import ndtr, ndtri

from jtruth.latent.bijections import log_sigmoid
from jtruth.latent.density import Channel
from jtruth.latent.model import Kind

A_SD, M, M_SD, K, K_SD, KAP_SD = 0.8, 1.2, 1.0, 1.2, 1.2, 0.5
SPREAD_SD = 0.75  # of log spread, where it is learned
NODES = 15
_SHARP = 3.0  # slopes of more than about 1/3 are their own coordinates
_NORMAL = float(0.5 * np.log(2 * np.pi))


class Effect(NamedTuple):
    """Arrays of the model. V groups of samples, T labelers."""

    groups: Any  # (V,) zeros
    labelers: Any  # (T,) zeros
    fixed: Any  # () logit of the known class share; None: drawn
    learned: Any  # () anything where the spread of labelers is learned; None: fixed
    ease: Any  # (nodes,)
    log_node: Any  # (nodes,)


def arrays_of(labelers: int, prior: np.ndarray | None, groups: int, learned: bool) -> Effect:
    """The arrays; `prior` (2,): the known class share."""
    x, w = np.polynomial.hermite_e.hermegauss(NODES)
    fixed = None if prior is None else np.asarray(np.log(prior[1]) - np.log(prior[0]), np.float32)
    return Effect(
        np.zeros(groups, np.float32), np.zeros(labelers, np.float32), fixed,
        np.zeros((), np.float32) if learned else None,
        x.astype(np.float32), np.log(w / w.sum()).astype(np.float32),
    )  # fmt: skip


def size_of(arrays: Effect) -> int:
    """Number of coordinates."""
    return _first(arrays) + 2 * arrays.labelers.size + 8


def _first(arrays: Effect) -> int:
    """Where the labelers' own coordinates begin."""
    shares = 0 if arrays.fixed is not None else arrays.groups.size
    return shares + (2 if arrays.learned is not None else 0)


def split(arrays: Effect, x: Any) -> tuple[dict[str, Any], Any]:
    """Natural parameters by name, and log |d parameters / d x|.

    They are logit_share (V, P), a (T, 2, P), and (2, P) m, lam, k, kap, and log_spread where it is learned.
    """
    first, last, points = _first(arrays), _first(arrays) + 2 * arrays.labelers.size, x.shape[1]
    groups = arrays.groups.size
    share = x[:groups] if arrays.fixed is None else jnp.broadcast_to(arrays.fixed, (groups, points))
    a, rest = x[first:last].reshape(-1, 2, points), x[last:].reshape(4, 2, points)
    soft = _SHARP * rest[1::2]
    lam, kap = jax.nn.softplus(soft) / _SHARP
    p = {"logit_share": share, "a": a, "m": rest[0], "lam": lam, "k": rest[2], "kap": kap}
    if arrays.learned is not None:
        p["log_spread"] = x[first - 2 : first]
        p["a"] = a * jnp.exp(p["log_spread"])[None]
    return p, log_sigmoid(soft).sum(axis=(0, 1))


def log_prior(arrays: Effect, x: Any) -> Any:
    """Log density of the coordinates a priori, (P,)."""
    p, jacobian = split(arrays, x)
    density = jacobian + natural_log_prior(p)
    if arrays.fixed is None:
        odds = x[: arrays.groups.size]
        density = density + (log_sigmoid(odds) + log_sigmoid(-odds)).sum(axis=0)
    if arrays.learned is None:
        return density
    first = _first(arrays)
    return density + _normal(x[first : first + 2 * arrays.labelers.size], 0.0, 1.0).sum(axis=0)


def natural_log_prior(p: dict[str, Any]) -> Any:
    """(P,) log density of the parameters with a fixed prior (`jtruth.stats.loo`), class shares left out.

    Where the spread of labelers is learned it is the spread's, not that of labelers given it.
    """
    lam, kap = p["lam"], p["kap"]
    each = (
        _normal(p["m"], M, M_SD) + _normal(p["k"], K, K_SD) + _normal(lam, 0.0, 1.0) + np.float32(np.log(2))
    )
    each = each + _normal(kap, lam, KAP_SD) - jnp.log1p(-0.5 * erfc(lam / KAP_SD / float(np.sqrt(2))))
    if "log_spread" in p:
        return (each + _normal(p["log_spread"], float(np.log(A_SD)), SPREAD_SD)).sum(axis=0)
    return each.sum(axis=0) + _normal(p["a"], 0.0, A_SD).sum(axis=(0, 1))


def _normal(x: Any, mean: Any, sd: float) -> Any:
    return -0.5 * ((x - mean) / sd) ** 2 - float(np.log(sd)) - _NORMAL


def _logits(arrays: Effect, p: dict[str, Any]) -> Any:
    """Logits of being right, (T + 1, 2, nodes, P), the classifier's last."""
    ease = arrays.ease[:, None]
    labelers = (p["a"] + p["m"][None])[:, :, None] + (p["lam"][:, None] * ease[None])[None]
    return jnp.concatenate([labelers, (p["k"][:, None] + p["kap"][:, None] * ease[None])[None]])


def channel(arrays: Effect, x: Any) -> Channel:
    """The probabilities at these coordinates; symbol k is right in the states of class k."""
    p, _ = split(arrays, x)
    logits = _logits(arrays, p)
    raters, _, nodes, points = logits.shape
    sign = (2 * np.eye(2) - 1).astype(np.float32)[None, :, :, None, None]  # (1, symbols, classes, 1, 1)
    seen = log_sigmoid(sign * logits[:, None]).reshape(2 * raters, 2 * nodes, points)
    odds = p["logit_share"]
    share = jnp.stack([log_sigmoid(-odds), log_sigmoid(odds)], axis=1)
    level = jnp.broadcast_to(jnp.tile(arrays.log_node, 2)[:, None], (2 * nodes, points))
    return Channel(jnp.repeat(share, nodes, axis=1), level, seen)


def named(arrays: Effect, x: Any) -> dict[str, Any]:
    """Class shares and matrices averaged over ease, by the names of a model without levels."""
    p, _ = split(arrays, x)
    weight = jnp.exp(arrays.log_node)[:, None]
    right = (jax.nn.sigmoid(_logits(arrays, p)) * weight[None, None]).sum(axis=2)  # (T + 1, 2, P)
    sides = [jnp.stack([right[:, 0], 1 - right[:, 0]], 1), jnp.stack([1 - right[:, 1], right[:, 1]], 1)]
    rows, share = jnp.stack(sides, axis=1), jax.nn.sigmoid(p["logit_share"])
    shared = jnp.concatenate([p[name] for name in ("m", "lam", "k", "kap")])
    return {
        "pi": jnp.stack([1 - share, share], axis=1), "raters0": rows[:-1], "raters1": rows[-1:],
        "shared": shared, "log_prior": natural_log_prior(p)[None],
    }  # fmt: skip


def draw(arrays: Effect, rng: np.random.Generator, number: int) -> np.ndarray:
    """Points of the prior, (size, P)."""
    groups, labelers = arrays.groups.size, arrays.labelers.size
    parts = [] if arrays.fixed is not None else [rng.logistic(size=(groups, number))]
    if arrays.learned is not None:
        parts.append(np.log(A_SD) + SPREAD_SD * rng.standard_normal((2, number)))
    parts.append((1.0 if arrays.learned is not None else A_SD) * rng.standard_normal((2 * labelers, number)))
    lam = np.abs(rng.standard_normal((2, number)))
    below = ndtr(-lam / KAP_SD)  # of kap below 0, before it is cut
    kap = lam + KAP_SD * ndtri(below + rng.random((2, number)) * (1 - below))
    soft = [np.log(np.expm1(_SHARP * slope)) / _SHARP for slope in (lam, np.maximum(kap, 1e-6))]
    m, k = (mean + sd * rng.standard_normal((2, number)) for mean, sd in ((M, M_SD), (K, K_SD)))
    return np.concatenate([*parts, m, soft[0], k, soft[1]]).astype(np.float32)


KIND = Kind(log_prior, channel, named, draw, size_of)
