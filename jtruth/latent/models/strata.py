"""Samples of several strata: independence, labeler strata, shared strata, partly shared, copying.

Where a class has two strata with their own rows and weights, the strata may exchange names: the likelihood is
the same, and only the prior names the easy one. So 2^C modes are images of one another. The density of all
images together is

    log prior = rest + sum_c log( named_c + exchanged_c ),

points stay where easy samples are easier (`fold`), and a draw gets its names by the prior (`unfold`).

`log_density` is the same density, of one image, for other samplers and optimizers: a function of a tree of
log ratios. `constrain` and `unconstrain` convert to probabilities and back.
"""

from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jtruth._arrays import gammaln, log_gamma_draws
from jtruth._host import log
from jtruth.latent import bijections, density
from jtruth.latent.density import Channel, Seen
from jtruth.latent.model import Kind, LatentModel, Raters
from jtruth.latent.models import alike

_LEAST = 1e-6  # of a concentration


class Strata(NamedTuple):
    """A `LatentModel` as compiled programs take it, with constants computed on the host."""

    model: LatentModel  # float32; what is fixed is what has no constant here
    # of "pi", "weights", "raters0" or else "common0", ...: the part of the log density that is known
    constants: dict[str, Any]
    log_class: Any  # (V, C) log class shares of each group of samples where they are known, else zeros
    log_weights: Any  # (W, H) log weights where they are not drawn
    # How points change when a class's strata exchange names: coordinates that go with its strata (C, size)
    # one-hot, where a coordinate comes from then, and its sign (size,); and `better` (C, size), by which the
    # first stratum is the easier one where the product is not negative
    names: tuple[Any, Any, Any, Any] | None = None

    def exchanged(self, prior: Any) -> Any:
        """Concentrations (L, R, U) with the strata of every class exchanged; None where they cannot be."""
        states = self.model.num_classes * self.model.num_strata
        return _exchanged(prior) if self.names is not None and prior.shape[1] == states else None


class _Coordinates:
    """Coordinates, read one part after the other, and their log density so far."""

    def __init__(self, x: Any, classes: int, stretch: bool):
        self.x, self.first, self.classes, self.stretch, points = x, 0, classes, stretch, x.shape[1]
        self.rest = jnp.zeros(points, x.dtype)  # of what does not depend on the names of strata
        self.named = jnp.zeros((2, classes, points), x.dtype)  # by class: names as they are, exchanged

    def take(self, *shape: int) -> Any:
        """The next coordinates, (*shape, P)."""
        first, self.first = self.first, self.first + int(np.prod(shape))
        return self.x[first : self.first].reshape(*shape, self.x.shape[1])

    def logs(self, tables: int, rows: int, symbols: int) -> Any:
        """Logs of rows (L, R, U, P); only the Jacobian is added."""
        u = self.take(tables, rows, symbols - 1)
        if self.stretch:
            u, slope = bijections.stretched(u)
            self.rest = self.rest + slope.reshape(-1, self.x.shape[1]).sum(axis=0)
        return bijections.log_rows(u)

    def rows(self, prior: Any, constant: Any, exchanged: Any = None) -> Any:
        """Logs of Dirichlet rows (L, R, U, P), by their concentrations (L, R, U)."""
        logs = self.logs(*prior.shape)
        if exchanged is None:
            self.rest = self.rest + (prior[..., None] * logs).sum(axis=(0, 1, 2))
        else:
            both = jnp.stack([prior, exchanged])[..., None] * logs[None]
            of_rows = both.sum(axis=(1, 3))  # (2, R, P); the rows of a class follow each other
            of_class = of_rows.reshape(2, self.classes, -1, logs.shape[-1]).sum(axis=2)
            self.named = self.named + of_class
        self.rest = self.rest + constant
        return logs

    def raters(self, arrays: Strata, k: int) -> dict[str, Any]:
        """Logs of a group's "raters" (T, R, U, P) and of their "common" rows, and its "families"."""
        group, constants = arrays.model.raters[k], arrays.constants
        raters, rows, symbols = group.prior.shape
        if group.alike is not None:
            f = self.take(*alike.shape_of(group.alike))
            logs, more = alike.rows(group.alike, f, self.take(raters, rows, symbols - 1))
            self.rest = self.rest + more + (alike.log_families(group.alike, f) + constants[f"raters{k}"])
            return {"raters": logs, "families": alike.state(group.alike, f)}
        if group.common_prior is None:
            return {"raters": self.rows(group.prior, constants[f"raters{k}"], arrays.exchanged(group.prior))}
        prior = group.common_prior[None]
        common = self.rows(prior, constants[f"common{k}"], arrays.exchanged(prior))[0]
        logs = self.logs(raters, rows, symbols)
        a = group.strength * jnp.exp(common) + _LEAST
        each = gammaln(a.sum(axis=1)) - gammaln(a).sum(axis=1)
        constant = float(rows * 0.5 * np.log(symbols))
        dist = (a * logs.sum(axis=0)).sum(axis=(0, 1)) + raters * (each.sum(axis=0) + constant)
        self.rest = self.rest + dist
        return {"raters": logs, "common": common}


# traced once where several questions are asked of the same points
@partial(jax.jit, static_argnames="stretch")
def _unpacked(arrays: Strata, x: Any, stretch: bool = True) -> tuple[dict[str, Any], Any, Any]:
    """Logs of everything by the names of a Gibbs sampler, and both parts of the log density."""
    model, constants = arrays.model, arrays.constants
    part, logs = _Coordinates(x, model.num_classes, stretch), {}
    if "pi" in constants:
        prior = jnp.broadcast_to(model.class_prior[None, None], (1, *arrays.log_class.shape))
        logs["pi"] = part.rows(prior, constants["pi"])[0]
    logs["weights"] = jnp.broadcast_to(
        arrays.log_weights[:, :, None], (*arrays.log_weights.shape, x.shape[1])
    )
    if "weights" in constants:
        prior = model.stratum_prior[None]
        other = None if arrays.names is None else prior[..., ::-1]
        logs["weights"] = part.rows(prior, constants["weights"], other)[0]
    for k in range(len(model.raters)):
        logs |= {f"{name}{k}": values for name, values in part.raters(arrays, k).items()}
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
    """The maps x -> sign * x[place] that exchange the names of one class's strata."""
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
    """The probabilities at these coordinates."""
    return _channel(arrays, _unpacked(arrays, x)[0], x)


def _channel(arrays: Strata, logs: dict[str, Any], x: Any) -> Channel:
    model, points = arrays.model, x.shape[1]

    def uses(row: Any, rows: int) -> Any:
        """(rows, states) 1 at the row that each state uses."""
        return (np.arange(rows, dtype=np.int32)[:, None] == row[None]).astype(x.dtype)

    known = jnp.broadcast_to(arrays.log_class[..., None], (*arrays.log_class.shape, points))
    of_class = jnp.einsum("vcp,cs->vsp", logs.get("pi", known), uses(model.state_class, model.num_classes))
    of_weight = uses(model.state_weight, model.stratum_prior.size).reshape(*model.stratum_prior.shape, -1)
    level = jnp.einsum("whp,whs->sp", logs["weights"], of_weight)
    seen = []
    for k, group in enumerate(model.raters):
        rows = uses(group.row_of_state, group.prior.shape[1])
        of_state = jnp.einsum("trup,rs->tusp", logs[f"raters{k}"], rows)
        seen.append(of_state.reshape(-1, level.shape[0], points))
    return Channel(of_class, level, jnp.concatenate(seen))


def named(arrays: Strata, x: Any) -> dict[str, Any]:
    """Natural parameters by the names of a Gibbs sampler."""
    return _natural(_unpacked(arrays, x)[0])


def _natural(logs: dict[str, Any]) -> dict[str, Any]:
    if logs["weights"].shape[1] == 1:
        del logs["weights"]
    return {name: a if name.startswith("families") else jnp.exp(a) for name, a in logs.items()}


def log_density(parameters: dict[str, Any], rows: Seen, model: LatentModel) -> Float[Array, ""]:
    """Log density of parameters and labels, with the true classes summed out, in unconstrained coordinates.

    It is a pure function of `parameters` and `rows`, for optax, BlackJAX, and NumPyro's `potential_fn` (minus
    it). The constant `rows.times @ rows.saturated` is left out, to keep digits in float32.

    Args:
        parameters: a pytree of `unconstrain`, float32 or float64. Dirichlet rows are isometric log ratios
            (Egozcue et al. 2003; `jtruth.latent.bijections`), and the Jacobian is included.
        rows: equal samples merged, for example those of `learning.joint_model`.
        model: with concrete arrays. It is not traced.

    Raises:
        ValueError: parameters of other names or shapes than the model and its rows have.
    """
    arrays, x = _flat(parameters, model)
    groups = rows.design.shape[1] - sum(g.prior[:, 0].size for g in model.raters)
    if groups != len(arrays.log_class):
        here = len(arrays.log_class)
        raise ValueError(
            f"rows are of {groups} groups of samples, pi of {here}: prior_means(model, {groups})"
        )
    logs, prior, _ = _unpacked(arrays, x, stretch=False)
    seen = jax.tree.map(lambda a: jnp.asarray(a, x.dtype), rows)
    return (density.log_likelihood(_channel(arrays, logs, x), seen) + prior)[0]


def constrain(parameters: dict[str, Any], model: LatentModel) -> dict[str, Any]:
    """Probabilities from the unconstrained parameters of `log_density`.

    Returns:
        The unknown ones of `pi` (groups, classes), class shares; `weights` (classes or 1, strata); `raters0`,
        `raters1` (raters, rows, symbols), the labelers and the classifier; `common0` (rows, symbols), common
        rows; `families0` (families, 4), see `latent.models.alike`.
    """
    arrays, x = _flat(parameters, model)
    return {k: a[..., 0] for k, a in _natural(_unpacked(arrays, x, stretch=False)[0]).items()}


def unconstrain(values: dict[str, Any], model: LatentModel) -> dict[str, Any]:
    """Unconstrained parameters for `log_density`, from `values` as `constrain` returns them."""
    found = {}
    for name in shapes_of(arrays_of(model)):
        rows = jnp.asarray(values[name])
        if name.startswith("raters") and (family := model.raters[int(name[6:])].alike) is not None:
            name_of_state = name.replace("raters", "families")
            state = jnp.asarray(values[name_of_state])
            family = jax.tree.map(partial(_as, dtype=rows.dtype), alike.by_family(family))
            found[name_of_state], found[name] = alike.coordinates(family, state, rows)
        elif not name.startswith("families"):
            found[name] = jnp.log(rows) @ bijections.basis(rows.shape[-1], rows.dtype)
    return found


def prior_means(model: LatentModel, groups: int = 1) -> dict[str, np.ndarray]:
    """Prior means, as values for `unconstrain`: a start for a sampler or an optimizer."""
    arrays, found = arrays_of(model, groups, np.float64), {}
    dists = {"pi": np.tile(model.class_prior, (groups, 1)), "weights": model.stratum_prior}
    for k, group in enumerate(model.raters):
        dists |= {f"raters{k}": group.prior, f"common{k}": group.common_prior}
        if group.alike is not None:
            found[f"families{k}"] = alike.first_state(group.alike, 1)[0]
    for name in shapes_of(arrays).keys() - found.keys():
        found[name] = dists[name] / dists[name].sum(axis=-1, keepdims=True)
    return found


def _flat(parameters: dict[str, Any], model: LatentModel) -> tuple[Strata, Any]:
    """The arrays of a model, without images, and one point (size, 1)."""
    given = {name: jnp.shape(a) for name, a in parameters.items()}
    dtype = jnp.result_type(*parameters.values())
    arrays = arrays_of(model, given.get("pi", (1,))[0], dtype)._replace(names=None)
    shapes = shapes_of(arrays)
    if given != shapes:
        raise ValueError(f"this model has the parameters {shapes}; got {given}")
    return arrays, jnp.concatenate([jnp.ravel(parameters[name]) for name in shapes])[:, None]


def draw(arrays: Strata, rng: np.random.Generator, number: int) -> np.ndarray:
    """Points of the prior, (size, P)."""
    model, parts = arrays.model, []
    if "pi" in arrays.constants:
        parts.append(_drawn(np.tile(model.class_prior, (1, len(arrays.log_class), 1)), rng, number)[1])
    if "weights" in arrays.constants:
        parts.append(_drawn(model.stratum_prior[None], rng, number)[1])
    for group in model.raters:
        if group.alike is not None:
            parts += alike.draw(group.alike, rng, number)
        elif group.common_prior is None:
            parts.append(_drawn(group.prior, rng, number)[1])
        else:
            logs, x = _drawn(group.common_prior[None], rng, number)
            logs = logs - np.logaddexp.reduce(logs, axis=2, keepdims=True)
            a = np.tile(float(group.strength) * np.exp(logs) + _LEAST, (len(group.prior), 1, 1, 1))
            parts += [x, bijections.unstretched(bijections.ratios(log_gamma_draws(a, rng)))]
    return np.concatenate([np.asarray(part).reshape(-1, number) for part in parts])


def _drawn(prior: Any, rng: np.random.Generator, number: int) -> tuple[np.ndarray, np.ndarray]:
    """Logs of rows, up to a constant, and their coordinates."""
    logs = log_gamma_draws(np.tile(np.asarray(prior, np.float64)[..., None], number), rng)
    return logs, bijections.unstretched(bijections.ratios(logs))


def shapes_of(arrays: Strata) -> dict[str, tuple[int, ...]]:
    """Coordinates by name, in the order in which they follow each other."""
    model, shapes = arrays.model, {}
    if "pi" in arrays.constants:
        shapes["pi"] = len(arrays.log_class), model.num_classes - 1
    if "weights" in arrays.constants:
        shapes["weights"] = len(model.stratum_prior), model.num_strata - 1
    for k, group in enumerate(model.raters):
        raters, rows, symbols = group.prior.shape
        if group.alike is not None:
            shapes[f"families{k}"] = alike.shape_of(group.alike)
        elif group.common_prior is not None:
            shapes[f"common{k}"] = rows, symbols - 1
        shapes[f"raters{k}"] = raters, rows, symbols - 1
    return shapes


def size_of(arrays: Strata) -> int:
    """Number of coordinates."""
    return sum(int(np.prod(shape)) for shape in shapes_of(arrays).values())


def arrays_of(model: LatentModel, groups: int = 1, dtype: Any = np.float32) -> Strata:
    """The arrays of a model for this number of groups of samples."""
    share = model.stratum_prior / model.stratum_prior.sum(axis=1, keepdims=True)
    known = np.maximum(log(model.class_prior), -1e9) if model.class_fixed else np.zeros(model.num_classes)
    dists = {} if model.class_fixed else {"pi": np.tile(model.class_prior, (groups, 1))}
    if model.num_strata > 1 and not model.weights_fixed:
        dists["weights"] = model.stratum_prior
    raters = []
    for k, group in enumerate(model.raters):
        if group.alike is not None:
            group = group._replace(alike=alike.by_family(group.alike))
        elif group.common_prior is not None:
            dists[f"common{k}"] = group.common_prior
        else:
            dists[f"raters{k}"] = group.prior
        raters.append(group)
    constants = {name: bijections.constant(rows).sum() for name, rows in dists.items()}
    constants |= {f"raters{k}": alike.constant(g.alike) for k, g in enumerate(raters) if g.alike is not None}
    plain = model._replace(class_fixed=None, weights_fixed=None, raters=tuple(raters))
    plain = Strata(plain, constants, np.tile(known, (groups, 1)), log(share))
    arrays = jax.tree.map(partial(_as, dtype=dtype), plain)
    return arrays._replace(names=_names(model, arrays)) if may_exchange(model) else arrays


def _as(a: Any, dtype: Any) -> np.ndarray:
    a = np.asarray(a)
    return a.astype(np.int32 if a.dtype.kind in "iu" else dtype)


def may_exchange(model: LatentModel) -> bool:
    """Whether the two strata of every class have their own weights and rows, or common rows."""
    if model.weights_fixed or model.stratum_prior.shape != (model.num_classes, 2):
        return False
    apart = [_apart(raters) for raters in model.raters]
    tied = [np.array_equal(raters.row_of_state, model.state_class) for raters in model.raters]
    fits = all(a or b for a, b in zip(apart, tied, strict=True))
    return apart[0] and fits and all(r.alike is None for a, r in zip(apart, model.raters, strict=True) if a)


def _apart(raters: Raters) -> bool:
    return np.array_equal(raters.row_of_state, np.arange(raters.row_of_state.size))


def _exchanged(rows: Any) -> Any:
    """(..., R, U): rows of both strata of every class exchanged."""
    return rows.reshape(*rows.shape[:-2], -1, 2, rows.shape[-1])[..., ::-1, :].reshape(rows.shape)


def _names(model: LatentModel, arrays: Strata) -> tuple[Any, Any, Any, Any]:
    """Coordinates are numbered, and the numbers exchanged as the strata are."""
    size, classes = size_of(arrays), model.num_classes
    place, sign, of_class = np.arange(size), np.ones(size), np.zeros((classes, size))
    better, at, first = np.zeros((classes, size)), {}, 0
    for name, shape in shapes_of(arrays).items():
        at[name] = first + np.arange(np.prod(shape, dtype=int)).reshape(shape)
        first += at[name].size
    weights = at["weights"].ravel()
    sign[weights], of_class[np.arange(classes), weights] = -1.0, 1.0
    for k, raters in enumerate(model.raters):
        if not _apart(raters):
            continue
        for here in [at[name] for name in (f"common{k}", f"raters{k}") if name in at]:
            place[here] = _exchanged(here)
            for c in range(classes):
                of_class[c, here[..., 2 * c : 2 * c + 2, :]] = 1.0
        own = at[f"raters{k}"]
        for c in range(classes if k == 0 else 0):
            right = bijections.basis(raters.prior.shape[2])[c]
            better[c, own[:, 2 * c]], better[c, own[:, 2 * c + 1]] = right, -right
    of_class, sign, better = (a.astype(np.float32) for a in (of_class, sign, better))
    return of_class, place.astype(np.int32), sign, better


KIND = Kind(log_prior, channel, named, draw, size_of, fold, unfold, images)
