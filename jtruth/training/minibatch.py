"""Minibatch training of any JAX model on noisy labels: Adam, early stopping, learning curves.

`apply(model, x)` gives the model's outputs, its floating arrays are trained, and a batch objective
(`objectives`) is the cost of a minibatch; batch objectives also work in a training loop of your own.

`fit` is one compiled loop. Every epoch runs through the samples in a new order; the last batch is padded, and
the padding masked. With `validation` samples the model of the best epoch is returned, by their estimated risk
or by `judge`, and training stops `patience` epochs after it.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import equinox as eqx
import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float
from tqdm.auto import tqdm

from jtruth._arrays import as_array, is_concrete
from jtruth._mesh import even_rows, mesh_axis
from jtruth._one_line import one_line
from jtruth._random import as_key, stream
from jtruth._validation.in_range import check_no_nan, check_whole
from jtruth.training._inputs import ModelFit
from jtruth.training.objectives import BatchObjective


class Recipe(NamedTuple):
    """The objective and the optimiser's settings."""

    objective: BatchObjective  # of a batch: objective(outputs, evidence, where=mask)
    penalty: Callable[[Any], Array] | None = None  # added to it, penalty(model), with its own 1/N
    judge: BatchObjective | None = None  # lower is better (`negative_auc`); None: the objective
    optimiser: optax.GradientTransformation | None = None  # of optax; None: Adam with step .001
    batch_size: int = 64  # a batch is at most the training set
    num_epochs: int = 100
    patience: int | None = None  # epochs without a better value before stopping; None runs all epochs
    # True for a progress bar, or a function of (epoch, training value, validation value).
    progress: bool | Callable[[Any, Any, Any], None] = False
    mesh: Any = None  # a jax.sharding.Mesh whose devices share each batch

    __repr__ = one_line


_ADAM = optax.adam(1e-3)  # one object, for which `fit` compiles once


def fit(
    key: Any,
    model: Any,
    apply: Callable[[Any, Any], Array],
    x: Any,
    evidence: Any,
    recipe: Recipe,
    *,
    validation: tuple[Any, Any] | None = None,
) -> ModelFit:
    """Train a model by minibatches. Deterministic in `key`; works under `jax.vmap` over keys or data.

    Args:
        key: of the order of the samples.
        model: a pytree, for instance an equinox module; its floating arrays are trained.
        apply: outputs of a batch, `apply(model, x)`. The same function object reuses its compiled program.
        x: array or pytree of arrays, samples first.
        evidence: class posterior, log-likelihood, or another pytree that the objective takes, samples first.
        recipe: the objective, and how it is minimised.
        validation: (x, evidence) of samples held out.

    Returns:
        The best model (without `validation` the last one), its value, and learning curves, NaN after the last
        epoch; `converged` if it was stopped by `patience`.

    Raises:
        ValueError: sizes that are not positive, x and evidence of different lengths, patience without
            validation, no key.

    >>> import jax, jax.numpy as jnp
    >>> from jtruth.training import Linear, Recipe, fit, linear_outputs, mmse
    >>> x, rho = jnp.array([[-1.], [1.]] * 8), jnp.array([[.9, .1], [.2, .8]] * 8)
    >>> start = Linear(jnp.zeros(()), jnp.zeros(1))
    >>> recipe = Recipe(mmse("logistic"), num_epochs=3)
    >>> found = fit(jax.random.key(0), start, linear_outputs, x, rho, recipe)
    >>> found.path.shape, bool(found.model.weights[0] > 0)
    ((3,), True)
    """
    key = as_key(key)
    judge = recipe.judge or recipe.objective
    for name, function in {"apply": apply, "objective": recipe.objective, "judge": judge}.items():
        if not callable(function):
            raise ValueError(f"{name} is a {type(function).__name__}; give a function, see the docstring")
    num_samples = _check(x, evidence, validation, recipe)
    if recipe.mesh is not None:
        mesh_axis(recipe.mesh)  # checks it
    for objective, pair in ((recipe.objective, (x, evidence)), (judge, validation)):
        if pair is not None and (check := getattr(objective, "check", None)) is not None:
            check(pair[1])
    bar = tqdm(total=recipe.num_epochs, unit="epoch") if recipe.progress is True else None
    recipe = recipe._replace(
        judge=judge,
        optimiser=recipe.optimiser or _ADAM,
        batch_size=min(recipe.batch_size, num_samples),
        patience=recipe.num_epochs if recipe.patience is None else recipe.patience,
        progress=recipe.progress if bar is None else lambda *_: bar.update(),
    )
    model, x, evidence, validation = jax.tree.map(
        lambda leaf: as_array(leaf) if isinstance(leaf, np.ndarray) else leaf,
        (model, x, evidence, validation),
    )
    trained = _run(key, model, apply, x, evidence, validation, recipe)
    if bar is not None:
        jax.block_until_ready(trained.path)
        jax.effects_barrier()
        bar.close()
    return trained


@eqx.filter_jit
def _run(
    key: Any, model: Any, apply: Callable, x: Any, evidence: Any, validation: Any, recipe: Any
) -> ModelFit:
    """All epochs as one loop."""
    arrays, static = eqx.partition(model, eqx.is_inexact_array)

    def cost(arrays, x, evidence, where):
        whole = eqx.combine(arrays, static)
        primary = recipe.objective(apply(whole, x), evidence, where=where)
        return primary if recipe.penalty is None else primary + recipe.penalty(whole)

    def epoch(state):
        arrays, optimiser, best = state
        (arrays, optimiser), training = _pass(cost, key, state, (x, evidence), recipe)
        judged = jnp.asarray(jnp.nan, training.dtype)
        if validation is not None:
            outputs = apply(eqx.combine(arrays, static), validation[0])
            judged = jnp.asarray(recipe.judge(outputs, validation[1], where=None), training.dtype)
        if recipe.progress:
            jax.debug.callback(recipe.progress, best.num_steps, training, judged)
        value = training if validation is None else judged
        better = jnp.isfinite(training) if validation is None else judged < best.objective
        better &= jnp.stack([jnp.isfinite(a).all() for a in jax.tree.leaves(arrays)]).all()
        best = best._replace(
            model=jax.tree.map(lambda new, old: jnp.where(better, new, old), arrays, best.model),
            objective=jnp.where(better, value, best.objective),
            path=best.path.at[best.num_steps].set(training),
            validation=best.validation.at[best.num_steps].set(judged),
            best_epoch=jnp.where(better, best.num_steps, best.best_epoch),
            num_steps=best.num_steps + 1,
        )
        return arrays, optimiser, best

    def stopped(best: ModelFit) -> Array:
        return best.num_steps - 1 - best.best_epoch >= recipe.patience

    like = jax.eval_shape(cost, arrays, x, evidence, jnp.ones(_rows(x), bool))
    nothing, zero = jnp.full(recipe.num_epochs, jnp.nan, like.dtype), jnp.zeros((), jnp.int32)
    start = ModelFit(
        arrays, jnp.full((), jnp.inf, like.dtype), jnp.zeros((), bool), zero, path=nothing,
        validation=nothing, best_epoch=zero - 1,
    )  # fmt: skip
    *_, best = jax.lax.while_loop(
        lambda state: (state[2].num_steps < recipe.num_epochs) & ~stopped(state[2]),
        epoch,
        (arrays, recipe.optimiser.init(arrays), start),
    )
    return best._replace(model=eqx.combine(best.model, static), converged=stopped(best))


def _pass(cost: Callable, key: Any, state: Any, data: Any, recipe: Any) -> tuple[Any, Array]:
    """One epoch of optimiser steps: (arrays, optimiser state), and the mean cost."""

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
    *start, best = state
    # Batches of a random order, masked at the end; the same on any number of devices.
    size = recipe.batch_size
    number = -(-num_samples // size)
    order = jax.random.permutation(stream(key, "epoch", best.num_steps), num_samples)
    order = jnp.concatenate([order, jnp.zeros(number * size - num_samples, order.dtype)])
    real = jnp.arange(number * size) < num_samples
    fill = ((0, 0), (0, -size % devices))
    batches = tuple(jnp.pad(column.reshape(number, size), fill) for column in (order, real))
    carry, values = jax.lax.scan(step, tuple(start), batches)
    return carry, values.sum() / num_samples


def _rows(tree: Any) -> int:
    return jax.tree.leaves(tree)[0].shape[0]


def _check(x: Any, evidence: Any, validation: Any, recipe: Recipe) -> int:
    """Check the sizes; the number of samples."""
    check_whole(batch_size=recipe.batch_size, num_epochs=recipe.num_epochs)
    if recipe.patience is not None:
        check_whole(patience=recipe.patience)
        if validation is None:
            raise ValueError("patience needs validation=(x, evidence) of held-out samples")
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
    """Make a multilayer perceptron with ReLU: features of one sample to logits.

    `key` of the first weights is a whole number or a JAX key; `width` and `depth` are of the hidden layers.
    """
    check_whole(num_features=num_features, num_classes=num_classes, width=width, depth=depth)
    return eqx.nn.MLP(num_features, num_classes, width, depth, key=as_key(key))


def outputs_of(model: Any, x: Float[Array, " samples *features"]) -> Float[Array, "samples classes"]:
    """Logits of a batch from a model of one sample."""
    return jax.vmap(model)(x)
