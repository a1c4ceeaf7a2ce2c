"""Samples of several strata: independence, labeler strata, shared strata, partly shared, copying.

Where a class has two strata with rows and weights of their own, the strata may exchange names: the likelihood
stays, and only the prior says which one is easy. So 2^C modes are images of one another, with weights that a
chain in one of them never learns. The density of all images together is

    log prior = rest + sum_c log( named_c + exchanged_c ),

points stay where easy samples are easier (`fold`), and a draw gets its names by the prior (`unfold`).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jtruth._arrays import gammaln, log_gamma_draws
from jtruth._host import log
from jtruth._validation import present
from jtruth.latent import bijections
from jtruth.latent.density import Channel
from jtruth.latent.model import Kind, LatentModel, Raters
from jtruth.latent.models import alike

_LEAST = 1e-6  # of a concentration


class Simplex(NamedTuple):
    """Rows of probabilities that are drawn, Dirichlet with these concentrations."""

    concentration: Any  # (L, R, U): L tables of R rows
    constant: Any  # () of the density
    exchanged: Any = None  # the same if the strata of every class had exchanged names; None: they cannot


class Group(NamedTuple):
    """Raters with the same symbols. T raters, R rows, U symbols, S states; one of the laws is given."""

    uses: Any  # (R, S) one-hot: the row of each state; nothing where the offset explains the symbol
    size: Any  # (T, R, U) zeros
    rows: Simplex | None = None  # (T, R, U)
    common: Simplex | None = None  # (1, R, U) the rows that all have in common
    strength: Any = None  # () of the raters' rows around these
    families: alike.Families | None = None


class Strata(NamedTuple):
    """Arrays of the model. C classes, V groups of samples, W rows of weights, H strata."""

    of_class: Any  # (C, S) one-hot
    prior: Simplex | None  # (1, V, C); None: known
    log_prior: Any  # (C,) where it is known
    weights: Simplex | None  # (1, W, H); None: fixed, or one stratum
    log_weights: Any  # (W, H) log weights where they are not drawn
    of_weight: Any  # (W, H, S) one-hot
    raters: tuple[Group, ...]
    # How points change when a class's strata exchange names: coordinates that go with its strata (C, size)
    # one-hot, where a coordinate comes from then, and its sign (size,); and `better` (C, size), by which the
    # first stratum is the easier one where the product is not negative
    names: tuple[Any, Any, Any, Any] | None = None


class _Coordinates:
    """Coordinates, read one part after the other, and their log density so far."""

    def __init__(self, x: Any, classes: int = 0):
        self.x, self.first, self.classes, points = x, 0, classes, x.shape[1]
        self.rest = jnp.zeros(points, jnp.float32)  # of what does not depend on the names of strata
        self.named = jnp.zeros((2, classes, points), jnp.float32)  # by class: names as they are, exchanged

    def take(self, *shape: int) -> Any:
        """The next coordinates, (*shape, P)."""
        first, self.first = self.first, self.first + int(np.prod(shape))
        return self.x[first : self.first].reshape(*shape, self.x.shape[1])

    def logs(self, tables: int, rows: int, symbols: int) -> Any:
        """Logs of rows (L, R, U, P) whose law is not yet added, only the derivative."""
        u, slope = bijections.stretched(self.take(tables, rows, symbols - 1))
        self.rest = self.rest + slope.reshape(-1, self.x.shape[1]).sum(axis=0)
        return bijections.log_rows(u)

    def rows(self, law: Simplex) -> Any:
        """Logs of Dirichlet rows (L, R, U, P)."""
        logs = self.logs(*law.concentration.shape)
        if law.exchanged is None:
            self.rest = self.rest + (law.concentration[..., None] * logs).sum(axis=(0, 1, 2))
        else:
            both = jnp.stack([law.concentration, law.exchanged])[..., None] * logs[None]
            of_rows = both.sum(axis=(1, 3))  # (2, R, P); the rows of a class follow each other
            of_class = of_rows.reshape(2, self.classes, -1, logs.shape[-1]).sum(axis=2)
            self.named = self.named + of_class
        self.rest = self.rest + law.constant
        return logs

    def group(self, group: Group) -> dict[str, Any]:
        """Logs of a group's "raters" (T, R, U, P) and of their "common" rows, and its "families"."""
        raters, rows, symbols = group.size.shape
        if group.rows is not None:
            return {"raters": self.rows(group.rows)}
        if group.families is not None:
            f = self.take(group.families.mean.shape[0], alike.number_of(group.families))
            logs, more = alike.rows(group.families, f, self.take(raters, rows, symbols - 1))
            self.rest = self.rest + more + alike.log_families(group.families, f)
            return {"raters": logs, "families": alike.state(group.families, f)}
        common = self.rows(present(group.common, "a law of the rows"))[0]
        logs = self.logs(raters, rows, symbols)
        a = group.strength * jnp.exp(common) + _LEAST
        each = gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1)
        constant = np.float32(rows * 0.5 * np.log(symbols))
        law = (a * logs.sum(axis=0)).sum(axis=(0, 1)) + raters * (each.sum(axis=0) + constant)
        self.rest = self.rest + law
        return {"raters": logs, "common": common}


@jax.jit  # traced once where several questions are asked of the same points
def _unpacked(arrays: Strata, x: Any) -> tuple[dict[str, Any], Any, Any]:
    """Logs of everything by the names that a Gibbs sampler gives it, and both parts of the log density."""
    part, logs = _Coordinates(x, arrays.of_class.shape[0]), {}
    if arrays.prior is not None:
        logs["pi"] = part.rows(arrays.prior)[0]
    logs["weights"] = jnp.broadcast_to(
        arrays.log_weights[:, :, None], (*arrays.log_weights.shape, x.shape[1])
    )
    if arrays.weights is not None:
        logs["weights"] = part.rows(arrays.weights)[0]
    for k, group in enumerate(arrays.raters):
        logs |= {f"{name}{k}": values for name, values in part.group(group).items()}
    return logs, part.rest, part.named


def log_prior(arrays: Strata, x: Any) -> Any:
    """Log density of the coordinates a priori, of all images together, (P,)."""
    _, rest, both = _unpacked(arrays, x)
    if arrays.names is None:
        return rest
    one, other = both
    return rest + (one - bijections.log_sigmoid(one - other)).sum(axis=0)


def fold(arrays: Strata, x: np.ndarray) -> np.ndarray:
    """The image of every point whose easy samples are easier."""
    if arrays.names is None:
        return x
    of_class, place, sign, better = (np.asarray(a) for a in arrays.names)
    exchange = (of_class.T @ (better @ x < 0)) > 0
    return np.where(exchange, x[place] * sign[:, None], x)


def images(arrays: Strata) -> list[tuple[np.ndarray, np.ndarray]]:
    """What an exchange of the names of one class's strata does to coordinates: x -> sign * x[place]."""
    if arrays.names is None:
        return []
    of_class, place, sign, _ = (np.asarray(a) for a in arrays.names)
    own = np.arange(place.size)
    return [(np.where(mine > 0, place, own), np.where(mine > 0, sign, 1.0)) for mine in of_class]


def unfold(arrays: Strata, x: Any, u: Any) -> Any:
    """An image of every point, drawn by its prior density with uniform numbers u (C, P)."""
    if arrays.names is None:
        return x
    of_class, place, sign, _ = arrays.names
    one, other = _unpacked(arrays, x)[2]
    chosen = (jnp.log(u) < bijections.log_sigmoid(other - one)).astype(x.dtype)
    return jnp.where(of_class.T @ chosen > 0, x[place] * sign[:, None], x)


def channel(arrays: Strata, x: Any) -> Channel:
    """What the coordinates mean."""
    logs, states = _unpacked(arrays, x)[0], arrays.of_class.shape[1]
    known = jnp.broadcast_to(arrays.log_prior[None, :, None], (1, arrays.log_prior.size, x.shape[1]))
    of_class = jnp.einsum("vcp,cs->vsp", logs.get("pi", known), arrays.of_class)
    level = jnp.einsum("whp,whs->sp", logs["weights"], arrays.of_weight)
    seen = [
        jnp.einsum("trup,rs->tusp", logs[f"raters{k}"], group.uses).reshape(-1, states, x.shape[1])
        for k, group in enumerate(arrays.raters)
    ]
    return Channel(of_class, level, jnp.concatenate(seen))


def named(arrays: Strata, x: Any) -> dict[str, Any]:
    """Natural parameters by the names that a Gibbs sampler gives them."""
    logs = _unpacked(arrays, x)[0]
    if logs["weights"].shape[1] == 1:
        del logs["weights"]
    return {name: a if name.startswith("families") else jnp.exp(a) for name, a in logs.items()}


def draw(arrays: Strata, rng: np.random.Generator, number: int) -> np.ndarray:
    """Points of the prior, (size, P)."""
    laws = [law for law in (arrays.prior, arrays.weights) if law is not None]
    parts = [_drawn(law, rng, number)[1] for law in laws]
    for group in arrays.raters:
        if group.rows is not None:
            parts.append(_drawn(group.rows, rng, number)[1])
        elif group.families is not None:
            parts += alike.draw(group.families, rng, number)
        else:
            logs, x = _drawn(group.common, rng, number)
            logs = logs - np.logaddexp.reduce(logs, axis=2, keepdims=True)
            a = np.tile(float(group.strength) * np.exp(logs) + _LEAST, (group.size.shape[0], 1, 1, 1))
            parts += [x, bijections.unstretched(bijections.ratios(log_gamma_draws(a, rng)))]
    return np.concatenate([np.asarray(part).reshape(-1, number) for part in parts])


def _drawn(law: Any, rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Logs of rows, up to a constant, and their coordinates."""
    a = np.asarray(law.concentration, np.float64)[..., None]
    logs = log_gamma_draws(np.tile(a, number), rng)
    return logs, bijections.unstretched(bijections.ratios(logs))


def size_of(arrays: Strata) -> int:
    """Number of coordinates."""
    laws = [
        arrays.prior,
        arrays.weights,
        *(law for group in arrays.raters for law in (group.rows, group.common)),
    ]
    size = sum(law.concentration[..., 1:].size for law in laws if law is not None)
    for group in arrays.raters:
        size += 0 if group.rows is not None else group.size[..., 1:].size
        if group.families is not None:
            size += group.families.mean.shape[0] * alike.number_of(group.families)
    return size


def arrays_of(model: LatentModel, groups: int = 1) -> Strata:
    """The arrays of a model whose samples have so many class priors."""
    classes, states = model.num_classes, model.state_class
    place = model.weight_row[states] * model.num_strata + model.state_stratum
    of_weight = np.zeros((model.stratum_prior.size, states.size), np.float32)
    of_weight[place, np.arange(states.size)] = 1.0
    share = model.stratum_prior / model.stratum_prior.sum(axis=1, keepdims=True)
    exchange = may_exchange(model)
    drawn, weights = model.num_strata > 1 and not model.weights_fixed, model.stratum_prior[None]
    known = np.maximum(log(model.class_prior), -1e9) if model.class_fixed else np.zeros(classes)
    arrays = Strata(
        log_prior=known.astype(np.float32),
        of_class=(np.arange(classes)[:, None] == states[None]).astype(np.float32),
        prior=None if model.class_fixed else _law(np.tile(model.class_prior, (1, groups, 1))),
        weights=_law(weights, weights[..., ::-1] if exchange else None) if drawn else None,
        log_weights=log(share).astype(np.float32),
        of_weight=of_weight.reshape(*model.stratum_prior.shape, states.size),
        raters=tuple(_arrays(raters, exchange) for raters in model.raters),
    )
    return arrays._replace(names=_names(model, arrays)) if exchange else arrays


def may_exchange(model: LatentModel) -> bool:
    """Whether the two strata of every class have weights and rows of their own, or rows in common."""
    own, tied = np.arange(2 * model.num_classes), np.repeat(np.arange(model.num_classes), 2)
    if model.weights_fixed or model.stratum_prior.shape != (model.num_classes, 2):
        return False
    apart = [_apart(raters) for raters in model.raters]
    fits = all(a or np.array_equal(r.row_of_state, tied) for a, r in zip(apart, model.raters, strict=True))
    fixed = all(r.alike is None for a, r in zip(apart, model.raters, strict=True) if a)
    return apart[0] and fits and fixed and np.array_equal(model.state_class, own // 2)


def _apart(raters: Raters) -> bool:
    return np.array_equal(raters.row_of_state, np.arange(raters.row_of_state.size))


def _exchanged(rows: np.ndarray) -> np.ndarray:
    """(..., R, U): rows of both strata of every class exchanged."""
    return rows.reshape(*rows.shape[:-2], -1, 2, rows.shape[-1])[..., ::-1, :].reshape(rows.shape)


def _arrays(raters: Raters, exchange: bool) -> Group:
    rows = raters.prior.shape[1]
    uses = (np.arange(rows)[:, None] == raters.row_of_state[None]).astype(np.float32)
    group, other = Group(uses, np.zeros(raters.prior.shape, np.float32)), exchange and _apart(raters)
    if raters.alike is not None:
        return group._replace(families=alike.families(raters.alike))
    if raters.strength and raters.common_prior is not None:
        common = raters.common_prior[None]
        strength = np.asarray(raters.strength, np.float32)
        return group._replace(common=_law(common, _exchanged(common) if other else None), strength=strength)
    return group._replace(rows=_law(raters.prior, _exchanged(raters.prior) if other else None))


def _law(concentration: np.ndarray, exchanged: np.ndarray | None = None) -> Simplex:
    constant = bijections.constant(concentration).sum()
    other = None if exchanged is None else np.asarray(exchanged, np.float32)
    return Simplex(np.asarray(concentration, np.float32), np.asarray(constant, np.float32), other)


def _names(model: LatentModel, arrays: Strata) -> tuple[Any, Any, Any, Any]:
    """Coordinates are numbered, and the numbers exchanged as the strata are."""
    size, classes = size_of(arrays), model.num_classes
    part, every = _Coordinates(np.arange(size)[:, None]), np.arange(size)
    place, sign, of_class = every.copy(), np.ones(size), np.zeros((classes, size))
    better = np.zeros((classes, size))
    part.take(0 if arrays.prior is None else arrays.prior.concentration[..., 1:].size)
    weights = part.take(classes).ravel()
    sign[weights], of_class[np.arange(classes), weights] = -1.0, 1.0
    for number, (group, raters) in enumerate(zip(arrays.raters, model.raters, strict=True)):
        count, rows, symbols = group.size.shape
        parts = [] if group.common is None else [part.take(1, rows, symbols - 1)[..., 0]]
        if group.families is not None:
            part.take(group.families.mean.shape[0], alike.number_of(group.families))
        parts.append(part.take(count, rows, symbols - 1)[..., 0])
        if not _apart(raters):
            continue
        for at in parts:
            place[at] = _exchanged(at)
            for c in range(classes):
                of_class[c, at[:, 2 * c : 2 * c + 2]] = 1.0
        for c in range(classes if number == 0 else 0):
            right = bijections.basis(symbols)[c]
            better[c, parts[-1][:, 2 * c]], better[c, parts[-1][:, 2 * c + 1]] = right, -right
    of_class, sign, better = (a.astype(np.float32) for a in (of_class, sign, better))
    return of_class, place.astype(np.int32), sign, better


KIND = Kind(log_prior, channel, named, draw, size_of, fold, unfold, images)
