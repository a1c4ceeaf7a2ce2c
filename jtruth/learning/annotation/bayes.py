"""Annotation models sampled by NUTS or by tempering, with the true classes summed out.

The models are those of Su, Tables 2-3 and 5.1.2, and of Paun et al. (2018). NUTS sees continuous parameters
only; the labels are one factor, the log-likelihood of `jtruth.latent.density`. For plain Dawid and Skene
`fit_joint` gives the same posterior many times faster.

Chains start near the majority vote. From random starts and flat priors NUTS finds a mirror image of the
posterior, in which classes have exchanged names, and no diagnostic shows it.
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
from jaxtyping import Float, Int
from numpyro import handlers
from numpyro.distributions import biject_to
from numpyro.infer.util import constrain_fn, potential_energy
from scipy.special import logit

from jtruth._cache import keep_programs
from jtruth._one_line import one_line
from jtruth._random import host_rng, seeded
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
from jtruth.learning.annotation import functions
from jtruth.learning.annotation.functions import NAMES, SPECS, draw_sites
from jtruth.learning.annotation.models import Hyper, Spec, confusion, prepare
from jtruth.learning.annotation.posterior import NutsFit, doubts, drawn, gather, merged_rows

_BLOCKS, _MOST_BLOCKS = 4, 64  # blocks of moves before the first look and between two, and at most
_MOST_NUMBERS = 20_000_000  # draws x rows of a tempered fit
_FARTHEST = 30.0  # coordinates of draws from the prior


@functools.lru_cache(maxsize=64)
def numpyro_model(sites: Callable, channel: Callable) -> Callable:
    """The NumPyro model of a `Spec`; the same object for the same functions, so that it is compiled once."""

    def model(seen: Seen | None, hyper: Hyper, *, num_labelers: int) -> None:
        drawn = draw_sites(sites, hyper, num_labelers)
        if seen is not None:  # else nothing is observed
            now = channel(drawn, hyper, num_labelers)
            numpyro.factor("labels", density.log_likelihood(now, seen)[0])

    return model


@seeded
def fit_nuts(
    model: str | Callable,
    labels: Labels,
    *,
    key: Any = None,
    hyper: Hyper | None = None,
    start: dict[str, Any] | None = None,
    settings: NutsSettings = NutsSettings(),
) -> NutsFit:
    """Sample the posterior of an annotation model by NUTS.

    Args:
        model: a name of `functions.SPECS`, a function of `jtruth.models`, or one of your own that is written
            like them (docs/your_own_model.md).
        labels: noisy labels; to grade a classifier, append its predictions as one more labeler.
        key: a whole number or a JAX key; 0 if None.
        hyper: prior settings that replace the model's defaults, e.g. {"class_concentration": 3.0}.
        start: where chains start, up to jitter: values by parameter name (others start at a prior draw);
            error rates against the majority vote if None.
        settings: numbers of chains and transitions, progress, checkpoint.

    Returns:
        `NutsFit`; look at `warnings` and `usable` first.

    Raises:
        ValueError: an unknown model or prior setting, no label, or a checkpoint of another run.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> fit = fit_nuts("one_coin", Labels.from_matrix(z, 2), key=0, settings=NutsSettings(num_samples=500))
    >>> fit.usable, fit.run.divergences, fit.mean_matrices.shape, bool(fit.mean_matrices[0, 0, 0] > 0.9)
    (True, 0, (3, 2, 2), True)
    """
    gold_and_prior(labels, None, None)
    name, spec = resolve(model, labels)
    data = merged_rows(labels)
    prior = prepare(spec, labels.num_classes, data[0].design.shape[1] - 1, hyper)
    start = (
        spec.start(*functions.majority_start(functions.data_of(labels)), prior) if start is None else start
    )
    run = nuts.run_nuts(
        numpyro_model(*spec[:2]), data[0], prior, key=key, static={"num_labelers": labels.num_labelers},
        init=start, settings=settings,
    )  # fmt: skip
    return gather(name, spec, labels, prior, data, run, key)


def resolve(model: str | Callable, labels: Labels | None = None) -> tuple[str, Spec]:
    """Name and parts of a model; `labels` are what a function of one's own is called with."""
    if callable(model) and model not in NAMES:
        return getattr(model, "func", model).__name__, own_spec(model, labels)
    name = model if isinstance(model, str) else NAMES[model]
    choose("model", name, tuple(SPECS))
    return name, SPECS[name]


def own_spec(function: Callable, labels: Labels | None) -> Spec:
    """The parts of a NumPyro function of labels: its sites, and the channel of its site "labels"."""
    name = getattr(function, "func", function).__name__

    def sites(hyper: Hyper, num_labelers: int) -> dict[str, Any]:
        with handlers.block(hide=["labels", "samples"]):  # not the terms of coordinates, nor further data
            every = handlers.trace(function).get_trace(labels)
        return {name: site["value"] for name, site in unknown_sites(every).items()}

    def channel(p: dict[str, Any], hyper: Hyper, num_labelers: int) -> Channel:
        return labels_site(run_once(function, p, (labels,)), name)["fn"].channel

    every, again = (run_once(function, {}, (labels,)) for _ in range(2))
    distribution, unknown = labels_site(every, name)["fn"], unknown_sites(every)
    checked_draws({k: s["value"][None] for k, s in unknown_sites(again).items()}, every, name)
    shares = unknown.get("prior")
    if shares is None or shares["value"].shape != (distribution.num_classes,):
        raise ValueError(
            f'{name} has no site "prior" with a class share for each of {distribution.num_classes} classes. '
            "Run a model without it by your own MCMC, and hand that to jt.evaluate"
        )
    return Spec(sites, channel)


def run_once(
    function: Callable, draw: dict[str, Any], args: tuple, more: dict[str, Any] | None = None
) -> Any:
    """All sites of one run of a NumPyro function, with the values of `draw` put in."""
    inside = handlers.substitute(handlers.seed(function, jax.random.key(0)), data=draw)
    with handlers.block():
        return handlers.trace(inside).get_trace(*args, **(more or {}))


def unknown_sites(sites: Any) -> dict[str, Any]:
    """The unobserved sites; ValueError for a discrete one."""
    unknown = {k: s for k, s in sites.items() if s["type"] == "sample" and not s["is_observed"]}
    for name, site in unknown.items():
        if site["fn"].support.is_discrete:
            raise ValueError(
                f"site {name!r} is discrete ({_kind(site['fn'])}); sum it out: jt.models.observe "
                "does that for true classes"
            )
    return unknown


def _kind(distribution: Any) -> str:
    return type(_inner(distribution)).__name__


def _inner(distribution: Any) -> Any:
    while isinstance(distribution, dist.Independent | dist.ExpandedDistribution):
        distribution = distribution.base_dist
    return distribution


def labels_site(sites: Any, name: str) -> Any:
    """The observed site "labels"; ValueError without one."""
    site = sites.get("labels")
    if site is None or not isinstance(site.get("fn"), functions.NoisyLabels):
        what = "has no site" if site is None else f"has {_kind(site.get('fn'))} as its site"
        every = ", ".join(sites) or "none"
        raise ValueError(
            f'{name} {what} "labels" (its sites: {every}); make it by jt.models.observe(labels, '
            "prior, confusion), which sums the true classes out"
        )
    return site


def checked_draws(draws: Any, sites: Any, name: str) -> dict[str, np.ndarray]:
    """Draws (draws, ...) of the unobserved sites; ValueError for other names or shapes."""
    draws, unknown = {k: np.asarray(v) for k, v in draws.items()}, unknown_sites(sites)
    if missing := sorted(set(unknown) - set(draws)):
        raise ValueError(
            f"the draws lack site {missing[0]!r} of {name}; they have {', '.join(sorted(draws)) or 'none'}"
        )
    number = max((len(draws[site]) for site in unknown), default=0)
    for site in unknown:
        shape, wanted = draws[site].shape, (number, *np.shape(unknown[site]["value"]))
        if shape != wanted:
            raise ValueError(
                f"site {site!r} of {name}: draws have shape {shape}, the model asks for {wanted}"
            )
    return {site: draws[site] for site in unknown}


class DrawnClasses(NamedTuple):
    """Class probabilities and matrices at every draw. Rows are samples with different labels."""

    posterior: Float[np.ndarray, "draws rows classes"]
    row_of_sample: Int[np.ndarray, " samples"]
    matrices: Float[np.ndarray, "draws labelers classes classes"]  # p(label | class), () labelers of evidence
    classifier: Float[np.ndarray, "draws classes symbols"] | None  # where the model has y_pred, too

    __repr__ = one_line


def drawn_classes(
    model: Callable, draws: Any, args: tuple, more: dict[str, Any] | None = None
) -> DrawnClasses:
    """Class probabilities at draws (draws, ...) of a model's sites; see `classes_by_draw`."""
    name = getattr(model, "__name__", "the model")
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):
        sites = run_once(model, {}, args, more)
        draws = checked_draws(draws, sites, name)
        site = labels_site(sites, name)
        value, labeler, row = site["fn"].rows(site["value"])

        def one(draw: dict[str, Any]) -> Any:
            distribution = run_once(model, draw, args, more)["labels"]["fn"]
            known = distribution.channel, distribution.num_labelers
            matrices = confusion(*known) if known[1] else None  # None: log-likelihoods were given
            return distribution.class_posterior(value, labeler), matrices

        posterior, matrices = jax.tree.map(np.asarray, jax.lax.map(one, draws, batch_size=16))
    if matrices is None:
        matrices = np.zeros((len(posterior), 0, posterior.shape[2], posterior.shape[2]))
    row = np.arange(posterior.shape[1]) if row is None else row
    return DrawnClasses(posterior, row, matrices, draws.get("classifier") if "y_pred" in sites else None)


def drawn_by_fit(fit: NutsFit) -> DrawnClasses:
    """Class probabilities at the draws of a fit by `fit_nuts`."""
    draws = {name: fit.run.flat(name) for name in fit.run.samples}
    posterior, matrices = drawn(fit.spec.channel, draws, fit.seen, fit.hyper, fit.labels.num_labelers)
    return DrawnClasses(posterior, fit.row_of_sample, matrices, None)


def classes_by_draw(
    model: Callable, draws: Any, *args: Any, **priors: Any
) -> Float[np.ndarray, "draws samples classes"]:
    """p(class | labels, parameters) of every sample at every draw of a model, by Bayes' rule (Su (21)).

    Args:
        model: a function of `jtruth.models`, or your own with a site made by `jtruth.models.observe`.
        draws: values (draws, ...) by name of site: `mcmc.get_samples()`, or draws of a guide.
        args, priors: what the model was run with, labels first.

    Raises:
        ValueError: a site that is missing, discrete, or of another shape; the message names it.
    """
    found = drawn_classes(model, draws, args, priors)
    return found.posterior[:, found.row_of_sample]


@functools.lru_cache(maxsize=64)
def kind_of(sites: Callable, channel: Callable) -> Kind:
    """An annotation model as a log density, for tempering.

    Coordinates are NumPyro's of all sites, one after the other. Arrays are the prior settings, and zeros
    (labelers,) for the number of labelers.
    """
    drawn = functools.partial(draw_sites, sites)

    def args(arrays: Any) -> tuple[Hyper, int]:
        return arrays[0], arrays[1].size

    def point(arrays: Any, key: Any) -> dict[str, Any]:
        every = handlers.trace(handlers.seed(drawn, key)).get_trace(*args(arrays))
        unknown = unknown_sites(every).items()
        return {name: biject_to(s["fn"].support).inv(s["value"]) for name, s in unknown}

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
            distributions = {
                "prior": dist.Dirichlet(arrays[0]["class_concentration"]),
                **sites(*args(arrays)),
            }
        if all(isinstance(distribution, dist.Distribution) for distribution in distributions.values()):
            free = [
                _drawn_free(distribution, rng, number) for _, distribution in sorted(distributions.items())
            ]
            points = np.concatenate([np.asarray(x).reshape(number, -1) for x in free], axis=1)
        else:  # distributions that depend on what was drawn before
            keys = jax.random.split(key, number)
            points = jax.vmap(lambda key: ravel_pytree(point(arrays, key))[0])(keys)
        return np.clip(np.nan_to_num(np.asarray(points, np.float32).T), -_FARTHEST, _FARTHEST)

    def size(arrays: Any) -> int:
        return sum(int(np.prod(a.shape)) for a in jax.tree.leaves(shapes(arrays)))

    return Kind(log_prior, meaning, named, draw, size)


def _drawn_free(distribution: Any, rng: np.random.Generator, number: int) -> Any:
    """Draws in NumPyro's unconstrained coordinates; usual distributions by NumPy, uncompiled."""
    base, shape = _inner(distribution), (number, *distribution.shape())
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
    return biject_to(distribution.support).inv(
        distribution.sample(jax.random.key(rng.integers(2**31)), (number,))
    )


def evidence_of(fit: Any, key: Any = None) -> tuple[float, float] | None:
    """log p(all labels) of the model of a `NutsFit`, by tempering from the prior, and its standard error.

    None where tempering would take long or does not reach the posterior.
    """
    with nuts.numpyro_block(), jax.enable_x64(False):
        model, _ = _density(fit.spec, fit.labels, fit.hyper)
        state = model and _at_posterior(model, host_rng(key, "evidence"))
    return state and (state.evidence[0], state.evidence[1])


def _density(spec: Spec, labels: Labels, hyper: Hyper) -> tuple[Model | None, np.ndarray]:
    """The model as a log density, and the row of each sample; None where tempering would take long."""
    settings = {name: np.asarray(value, np.float32) for name, value in hyper.items()}
    arrays = settings, np.zeros(labels.num_labelers, np.float32)
    rows = merge_samples(labels, None, None)
    kind = kind_of(spec.sites, spec.channel)
    points = np.zeros((kind.size(arrays), 1), np.float32)
    states = jax.eval_shape(kind.channel, arrays, points).log_level.shape[0]
    observed = Observed(
        (label_columns(rows.labels),), rows.multiplicity.astype(np.float64),
        np.zeros((states, rows.multiplicity.size)), rows.row_of_sample,
    )  # fmt: skip
    able = temperable(kind, arrays, observed)
    return model_of(kind, arrays, observed, labels.num_classes) if able else None, rows.row_of_sample


def _at_posterior(model: Model, rng: np.random.Generator) -> temper.Tempered | None:
    """Points of the posterior, and the evidence; None where tempering does not reach it."""
    keep_programs()
    try:
        return alone(temper.temper(model, rng, temper.lineages_for(model.work)))
    except TooLarge:
        return None


class TemperedFit(NamedTuple):
    """What one tempered run of an annotation model found."""

    pointwise: RowLikelihood
    evidence: tuple[float, float]  # log p(all labels), and its standard error
    warnings: tuple[str, ...]


def fit_tempered(
    model: str | Callable, labels: Labels, *, key: Any = None, progress: Progress = nuts.USUAL.progress
) -> TemperedFit | None:
    """log p(labels of a sample | draw) and the evidence of an annotation model, by one tempered run.

    The points that tempering ends with are draws of the posterior (Del Moral, Doucet and Jasra 2006). They
    move on until R-hat and ESS of all parameters meet `latent.walk.STANDARD`. None where tempering would take
    long or does not reach the posterior: use `fit_nuts` then.
    """
    gold_and_prior(labels, None, None)
    _, spec = resolve(model, labels)
    most = int(labels.labels_per_sample().max())
    hyper, rng = prepare(spec, labels.num_classes, most, None), host_rng(key, "tempered")
    with nuts.numpyro_block(), jax.enable_x64(False), progress.reporting() as tell:
        density, row_of_sample = _density(spec, labels, hyper)
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
    """The state after a few moves, with parameters and log p(row), (lineages, moves, ...)."""
    path = yield from temper.kept(model, rng, state)
    static = ("kind", model.kind), ("classes", model.classes)
    u = np.zeros((len(path), model.classes, path.shape[2]), np.float32)  # these models have no images
    named, _, log_p = yield Call(temper.dists, static, (model.arrays, model.seen, path, u))
    first = [np.moveaxis(np.asarray(a, np.float64), (-1, 0), (0, 1)) for a in (*named.values(), log_p)]
    moved = state._replace(x=np.ascontiguousarray(path[-1]))
    return moved, (dict(zip(named, first[:-1], strict=True)), first[-1])
