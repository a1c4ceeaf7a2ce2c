"""The arrays of `strata` for a model: one-hot matrices, concentrations, and which names may be exchanged."""

import numpy as np

from jtruth._host import log
from jtruth.latent import bijections
from jtruth.latent.models import alike
from jtruth.latent.models.strata import Group, Names, Parts, Simplex, Strata, size_of
from jtruth.sampling.model import LatentModel, Raters


def arrays_of(model: LatentModel, groups: int = 1) -> Strata:
    """The arrays of a model whose samples have so many class priors."""
    classes, states = model.num_classes, model.state_class
    place = model.weight_row[states] * model.num_strata + model.state_stratum
    of_weight = np.zeros((model.stratum_prior.size, states.size), np.float32)
    of_weight[place, np.arange(states.size)] = 1.0
    share = model.stratum_prior / model.stratum_prior.sum(axis=1, keepdims=True)
    exchange = may_exchange(model)
    drawn, weights = model.num_strata > 1 and not model.held, model.stratum_prior[None]
    known = np.maximum(log(model.class_prior), -1e9) if model.class_fixed else np.zeros(classes)
    found = Strata(
        log_prior=known.astype(np.float32),
        of_class=(np.arange(classes)[:, None] == states[None]).astype(np.float32),
        prior=None if model.class_fixed else _law(np.tile(model.class_prior, (1, groups, 1))),
        weights=_law(weights, weights[..., ::-1] if exchange else None) if drawn else None,
        held=log(share).astype(np.float32),
        of_weight=of_weight.reshape(*model.stratum_prior.shape, states.size),
        raters=tuple(_arrays(raters, exchange) for raters in model.raters),
    )
    return found._replace(names=_names(model, found)) if exchange else found


def may_exchange(model: LatentModel) -> bool:
    """Whether the two strata of every class have weights and rows of their own, or rows in common."""
    own, tied = np.arange(2 * model.num_classes), np.repeat(np.arange(model.num_classes), 2)
    if model.held or model.stratum_prior.shape != (model.num_classes, 2):
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
    found, other = Group(uses, np.zeros(raters.prior.shape, np.float32)), exchange and _apart(raters)
    if raters.alike is not None:
        return found._replace(families=alike.families(raters.alike))
    if raters.strength and raters.common_prior is not None:
        common = raters.common_prior[None]
        strength = np.asarray(raters.strength, np.float32)
        return found._replace(common=_law(common, _exchanged(common) if other else None), strength=strength)
    return found._replace(rows=_law(raters.prior, _exchanged(raters.prior) if other else None))


def _law(concentration: np.ndarray, exchanged: np.ndarray | None = None) -> Simplex:
    constant = bijections.constant(concentration).sum()
    other = None if exchanged is None else np.asarray(exchanged, np.float32)
    return Simplex(np.asarray(concentration, np.float32), np.asarray(constant, np.float32), other)


def _names(model: LatentModel, arrays: Strata) -> Names:
    """Coordinates are numbered, and the numbers exchanged as the strata are."""
    size, classes = size_of(arrays), model.num_classes
    part, every = Parts(np.arange(size)[:, None]), np.arange(size)
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
    return Names(of_class, place.astype(np.int32), sign, better)
