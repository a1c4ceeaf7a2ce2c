"""Evaluate a classifier by draws of a model of the labels, with the uncertainty of the draws.

The model gives p(class | labels) of every sample for every draw of its parameters theta. The classifier errs
independently of the labelers given the class, with rows K[c] ~ Dirichlet(2 on the diagonal, 1 off it). The
posterior p(theta, y, K | labels, predictions) is sampled by alternating

    theta' from the draws, taken with probability min(1, L(theta') / L(theta)),
        L(theta) = prod_i sum_c p(c | labels_i, theta) K[c, y_pred_i]
    y_i ~ p(c | labels_i, theta) K[c, y_pred_i],    K[c] ~ Dirichlet(prior + counts of y and y_pred)

The draws of p(theta | labels) are the prior of this step, so the only approximation is their number. If the
model has seen the predictions (`jtruth.models.testing`) its draws are used unchanged.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._host import diagonal_rows, softmax
from jtruth._one_line import one_line
from jtruth._random import Key, host_rng
from jtruth.evaluation.parts import Check
from jtruth.labels import Labels
from jtruth.latent.infer.nuts import NutsRun, gather
from jtruth.latent.walk import STANDARD, by_number, extremes, good
from jtruth.learning.joint.guard import check_switching
from jtruth.stats.chains import effective_sample_size, split_rhat
from jtruth.stats.draws import DrawsEstimate

ASSUMED = "your model of the labels is right; given the class, the classifier errs independently of labelers"
ALONE = "draws of a model of the labels already include everything: leave {} out"
ONE = "class_posterior"
NO_SITE = (
    "the draws have no site {!r}, p(class | labels) of shape (draws, samples, classes); they have {}. Give "
    "the MCMC itself, or {{'class_posterior': jt.models.classes_by_draw(model, draws, labels)}}"
)
_CHAINS, _BURN_IN, _LOOK, _MOST = 32, 50, 200, 2000  # and sweeps of each chain
_WORST, _LEAST = 1.05, 100.0  # split R-hat and effective sample size of draws that an answer can be made of
_ENOUGH = 1000.0  # effective draws of every cell
_MOST_NUMBERS, _FEWEST = 40_000_000, 100  # of the class posteriors of all draws, and draws


class LabelDraws(NamedTuple):
    """Draws of class probabilities and parameters of a model of the labels."""

    posterior: Float[np.ndarray, "draws rows classes"]
    row_of_sample: Int[np.ndarray, " samples"]
    matrices: Float[np.ndarray, "draws labelers classes classes"] | None
    classifier: Float[np.ndarray, "draws classes symbols"] | None  # where the model has seen predictions
    run: NutsRun | None
    labels: Any  # Labels; None if the draws have none

    __repr__ = one_line

    def labelers(self) -> list[DrawsEstimate]:
        """Accuracy of each labeler, sum_c p(c) psi[c, c], for shares p of the samples at each draw."""
        if self.labels is None or self.matrices is None or not self.matrices.shape[1]:
            return []
        times = np.bincount(self.row_of_sample, minlength=self.posterior.shape[1])
        share = np.einsum("mrc,r->mc", self.posterior, times / times.sum())
        return [DrawsEstimate(a) for a in np.einsum("mc,mtcc->tm", share, self.matrices, dtype=np.float64)]


def holds_draws(value: Any) -> bool:
    """Whether a value is a NumPyro MCMC, a fit by NUTS, a mapping of draws, or a tree of ArviZ."""
    named = isinstance(value, Mapping) or hasattr(value, "children")
    return named or hasattr(value, "get_samples") or (hasattr(value, "run") and hasattr(value, "spec"))


def read_draws(given: Any) -> LabelDraws:
    """Draws of any of these; ValueError for an MCMC that has not run, or draws without classes."""
    if hasattr(given, "get_samples"):
        return _of_mcmc(given)
    if hasattr(given, "spec"):
        from jtruth.learning.annotation.bayes import drawn_by_fit

        found = drawn_by_fit(given)
        return LabelDraws(*found, given.run, given.labels)
    if hasattr(given, "children"):
        given = {name: values.values for name, values in given["posterior"].data_vars.items()}
    if ONE not in given:
        raise ValueError(NO_SITE.format(ONE, ", ".join(map(str, given)) or "none"))
    p = np.asarray(given[ONE], np.float64)
    p = p.reshape(-1, *p.shape[-2:]) if p.ndim == 4 else p
    if p.ndim != 3 or p.shape[2] < 2 or not (np.abs(p.sum(axis=2) - 1) < 1e-3).all() or (p < 0).any():
        raise ValueError(
            f"site {ONE!r} has shape {p.shape}; give probabilities (draws, samples, classes) that sum to 1"
        )
    return LabelDraws(p, np.arange(p.shape[1]), None, None, None, None)


def _of_mcmc(mcmc: Any) -> LabelDraws:
    from jtruth.learning.annotation.bayes import drawn_classes

    model = getattr(mcmc.sampler, "model", None)
    if model is None or getattr(mcmc, "_states", None) is None:
        raise ValueError("the MCMC has no draws of a model; call its run(key, labels) first")
    args, more = mcmc._args, mcmc._kwargs
    by_chain = {k: np.asarray(v) for k, v in mcmc.get_samples(group_by_chain=True).items()}
    found = drawn_classes(model, mcmc.get_samples(), args, more)
    some = next(iter(by_chain.values()))
    extra = mcmc.get_extra_fields(group_by_chain=True)
    diverging = np.asarray(extra.get("diverging", np.zeros(some.shape[:2], bool)))
    run = gather(by_chain, {"diverging": diverging}, mcmc.num_warmup)
    labels = args[0] if args else more.get("labels")
    if not isinstance(labels, Labels) and np.asarray(labels).dtype.kind in "iu":
        labels = Labels.from_matrix(np.asarray(labels), found.posterior.shape[2], allow_unlabelled=True)
    return LabelDraws(*found, run, labels if isinstance(labels, Labels) else None)


def drawn_tables(
    found: LabelDraws, y_pred: Int[np.ndarray, " samples"], key: Key
) -> tuple[Float[np.ndarray, "draws classes symbols"], tuple[str, ...]]:
    """Draws of the count table of classes and predictions, and a warning if they have not converged."""
    rng, classes = host_rng(key, "tables by draws"), found.posterior.shape[2]
    cell, times = np.unique(found.row_of_sample * classes + y_pred, return_counts=True)
    row, symbol = np.divmod(cell, classes)
    step = -(-len(found.posterior) // max(_FEWEST, _MOST_NUMBERS // (cell.size * classes)))
    rho = found.posterior[::step, row].astype(np.float64)
    one_hot = np.eye(classes)[symbol]
    if found.classifier is not None:
        p = rho * np.moveaxis(found.classifier[::step][:, :, symbol], 1, 2)
        return tables_drawn(p, times, one_hot, rng), ()
    alpha = diagonal_rows(classes, 2.0, 1.0)
    which, k = rng.integers(len(rho), size=_CHAINS), rows_drawn(alpha + np.zeros((_CHAINS, 1, 1)), rng)
    blocks: list[np.ndarray] = []
    for sweep in range(_BURN_IN + _MOST):
        by_cell = np.moveaxis(k[:, :, symbol], 1, 2)
        other = rng.integers(len(rho), size=_CHAINS)
        now, then = (rho[some] * by_cell for some in (which, other))
        gain = (np.log(then.sum(axis=2)) - np.log(now.sum(axis=2))) @ times
        taken = np.log(rng.random(_CHAINS)) < gain
        which, now = np.where(taken, other, which), np.where(taken[:, None, None], then, now)
        table = tables_drawn(now, times, one_hot, rng)
        k = rows_drawn(alpha + table, rng)
        if sweep >= _BURN_IN:
            blocks.append(table)
        if blocks and len(blocks) % _LOOK == 0:
            draws = np.stack(blocks, axis=1)
            ess, rhat = effective_sample_size(draws), split_rhat(draws, groups=4)
            if (np.isnan(ess) | (ess >= _ENOUGH)).all() and (np.isnan(rhat) | (rhat < 1.01)).all():
                return draws.reshape(-1, classes, classes), ()
    draws = np.stack(blocks, axis=1).reshape(-1, classes, classes)
    return draws, (
        "The draws of the classes have not converged: predictions and labels say little about them.",
    )


def tables_drawn(
    p: np.ndarray, times: np.ndarray, one_hot: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Tables (draws, classes, symbols) of classes drawn with probabilities p (draws, cells, classes)."""
    drawn = rng.multinomial(times, p / p.sum(axis=2, keepdims=True))
    return np.einsum("mrc,ru->mcu", drawn, one_hot)


def rows_drawn(alpha: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Rows of Dirichlet distributions, one draw of each."""
    return softmax(np.log(np.maximum(rng.standard_gamma(alpha), 1e-300)))


def checks_of_draws(found: LabelDraws, class_names: tuple) -> tuple[Check, ...]:
    """Checks that the sampler has converged, and that classes have not exchanged names."""
    checks = []
    if found.run is not None:
        numbers = by_number(found.run.rhat), by_number(found.run.ess)
        enough = good(*numbers, STANDARD._replace(max_rhat=_WORST, min_ess=_LEAST))
        poor = found.run.warnings and (found.run.divergences or not enough)
        text = " ".join(found.run.warnings).rstrip(".") if poor else f"at worst {extremes(*numbers)}"
        verdict = "look first" if poor else "fits"
        worst = max((r for r in numbers[0].values() if np.isfinite(r)), default=None)
        checks.append(Check("sampler", worst, None, verdict, text))
    if found.matrices is not None and found.matrices.shape[1]:
        chains = 1 if found.run is None else len(next(iter(found.run.samples.values())))
        parts = np.array_split(found.matrices, chains)
        switched = check_switching(np.array([part.mean(axis=0) for part in parts]), class_names)
        text = (switched or "").rstrip(".") or "labelers are right more often than wrong in every chain"
        checks.append(Check("switching", None, None, "look first" if switched else "fits", text))
    return tuple(checks)
