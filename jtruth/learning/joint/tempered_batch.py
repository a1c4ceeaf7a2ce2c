"""Thousands of label sets under any model of `fit_joint`, by tempering, some sets side by side.

Lineages are fewer than in `fit_joint`, and make as many moves in every set. All sets have arrays of equal
shapes, so that one program serves them; rows that are alike, where labels are few, are another program.
"""

from typing import Any

import jax
import numpy as np
from jaxtyping import Int

from jtruth._arrays import AnyArray
from jtruth._cache import keep_programs
from jtruth._random import host_rng
from jtruth.labels import Labels
from jtruth.latent.density import Seen
from jtruth.latent.fit import MOST_WORK, moved, started
from jtruth.latent.infer import temper
from jtruth.latent.infer.gibbs import Digest
from jtruth.latent.infer.side_by_side import Sampler, side_by_side
from jtruth.latent.model import Model, Observed
from jtruth.learning.joint.batch import JointBatch
from jtruth.learning.joint.draws import joint_digest, mean_share
from jtruth.learning.joint.models import Build, named_model
from jtruth.learning.joint.posterior import density_of, laid_out

_LINEAGES, _BLOCKS = 128, 4  # lineages of a set, and how often all of them make moves that are kept
_AT_ONCE = 4 if jax.default_backend() == "cpu" else 256


def tempered_batch(
    key: Any,
    labels: Int[AnyArray, "sets samples labelers"],
    y_pred: Int[AnyArray, "sets samples"],
    num_classes: int,
    dependence: str | Build,
    *,
    mesh: jax.sharding.Mesh | None = None,
) -> JointBatch:
    """Sample every set; `dependence` as in `fit_joint`, other arguments those of `joint_batch`.

    Numbers of a set that has no label, or whose posterior is not reached, are NaN.

    Raises:
        ValueError: a model that is not for these labels, or sets that are too large to be tempered.

    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> found = tempered_batch(0, z[None], z[None, :, 0], 2, "shared_strata")
    >>> found.counts.shape, bool(found.matrices[0, 0, 0, 0] > 0.9)
    ((1, 128, 20, 2, 2), True)
    """
    keep_programs()
    z, y, c = np.asarray(labels, np.int64), np.asarray(y_pred, np.int64), num_classes
    sets, samples, raters = z.shape[0], z.shape[1], z.shape[2] + 1
    counts = np.full((sets, _LINEAGES, _BLOCKS * temper.MOVES, c, c), np.nan, np.float32)
    prior, matrices = np.full((sets, c), np.nan), np.full((sets, raters, c, c), np.nan)
    class_posterior = np.full((sets, samples, c), np.nan)
    labelled = np.flatnonzero((z >= 0).any(axis=(1, 2))).tolist()
    there = (z >= 0).any(axis=2) | (y >= 0)  # the others are filling
    problems = [_problem(s, z[s, there[s]], y[s, there[s]], c, dependence) for s in labelled]
    rows = max([len(model.seen.times) for model, _, _ in problems], default=0)

    def sampler(s: int, problem: tuple[Model, Observed, Digest]) -> Sampler[None]:
        model, observed, digest = problem
        seen = (np.pad(a, [(0, rows - len(a)), *[(0, 0)] * (a.ndim - 1)]) for a in model.seen)
        model, rng = model._replace(seen=Seen(*seen)), host_rng(key, "tempered batch", s)
        state = yield from started(model, digest, rng, _LINEAGES)
        kept = []
        for _ in range(_BLOCKS):
            state, block = yield from moved(model, observed, digest, state, rng)
            kept.append(block)
        small, large, behind = zip(*kept, strict=True)
        by_state = np.sum(behind, axis=0)[:, observed.row_of_sample]
        by_class = by_state.reshape(c, -1, by_state.shape[1]).sum(axis=1).T
        labelers, classifier = (
            np.mean([block[name].mean(axis=(0, 1)) for block in blocks], axis=0)
            for name, blocks in (("matrices", large), ("classifier", small))
        )
        counts[s] = np.concatenate([block["counts"] for block in small], axis=1)
        prior[s] = class_posterior[s] = np.mean([block["prior"] for block in small], axis=(0, 1, 2))
        matrices[s] = np.concatenate([labelers, classifier[None]])
        class_posterior[s, there[s]] = by_class / by_class.sum(axis=1, keepdims=True)

    side_by_side(list(map(sampler, labelled, problems)), max(min(_AT_ONCE, len(labelled)), 1), mesh)
    return JointBatch(counts, prior, matrices, class_posterior)


def _problem(
    s: int, z: np.ndarray, y: np.ndarray, num_classes: int, dependence: str | Build
) -> tuple[Model, Observed, Digest]:
    """Set `s` as `fit_joint` lays it out."""
    labels = Labels.from_matrix(z, num_classes)
    build, name = named_model(dependence)
    built, rows, observed, _ = laid_out(labels, y, build)
    model = density_of(built, observed)
    if model is None or model.work > MOST_WORK:
        raise ValueError(
            f"set {s} has {rows.multiplicity.size} different samples, too many for tempering. Evaluate it "
            "alone (jt.evaluate), or as independent (method='joint')"
        )
    copied = mean_share(labels) if name == "copying" else None
    digest = joint_digest(built.model, labeler_share=copied, shared=built.other is not None)
    return model, observed, digest
