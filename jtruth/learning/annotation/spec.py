"""The annotation models as data: what their parameters mean, which priors they have, where chains start.

`SPECS[name].channel(parameters, hyper, num_labelers)` is the one place where a model turns parameters into
probabilities of labels; the NumPyro model in `bayes` and everything done with its draws afterwards use it.
`Spec.start` goes the other way: from a class prior and one matrix a labeler, which majority vote or EM
supply, to parameters near them.

A model of your own is a `Spec` too, given to `fit_nuts` or `compare_models` in place of a name
(docs/your_own_model.md): `parameters` draws what is unknown with NumPyro, `channel` says what it means.
"""

from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.special import ndtri

from jtruth._host import diagonal_rows
from jtruth._one_line import one_line
from jtruth.latent.density import Channel
from jtruth.learning.annotation import channels
from jtruth.learning.annotation.channels import Parameters

Hyper = dict[str, Any]


def _prior_only(prior: np.ndarray, matrices: np.ndarray, hyper: Hyper) -> Parameters:
    """Chains start at the given class prior; other parameters at a draw from their prior."""
    return {"prior": prior}


class Spec(NamedTuple):
    """One model. C classes, T labelers. All functions are pure; equal functions share a compiled program.

    The class prior "prior" (C,) is drawn by jtruth and is among the parameters that `channel` gets.
    """

    channel: Callable[[Parameters, Hyper, int], Channel]  # parameters, hyper, T -> probabilities of labels
    defaults: Callable[[int], Hyper] = lambda classes: {}  # C -> prior settings, all that a user may replace
    start: Callable[[np.ndarray, np.ndarray, Hyper], Parameters] = _prior_only  # pi, psi, hyper -> a start
    rigid: bool = False  # whether two labels a sample can determine the parameters
    parameters: Callable[[Hyper, int], Parameters] | None = None  # of your own: hyper, T -> NumPyro draws
    name: str = "own"  # of your own, in tables
    dims: Mapping[str, tuple[str, ...]] = MappingProxyType({})  # parameter -> names of its axes, for ArviZ
    any_sign: tuple[str, ...] = ()  # prior settings that need not be positive

    __repr__ = one_line


def prepare(spec: Spec, num_classes: int, most_labels: int, given: Hyper | None) -> Hyper:
    """Prior settings as arrays: defaults overridden by `given`, nodes for the difficulty added.

    Raises:
        ValueError: an unknown name, or a value that does not fit.
    """
    hyper: Hyper = {"class_concentration": 1.0, **spec.defaults(num_classes)}
    unknown = sorted(set(given or {}) - set(hyper))
    if unknown:
        raise ValueError(f"the model has no prior setting {unknown[0]!r}; it has {', '.join(hyper)}")
    shapes = {name: np.shape(value) for name, value in hyper.items()}
    shapes["class_concentration"] = (num_classes,)
    arrays = {}
    for name, value in {**hyper, **(given or {})}.items():
        try:
            arrays[name] = np.array(np.broadcast_to(np.asarray(value, np.float64), shapes[name]))
        except ValueError:
            raise ValueError(
                f"hyper[{name!r}] has shape {np.shape(value)}; give {shapes[name]} or one number"
            ) from None
        if not np.isfinite(arrays[name]).all():
            raise ValueError(f"hyper[{name!r}] is not finite: {np.asarray(value).tolist()}")
        if name not in spec.any_sign and not (arrays[name] > 0).all():
            raise ValueError(f"hyper[{name!r}] must be positive; got {np.asarray(value).tolist()}")
    if "difficulty_prior" in arrays:
        a, b = arrays.pop("difficulty_prior").tolist()
        arrays["difficulty"], arrays["log_weight"] = channels.beta_levels(a, b, most_labels)
    if "easiness_prior" in arrays:
        mean, sd, size = arrays.pop("easiness_prior").tolist()
        arrays["log_easiness"], arrays["log_weight"] = channels.normal_levels(mean, sd, int(size))
    if "position_prior" in arrays:
        sd, size = arrays.pop("position_prior").tolist()
        arrays["position"], arrays["log_weight"] = channels.normal_levels(0.0, sd, int(size))
    return arrays


def _rows(classes: int) -> Hyper:
    return {"row_concentration": diagonal_rows(classes, 2.0, 1.0)}


def _broadcast(matrix, num_labelers):
    return jnp.broadcast_to(matrix, (num_labelers, *matrix.shape))


def _accuracy(prior, matrices):
    """(labelers,) probability to be right, kept off the ends."""
    return np.clip(np.einsum("c,tcc->t", prior, matrices), 0.05, 0.95)


def _wrong_logits(matrix):
    """(classes, classes - 1) log odds of each wrong label against the right one: `logit_rows` undone."""
    off = ~np.eye(len(matrix), dtype=bool)
    return np.log(matrix[off].reshape(len(matrix), -1) / np.diag(matrix)[:, None])


def _alike_start(prior, psi, hyper):
    """Rows as they are; families at the mean row, as alike as the middle of the prior says."""
    classes = prior.size
    right = np.clip(np.diagonal(psi, axis1=1, axis2=2), 0.02, 0.98)
    middle = np.zeros(classes)
    start = {"prior": prior, "right": right, "mean": right.mean(axis=0), "log_kappa": middle + np.log(10.0)}
    if classes == 2:
        return start
    wrong = psi[:, ~np.eye(classes, dtype=bool)].reshape(len(psi), classes, -1)
    wrong = wrong / wrong.sum(axis=2, keepdims=True)
    return start | {"errors": wrong, "log_alpha": middle + np.log(classes - 1), "pull": middle + 0.5}


def _fallibility_start(prior, matrices, hyper):
    """phi from the mean error (60) at the mean difficulty."""
    classes, mean = prior.size, np.exp(hyper["log_weight"]) @ hyper["difficulty"]
    error = (1 - _accuracy(prior, matrices)) * classes / (classes - 1)
    high = hyper["fallibility"][2]
    return {"prior": prior, "fallibility": np.clip((error - mean) / (1 - mean), 0.05 * high, 0.95 * high)}


def _ability_start(prior, matrices, hyper):
    """Ability from the accuracy at the mean easiness."""
    right = _accuracy(prior, matrices)
    logit = np.log(right / (1 - right)) + np.log(prior.size - 1)
    easiness = np.exp(np.exp(hyper["log_weight"]) @ hyper["log_easiness"])
    return {"prior": prior, "ability": logit / easiness}


def _mace_start(prior, matrices, hyper):
    """Spam is even at the start, so accuracy = competence + (1 - competence) / C."""
    competence = (_accuracy(prior, matrices) * prior.size - 1) / (prior.size - 1)
    spam = np.full((len(matrices), prior.size), 1 / prior.size)
    return {"prior": prior, "competence": np.clip(competence, 0.05, 0.95), "spam": spam}


def _welinder_defaults(classes: int) -> Hyper:
    """Those of `fit_welinder`: w ~ N(1, 1), tau ~ N(0, 3^2), x ~ N(-1 or +1, .8^2) by 25 nodes."""
    if classes != 2:
        raise ValueError(
            f"Welinder's model is for two classes; these are {classes}: choose item_difficulty, in which "
            "samples differ, too"
        )
    return {"direction": (1.0, 1.0), "threshold": (0.0, 3.0), "position_prior": (0.8, 25.0)}


def _welinder_start(prior, matrices, hyper):
    """w and tau from p(1 | class) = Phi((+-w - tau) / sqrt(1 + sigma^2 w^2)), sigma from the nodes."""
    below, above = ndtri(np.clip(matrices[:, :, 1], 0.02, 0.98)).T
    variance = np.exp(hyper["log_weight"]) @ hyper["position"] ** 2
    half = np.clip((above - below) / 2, -0.9 / np.sqrt(variance), 0.9 / np.sqrt(variance))
    width = 1 / np.sqrt(1 - variance * half**2)
    return {"prior": prior, "direction": half * width, "threshold": -width * (above + below) / 2}


SPECS: dict[str, Spec] = {
    "dawid_skene": Spec(
        channel=lambda p, h, t: channels.confusion_channel(p["prior"], p["matrices"]),
        defaults=_rows,
        start=lambda prior, psi, h: {"prior": prior, "matrices": psi},
        dims={"matrices": ("labeler", "class", "given")},
    ),
    "pooled": Spec(
        channel=lambda p, h, t: channels.confusion_channel(p["prior"], _broadcast(p["matrix"], t)),
        defaults=_rows,
        start=lambda prior, psi, h: {"prior": prior, "matrix": psi.mean(axis=0)},
        dims={"matrix": ("class", "given")},
    ),
    "one_coin": Spec(
        channel=lambda p, h, t: channels.one_coin_channel(p["prior"], p["accuracy"]),
        defaults=lambda c: {"accuracy": (2.0, 1.0)},  # Beta
        start=lambda prior, psi, h: {"prior": prior, "accuracy": _accuracy(prior, psi)},
        rigid=True,
        dims={"accuracy": ("labeler",)},
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
        start=lambda prior, psi, h: {
            "prior": prior,
            "population": _wrong_logits(psi.mean(axis=0)),
            "spread": np.full(h["logit_mean"].shape, 0.5 * h["spread"]),
            "own": np.zeros((len(psi), *h["logit_mean"].shape)),
        },
        dims={
            "population": ("class", "wrong"),
            "spread": ("class", "wrong"),
            "own": ("labeler", "class", "wrong"),
        },
        any_sign=("logit_mean",),
    ),
    "alike": Spec(
        channel=lambda p, h, t: channels.confusion_channel(
            p["prior"], channels.right_and_wrong_rows(p["right"], p.get("errors"))
        ),
        # As `jtruth.latent.models.alike`, where log_share is that of the labels.
        defaults=lambda c: {
            "log_share": np.zeros(c),
            "mean_prior": (2.0, 1.0),
            "log_kappa": (np.log(10.0), 1.5),
            "log_alpha": (np.log(c - 1), 1.5),
        },
        start=_alike_start,
        dims={
            "mean": ("class",),
            "log_kappa": ("class",),
            "log_alpha": ("class",),
            "pull": ("class",),
            "right": ("labeler", "class"),
            "errors": ("labeler", "class", "wrong"),
        },
        any_sign=("log_share", "log_kappa", "log_alpha"),
    ),
    "difficulty_fallibility": Spec(
        channel=channels.difficulty,
        defaults=lambda c: {
            "fallibility": (1.0, 1.0, 1.0),  # a, b, high: high * Beta(a, b); (1, 1, .4) is U(0, .4)
            "difficulty_prior": (1.0, 5.0),  # Beta, as in Su 5.2.1
        },
        start=_fallibility_start,
        rigid=True,
        dims={"fallibility": ("labeler",)},
    ),
    "item_difficulty": Spec(
        channel=channels.ability,
        defaults=lambda c: {
            "ability": (1.0, 1.0),  # Normal: mean, sd
            "easiness_prior": (1.0, 1.0, 15.0),  # log easiness ~ Normal: mean, sd, nodes
        },
        start=_ability_start,
        rigid=True,
        dims={"ability": ("labeler",)},
        any_sign=("ability", "easiness_prior"),
    ),
    "mace": Spec(
        channel=channels.mace,
        defaults=lambda c: {"competence": (0.5, 0.5), "spam": np.full(c, 10.0)},  # Beta, Dirichlet
        start=_mace_start,
        dims={"competence": ("labeler",), "spam": ("labeler", "given")},
    ),
    "welinder": Spec(
        channel=channels.welinder,
        defaults=_welinder_defaults,
        start=_welinder_start,
        dims={"direction": ("labeler",), "threshold": ("labeler",)},
        any_sign=("direction", "threshold"),
    ),
}
