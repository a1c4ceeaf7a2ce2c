"""How good is a classifier if difficulty is gradual and everybody feels it? Two classes, one random effect.

The model (`_random_effect_density`) gives every sample a hidden ease that labelers and classifier share, more
or less strongly; independence is the case lam = kap = 0. It fits data in which hard samples fool everybody,
and pulls the estimate of the classifier down where independence pulls it up.

Sampler: Hamiltonian Monte Carlo on the density with ease and classes summed out, in NumPy, 4 to 32 chains
side by side. Coordinates are scaled by the curvature at the mode, chains start around the mode, and burn-in
finds scale and step size. Each chain's steps are longer or shorter by chance, since tails are narrower than
the middle. The chains go on until split R-hat and effective sample size are good, as in `gibbs`. Nothing is
compiled; equal samples are one row.
"""

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from scipy.special import expit

from jtruth import _validation as check
from jtruth._random import host_rng, key_words
from jtruth.labels import Labels
from jtruth.learning._given import known_prior, must_be_labels
from jtruth.learning.joint._inputs import (
    checked_gold,
    checked_predictions,
    prior_decides,
    share_groups,
)
from jtruth.learning.joint._random_effect_density import Density
from jtruth.learning.joint._random_effect_draws import matrix, monitored, right_labels, tables
from jtruth.learning.joint._random_effect_scale import (
    Scale,
    Whole,
    adapted,
    curvature_scale,
    find_mode,
    gradients_of_scale,
    transition,
)
from jtruth.learning.joint._rows import Rows, merge_samples
from jtruth.learning.joint.log_prior import EFFECT, LogPrior
from jtruth.learning.joint.posterior import JointPosterior, gather
from jtruth.sampling.checkpoint import digest
from jtruth.sampling.effort import STANDARD, Effort, limits
from jtruth.sampling.gibbs import GibbsRun
from jtruth.sampling.pointwise import RowLikelihood, chosen_draws, row_likelihood
from jtruth.sampling.walk import Chain, Kept, walk
from jtruth.sampling.watch import UNWATCHED, Watch

_BURN_IN, _FIRST = 100, 100  # transitions of each chain: thrown away, and kept before the first look
_CHEAP = 60_000  # numbers per evaluation below which Python's time dominates
_STEP, _ACCEPT = 0.3, 0.8  # the first step size, and the acceptance that it aims at
_GRADIENTS, _OF_MODE = 8, 100  # evaluations of a transition, and of the search for the mode, about
_AT_ONCE = 2_000_000  # numbers of one array


class EffectModel(NamedTuple):
    """What may be chosen of the model."""

    spread: str | None = None  # "fixed": labelers' logits spread by .8; "learned"; None: as labels are few
    shares: str = "one"  # class share: see `fit_joint`


STANDARD_MODEL = EffectModel()


def fit_random_effect(
    labels: Labels,
    *,
    key: Any,
    y_pred: Any = None,
    gold: Any = None,
    prior: Any = None,
    model: EffectModel = STANDARD_MODEL,
    effort: Effort = STANDARD,
    watch: Watch = UNWATCHED,
) -> JointPosterior:
    """Sample class share, labelers, classifier and true classes under a difficulty that all share.

    Args:
        labels: noisy labels of two classes.
        key: JAX random key. The same key gives the same draws.
        y_pred: (samples,) predicted classes, -1 where there is none; None: only learn the labelers.
        gold: (samples,) known classes, -1 where unknown.
        prior: (2,) known class prior; by default its logit is drawn (uniform share).
        model: spread of labelers (learned where labels say little of each, as for `Beliefs`),
            and class shares.
        effort: when to stop; `burn_in` and `min_sweeps` are ignored, a transition is worth many sweeps.
        watch: whom to tell how far it is, in transitions, and a checkpoint.

    Returns:
        `JointPosterior` with `dependence` "random_effect"; matrices are averaged over ease.

    Raises:
        ValueError: input that cannot be used; more than two classes.

    >>> import jax
    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> fit = fit_random_effect(Labels.from_matrix(z, 2), y_pred=z[:, 0], key=jax.random.key(0))
    >>> fit.usable, fit.converged, fit.tables("in-sample").shape[1:]
    (True, True, (2, 2))
    """
    rng = host_rng(key, "random effect")
    if must_be_labels(labels).num_classes != 2:
        raise ValueError(
            f"the random-effect model is for two classes, these labels have {labels.num_classes}; "
            'use dependence="shared_strata"'
        )
    predicted, _ = checked_predictions(labels, y_pred, None if y_pred is None else 2)
    known = checked_gold(labels, gold)
    rows = merge_samples(labels, predicted, known)
    fixed = None if prior is None else known_prior(prior, 2, np.zeros(0, int) if known is None else known)
    group, _ = share_groups(model.shares, labels, rows, prior)
    density = Density(rows, fixed, learned=_learns_spread(model, labels), group=group)
    chains = effort.chains or int(
        np.clip(4 * (_CHEAP // (8 * density.nodes * rows.multiplicity.size)), 4, 32)
    )
    effort = effort._replace(burn_in=_BURN_IN, min_sweeps=_FIRST * chains)
    effort = effort._replace(max_sweeps=max(effort.max_sweeps, effort.min_sweeps))
    before = (gradients_of_scale(density) + _OF_MODE) * density.numbers
    allowed = limits(effort, chains, _GRADIENTS * density.numbers, before)
    allowed = allowed._replace(first=min(_FIRST, allowed.most))
    mode = find_mode(density)
    mover = HmcMover(
        density, rows, mode, curvature_scale(density, mode), chains, effort.pointwise, allowed.burn_in
    )
    mark = digest(
        "random effect", key_words(key), rows, prior, chains, allowed.burn_in, effort.max_bytes, model
    )
    store, convergence = walk(
        mover, rng, monitored=lambda draws: monitored(draws, effort.nuisance), effort=effort,
        limits=allowed, watch=watch, mark=mark,
    )  # fmt: skip
    total = convergence.num_sweeps
    run = GibbsRun(
        store.draws(), store.thinned(), {name: a / total for name, a in store.large_sum.items()}, store.thin,
        (np.asarray(store.state_sum) / total).T, convergence, em_steps=0,
    )  # fmt: skip
    found = gather(run, labels, rows, (2, 1), predicted, known, False, "random_effect")
    values = run.draws["log_prior"].reshape(-1)[found.matrix_draw]
    found = found._replace(log_prior=LogPrior(values, 1.0, (EFFECT,)))
    if not effort.pointwise:
        return found
    return found._replace(pointwise=_pointwise(density, rows, run.large["points"]))


def _learns_spread(model: EffectModel, labels: Labels) -> bool:
    check.choose("spread", model.spread or "fixed", ("fixed", "learned"))
    return prior_decides(labels) if model.spread is None else model.spread == "learned"


def _pointwise(density: Density, rows: Rows, points: np.ndarray) -> RowLikelihood:
    """log p(row | draw) at evenly spaced points, (chains, draws, size)."""
    chains, draws = points.shape[:2]
    chosen = points[:, chosen_draws(chains, draws, rows.multiplicity.size)].astype(np.float64)
    flat = chosen.reshape(-1, points.shape[-1])
    parts = []
    for part in _pieces(density, flat):
        p = density.split(part)
        parts.append(density.states(p, density.logits(p))[1])
    return row_likelihood(np.concatenate(parts).reshape(chains, chosen.shape[1], -1), rows.row_of_sample)


def _pieces(density: Density, points: np.ndarray) -> list[np.ndarray]:
    """Points in parts that fit into memory: arrays hold states x (rows, or labelers) numbers for each."""
    return np.array_split(points, -(-len(points) // max(1, int(_AT_ONCE / density.numbers))))


@dataclass
class HmcMover:
    """Chains of Hamiltonian Monte Carlo on the density with ease and classes summed out."""

    density: Density
    rows: Rows
    mode: np.ndarray
    scale: Scale
    num_chains: int
    keep_points: bool
    burn_in: int
    block: int = 25

    @property
    def _group_share(self) -> np.ndarray:
        """(groups,) share of the samples in each group with a class share of its own."""
        size = self.rows.multiplicity @ self.density.member
        return np.asarray(size / size.sum())

    @property
    def judges(self) -> bool:
        """Whether there is a classifier."""
        return bool((self.rows.y_pred >= 0).any())

    def start(self, rng: np.random.Generator) -> Chain:
        """Points around the mode."""
        state = self.mode + self.scale.apply(rng.standard_normal((self.num_chains, self.density.size)))
        value, gradient = self.density(state)
        zero = np.zeros(())
        chain = {"state": state, "value": value, "gradient": gradient, "step": zero + _STEP, "done": zero}
        return chain | ({"root": self.scale.root} if isinstance(self.scale, Whole) else {})

    def settle(self, chain: Chain) -> Chain:
        """A chain that fell into the mirror image, where raters are wrong more often than right, restarts.

        Starts are wide, and the two images of a posterior hardly communicate: which chains burn in where is
        luck, and says nothing about the weights of the images. They go on from where the others are.
        """
        mirrored = self._mean_diagonal(chain["state"]) < 0.5
        wrong, right = np.flatnonzero(mirrored), np.flatnonzero(~mirrored)
        if not (wrong.size and right.size):
            return chain
        chain = {name: a.copy() for name, a in chain.items()}
        for name in ("state", "value", "gradient"):
            chain[name][wrong] = chain[name][right[np.arange(wrong.size) % right.size]]
        return chain

    def advance(
        self, chain: Chain, rng: np.random.Generator, sweeps: int, burning: bool
    ) -> tuple[Chain, Kept | None]:
        """Some transitions of all chains; scale and step size learn while burning in."""
        state, value, gradient = chain["state"], chain["value"], chain["gradient"]
        step, done, points = float(chain["step"]), int(chain["done"]), []
        scale = Whole(chain["root"]) if "root" in chain else self.scale
        for _ in range(sweeps):
            state, value, gradient, accepted = transition(
                rng, self.density, scale, state, value, gradient, step
            )
            if burning:
                step *= np.exp((accepted - _ACCEPT) / (1 + done % self.block) ** 0.6)
            points.append(state)
            done += 1
        new = {"state": state, "value": value, "gradient": gradient}
        new |= {"step": np.array(step), "done": np.array(done)} | {k: chain[k] for k in chain if k == "root"}
        drawn = np.stack(points, axis=1)
        return (self._adapted(new, drawn), None) if burning else (new, self._kept(rng, drawn))

    def _adapted(self, chain: Chain, drawn: np.ndarray) -> Chain:
        """A better scale by a block of burn-in, `drawn` (chains, transitions, size); not by the last one."""
        if not isinstance(self.scale, Whole) or int(chain["done"]) > self.burn_in - self.block:
            return chain
        right = self._mean_diagonal(chain["state"]) >= 0.5
        if not right.any():
            return chain
        root = adapted(self.scale.root, drawn[right])
        return self.settle(chain) | {"root": root, "step": np.minimum(chain["step"], _STEP)}

    def _mean_diagonal(self, points: np.ndarray) -> np.ndarray:
        """(points,) how often raters are right, averaged over raters and classes."""
        means = []
        for part in _pieces(self.density, points):
            labelers, classifier = self._right(part)
            raters = [labelers, classifier[:, None]] if self.judges else [labelers]
            means.append(np.concatenate(raters, axis=1).mean(axis=(1, 2)))
        return np.concatenate(means)

    def _right(self, points: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """P(right | class), ease averaged: labelers (points, labelers, 2), classifier (points, 2)."""
        weight = np.exp(self.density.log_node)
        logits = self.density.logits(self.density.split(points))
        labelers, classifier = (expit(a) @ weight for a in logits)
        return labelers, classifier

    def _kept(self, rng: np.random.Generator, points: np.ndarray) -> Kept:
        """Draws of what people ask for, from points (chains, transitions, size)."""
        density, shape = self.density, points.shape[:2]
        flat = points.reshape(-1, points.shape[-1])
        parts, seen = [], np.zeros((2, self.rows.multiplicity.size))
        for part in _pieces(density, flat):
            p = density.split(part)
            one = density.states(p, density.logits(p))[0][density.nodes :].sum(axis=0)  # (points, rows)
            seen += np.stack([(1 - one).sum(axis=0), one.sum(axis=0)])
            drawn = rng.binomial(self.rows.multiplicity, np.clip(one, 0, 1))  # samples of class 1
            numbers = (right_labels(self.rows, drawn), drawn.sum(axis=1), tables(self.rows, drawn))
            share = expit(p.logit_share) @ self._group_share
            parts.append((*numbers, *map(matrix, self._right(part)), share))
        right, ones, counts, matrices, classifier, share = (
            np.concatenate(a) for a in zip(*parts, strict=True)
        )
        prior = np.stack([1 - share, share], axis=1)
        small = {
            "prior": prior,
            "labeler_accuracy": np.einsum("mtcc,mc->mt", matrices, prior),
            "right": right,
            "class_counts": np.stack([self.rows.multiplicity.sum() - ones, ones], axis=1),
            "shared": flat[:, density.last :],
            "log_prior": density.log_prior(flat),
        }
        small |= {"classifier": classifier, "counts": counts} if self.judges else {}
        large = {"matrices": matrices} | ({"points": flat} if self.keep_points else {})
        small, large = ({k: a.reshape(*shape, *a.shape[1:]) for k, a in d.items()} for d in (small, large))
        return Kept(small, large, seen)
