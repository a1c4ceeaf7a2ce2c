"""The annotation models as data: what their parameters mean, which priors they have, where chains start.

`SPECS[name].channel(parameters, hyper, num_labelers)` is the one place where a model turns parameters into
probabilities of labels; the NumPyro model in `bayes` and everything done with its draws afterwards use it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np

from jtruth.learning import _bayes_channels as channels
from jtruth.learning._bayes_channels import Channel

Parameters = dict[str, Any]
Hyper = dict[str, Any]


class Spec(NamedTuple):
    """One model. C classes, T labelers."""

    channel: Callable[[Parameters, Hyper, int], Channel]
    defaults: Callable[[int], Hyper]  # C -> prior settings, all that a user may replace
    start: Callable[[int, int, Hyper], Parameters]  # C, T, hyper -> where chains start
    rigid: bool = False  # whether two labels a sample can determine the parameters


class Prepared(NamedTuple):
    """Prior settings as arrays, and the start, for one data set."""

    hyper: Hyper
    start: Callable[[int], Parameters]
    rigid: bool


def prepare(model: str, num_classes: int, most_labels: int, given: Hyper | None) -> Prepared:
    """Defaults overridden by `given`, quadrature nodes for the difficulty added.

    Raises:
        ValueError: an unknown name, or a value that does not fit.
    """
    spec = SPECS[model]
    hyper: Hyper = {"class_concentration": 1.0, **spec.defaults(num_classes)}
    unknown = sorted(set(given or {}) - set(hyper))
    if unknown:
        raise ValueError(f"model {model!r} has no prior setting {unknown[0]!r}; it has {', '.join(hyper)}")
    shapes = {name: np.shape(value) for name, value in hyper.items()}
    shapes["class_concentration"] = (num_classes,)
    for name, value in (given or {}).items():
        try:
            hyper[name] = np.broadcast_to(np.asarray(value, np.float64), shapes[name])
        except ValueError:
            raise ValueError(
                f"hyper[{name!r}] has shape {np.shape(value)}; give {shapes[name]} or one number"
            ) from None
        if not np.isfinite(hyper[name]).all():
            raise ValueError(f"hyper[{name!r}] is not finite: {np.asarray(value).tolist()}")
    arrays = {k: np.array(np.broadcast_to(v, shapes[k]), np.float64) for k, v in hyper.items()}
    if "difficulty_prior" in arrays:
        a, b = arrays.pop("difficulty_prior").tolist()
        arrays["difficulty"], arrays["log_weight"] = channels.beta_levels(a, b, most_labels)
    if "easiness_prior" in arrays:
        mean, sd, size = arrays.pop("easiness_prior").tolist()
        arrays["log_easiness"], arrays["log_weight"] = channels.normal_levels(mean, sd, int(size))
    return Prepared(arrays, lambda labelers: spec.start(num_classes, labelers, arrays), spec.rigid)


def diagonal_rows(num_classes: int, diagonal: float = 2.0, off_total: float = 1.0) -> np.ndarray:
    """Dirichlet concentrations: `diagonal` on it, `off_total` in all off it."""
    off = np.full((num_classes, num_classes), off_total / (num_classes - 1))
    np.fill_diagonal(off, diagonal)
    return off


def _rows(classes: int) -> Hyper:
    return {"row_concentration": diagonal_rows(classes)}


def _uniform(classes: int) -> np.ndarray:
    return np.full(classes, 1 / classes)


def _start_matrix(classes: int) -> np.ndarray:
    return diagonal_rows(classes, 0.7, 0.3)


def _broadcast(matrix, num_labelers):
    return jnp.broadcast_to(matrix, (num_labelers, *matrix.shape))


SPECS: dict[str, Spec] = {
    "dawid_skene": Spec(
        channel=lambda p, h, t: channels.confusion_channel(p["prior"], p["matrices"]),
        defaults=_rows,
        start=lambda c, t, h: {
            "prior": _uniform(c),
            "matrices": np.broadcast_to(_start_matrix(c), (t, c, c)),
        },
    ),
    "pooled": Spec(
        channel=lambda p, h, t: channels.confusion_channel(p["prior"], _broadcast(p["matrix"], t)),
        defaults=_rows,
        start=lambda c, t, h: {"prior": _uniform(c), "matrix": _start_matrix(c)},
    ),
    "one_coin": Spec(
        channel=lambda p, h, t: channels.one_coin_channel(p["prior"], p["accuracy"]),
        defaults=lambda c: {"accuracy": (2.0, 1.0)},  # Beta
        start=lambda c, t, h: {"prior": _uniform(c), "accuracy": np.full(t, 0.7)},
        rigid=True,
    ),
    "hierarchical_dawid_skene": Spec(
        channel=lambda p, h, t: channels.confusion_channel(
            p["prior"], channels.logit_rows(p["population"][None] + p["spread"][None] * p["own"])
        ),
        # A population that is right 73 % of the time, give or take.
        defaults=lambda c: {
            "logit_mean": np.full((c, c - 1), -1.0 - np.log(c - 1)),
            "logit_sd": np.ones((c, c - 1)),
            "spread": 1.0,
        },
        start=lambda c, t, h: {
            "prior": _uniform(c),
            "population": h["logit_mean"],
            "spread": np.full((c, c - 1), 0.5 * h["spread"]),
            "own": np.zeros((t, c, c - 1)),
        },
    ),
    "difficulty_fallibility": Spec(
        channel=lambda p, h, t: channels.difficulty_channel(
            p["prior"], p["fallibility"], h["difficulty"], h["log_weight"]
        ),
        defaults=lambda c: {
            "fallibility": (1.0, 1.0, 1.0),  # a, b, high: high * Beta(a, b); (1, 1, .4) is U(0, .4)
            "difficulty_prior": (1.0, 5.0),  # Beta, as in Su 5.2.1
        },
        start=lambda c, t, h: {"prior": _uniform(c), "fallibility": np.full(t, 0.3 * h["fallibility"][2])},
        rigid=True,
    ),
    "item_difficulty": Spec(
        channel=lambda p, h, t: channels.ability_channel(
            p["prior"], p["ability"], h["log_easiness"], h["log_weight"]
        ),
        defaults=lambda c: {
            "ability": (1.0, 1.0),  # Normal: mean, sd
            "easiness_prior": (1.0, 1.0, 15.0),  # log easiness ~ Normal: mean, sd, nodes
        },
        start=lambda c, t, h: {"prior": _uniform(c), "ability": np.full(t, 1.0)},
        rigid=True,
    ),
    "mace": Spec(
        channel=lambda p, h, t: channels.mace_channel(p["prior"], p["competence"], p["spam"]),
        defaults=lambda c: {"competence": (0.5, 0.5), "spam": np.full(c, 10.0)},  # Beta, Dirichlet
        start=lambda c, t, h: {
            "prior": _uniform(c),
            "competence": np.full(t, 0.6),
            "spam": np.full((t, c), 1 / c),
        },
    ),
}
