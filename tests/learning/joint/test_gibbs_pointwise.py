"""log p(one sample | draw) of every dependence model against loops; PSIS-LOO against exact leave-one-out."""

import jax
import numpy as np
import pytest
from scipy.special import betaln, logsumexp

from jtruth.comparison import leave_one_out
from jtruth.labels import Labels
from jtruth.latent import Effort
from jtruth.latent.fit import chosen_draws, of_gibbs
from jtruth.latent.model import Observed
from jtruth.latent.rows import label_columns, merge_samples, prediction_columns
from jtruth.learning import fit_joint
from jtruth.learning.joint.inputs import DirichletPriors, checked_priors
from jtruth.learning.joint.models import MODELS

KEY = jax.random.key(0)


def small(classes=2, seed=0):
    rng = np.random.default_rng(seed)
    z = rng.integers(-1, classes, (30, 3))
    z[:, 0] = rng.integers(0, classes, 30)
    return z, rng.integers(0, classes, 30), np.where(np.arange(30) < 4, rng.integers(0, classes, 30), -1)


def rows_like(rng, *shape):
    return rng.dirichlet(np.ones(shape[-1]), size=shape[:-1])


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize("name", [name for name in MODELS if name != "random_effect"])
def test_every_model_against_loops(name, classes):
    z, y_pred, gold = small(classes)
    labels = Labels.from_matrix(z, classes)
    priors = checked_priors(labels, None, classes, gold, None, DirichletPriors(diagonal=2.0))
    rows = merge_samples(labels, y_pred, gold)
    model, offset, *_ = MODELS[name](priors, rows)
    seen = (label_columns(rows.labels), prediction_columns(rows.y_pred, classes))
    observed = Observed(seen, rows.multiplicity.astype(float), offset, rows.row_of_sample)
    rng = np.random.default_rng(1)
    sizes = [r.prior.shape[:2] for r in model.raters]
    draws = {f"raters{g}": rows_like(rng, 2, 4, *size, classes) for g, size in enumerate(sizes)}
    draws |= {"pi": rows_like(rng, 2, 4, classes)}
    if model.num_strata > 1:
        draws["weights"] = rows_like(rng, 2, 4, *model.stratum_prior.shape)
    found = of_gibbs(model, observed, draws)
    assert found.log_p.shape == (2, 4, len(rows.multiplicity)) and 0 < found.relative_ess <= 1
    for i in range(30):
        one = {name: values[1, 2] for name, values in draws.items()}
        total = 0.0
        for s, (c, w) in enumerate(zip(model.state_class, model.state_weight, strict=True)):
            p = one["pi"][c] * (one["weights"].ravel()[w] if "weights" in one else 1.0)
            p *= gold[i] in (-1, c)
            for t in range(3):
                if z[i, t] >= 0:
                    p *= one["raters0"][t, model.raters[0].row_of_state[s], z[i, t]]
            row = model.raters[1].row_of_state[s]
            votes = z[i][z[i] >= 0]
            p *= one["raters1"][0, row, y_pred[i]] if row >= 0 else (votes == y_pred[i]).mean()
            total += p
        assert found.log_p[1, 2, rows.row_of_sample[i]] == pytest.approx(np.log(total), abs=1e-12)


def test_leave_one_out_of_one_labeler_and_a_known_class():
    """Gold for all: the terms are ratios of Beta functions, log p(z_i, y_i | the others)."""
    rng = np.random.default_rng(3)
    y = rng.integers(0, 2, 40)
    z = np.where(rng.random(40) < 0.25, 1 - y, y)
    fit = fit_joint(
        Labels.from_matrix(z[:, None], 2), gold=y, y_pred=z, key=KEY, effort=Effort(pointwise=True)
    )
    found = leave_one_out(fit)

    def evidence(some):
        total = betaln((y[some] == 0).sum() + 1, (y[some] == 1).sum() + 1)
        for c in (0, 1):
            right, wrong = ((y == c) & (z == k) & some for k in (c, 1 - c))
            total += 2 * betaln(right.sum() + 2, wrong.sum() + 1)  # the labeler and the classifier alike
        return total

    everyone = np.ones(40, bool)
    exact = [evidence(everyone) - evidence(np.arange(40) != i) for i in range(40)]
    draws = fit.pointwise.log_p.shape[0] * fit.pointwise.log_p.shape[1]
    weight = np.exp(-fit.pointwise.log_p.reshape(draws, -1))
    error = (weight.std(axis=0) / weight.mean(axis=0) / np.sqrt(draws))[fit.pointwise.row_of_sample]
    assert (np.abs(found.pointwise - exact) < 5 * error).all() and found.num_bad == 0
    lpd = logsumexp(fit.pointwise.log_p.reshape(draws, -1), axis=0) - np.log(draws)
    assert found.p_loo == pytest.approx(lpd[fit.pointwise.row_of_sample].sum() - found.elpd)


def test_few_draws_are_looked_at():
    assert chosen_draws(4, 10_000, 50).size == 250 and chosen_draws(4, 10_000, 50)[-1] == 9999
    assert chosen_draws(4, 30, 50).size == 30 and chosen_draws(4, 10_000, 10**7).size == 50
