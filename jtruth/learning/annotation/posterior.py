"""Draws of an annotation model: class posteriors, matrices, pointwise likelihood, and a check of the model.

Rows are the distinct samples as `density` takes them; draws are dictionaries of arrays (chains, draws, ...).

`Agreement` is a posterior predictive check (Gelman, Meng and Stern 1996): at some draws the labels are
simulated, and the agreement of each pair of labelers is compared. A p-value near 0 contradicts the model:
labelers share errors, or samples differ in difficulty. A larger one is uninformative where the model has
about as many parameters as there are pairs (up to four labelers).
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Int

from jtruth._one_line import one_line
from jtruth._random import host_rng, stream
from jtruth._validation.words import number_of
from jtruth.labels import Labels
from jtruth.latent import density
from jtruth.latent.density import Channel, Seen
from jtruth.latent.fit import RowLikelihood, row_likelihood
from jtruth.latent.infer.nuts import NutsRun, arithmetic
from jtruth.latent.rows import merge_samples
from jtruth.learning._fit import LabelerDraws, labeler_draws
from jtruth.learning.annotation.models import Hyper, Spec, confusion, draw_labels
from jtruth.learning.em.columns import bucket
from jtruth.learning.joint.guard import check_identified, check_switching

Draws = dict[str, np.ndarray]
BLOCK = 4096  # rows at a time
_MOST = 40_000_000  # draws x rows
_MOST_CELLS, _FEWEST = 20_000_000, 100  # numbers of all matrices, and draws
_AT_ONCE = 4_000_000  # numbers of the draws that are averaged together
REPLICATES, _TOGETHER = 200, 8  # draws, and how many channels are computed at once
_MOST_PAIRS = 2_000_000  # pairs of labels in one simulated set; larger data are checked on some samples
_ALARM = 0.01


def merged_rows(labels: Labels) -> tuple[Seen, Int[np.ndarray, " samples"]]:
    """Distinct samples as `density` takes them, sizes rounded up, and the row of each sample."""
    merged = merge_samples(labels, None, None)
    labeler, label = merged.labels.padded()
    (size, width), things = labeler.shape, labels.num_labelers * labels.num_classes
    code = np.where(label >= 0, labeler * labels.num_classes + label, things + 1)
    pad = ((0, bucket(size) - size), (0, bucket(width) - width))
    code = np.pad(code, pad, constant_values=things + 1)
    design = np.pad(code, ((0, 0), (0, 1)), constant_values=things).astype(np.int32)  # the class prior
    times = np.pad(merged.multiplicity.astype(np.float64), pad[0])
    return Seen(design, np.zeros((len(code), 1)), times, np.zeros(len(code))), merged.row_of_sample


class Agreement(NamedTuple):
    """Agreement of pairs of labelers, observed and expected.

    A p-value is (1 + r) / (1 + R), where r of R simulated sets are as extreme as the labels.
    """

    pair: Int[np.ndarray, "pairs 2"]  # labelers s < t with a sample in common
    shared: Int[np.ndarray, " pairs"]  # pairs of labels of a same sample
    agreed: Int[np.ndarray, " pairs"]
    expected: Float[np.ndarray, " pairs"]  # mean of `agreed` in simulated sets
    sd: Float[np.ndarray, " pairs"]
    overall_p_value: float  # of the agreements of all pairs together, two-sided; NaN without pairs
    p_value: float  # of the sum over pairs of ((agreed - expected) / sd)^2; NaN without pairs

    __repr__ = one_line

    def sentence(self, workers: tuple | None = None) -> str | None:
        """A sentence where the labelers agree otherwise than the model expects, else None."""
        if np.isnan(self.p_value) or min(self.p_value, self.overall_p_value) >= _ALARM:
            return None
        surplus = 100 * (self.agreed - self.expected).sum() / self.shared.sum()
        k = int(np.argmax(np.abs(self.agreed - self.expected) / np.where(self.sd > 0, self.sd, 1.0)))
        first, second = (int(t) if workers is None else workers[int(t)] for t in self.pair[k])
        return (
            "Agreement of labelers contradicts this model (posterior predictive p = "
            f"{min(self.p_value, self.overall_p_value):.3f}): pairs agree {abs(surplus):.1f} points "
            f"{'more' if surplus > 0 else 'less'} often than predicted. The largest deviation is {first!r} "
            f"and {second!r}, who agree on {self.agreed[k]} of {self.shared[k]} samples "
            f"({self.expected[k]:.0f} expected). Labelers may share errors, or difficulty may differ."
        )


class NutsFit(NamedTuple):
    """The posterior of one annotation model, with its warnings."""

    model: str
    spec: Spec
    labels: Labels
    hyper: Hyper  # the prior settings used
    seen: Seen  # the rows that NUTS saw
    row_of_sample: Int[np.ndarray, " samples"]
    run: NutsRun  # samples (chains, draws, ...), R-hat, ESS, divergences
    class_posterior: Float[np.ndarray, "samples classes"]  # mean over draws of p(y_i = c | z_i, draw)
    prior: Float[np.ndarray, " classes"]  # posterior mean of pi
    mean_matrices: Float[np.ndarray, "labelers classes classes"]  # posterior mean of p(label | class)
    agreement: Agreement  # observed and expected agreement of labelers
    switched: bool  # whether classes have exchanged names
    identified: bool
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        return f"NutsFit({self.model!r}, {self.labels!r}, converged={self.converged}, usable={self.usable})"

    def __str__(self) -> str:
        chains, draws = self.run.statistics["diverging"].shape
        state = "converged" if self.converged else "not converged"
        state += ", usable" if self.usable else ", not usable"
        doubts = f", {number_of(len(self.warnings), 'warning')} (fit.warnings)" if self.warnings else ""
        return (
            f"{self.model}: {chains} chains of {draws} draws, "
            f"{number_of(self.labels.num_labels, 'label')} of "
            f"{number_of(self.labels.num_samples, 'sample')}, {state}{doubts}"
        )

    @property
    def converged(self) -> bool:
        """Split R-hat below 1.01 and ESS of 100 a chain, for every parameter."""
        return self.run.converged

    @property
    def usable(self) -> bool:
        """Whether the labels identify the model, and no classes have exchanged names."""
        return self.identified and not self.switched

    def pointwise(self, *, thin: bool = True) -> RowLikelihood:
        """log p(labels of a sample | draw); equal samples are one row, and large sets are thinned."""
        size = self.labels.num_labelers
        data = self.seen, self.row_of_sample
        return pointwise(self.spec.channel, self.run.samples, data, self.hyper, size, thin=thin)

    def log_likelihood(self) -> Float[np.ndarray, "draws samples"]:
        """log p(labels of the sample | draw), one column for every sample (8 bytes each)."""
        rows = self.pointwise(thin=False)
        return rows.log_p.reshape(-1, rows.log_p.shape[2])[:, rows.row_of_sample]

    def matrix_draws(self) -> LabelerDraws:
        """Class shares and a matrix for each labeler (mean over difficulty), thinned if large."""
        flat = {name: self.run.flat(name) for name in self.run.samples}
        size, classes = self.labels.num_labelers, self.labels.num_classes
        most = max(_FEWEST, _MOST_CELLS // (size * classes**2))
        kept = np.unique(np.linspace(0, len(flat["prior"]) - 1, min(len(flat["prior"]), most)).astype(int))
        chosen = {name: x[kept] for name, x in flat.items()}
        matrices = _of_draws(confusion, self.spec.channel, size, chosen, self.hyper)
        how = f"{kept.size} NUTS draws of the annotation model {self.model}"
        return labeler_draws(chosen["prior"], matrices, self.class_posterior, how, self.warnings)


def gather(
    name: str, spec: Spec, labels: Labels, hyper: Hyper, data: tuple[Seen, np.ndarray], run: NutsRun, key: Any
) -> NutsFit:
    """The run as a `NutsFit`; `data` of `merged_rows`."""
    seen, row_of_sample = data
    posterior, matrices = digest(spec.channel, run.samples, seen, hyper, labels.num_labelers)
    agreement, switched, identified, texts = doubts(
        spec, labels, hyper, run.samples, key, matrices, run.warnings
    )
    return NutsFit(
        name, spec, labels, hyper, seen, row_of_sample, run,
        class_posterior=posterior[row_of_sample],
        prior=run.flat("prior").mean(axis=0),
        mean_matrices=matrices.mean(axis=0),
        agreement=agreement,
        switched=switched,
        identified=identified,
        warnings=texts,
    )  # fmt: skip


def doubts(
    spec: Spec,
    labels: Labels,
    hyper: Hyper,
    draws: Draws,
    key: Any,
    matrices: np.ndarray | None = None,
    of_run: tuple[str, ...] = (),
) -> tuple[Agreement, bool, bool, tuple[str, ...]]:
    """Agreement, whether classes have exchanged names and are identified, and sentences about these.

    `draws` (chains, draws, ...), and the mean `matrices` of each chain; None: of four groups of chains.
    """
    size = labels.num_labelers
    if matrices is None:
        some = channels(spec.channel, draws, hyper, size, REPLICATES)
        every = [_confusion(one, size) for one in some]
        matrices = np.array([part.mean(axis=0) for part in np.array_split(np.array(every), 4)])
    agreement = labeler_agreement(spec.channel, draws, labels, hyper, stream(key, "agreement"))
    switched = check_switching(matrices[:, labels.labels_per_labeler() > 0], labels.class_names)
    informed = spec.rigid and bool(labels.labels_per_sample().max() > 1)
    doubt = check_identified(labels, None, None, informed)
    texts = (doubt, switched, *of_run, agreement.sentence(labels.workers))
    return agreement, switched is not None, doubt is None, tuple(text for text in texts if text)


def labeler_agreement(channel: Callable, draws: Draws, labels: Labels, hyper: Hyper, key: Any) -> Agreement:
    """Compare agreement of all pairs of labelers with label sets simulated from (chains, draws, ...)."""
    labeler, label = labels.padded()
    first, second = np.triu_indices(labeler.shape[1], 1)
    if len(labeler) * first.size > _MOST_PAIRS:
        rng = host_rng(key, "some samples")
        some = rng.choice(len(labeler), max(_MOST_PAIRS // first.size, 1), replace=False)
        labeler, label = labeler[some], label[some]
    low, high = np.sort([labeler[:, first], labeler[:, second]], axis=0)
    both = (low >= 0) & (low != high)  # repeated labels of one labeler are no pairs
    code = low[both].astype(np.int64) * labels.num_labelers + high[both]
    codes, pair_of, shared = np.unique(code, return_inverse=True, return_counts=True)
    pair = np.stack(np.divmod(codes, labels.num_labelers), axis=1)
    row, column = np.nonzero(both)
    one, other = first[column], second[column]

    def agreements(label: np.ndarray) -> np.ndarray:
        return np.bincount(pair_of.ravel()[label[row, one] == label[row, other]], minlength=codes.size)

    agreed = agreements(label)
    if not codes.size:
        return Agreement(pair, shared, agreed, np.zeros(0), np.zeros(0), float("nan"), float("nan"))
    rng, some = host_rng(key, "replicates"), channels(channel, draws, hyper, labels.num_labelers, REPLICATES)
    simulated = [agreements(draw_labels(one, labels.num_labelers, rng, labeler)) for one in some]
    simulated = np.stack(simulated)
    mean, sd = simulated.mean(axis=0), simulated.std(axis=0)
    scale = np.where(sd > 0, sd, 1.0)
    far = (((simulated - mean) / scale) ** 2).sum(axis=1)
    observed = float((((agreed - mean) / scale) ** 2).sum())
    total, all_agreed = simulated.sum(axis=1), agreed.sum()
    above, below = ((1 + c.sum()) / (1 + far.size) for c in (total >= all_agreed, total <= all_agreed))
    p_value = float((1 + (far >= observed).sum()) / (1 + far.size))
    return Agreement(pair, shared, agreed, mean, sd, min(2 * min(above, below), 1.0), p_value)


# of one point, whatever the model: models whose tables have equal sizes share the program
_confusion = jax.jit(confusion, static_argnums=1)


def channels(channel, draws, hyper, num_labelers, number):
    """The `Channel` at so many draws spread over all (chains, draws, ...), one after the other."""
    chains, length = next(iter(draws.values())).shape[:2]
    places = np.linspace(0, chains * length - 1, min(number, chains * length)).astype(int)
    for some in np.split(places, range(_TOGETHER, places.size, _TOGETHER)):
        draw = {name: x[some // length, some % length] for name, x in draws.items()}
        values = _of_draws(_itself, channel, num_labelers, draw, hyper)
        yield from (Channel(*(a[k] for a in values)) for k in range(some.size))


def _of_draws(function: Callable, channel: Callable, num_labelers: int, *data: Any) -> Any:
    """`function(channel, num_labelers, *more)` at every draw, NumPy, in the arithmetic of NUTS.

    `data` are the draws, with one leading axis, the prior settings, and what else the function takes.
    """
    with arithmetic():
        values = _mapped(function, channel, num_labelers, *jax.tree.map(jnp.asarray, data))
        return jax.tree.map(np.asarray, values)


@functools.partial(jax.jit, static_argnums=(0, 1, 2))
def _mapped(function, channel, num_labelers, draws, hyper, *more):
    def one(draw):
        return function(channel(draw, hyper, num_labelers), num_labelers, *more)

    return jax.lax.map(one, draws, batch_size=16)


def _itself(channel, num_labelers):
    return channel


def _log_p(channel, num_labelers, seen):
    return density.total(density.log_joint(channel, seen))[:, 0]


def _class_dist(channel, num_labelers, seen):
    """p(class | labels of each row), and the matrix of each labeler."""
    matrices = confusion(channel, num_labelers)
    return density.class_dist(density.log_joint(channel, seen), matrices.shape[1])[:, :, 0], matrices


def drawn(channel: Callable, draws: Draws, seen: Seen, hyper: Hyper, num_labelers: int) -> Any:
    """p(class | labels of each row) (draws, rows, classes) and matrices, at draws with one leading axis."""
    return _of_draws(_class_dist, channel, num_labelers, draws, hyper, seen)


def digest(
    channel: Callable, draws: Draws, seen: Seen, hyper: Hyper, num_labelers: int
) -> tuple[Float[np.ndarray, "rows classes"], Float[np.ndarray, "chains labelers classes classes"]]:
    """Means over draws: p(class | labels of the row) of all draws, and matrices of every chain."""
    chains, length = next(iter(draws.values())).shape[:2]
    classes = draws["prior"].shape[2]
    step = max(_AT_ONCE // (classes * (len(seen.times) + num_labelers * classes)), 1)
    posterior, means = np.zeros((len(seen.times), classes)), []
    for chain in range(chains):
        total = np.zeros((num_labelers, classes, classes))
        for first in range(0, length, step):
            some = {name: x[chain, first : first + step] for name, x in draws.items()}
            dist, matrices = drawn(channel, some, seen, hyper, num_labelers)
            posterior, total = posterior + dist.sum(axis=0), total + matrices.sum(axis=0)
        means.append(total / length)
    return posterior / (chains * length), np.array(means)


def pointwise(
    channel: Callable, draws: Draws, data: tuple[Seen, np.ndarray], hyper: Hyper, num_labelers: int,
    *, thin: bool = True,
) -> RowLikelihood:  # fmt: skip
    """log p(labels of the row | draw); of large sets at every second, third, ... draw, unless not `thin`."""
    seen, row_of_sample = data
    size = int(row_of_sample.max()) + 1
    chains, length = next(iter(draws.values())).shape[:2]
    step = -(-chains * length * size // _MOST) if thin else 1
    chosen, parts = {name: x[:, ::step].reshape(-1, *x.shape[2:]) for name, x in draws.items()}, []
    for first in range(0, size, BLOCK):
        block = Seen(*(a[first : first + BLOCK] for a in seen))
        if size > BLOCK:  # the last one filled up
            more = BLOCK - len(block.times)
            block = Seen(*(np.pad(a, [(0, more), *[(0, 0)] * (a.ndim - 1)], mode="edge") for a in block))
        parts.append(_of_draws(_log_p, channel, num_labelers, chosen, hyper, block))
    log_p = np.concatenate(parts, axis=1)[:, :size]
    return row_likelihood(log_p.reshape(chains, -1, size), row_of_sample)
