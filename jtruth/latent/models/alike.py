"""Rows that are alike, as more parameters in the prior (`jtruth.sampling.alike` says what they mean).

    theta[r, right] = d[r],   theta[r, u] = (1 - d[r]) w[r, u],
    d[r] ~ Beta(mu kappa, (1 - mu) kappa),   w[r] ~ Dirichlet(alpha q[r]),   q[r, u] ~ share[u]^g

Where a family says how alike its rows are, their own numbers should not be measured in units that do not know
it: with kappa = 1000 logits of d lie within .1 of each other, with kappa = 1 they spread over many. So the
coordinates of d and w are distances from the family's centre in (about) standard deviations of the family,
var log Gamma(a) being about 1/a + 1/a^2; any scale is exact, since its Jacobian is in the density.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy.special import betaln

from jtruth._either import log_gamma_draws
from jtruth.latent import bijections
from jtruth.latent.bijections import log_gamma, log_sigmoid
from jtruth.sampling.alike import KAPPA, SPREAD, Alike

_LEAST = 1e-6  # of a concentration: the gamma function of float32 needs one


class Families(NamedTuple):
    """Families of the rows of a group of raters. F families, T raters, R rows, U symbols."""

    member: Any  # (T, R, F) one-hot
    of_rows: Any  # (F, R) how many raters' rows are of a family
    right: Any  # (R, U) one-hot
    wrong: Any  # (R, U, U - 1) one-hot: which symbol is the k-th wrong one
    log_share: Any  # (R, U - 1) of the wrong symbols
    mean: Any  # (F, 2) Beta law of mu
    constant: Any  # () of the Beta laws of mu, of normal laws
    known: Any  # (T, R, U) earlier labels of known class


def families(alike: Alike) -> Families:
    """The arrays of rows that are alike."""
    (raters, rows), symbols, number = alike.family.shape, alike.log_share.size, alike.num_families
    member = np.eye(number)[alike.family]
    others = np.array([[u for u in range(symbols) if u != c] for c in alike.right])
    mean = np.broadcast_to(alike.mean_prior, (number, 2)).astype(np.float64)
    normals = 1 if symbols == 2 else 2
    constant = -betaln(*mean.T).sum() - number * normals * np.log(SPREAD * np.sqrt(2 * np.pi))
    known = np.zeros((raters, rows, symbols)) if alike.known is None else alike.known
    found = Families(
        member, member.sum(axis=0).T, np.eye(symbols)[alike.right], np.eye(symbols)[others].swapaxes(1, 2),
        alike.log_share[others], mean, constant, known,
    )  # fmt: skip
    return Families(*(np.asarray(a, np.float32) for a in found))


def number_of(group: Families) -> int:
    """Coordinates of a family: of two symbols no pattern of errors is to be learned."""
    return 2 if group.right.shape[1] == 2 else 4


def state(group: Families, f: Any) -> Any:
    """(F, 4, P): logit mu, log kappa, log alpha and g, from coordinates (F, 2 or 4, P)."""
    if number_of(group) == 4:
        return jnp.concatenate([f[:, :3], jax.nn.sigmoid(f[:, 3:])], axis=1)
    return jnp.concatenate([f, jnp.zeros_like(f[:, :1]), jnp.full_like(f[:, :1], 0.5)], axis=1)


def log_families(group: Families, f: Any) -> Any:
    """Log density of the coordinates of the families, (P,)."""
    odds, first, second = f[:, 0], group.mean[:, :1], group.mean[:, 1:]
    found = first * log_sigmoid(odds) + second * log_sigmoid(-odds)
    found = found - 0.5 * ((f[:, 1] - np.float32(KAPPA)) / SPREAD) ** 2
    if number_of(group) == 4:
        middle = np.float32(np.log(group.right.shape[1] - 1))
        found = found - 0.5 * ((f[:, 2] - middle) / SPREAD) ** 2
        found = found + log_sigmoid(f[:, 3]) + log_sigmoid(-f[:, 3])
    return found.sum(axis=0) + group.constant


class _Law(NamedTuple):
    """Beta and Dirichlet laws of the rows of every family."""

    a: Any  # (F, P)
    b: Any
    centre: Any  # (F, P) of logit d
    scale: Any
    q: Any  # (F, R, U - 1, P) concentrations alpha q; None for two symbols
    centres: Any  # (F, R, U - 2, P)
    scales: Any  # (F, P)


def _law(group: Families, f: Any) -> _Law:
    of, wrong = state(group, f), group.right.shape[1] - 1
    kappa = jnp.exp(of[:, 1])
    a = kappa * jax.nn.sigmoid(of[:, 0]) + _LEAST
    b = kappa * jax.nn.sigmoid(-of[:, 0]) + _LEAST
    scale = jnp.sqrt(1 / a + 1 / a**2 + 1 / b + 1 / b**2)
    if wrong == 1:
        return _Law(a, b, jnp.log(a / b), scale, None, None, None)
    log_q = jax.nn.log_softmax(of[:, 3, None, None] * group.log_share[None, :, :, None], axis=2)
    alpha = jnp.exp(of[:, 2])
    each = alpha / wrong
    centres = jnp.einsum("ko,frkp->frop", bijections.basis(wrong), log_q)
    q = alpha[:, None, None] * jnp.exp(log_q) + _LEAST
    return _Law(a, b, jnp.log(a / b), scale, q, centres, jnp.sqrt(1 / each + 1 / each**2))


def rows(group: Families, f: Any, z: Any) -> tuple[Any, Any]:
    """Logs of the rows (T, R, U, P) from coordinates z (T, R, U - 1, P), and the log density of z, (P,)."""
    law = _law(group, f)

    def spread(values: Any) -> Any:  # (F, P) -> (T, R, P)
        return jnp.einsum("trf,fp->trp", group.member, values)

    logit = spread(law.centre) + spread(law.scale) * z[:, :, 0]
    right, miss = log_sigmoid(logit), log_sigmoid(-logit)
    density = (spread(law.a) * right + spread(law.b) * miss).sum(axis=(0, 1))
    each = log_gamma(law.a + law.b) - log_gamma(law.a) - log_gamma(law.b) + jnp.log(law.scale)
    wrong = miss[:, :, None]
    if law.q is not None:
        scales = spread(law.scales)[:, :, None]
        u = jnp.einsum("trf,frop->trop", group.member, law.centres) + scales * z[:, :, 1:]
        w = bijections.log_rows(u)
        q = jnp.einsum("trf,frop->trop", group.member, law.q)
        density = density + (q * w).sum(axis=(0, 1, 2))
        norm = log_gamma(law.q.sum(axis=2)) - log_gamma(law.q).sum(axis=2)  # (F, R, P)
        free = w.shape[2] - 1
        norm = norm + free * jnp.log(law.scales)[:, None] + np.float32(0.5 * np.log(w.shape[2]))
        density = density + (group.of_rows[:, :, None] * norm).sum(axis=(0, 1))
        wrong = wrong + w
    density = density + (group.of_rows.sum(axis=1)[:, None] * each).sum(axis=0)
    logs = jnp.einsum("trop,ruo->trup", wrong, group.wrong)
    return logs + jnp.einsum("trp,ru->trup", right, group.right), density


def draw(group: Families, rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Coordinates of families (F, 2 or 4, P) and of rows (T, R, U - 1, P), drawn from the prior."""
    (_, rows, count), symbols = group.member.shape, group.right.shape[1]
    logs = [log_gamma_draws(np.tile(group.mean[:, k, None], (1, number)).astype(float), rng) for k in (0, 1)]
    parts = [logs[0] - logs[1], KAPPA + SPREAD * rng.standard_normal((count, number))]
    if symbols > 2:
        parts.append(np.log(symbols - 1) + SPREAD * rng.standard_normal((count, number)))
        parts.append(rng.logistic(size=(count, number)))
    f = np.clip(np.stack(parts, axis=1), -12, 12).astype(np.float32)
    with jax.ensure_compile_time_eval():
        law = _Law(*(None if a is None else np.asarray(a, np.float64) for a in _law(group, f)))
    family = group.member.argmax(axis=2)
    a, b = law.a[family], law.b[family]  # (T, R, P)
    logit = log_gamma_draws(a, rng) - log_gamma_draws(b, rng)
    z = ((logit - law.centre[family]) / law.scale[family])[:, :, None]
    if law.q is not None:
        r = np.arange(rows)[None, :]
        w = log_gamma_draws(law.q[family, r], rng)
        u = np.einsum("ko,trkp->trop", bijections.basis(symbols - 1), w)
        z = np.concatenate([z, (u - law.centres[family, r]) / law.scales[family][:, :, None]], axis=2)
    return f, np.clip(z, -30, 30).astype(np.float32)
