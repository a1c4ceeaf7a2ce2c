"""Bayesian annotation models in NumPyro: who labels how well, with every uncertainty carried along.

The models are those of the paper's Tables 2-3 and 5.1.2 and of Paun et al. (2018). The true class (and the
sample's difficulty, where a model has one) is summed out, so NUTS sees continuous parameters only; what the
labels say is one factor, the log-likelihood of `jtruth.latent.density`. For plain Dawid and Skene `fit_joint`
gives the same posterior many times faster.

Priors are diagonal-heavy and chains start near majority vote: with flat priors and random starts NUTS lands
in a mirror image of the posterior in which classes have exchanged names, and no diagnostic notices.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jax.flatten_util import ravel_pytree
from numpyro import handlers
from numpyro.distributions import biject_to, constraints
from numpyro.infer.util import constrain_fn, potential_energy
from scipy.special import logit

from jtruth._cache import keep_programs
from jtruth._random import host_rng, seeded, stream
from jtruth._validation import choose
from jtruth.labels import Labels
from jtruth.latent import NutsSettings, Progress, TooLarge, density
from jtruth.latent.density import Channel, Seen
from jtruth.latent.fit import RowLikelihood, model_of, row_likelihood, temperable
from jtruth.latent.infer import nuts, temper
from jtruth.latent.infer.side_by_side import Call, Sampler, alone
from jtruth.latent.model import Kind, Model, Observed
from jtruth.latent.rows import label_columns, merge_samples
from jtruth.latent.walk import STANDARD, diagnose, extremes, good
from jtruth.learning._fit import gold_and_prior
from jtruth.learning.annotation.models import SPECS, Hyper, Spec, prepare, wrong_shares
from jtruth.learning.annotation.posterior import (
    NutsFit,
    doubts,
    gather,
    majority_matrices,
    merged_rows,
    simulated_labels,
)

_BLOCKS, _MOST_BLOCKS = 4, 64  # blocks of moves before the first look and between two, and at most
_MOST_NUMBERS = 20_000_000  # draws x rows of a tempered fit
_FARTHEST = 30.0  # coordinates of draws from the prior


def _many(law: dist.Distribution, *shape: int) -> Any:
    """So many independent numbers or rows of one law, as one parameter."""
    every = (*shape, *law.batch_shape)
    return law.expand(every).to_event(len(every))


def _hierarchical(hyper: Hyper, labelers: int) -> dict[str, dist.Distribution]:
    """Logit-normal rows around a population: logits population + spread * own, own ~ N(0, 1)."""
    shape = hyper["logit_mean"].shape  # (classes, classes - 1)
    return {
        "population": _many(dist.Normal(hyper["logit_mean"], hyper["logit_sd"])),
        "spread": _many(dist.HalfNormal(hyper["spread"]), *shape),
        "own": _many(dist.Normal(0.0, 1.0), labelers, *shape),
    }


def _alike(hyper: Hyper, labelers: int) -> dict[str, Any]:
    """Rows of one class alike over labelers, nothing fixed: the law of `latent.models.alike`, uncollapsed.

    right[t, c] ~ Beta(mean[c] kappa[c], (1 - mean[c]) kappa[c]), errors[t, c] ~ Dirichlet(alpha[c] q[c]) with
    q[c, u] proportional to share[u]^pull[c]. With two classes there is one wrong label and no pattern.
    Rows are centred at what they share: with few labels of a labeler NUTS may need target_accept=.99.
    """
    classes = hyper["log_share"].shape[0]
    laws = {"mean": dist.Beta(*hyper["mean_prior"]), "log_kappa": dist.Normal(*hyper["log_kappa"])}
    if classes > 2:
        laws |= {"log_alpha": dist.Normal(*hyper["log_alpha"]), "pull": dist.Uniform(0.0, 1.0)}
    p: dict[str, Any] = {name: numpyro.sample(name, _many(law, classes)) for name, law in laws.items()}
    kappa, shape = jnp.exp(p["log_kappa"]), (labelers, classes)
    right = dist.Beta(p["mean"] * kappa, (1 - p["mean"]) * kappa).expand(shape).to_event(2)
    p["right"] = numpyro.sample("right", right)
    if classes > 2:
        q = wrong_shares(hyper["log_share"], p["pull"])
        wrong = dist.Dirichlet(jnp.exp(p["log_alpha"])[:, None] * q).expand(shape).to_event(2)
        p["errors"] = numpyro.sample("errors", wrong)
    return p


def _fallibility(hyper: Hyper, labelers: int) -> dict[str, dist.Distribution]:
    """Su 5.1.2: fallibility phi_t ~ high * Beta(a, b); difficulty delta_i ~ Beta, summed out exactly."""
    a, b, high = hyper["fallibility"]
    stretch = dist.transforms.AffineTransform(0.0, high, domain=constraints.unit_interval)
    law = dist.TransformedDistribution(dist.Beta(a, b).expand([labelers]), stretch)
    return {"fallibility": law.to_event(1)}


# Of each model of `SPECS`, hyper and number of labelers -> parameters, or the laws that they are drawn from.
_LAWS: dict[str, Callable[[Hyper, int], dict[str, Any]]] = {
    # Dawid and Skene (1979): psi_t[c] ~ Dirichlet(row_concentration[c]) for every labeler.
    "dawid_skene": lambda h, t: {"matrices": _many(dist.Dirichlet(h["row_concentration"]), t)},
    # One matrix for all labelers (the "multinomial" model).
    "pooled": lambda h, t: {"matrix": _many(dist.Dirichlet(h["row_concentration"]))},
    # One probability to be right for each labeler, for all classes.
    "one_coin": lambda h, t: {"accuracy": _many(dist.Beta(*h["accuracy"]), t)},
    "hierarchical_dawid_skene": _hierarchical,
    "alike": _alike,
    "difficulty_fallibility": _fallibility,
    # GLAD (Whitehill et al. 2009) for C classes: ability_t ~ Normal; log easiness_i ~ Normal, by nodes.
    "item_difficulty": lambda h, t: {"ability": _many(dist.Normal(*h["ability"]), t)},
    # MACE (Hovy et al. 2013): competence_t ~ Beta, spam_t ~ Dirichlet.
    "mace": lambda h, t: {
        "competence": _many(dist.Beta(*h["competence"]), t), "spam": _many(dist.Dirichlet(h["spam"]), t)},
    # Welinder et al. (2010), one dimension, two classes: w_t, tau_t ~ Normal; positions by nodes, where
    # `fit_welinder` takes the most probable positions.
    "welinder": lambda h, t: {name: _many(dist.Normal(*h[name]), t) for name in ("direction", "threshold")},
}  # fmt: skip


def _everything(parameters: Callable, hyper: Hyper, labelers: int) -> dict[str, Any]:
    """The class prior, then the parameters; what is a law is drawn."""
    prior = numpyro.sample("prior", dist.Dirichlet(hyper["class_concentration"]))
    laws = parameters(hyper, labelers).items()
    drawn = {k: numpyro.sample(k, v) if isinstance(v, dist.Distribution) else v for k, v in laws}
    return {"prior": prior} | drawn


@functools.lru_cache(maxsize=64)
def numpyro_model(parameters: Callable, channel: Callable) -> Callable:
    """The NumPyro model of a `Spec`; the same object for the same functions, so that it is compiled once."""

    def model(seen: Seen | None, hyper: Hyper, *, num_labelers: int) -> None:
        drawn = _everything(parameters, hyper, num_labelers)
        if seen is not None:  # else nothing is observed
            now = channel(drawn, hyper, num_labelers)
            numpyro.factor("labels", density.log_likelihood(now, seen)[0])

    return model


MODELS: dict[str, Callable] = {name: numpyro_model(law, SPECS[name].channel) for name, law in _LAWS.items()}


@seeded
def fit_nuts(
    model: str | Spec,
    labels: Labels,
    *,
    key: Any = None,
    hyper: Hyper | None = None,
    start: dict[str, Any] | None = None,
    settings: NutsSettings = NutsSettings(),
) -> NutsFit:
    """Posterior of an annotation model by NUTS.

    Args:
        model: a name of `MODELS`, or a `Spec` of your own that holds its NumPyro model.
        labels: noisy labels; to have a classifier graded, append its predictions as one more labeler.
        key: of whatever is drawn: a whole number or a JAX key; 0 if None.
        hyper: prior settings that replace those of `models.SPECS`, e.g. {"class_concentration": 3.0}.
        start: where chains start, up to jitter: values by parameter name (others start at a prior draw);
            labelers as majority vote sees them if None.
        settings: numbers of chains and transitions, whom to tell, checkpoint.

    Returns:
        `NutsFit`; look at `warnings` and `usable` first.

    Raises:
        ValueError: an unknown model or hyperparameter, no label at all, or a checkpoint of another run.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> fit = fit_nuts("one_coin", Labels.from_matrix(z, 2), key=0, settings=NutsSettings(num_samples=500))
    >>> fit.usable, fit.run.divergences, fit.mean_matrices.shape, bool(fit.mean_matrices[0, 0, 0] > 0.9)
    (True, 0, (3, 2, 2), True)
    """
    name, spec, function = resolve(model)
    gold_and_prior(labels, None, None)
    data = merged_rows(labels)
    prior = prepare(spec, labels.num_classes, data[0].design.shape[1] - 1, hyper)
    start = spec.start(*majority_matrices(labels), prior) if start is None else start
    run = nuts.run_nuts(
        function, data[0], prior, key=key, static={"num_labelers": labels.num_labelers},
        init=start, settings=settings,
    )  # fmt: skip
    return gather(name, spec, labels, prior, data, run, key)


def resolve(model: str | Spec) -> tuple[str, Spec, Callable]:
    """Name, specification and NumPyro model."""
    if isinstance(model, Spec):
        if model.parameters is None:
            raise ValueError(
                "a custom Spec needs the field `parameters`, a function that samples them with NumPyro"
            )
        return model.name, model, numpyro_model(model.parameters, model.channel)
    choose("model", model, tuple(MODELS))
    return model, SPECS[model], MODELS[model]


@functools.lru_cache(maxsize=64)
def kind_of(parameters: Callable, channel: Callable) -> Kind:
    """An annotation model as all models of `jtruth.latent` are: a log density of coordinates without bounds.

    Coordinates are NumPyro's of all sites, one after the other; arrays are the prior settings, and zeros
    (labelers,) for their number.
    """
    drawn = functools.partial(_everything, parameters)

    def args(arrays: Any) -> tuple[Hyper, int]:
        return arrays[0], arrays[1].size

    def point(arrays: Any, key: Any) -> dict[str, Any]:
        sites = handlers.trace(handlers.seed(drawn, key)).get_trace(*args(arrays))
        unknown = {name: site for name, site in sites.items() if site["type"] == "sample"}
        return {name: biject_to(s["fn"].support).inv(s["value"]) for name, s in unknown.items()}

    def shapes(arrays: Any) -> Any:
        return jax.eval_shape(point, arrays, jax.random.key(0))

    def sites_of(arrays: Any, x: Any) -> Any:
        return ravel_pytree(jax.tree.map(lambda a: jnp.zeros(a.shape, x.dtype), shapes(arrays)))[1](x)

    def log_prior(arrays: Any, x: Any) -> Any:
        return jax.vmap(lambda one: -potential_energy(drawn, args(arrays), {}, sites_of(arrays, one)), -1)(x)

    def named(arrays: Any, x: Any) -> dict[str, Any]:
        return jax.vmap(lambda one: constrain_fn(drawn, args(arrays), {}, sites_of(arrays, one)), -1, -1)(x)

    def meaning(arrays: Any, x: Any) -> Channel:
        def one(p: dict[str, Any]) -> Channel:
            return jax.tree.map(lambda a: a[..., 0], channel(p, *args(arrays)))

        return jax.vmap(one, -1, -1)(named(arrays, x))

    def draw(arrays: Any, rng: np.random.Generator, number: int) -> np.ndarray:
        key = jax.random.key(rng.integers(2**31))
        with handlers.seed(rng_seed=key):
            laws = {"prior": dist.Dirichlet(arrays[0]["class_concentration"]), **parameters(*args(arrays))}
        if all(isinstance(law, dist.Distribution) for law in laws.values()):
            free = [_drawn_free(law, rng, number) for _, law in sorted(laws.items())]
            points = np.concatenate([np.asarray(x).reshape(number, -1) for x in free], axis=1)
        else:  # laws that depend on what was drawn before
            keys = jax.random.split(key, number)
            points = jax.vmap(lambda key: ravel_pytree(point(arrays, key))[0])(keys)
        return np.clip(np.nan_to_num(np.asarray(points, np.float32).T), -_FARTHEST, _FARTHEST)

    def size(arrays: Any) -> int:
        return sum(int(np.prod(a.shape)) for a in jax.tree.leaves(shapes(arrays)))

    return Kind(log_prior, meaning, named, draw, size)


def _drawn_free(law: Any, rng: np.random.Generator, number: int) -> Any:
    """Draws in NumPyro's coordinates without bounds; of the usual laws by NumPy, which compiles nothing."""
    base, shape = law, (number, *law.shape())
    while isinstance(base, dist.Independent | dist.ExpandedDistribution):
        base = base.base_dist
    with np.errstate(divide="ignore", invalid="ignore"):  # what is infinite is cut later
        match base:
            case dist.Dirichlet():
                x = rng.standard_gamma(np.asarray(base.concentration, np.float64), shape)
                after = x[..., ::-1].cumsum(axis=-1)[..., -2::-1]
                return np.log(x[..., :-1] / after * np.arange(shape[-1] - 1, 0, -1))
            case dist.Beta():
                first, second = (np.asarray(a) for a in (base.concentration1, base.concentration0))
                return logit(rng.beta(first, second, shape))
            case dist.Normal():
                return np.asarray(base.loc) + np.asarray(base.scale) * rng.standard_normal(shape)
            case dist.HalfNormal():
                return np.log(np.abs(np.asarray(base.scale) * rng.standard_normal(shape)))
    return biject_to(law.support).inv(law.sample(jax.random.key(rng.integers(2**31)), (number,)))


def evidence_of(fit: Any, key: Any = None) -> tuple[float, float] | None:
    """log p(all labels) of the model of a `NutsFit`, by tempering from the prior, and its standard error.

    None where tempering would take long, or does not get to the posterior.
    """
    with nuts.numpyro_block(), jax.enable_x64(False):
        parameters = fit.spec.parameters or _LAWS[fit.model]
        model, _ = _density(fit.spec, parameters, fit.labels, fit.hyper)
        state = model and _at_posterior(model, host_rng(key, "evidence"))
    return state and (state.evidence[0], state.evidence[1])


def _density(
    spec: Spec, parameters: Callable, labels: Labels, hyper: Hyper
) -> tuple[Model | None, np.ndarray]:
    """The model as a log density, and the row of each sample; None where tempering would take long."""
    settings = {name: np.asarray(value, np.float32) for name, value in hyper.items()}
    arrays = settings, np.zeros(labels.num_labelers, np.float32)
    rows, levels = merge_samples(labels, None, None), len(hyper.get("log_weight", (0.0,)))
    observed = Observed(
        (label_columns(rows.labels),), rows.multiplicity.astype(np.float64),
        np.zeros((labels.num_classes * levels, rows.multiplicity.size)), rows.row_of_sample,
    )  # fmt: skip
    kind = kind_of(parameters, spec.channel)
    able = temperable(kind, arrays, observed)
    return model_of(kind, arrays, observed, labels.num_classes) if able else None, rows.row_of_sample


def _at_posterior(model: Model, rng: np.random.Generator) -> temper.Tempered | None:
    """Points of the posterior, and the evidence; None where the posterior is not reached."""
    keep_programs()
    try:
        return alone(temper.temper(model, rng, temper.lineages_for(model.work)))
    except TooLarge:
        return None


class TemperedFit(NamedTuple):
    """What draws of an annotation model by tempering say of the labels."""

    pointwise: RowLikelihood
    evidence: tuple[float, float]  # log p(all labels), and its standard error
    warnings: tuple[str, ...]


def fit_tempered(
    model: str | Spec, labels: Labels, *, key: Any = None, progress: Progress = nuts.USUAL.progress
) -> TemperedFit | None:
    """log p(labels of a sample | draw) and the evidence of an annotation model, by one tempered run.

    The points that tempering ends with are draws of the posterior (Del Moral, Doucet and Jasra 2006). They
    move on until R-hat and ESS of all parameters are those of `latent.walk.STANDARD`. None where tempering
    would take long, or does not reach the posterior: `fit_nuts` is for such data.
    """
    name, spec, _ = resolve(model)
    gold_and_prior(labels, None, None)
    most = int(labels.labels_per_sample().max())
    hyper, rng = prepare(spec, labels.num_classes, most, None), host_rng(key, "tempered")
    with nuts.numpyro_block(), jax.enable_x64(False), progress.reporting() as tell:
        density, row_of_sample = _density(spec, spec.parameters or _LAWS[name], labels, hyper)
        state = density and _at_posterior(density, rng)
        if density is None or state is None:
            return None
        blocks, rhat, ess = [], {}, {}
        while not blocks or (len(blocks) < _MOST_BLOCKS and not good(rhat, ess, STANDARD)):
            for _ in range(_BLOCKS):
                state, (draws, log_p) = alone(_moved(density, rng, state))
                few = log_p.size * _MOST_BLOCKS > 5 * _MOST_NUMBERS  # of many rows one draw a block is kept
                blocks.append((draws, log_p[:, :: temper.MOVES if few else 1].astype(np.float32)))
                tell(len(blocks), -(-len(blocks) // _BLOCKS) * _BLOCKS)
            draws, log_p = jax.tree.map(lambda *x: np.concatenate(x, axis=1), *blocks)
            rhat, ess = diagnose(draws)
    step = min(-(-log_p.size // _MOST_NUMBERS), log_p.shape[1] // 4)
    rows = row_likelihood(log_p[:, ::step, : density.rows].astype(np.float64), row_of_sample)
    missed = f"Tempering did not converge: {extremes(rhat, ess)}. Use NUTS."
    texts = doubts(spec, labels, hyper, draws, key)[-1]
    texts = texts if good(rhat, ess, STANDARD) else (missed, *texts)
    return TemperedFit(rows, (state.evidence[0], state.evidence[1]), texts)


def _moved(
    model: Model, rng: np.random.Generator, state: temper.Tempered
) -> Sampler[tuple[temper.Tempered, tuple[dict[str, np.ndarray], np.ndarray]]]:
    """A few moves on; parameters (lineages, moves, ...) and log p(row), (lineages, moves, rows)."""
    path = yield from temper.kept(model, rng, state)
    static = ("kind", model.kind), ("classes", model.classes)
    u = np.zeros((len(path), model.classes, path.shape[2]), np.float32)  # these models have no images
    named, _, log_p = yield Call(temper.laws, static, (model.arrays, model.seen, path, u))
    first = [np.moveaxis(np.asarray(a, np.float64), (-1, 0), (0, 1)) for a in (*named.values(), log_p)]
    moved = state._replace(x=np.ascontiguousarray(path[-1]))
    return moved, (dict(zip(named, first[:-1], strict=True)), first[-1])


def simulate_from_prior(
    model: str | Spec,
    *,
    key: Any = None,
    num: int,
    num_samples: int,
    num_labelers: int,
    num_classes: int,
    hyper: Hyper | None = None,
) -> dict[str, np.ndarray]:
    """Parameters and complete label matrices drawn from a model: "label" is (num, samples, labelers)."""
    _, spec, function = resolve(model)
    settings = prepare(spec, num_classes, num_labelers, hyper)
    static = {"num_labelers": num_labelers}
    drawn = nuts.simulate(function, None, settings, key=key, num=num, static=static)
    labeler = np.broadcast_to(np.arange(num_labelers, dtype=np.int32), (num_samples, num_labelers))
    one_chain = {name: value[None] for name, value in drawn.items()}
    key = stream(key, "labels")
    sets = simulated_labels(spec.channel, one_chain, labeler, settings, num_labelers, key, num)
    return drawn | {"label": np.stack(list(sets))}
