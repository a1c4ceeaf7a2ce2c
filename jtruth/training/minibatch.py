"""Minibatch training of any JAX model on noisy labels: Adam, early stopping, learning curves.

Nothing here knows what the model is: `apply(model, x)` gives outputs, its floating arrays are trained, and
what a minibatch costs is a batch objective (`objectives`). Nor is `fit` needed: the same objectives
drop into a loop of one's own (see the tests, for equinox and for a function of a dictionary of arrays, which
is what flax's `apply` is).

`fit` is one compiled loop. Every epoch runs through the samples in a new order; the last batch is padded, and
the padding masked. With `validation` samples a second number is followed: their estimated risk, or what
`judge` says of them. Then the model of the best epoch is returned, and training stops `patience` epochs after
it; without them it is the model of the last epoch.

A small network to train on noisy labels: a multilayer perceptron.

It is an `equinox` module, so a pytree of arrays: `fit` takes it, and so does any loop of one's own. Nothing
in `jtruth.training` needs it; every loss takes the outputs of any model. `outputs_of(model, x)` runs a model
of one sample over a batch.
"""

from collections.abc import Callable
from functools import cache
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int
from tqdm.auto import tqdm

from jtruth._arrays import as_array, is_concrete
from jtruth._mesh import even_rows, mesh_axis
from jtruth._one_line import one_line
from jtruth._random import as_key, stream
from jtruth._validation.in_range import check_no_nan, check_whole
from jtruth.training.objectives import BatchObjective, Checked


class MinibatchFit(NamedTuple):
    """The best model and how it came about; curves are NaN after the last epoch."""

    model: Any
    training: Float[Array, " epochs"]  # mean of the batch objective over an epoch, as it went
    validation: Float[Array, " epochs"]  # what the validation samples said after it; NaN without them
    best_epoch: Int[Array, ""]  # counted from 0; -1 if no value was a number (the model is the start)
    num_steps: Int[Array, ""]  # epochs run
    converged: Bool[Array, ""]  # stopped by `patience` and not by `num_epochs`

    __repr__ = one_line


class Recipe(NamedTuple):
    """What is minimised, and how."""

    objective: BatchObjective  # of a batch: objective(outputs, evidence, where=mask)
    penalty: Callable[[Any], Array] | None = None  # added to it, penalty(model); it holds its own 1/N
    # By what validation samples are judged, lower is better; None: by the objective. `negative_auc` stops on
    # the estimated area under the ROC curve.
    judge: BatchObjective | None = None
    optimiser: optax.GradientTransformation | None = None  # of optax; None: Adam with step .001
    batch_size: int = 64  # a batch is at most the training set
    num_epochs: int = 100
    patience: int | None = None  # epochs without a better value before stopping; None runs all epochs
    # True for a progress bar, or a function called after every epoch with (epoch, training value, validation
    # value). A new function compiles anew.
    progress: bool | Callable[[Any, Any, Any], None] = False
    # A jax.sharding.Mesh whose devices share each batch: each computes the costs of its part, and gradients
    # are added up once a step. Batches that it does not divide are filled up by masked entries.
    mesh: Any = None

    __repr__ = one_line


class _State(NamedTuple):
    arrays: Any
    optimiser: Any
    best: Any
    best_value: Array
    best_epoch: Array
    epoch: Array
    training: Array
    validation: Array


def fit(
    key: Any,
    model: Any,
    apply: Callable[[Any, Any], Array],
    x: Any,
    evidence: Any,
    recipe: Recipe,
    *,
    validation: tuple[Any, Any] | None = None,
) -> MinibatchFit:
    """Train a model by minibatches. Deterministic in `key`; may be put under `jax.vmap` over keys or data.

    Args:
        key: of the order of the samples.
        model: a pytree, for instance an equinox module; its floating arrays are trained.
        apply: outputs of a batch, `apply(model, x)`. The same function objects reuse the compiled program.
        x: array or pytree of arrays, samples first.
        evidence: what the labels say, samples first: class posterior, log-likelihood, or whatever else
            the objective takes (a pytree is fine).
        recipe: the objective, and how it is minimised.
        validation: (x, evidence) of samples held out.

    Raises:
        ValueError: sizes that are not positive, x and evidence of different lengths, patience without
            validation, no key.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jtruth.training import Linear, Recipe, fit, linear_outputs, mmse
        >>> x, rho = jnp.array([[-1.], [1.]] * 8), jnp.array([[.9, .1], [.2, .8]] * 8)
        >>> start = Linear(jnp.zeros(()), jnp.zeros(1))
        >>> recipe = Recipe(mmse("logistic"), num_epochs=3)
        >>> found = fit(jax.random.key(0), start, linear_outputs, x, rho, recipe)
        >>> found.training.shape, bool(found.model.weights[0] > 0)
        ((3,), True)
    """
    key = as_key(key)
    judge = recipe.judge or recipe.objective
    for name, function in {"apply": apply, "objective": recipe.objective, "judge": judge}.items():
        if not callable(function):
            raise ValueError(f"{name} is a {type(function).__name__}; give a function, see the docstring")
    num_samples = _check(x, evidence, validation, recipe)
    if recipe.mesh is not None:
        mesh_axis(recipe.mesh)  # refuses what is no mesh over one axis
    _check_evidence(recipe.objective, evidence)
    if validation is not None:
        _check_evidence(judge, validation[1])
    bar = tqdm(total=recipe.num_epochs, unit="epoch") if recipe.progress is True else None
    recipe = recipe._replace(
        judge=judge,
        optimiser=recipe.optimiser or _adam(),
        batch_size=min(recipe.batch_size, num_samples),
        patience=recipe.num_epochs if recipe.patience is None else recipe.patience,
        progress=recipe.progress if bar is None else lambda *_: bar.update(),
    )
    model, x, evidence, validation = jax.tree.map(_traceable, (model, x, evidence, validation))
    found = _run(key, model, apply, x, evidence, validation, recipe)
    if bar is not None:
        jax.block_until_ready(found.training)
        jax.effects_barrier()
        bar.close()
    return found


@eqx.filter_jit
def _run(
    key: Any, model: Any, apply: Callable, x: Any, evidence: Any, validation: Any, recipe: Any
) -> MinibatchFit:
    """All epochs as one loop."""
    arrays, static = eqx.partition(model, eqx.is_inexact_array)

    def cost(arrays, x, evidence, where):
        whole = eqx.combine(arrays, static)
        primary = recipe.objective(apply(whole, x), evidence, where=where)
        return primary if recipe.penalty is None else primary + recipe.penalty(whole)

    def judge(arrays):
        held_x, held_evidence = validation
        return recipe.judge(apply(eqx.combine(arrays, static), held_x), held_evidence, where=None)

    def epoch(s: _State) -> _State:
        (arrays, optimiser), training = _pass(cost, key, s, (x, evidence), recipe)
        judged = None if validation is None else jnp.asarray(judge(arrays), training.dtype)
        if recipe.progress:
            jax.debug.callback(recipe.progress, s.epoch, training, jnp.nan if judged is None else judged)
        return _record(s, arrays, optimiser, training, judged)

    def unfinished(s: _State):
        return (s.epoch < recipe.num_epochs) & (s.epoch - 1 - s.best_epoch < recipe.patience)

    like = jax.eval_shape(cost, arrays, x, evidence, jnp.ones(_rows(x), bool))
    s = jax.lax.while_loop(unfinished, epoch, _begin(arrays, recipe, like.dtype))
    stopped = s.epoch - 1 - s.best_epoch >= recipe.patience
    return MinibatchFit(eqx.combine(s.best, static), s.training, s.validation, s.best_epoch, s.epoch, stopped)


def _pass(cost: Callable, key: Any, s: _State, data: Any, recipe: Any) -> tuple[Any, Array]:
    """One epoch of optimiser steps: (arrays, optimiser state), and the mean cost as it went."""

    def step(carry, batch):
        (arrays, optimiser), (index, where) = carry, batch
        rows = jax.tree.map(lambda leaf: leaf[index], data)
        if recipe.mesh is not None:
            rows, where = jax.lax.with_sharding_constraint((rows, where), even_rows(recipe.mesh, len(where)))
        value, gradient = jax.value_and_grad(cost)(arrays, *rows, where)
        with jax.numpy_dtype_promotion("standard"), jax.numpy_rank_promotion("allow"):  # optax needs both
            updates, optimiser = recipe.optimiser.update(gradient, optimiser, arrays)
        return (optax.apply_updates(arrays, updates), optimiser), value * where.sum().astype(value.dtype)

    num_samples = _rows(data)
    devices = 1 if recipe.mesh is None else recipe.mesh.size
    batches = _batches(stream(key, "epoch", s.epoch), num_samples, recipe.batch_size, devices)
    carry, values = jax.lax.scan(step, (s.arrays, s.optimiser), batches)
    return carry, values.sum() / num_samples


def _record(s: _State, arrays: Any, optimiser: Any, training: Array, judged: Array | None) -> _State:
    """The state after an epoch; without validation samples the last model counts as the best."""
    better = jnp.isfinite(training) if judged is None else judged < s.best_value
    shown = jnp.array(jnp.nan, training.dtype) if judged is None else judged
    return _State(
        arrays=arrays,
        optimiser=optimiser,
        best=jax.tree.map(lambda new, old: jnp.where(better, new, old), arrays, s.best),
        best_value=jnp.where(better, shown, s.best_value),
        best_epoch=jnp.where(better, s.epoch, s.best_epoch),
        epoch=s.epoch + 1,
        training=s.training.at[s.epoch].set(training),
        validation=s.validation.at[s.epoch].set(shown),
    )


def _begin(arrays: Any, recipe: Any, dtype: Any) -> _State:
    """Before the first epoch."""
    nothing = jnp.full(recipe.num_epochs, jnp.nan, dtype)
    start, before = jnp.zeros((), jnp.int32), jnp.full((), -1, jnp.int32)
    worst = jnp.array(jnp.inf, dtype)
    return _State(arrays, recipe.optimiser.init(arrays), arrays, worst, before, start, nothing, nothing)


def _batches(key: Any, num_samples: int, batch_size: int, devices: int = 1) -> tuple[Array, Array]:
    """A random order of the samples cut into batches, (batches, size), and which entries are no padding.

    The same batches on any number of devices, which divides what is returned.
    """
    num_batches = -(-num_samples // batch_size)
    order = jax.random.permutation(key, num_samples)
    order = jnp.concatenate([order, jnp.zeros(num_batches * batch_size - num_samples, order.dtype)])
    real = jnp.arange(num_batches * batch_size) < num_samples
    fill = ((0, 0), (0, -batch_size % devices))
    order, real = (one.reshape(num_batches, batch_size) for one in (order, real))
    return jnp.pad(order, fill), jnp.pad(real, fill)


def _traceable(leaf: Any) -> Any:
    """NumPy arrays as JAX arrays, everything else unchanged."""
    return as_array(leaf) if isinstance(leaf, np.ndarray) else leaf


@cache
def _adam() -> optax.GradientTransformation:
    """One object, so that a second call of `fit` finds its compiled program."""
    return optax.adam(1e-3)


def _rows(tree: Any) -> int:
    return jax.tree.leaves(tree)[0].shape[0]


def _check_evidence(objective: BatchObjective, evidence: Any) -> None:
    """What the objectives of this package ask of all evidence at once."""
    if isinstance(objective, Checked):
        objective.check(evidence)


def _check(x: Any, evidence: Any, validation: Any, recipe: Recipe) -> int:
    """Number of samples, after a look at the sizes."""
    check_whole(batch_size=recipe.batch_size, num_epochs=recipe.num_epochs)
    if recipe.patience is not None:
        check_whole(patience=recipe.patience)
        if validation is None:
            raise ValueError("patience needs validation=(x, evidence) of samples held out to look at")
    for name, pair in {"training": (x, evidence), "validation": validation}.items():
        if pair is not None and (not isinstance(pair, tuple) or len(pair) != 2):
            raise ValueError(f"{name} is a {type(pair).__name__}; give (x, evidence)")
        leaves = jax.tree.leaves(pair)
        flat = [leaf for leaf in leaves if not hasattr(leaf, "shape") or not np.ndim(leaf)]
        if flat or (pair is not None and not leaves):
            raise ValueError(f"{name}: x and evidence must be arrays, samples first; got {flat[:3]}")
        for leaf in leaves:
            if is_concrete(leaf) and np.issubdtype(leaf.dtype, np.floating):
                check_no_nan(leaf, f"{name} data")
        sizes = {leaf.shape[0] for leaf in leaves}
        if len(sizes) > 1 or 0 in sizes:
            raise ValueError(
                f"{name}: x and evidence must have equally many samples, at least 1; got {sorted(sizes)}"
            )
    return _rows(x)


def mlp(key: Any, num_features: int, num_classes: int, *, width: int = 64, depth: int = 2) -> eqx.nn.MLP:
    """A multilayer perceptron with ReLU: features of one sample to logits.

    Args:
        key: of the first weights: a whole number or a JAX key.
        num_features, num_classes: sizes of input and output.
        width, depth: of the hidden layers.
    """
    check_whole(num_features=num_features, num_classes=num_classes, width=width, depth=depth)
    return eqx.nn.MLP(num_features, num_classes, width, depth, key=as_key(key))


def outputs_of(model: Any, x: Float[Array, " samples *features"]) -> Float[Array, "samples classes"]:
    """Logits of a batch from a model of one sample."""
    return jax.vmap(model)(x)
