"""Annotation models as NumPyro functions, for your own MCMC, SVI, Predictive and handlers (`jtruth.models`).

A model function takes `labels` first: `Labels`, an integer array (samples, labelers) with -1 for no label, or
None with `shape=(samples, labelers)`, where labels are drawn. Its sites are the class shares "prior" and the
unknowns of the labelers; the true class and the difficulty of a sample are summed out. The labels are one
observed site, "labels", whose distribution is `NoisyLabels`.

Labels do not show which class is called 0. NumPyro's samplers start within +-2 of 0 in unconstrained
coordinates, possibly in the mirror image where classes have exchanged names. So the coordinates of the
shipped models are 0 at the error rates against the majority vote (`_Near`); the density is the same.

`SPECS` has one entry for each model, which `fit_nuts` and `compare_models` sample too.
"""

from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from jaxtyping import Array, Float, Int
from numpyro.distributions import biject_to, constraints, transforms
from numpyro.primitives import Messenger

from jtruth._arrays import AnyArray, is_concrete, safe_log
from jtruth._host import diagonal_rows
from jtruth._one_line import one_line
from jtruth._validation.in_range import check_codes, check_rows, check_whole
from jtruth.labels import Labels
from jtruth.latent import density
from jtruth.latent.density import Channel
from jtruth.latent.rows import equal_rows
from jtruth.learning._fit import counts_of_labels
from jtruth.learning.annotation import models
from jtruth.learning.annotation.models import Hyper, Spec

_LARGEST = 20_000_000  # cells of a matrix of labels; beyond it a column is the k-th label of each sample
_LEAST = 1e-6  # of a concentration
_NEAR = 0.25  # of a coordinate: starts within +-2 are within +-.5 of where majority vote is


class LabelData(NamedTuple):
    """Labels as a model function needs them; a column is a labeler, or the k-th label of each sample."""

    labeler: Int[AnyArray, "samples columns"]  # -1: no label
    label: Any  # (samples, columns), -1: no label; None: to be drawn; or log p(labels | class) as an array
    num_labelers: int
    num_classes: int

    __repr__ = one_line


def data_of(labels: Any = None, num_classes: int | None = None, shape: tuple | None = None) -> LabelData:
    """The arguments of a model function, checked where they are concrete.

    Args:
        labels: `Labels`, whole numbers (samples, labelers) with -1 for no label, log p(labels | class) as
            floating numbers (samples, classes), or None.
        num_classes: of an array; if None, the largest code + 1, at least 2. Traced arrays need it.
        shape: (samples, labelers), where `labels` is None.

    Raises:
        ValueError: a wrong code in a concrete array, with its cell, or an unknown size.
    """
    if isinstance(labels, LabelData):
        return labels
    if labels is None and (shape is None or num_classes is None):
        raise ValueError("without labels say shape=(samples, labelers) and num_classes=, which are drawn")
    if isinstance(labels, Labels):
        return _of_labels(labels)
    z: Any = np.broadcast_to(np.int32(0), tuple(shape or ())) if labels is None else labels
    z = z if isinstance(z, jax.Array) else np.asarray(z)
    if z.ndim == 2 and z.dtype.kind == "f":
        return LabelData(np.full((len(z), 0), -1), z, 0, z.shape[1])
    if z.ndim != 2 or z.dtype.kind not in "iu":
        raise ValueError(
            f"labels are an array of shape {z.shape} and dtype {z.dtype}; give jt.Labels, or whole numbers "
            "of shape (samples, labelers) with -1 where there is no label"
        )
    if not is_concrete((z if num_classes is None else 0, num_classes)):
        raise ValueError(
            "a traced array does not tell its number of classes, and that cannot be traced: give "
            "functools.partial(model, num_classes=3), or jt.Labels"
        )
    z = np.asarray(z) if is_concrete(z) else z
    check_whole(2, num_classes=2 if num_classes is None else num_classes)
    size = max(int(np.max(z, initial=0)) + 1, 2) if num_classes is None else num_classes
    check_codes(z, size, "labels", size=z.shape, missing=True, kinds="iu")
    who = np.where(z >= 0, np.arange(z.shape[1]), -1) if is_concrete(z) else np.arange(z.shape[1])
    return LabelData(np.broadcast_to(who, z.shape), None if labels is None else z, z.shape[1], size)


def _of_labels(labels: Labels) -> LabelData:
    sizes = labels.num_labelers, labels.num_classes
    shape = labels.num_samples, labels.num_labelers
    if not is_concrete((labels.sample, labels.labeler, labels.label)):  # repeated labels: the largest code
        z = jnp.full(shape, -1, jnp.int32).at[labels.sample, labels.labeler].max(labels.label)
        return data_of(z, labels.num_classes)
    if labels.has_repeats() or shape[0] * shape[1] > _LARGEST:
        return LabelData(*labels.padded(), *sizes)
    return data_of(labels.to_matrix().astype(np.int32), labels.num_classes)


class NoisyLabels(dist.Distribution):
    """Labels of samples, the class and its level summed out: p(z_i) = sum_s p(s) prod_t p(z_it | s).

    A value is (samples, columns) whole numbers, -1 for no label, or log p(labels | class) as floating numbers
    (samples, classes), which cannot be drawn.
    """

    arg_constraints: ClassVar[dict] = {}
    support = property(lambda self: constraints.independent(constraints.integer_interval(-1, np.inf), 1))
    pytree_data_fields = ("channel", "labeler")
    pytree_aux_fields = ("num_labelers", "num_classes")

    def __init__(self, channel: Channel, data: LabelData, *, validate_args: bool | None = None):
        self.channel, self.labeler = channel, data.labeler
        self.num_labelers, self.num_classes = data.num_labelers, data.num_classes
        samples, columns = np.shape(data.labeler)
        floating = data.label is not None and jnp.issubdtype(data.label.dtype, jnp.floating)
        width = data.num_classes if floating else columns
        super().__init__((samples,), (width,), validate_args=validate_args)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Int[Array, "*shape samples columns"]:
        """Draw labels (samples, columns), -1 where no label was observed."""
        if not self.num_labelers:
            raise NotImplementedError("labels that came as a log-likelihood array cannot be drawn")
        of_state, by_code = self._of_state(), self.channel.log_seen[..., 0]
        first, second = jax.random.split(key)
        state = jax.random.categorical(first, of_state, shape=(*sample_shape, *self.batch_shape))
        table = jnp.moveaxis(by_code.reshape(self.num_labelers, self.num_classes, -1), -1, 0)
        label = jax.random.categorical(second, table[state[..., None], jnp.maximum(self.labeler, 0)])
        return jnp.where(self.labeler >= 0, label, -1)

    def _of_state(self) -> Float[Array, "samples states"]:
        return self.channel.log_class[..., 0] + self.channel.log_level[..., 0]

    def rows(self, value: Any) -> tuple[Any, Any, Any]:
        """(value, labeler, row of each sample or None), equal samples once; all if something is traced."""
        floating, one = jnp.issubdtype(value.dtype, jnp.floating), len(self.channel.log_class) == 1
        if floating or not one or not is_concrete((value, self.labeler)) or value.ndim > 2:
            return value, self.labeler, None
        code = np.where(np.asarray(value) >= 0, self.labeler * self.num_classes + np.asarray(value), -1)
        most = max(int((code >= 0).sum(axis=1).max(initial=0)), 1)
        left = np.take_along_axis(code, np.argsort(code < 0, axis=1, kind="stable")[:, :most], axis=1)
        first, row, _ = equal_rows(left)
        code = left[first]
        return np.where(code < 0, -1, code % self.num_classes), code // self.num_classes, row

    def _log_joint(self, value: Any, labeler: Any) -> Float[Array, "*rows states"]:
        """log p(labels, state)."""
        of_state = self._of_state()
        if jnp.issubdtype(value.dtype, jnp.floating):
            levels = of_state.shape[-1] // self.num_classes
            return jnp.repeat(jnp.asarray(value), levels, axis=-1) + of_state
        code = jnp.where(value >= 0, labeler * self.num_classes + value, len(self.channel.log_seen))
        table = self.channel.log_seen[..., 0]
        return table.at[code].get(mode="fill", fill_value=0).sum(axis=-2) + of_state

    def log_prob(self, value: Any, intermediates: Any = None) -> Float[Array, "*shape samples"]:
        """log p(labels) of every sample, computed once for equal samples if values are concrete."""
        some, labeler, row = self.rows(value)
        joint = self._log_joint(some, labeler)
        each = density.total(joint.reshape(-1, joint.shape[-1], 1)).reshape(joint.shape[:-1])
        return each if row is None else each[row]

    def class_posterior(self, value: Any, labeler: Any = None) -> Float[Array, "rows classes"]:
        """p(class | labels) of rows from `rows`, or of all samples if `labeler` is None."""
        joint = self._log_joint(value, self.labeler if labeler is None else labeler)
        return density.class_dist(joint[..., None], self.num_classes)[..., 0]


def observe(
    data: Any, prior: Any = None, confusion: Any = None, *, channel: Channel | None = None
) -> NoisyLabels:
    """The observed site "labels" of a model function.

    Args:
        data: of `data_of`, or labels as it takes them.
        prior: (classes,) class shares, or p(class) of every sample (samples, classes).
        confusion: (labelers, true classes, labels) p(label | true class), or one matrix for all labelers.
        channel: in place of `prior` and `confusion`, for models with levels of difficulty
            (`jtruth.learning.annotation.models`).

    Raises:
        ValueError: shapes that do not belong together.
    """
    data = data_of(data)
    if channel is None:
        sizes = data.num_labelers, data.num_classes, data.num_classes
        for what, p in {"prior": prior, "confusion": confusion}.items():
            check_rows(p, f"site 'labels': {what}")
        confusion = jnp.ones(sizes) if confusion is None else jnp.asarray(confusion)
        prior = jnp.asarray(prior)
        if prior.shape not in ((sizes[1],), (len(data.labeler), sizes[1])):
            raise ValueError(f"site 'labels': prior has shape {prior.shape}; give one share for each class")
        if confusion.shape not in (sizes, sizes[1:]):
            raise ValueError(f"site 'labels': confusion has shape {confusion.shape}; give {sizes}")
        channel = models.as_channel(
            safe_log(prior), jnp.zeros(1, prior.dtype),
            jnp.swapaxes(safe_log(jnp.broadcast_to(confusion, sizes)), 1, 2)[..., None],
        )  # fmt: skip
    distribution = NoisyLabels(channel, data)
    with numpyro.plate("samples", len(data.labeler)):
        numpyro.sample("labels", distribution, obs=data.label)
    return distribution


class _Support(constraints.greater_than):
    """A support whose unconstrained coordinates are 0 at `start` and scaled by `_NEAR`.

    Where priors are JAX arrays, they may be sites, and the support moves with them. NumPyro then runs the
    model again for the values of a draw, as it does where a bound of `greater_than` is an array.
    """

    def __init__(self, of: Any, start: Any, moves: bool):
        self.of, self.start, self.event_dim, self.moves = of, start, of.event_dim, moves

    lower_bound: Any = property(lambda self: self.start if self.moves else 0.0)
    eq = constraints.Constraint.eq

    def __call__(self, x: Any) -> Any:
        return self.of(x)

    def feasible_like(self, prototype: Any) -> Any:
        """Return the start, in the shape of an array."""
        return jnp.broadcast_to(self.start, jnp.shape(prototype))

    def tree_flatten(self) -> tuple:
        """Return the arrays, and what is no array."""
        return (self.of, self.start), (("of", "start"), {"event_dim": self.event_dim, "moves": self.moves})


@biject_to.register(_Support)
def _coordinates(support: _Support) -> transforms.Transform:
    to = biject_to(support.of)
    affine = transforms.AffineTransform(to.inv(support.start), _NEAR)
    return transforms.ComposeTransform([transforms.IndependentTransform(affine, to.domain.event_dim), to])


class _Near(dist.Distribution):
    """A distribution whose samplers start near a value."""

    arg_constraints: ClassVar[dict] = {}
    pytree_data_fields = ("base_dist", "start")
    pytree_aux_fields = ("moves",)

    def __init__(self, base_dist: dist.Distribution, start: Any, moves: bool):
        self.base_dist, self.start, self.moves = base_dist, start, moves
        super().__init__(base_dist.batch_shape, base_dist.event_shape)

    support = property(lambda self: _Support(self.base_dist.support, self.start, self.moves))
    mean = property(lambda self: self.base_dist.mean)
    variance = property(lambda self: self.base_dist.variance)

    def sample(self, key: Any, sample_shape: tuple[int, ...] = ()) -> Any:
        """Draw from the distribution, wherever samplers start."""
        return self.base_dist.sample(key, sample_shape)

    def log_prob(self, value: Any, intermediates: Any = None) -> Any:
        """Return the log density of the distribution."""
        return self.base_dist.log_prob(value)


class starting(Messenger):
    """A handler: samplers start these sites near these values, which depend on the priors."""

    def __init__(self, start: dict[str, Any], priors: Any = None):
        self.start, self.moves = start, any(isinstance(a, jax.Array) for a in jax.tree.leaves(priors))
        super().__init__()

    def process_message(self, msg: Any) -> None:
        """Replace the distribution by one with the same density and other coordinates."""
        if msg["type"] == "sample" and msg["name"] in self.start:
            value = jnp.asarray(self.start[msg["name"]], jnp.result_type(float))
            msg["fn"] = _Near(msg["fn"], jnp.broadcast_to(value, msg["fn"].shape()), self.moves)


def majority_start(data: LabelData) -> tuple[AnyArray, AnyArray]:
    """Class shares and matrices against the majority vote; even shares and good labelers without labels."""
    classes = data.num_classes
    rows = np.broadcast_to(diagonal_rows(classes, 4.0, 1.0), (data.num_labelers, classes, classes))
    shares = np.ones(classes)
    if data.num_labelers and data.label is not None and not is_concrete(data.label):
        seen = jax.nn.one_hot(data.label, classes)  # of a traced matrix, where a column is a labeler
        votes = seen.sum(axis=1)
        share = votes / jnp.maximum(votes.sum(axis=1, keepdims=True), 1)
        shares = shares + share.sum(axis=0)
        rows = diagonal_rows(classes, 2.0, 1.0) + jnp.einsum("sc,stk->tck", share, seen)
    elif data.num_labelers and data.label is not None:
        sample, column = np.nonzero(data.label >= 0)
        labeler, label = (np.asarray(a)[sample, column] for a in (data.labeler, data.label))
        votes = np.zeros((len(data.labeler), classes))
        np.add.at(votes, (sample, label), 1)
        share = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
        shares = shares + share.sum(axis=0)
        rows = diagonal_rows(classes, 2.0, 1.0) + counts_of_labels(share[sample], labeler, label, len(rows))
    return shares / shares.sum(), rows / rows.sum(axis=2, keepdims=True)


def _many(distribution: dist.Distribution, *shape: int) -> Any:
    """Independent numbers or rows of one distribution, as one parameter."""
    every = (*shape, *distribution.batch_shape)
    return distribution.expand(every).to_event(len(every))


def _hierarchical(hyper: Hyper, labelers: int) -> dict[str, dist.Distribution]:
    """Logit-normal rows around a population: logits population + spread * own, own ~ N(0, 1)."""
    shape = hyper["logit_mean"].shape  # (classes, classes - 1)
    return {
        "population": _many(dist.Normal(hyper["logit_mean"], hyper["logit_sd"])),
        "spread": _many(dist.HalfNormal(hyper["spread"]), *shape),
        "own": _many(dist.Normal(0.0, 1.0), labelers, *shape),
    }


def _strata(hyper: Hyper, labelers: int) -> dict[str, Any]:
    """Easy and hard samples, as `learning.joint.models.shared_strata`: labelers' rows around common ones."""
    weights = numpyro.sample("weights", _many(dist.Dirichlet(hyper["weights"])))
    common: Any = numpyro.sample("common", _many(dist.Dirichlet(hyper["common"])))
    rows = dist.Dirichlet(hyper["strength"] * common + _LEAST)
    return {"weights": weights, "common": common, "stratum_confusion": _many(rows, labelers)}


def _fallibility(hyper: Hyper, labelers: int) -> dict[str, dist.Distribution]:
    """Su 5.1.2: fallibility phi_t ~ high * Beta(a, b); difficulty delta_i ~ Beta, summed out exactly."""
    a, b, high = hyper["fallibility"]
    stretch = dist.transforms.AffineTransform(0.0, high, domain=constraints.unit_interval)
    distribution = dist.TransformedDistribution(dist.Beta(a, b).expand([labelers]), stretch)
    return {"fallibility": distribution.to_event(1)}


SPECS: dict[str, Spec] = {
    # Dawid and Skene (1979): psi_t[c] ~ Dirichlet(row_concentration[c]) for every labeler.
    "dawid_skene": Spec(
        sites=lambda h, t: {"confusion": _many(dist.Dirichlet(h["row_concentration"]), t)},
        channel=models.matrices_channel,
        defaults=models.default_rows,
        start=lambda prior, psi, h: {"prior": prior, "confusion": psi},
    ),
    # One matrix for all labelers (the "multinomial" model).
    "pooled": Spec(
        sites=lambda h, t: {"matrix": _many(dist.Dirichlet(h["row_concentration"]))},
        channel=models.pooled,
        defaults=models.default_rows,
        start=lambda prior, psi, h: {"prior": prior, "matrix": psi.mean(axis=0)},
    ),
    # One accuracy for each labeler, the same for all classes.
    "one_coin": Spec(
        sites=lambda h, t: {"accuracy": _many(dist.Beta(*h["accuracy"]), t)},
        channel=models.one_coin,
        defaults=lambda c: {"accuracy": (2.0, 1.0)},  # Beta
        start=lambda prior, psi, h: {"prior": prior, "accuracy": models.mean_accuracy(prior, psi)},
        rigid=True,
    ),
    "hierarchical_dawid_skene": Spec(
        sites=_hierarchical,
        channel=models.hierarchical,
        # A population that is right 73 % of the time, give or take.
        defaults=lambda c: {"logit_mean": np.full((c, c - 1), -1.0 - np.log(c - 1)),
                            "logit_sd": np.ones((c, c - 1)), "spread": 1.0},
        start=models.hierarchical_start,
        any_sign=("logit_mean",),
    ),
    "strata": Spec(
        sites=_strata,
        channel=models.stratified,
        # As `learning.joint.models.shared_strata`.
        defaults=lambda c: {"weights": np.tile([10.0, 1.0] if c == 2 else [2.0, 1.0], (c, 1)),
                            "common": np.stack([diagonal_rows(c, 9, 1), diagonal_rows(c, 3, 3)], axis=1),
                            "strength": 6.0},
        start=models.strata_start,
    ),
    # Su 5.1.2: fallibility ~ high * Beta(a, b), (1, 1, .4) is U(0, .4); difficulty ~ Beta, as in Su 5.2.1.
    "difficulty_fallibility": Spec(
        sites=_fallibility,
        channel=models.difficulty,
        defaults=lambda c: {"fallibility": (1.0, 1.0, 1.0), "difficulty_prior": (1.0, 5.0)},
        start=models.fallibility_start,
        rigid=True,
    ),
    # GLAD (Whitehill et al. 2009) for C classes: ability ~ Normal; log easiness ~ Normal: mean, sd, nodes.
    "item_difficulty": Spec(
        sites=lambda h, t: {"ability": _many(dist.Normal(*h["ability"]), t)},
        channel=models.ability,
        defaults=lambda c: {"ability": (1.0, 1.0), "easiness_prior": (1.0, 1.0, 15.0)},
        start=models.ability_start,
        rigid=True,
        any_sign=("ability", "easiness_prior"),
    ),
    # MACE (Hovy et al. 2013): competence_t ~ Beta, spam_t ~ Dirichlet.
    "mace": Spec(
        sites=lambda h, t: {"competence": _many(dist.Beta(*h["competence"]), t),
                            "spam": _many(dist.Dirichlet(h["spam"]), t)},
        channel=models.mace,
        defaults=lambda c: {"competence": (0.5, 0.5), "spam": np.full(c, 10.0)},
        start=models.mace_start,
    ),
    # Welinder et al. (2010), one dimension, two classes. `fit_welinder` takes the most probable positions.
    "welinder": Spec(
        sites=lambda h, t: {name: _many(dist.Normal(*h[name]), t) for name in ("direction", "threshold")},
        channel=models.welinder,
        defaults=models.welinder_defaults,
        start=models.welinder_start,
        any_sign=("direction", "threshold"),
    ),
}  # fmt: skip


def draw_sites(sites: Callable, hyper: Hyper, labelers: int) -> dict[str, Any]:
    """The parameters of a model: its distributions are drawn, and the class shares if it has none."""
    found = sites(hyper, labelers)
    if "prior" not in found:
        found = {"prior": dist.Dirichlet(hyper["class_concentration"])} | found
    return {k: numpyro.sample(k, v) if isinstance(v, dist.Distribution) else v for k, v in found.items()}


def _run(name: str, labels: Any, num_classes: int | None, shape: Any, priors: Hyper) -> None:
    """The model of this name, whose samplers start near the majority vote."""
    data, spec = data_of(labels, num_classes, shape), SPECS[name]
    if not data.num_labelers:
        raise ValueError(
            f"labels are floating numbers of shape {np.shape(labels)}; this model needs whole numbers, with "
            "-1 for no label. jt.models.testing takes log p(labels | class)"
        )
    hyper = models.prepare(spec, data.num_classes, data.labeler.shape[1], priors)
    with starting(spec.start(*majority_start(data), hyper), priors):
        drawn = draw_sites(spec.sites, hyper, data.num_labelers)
    observe(data, channel=spec.channel(drawn, hyper, data.num_labelers))


def dawid_skene(
    labels: Any = None, *, num_classes: int | None = None, shape: Any = None, **priors: Any
) -> None:
    """Dawid and Skene (1979): sites "prior" (true_class,) and "confusion" (labeler, true_class, labeled_as).

    Args:
        labels: `Labels`, whole numbers (samples, labelers) with -1 for no label (traced ones are not
            checked), or None, to draw them.
        num_classes: of an array; if None, the largest code + 1, at least 2. Traced arrays need it.
        shape: (samples, labelers), where `labels` is None.
        priors: class_concentration (1 for each class) and row_concentration, (classes, classes), 2 on the
            diagonal and 1 spread over the rest. They may be traced, or sites of your model.

    Raises:
        ValueError: a wrong code, with its cell; an unknown prior setting, or one of another shape.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> draws = numpyro.infer.Predictive(dawid_skene, num_samples=7)(jax.random.key(0), z)
    >>> draws["confusion"].shape, draws["labels"].shape
    ((7, 3, 2, 2), (7, 81, 3))
    """
    _run("dawid_skene", labels, num_classes, shape, priors)


NAMES: dict[Callable, str] = {dawid_skene: "dawid_skene"}  # the name in `SPECS` of each function


def _like(name: str, summary: str, settings: str, function: str = "") -> Callable:
    """Another model of `SPECS` as a function of labels."""

    def model(
        labels: Any = None, *, num_classes: int | None = None, shape: Any = None, **priors: Any
    ) -> None:
        _run(name, labels, num_classes, shape, priors)

    model.__name__ = model.__qualname__ = function or name
    model.__doc__ = f"{summary}\n\nArguments as for `dawid_skene`. Priors: class_concentration, {settings}."
    NAMES[model] = name
    return model


one_coin = _like("one_coin", 'One accuracy for each labeler: site "accuracy" (labeler,).', "accuracy=(a, b)")
hierarchical = _like(
    "hierarchical_dawid_skene", "Labelers of a population (Paun et al. 2018).",
    "logit_mean, logit_sd, spread", "hierarchical",
)  # fmt: skip
difficulty_fallibility = _like(
    "difficulty_fallibility", 'Su 5.1.2: site "fallibility" (labeler,).',
    "fallibility=(a, b, high), difficulty_prior=(a, b)",
)  # fmt: skip
glad = _like(
    "item_difficulty", 'GLAD (Whitehill et al. 2009) for C classes: site "ability" (labeler,).',
    "ability=(mean, sd), easiness_prior=(mean, sd, nodes)", "glad",
)  # fmt: skip
mace = _like("mace", 'MACE (Hovy et al. 2013): sites "competence", "spam".', "competence=(a, b), spam")
welinder = _like(
    "welinder", 'Welinder et al. (2010), two classes: sites "direction", "threshold" (labeler,).',
    "direction, threshold=(mean, sd), position_prior=(sd, nodes)",
)  # fmt: skip
strata = _like("strata", "Items that are easy or hard for everybody.", "weights, common, strength")
