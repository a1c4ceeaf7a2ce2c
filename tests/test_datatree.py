"""Fits in ArviZ: summary, loo and compare work on every fit, with unchanged numbers.

The page docs/your_own_model.md is run once; its fit is the only one by NUTS here. Draws of the shipped models
are random numbers: ArviZ's dimension names do not depend on them.
"""

from itertools import product
from types import SimpleNamespace

import arviz_stats
import jax
import numpy as np
import pytest

from jtruth.comparison import compare_models, leave_one_out, to_datatree
from jtruth.labels import Labels
from jtruth.latent import Effort
from jtruth.latent.infer.nuts import NutsRun, gather
from jtruth.learning.annotation.functions import SPECS
from jtruth.learning.annotation.models import DIMS, prepare
from jtruth.learning.annotation.posterior import merged_rows, pointwise
from jtruth.learning.joint.posterior import fit_joint
from tests.source import ROOT, python_of

PAGE = python_of(ROOT / "docs" / "your_own_model.md")


@pytest.fixture(scope="module")
def page():
    """Names that the page leaves behind."""
    names = {}
    with jax.numpy_rank_promotion("allow"), jax.numpy_dtype_promotion("standard"):  # as NumPyro needs
        exec("\n".join(PAGE), names)
    return SimpleNamespace(**names)


def made_up(model, classes=3, labelers=4):
    """A fit of any shipped model whose draws are random: what `fit_nuts` returns, without NUTS."""
    rng = np.random.default_rng(0)
    labels = Labels.from_matrix(rng.integers(0, classes, (12, labelers)), classes)
    labels = labels.with_names(workers=["ann", "bob", "cy", "di"])
    hyper, data = prepare(SPECS[model], classes, labelers, None), merged_rows(labels)
    start = SPECS[model].start(np.full(classes, 1 / 3), np.full((labelers, classes, classes), 1 / 3), hyper)
    sizes = {name: np.shape(value) for name, value in start.items()}
    simplex = {"prior", "confusion", "matrix", "spam", "weights", "common", "stratum_confusion"}
    draws = {n: rng.random((2, 60, *s)) * 0.8 + 0.1 for n, s in sizes.items()}
    draws = {n: d / d.sum(-1, keepdims=True) if n in simplex else d for n, d in draws.items()}
    fit = SimpleNamespace(labels=labels, spec=SPECS[model], run=run_of(draws))
    rows = pointwise(SPECS[model].channel, draws, data, hyper, labelers)
    fit.log_likelihood = lambda: rows.log_p[:, :, rows.row_of_sample].reshape(120, -1)
    return fit


def run_of(draws):
    first = next(iter(draws.values()))
    names = ("diverging", "acceptance_rate", "n_steps")
    return gather(draws, {name: np.zeros(first.shape[:2], int) for name in names}, 10)


SOME = ("dawid_skene", "mace", "welinder")


@pytest.mark.filterwarnings("ignore")  # random draws are poor ones, and ArviZ says so
@pytest.mark.parametrize(
    "model", [pytest.param(name, marks=[pytest.mark.slow] * (name not in SOME)) for name in SPECS]
)
def test_arviz_reads_every_model(model):
    fit = made_up(model, classes=2 if model == "welinder" else 3)
    tree = to_datatree(fit)
    rows = arviz_stats.summary(tree)
    for name, draws in fit.run.samples.items():
        axes = DIMS[name]
        assert tree["posterior"][name].dims == ("chain", "draw", *axes)
        named = [[str(x) for x in tree["posterior"][axis].values] for axis in axes]
        mine = rows["mean"].loc[[f"{name}[{', '.join(place)}]" for place in product(*named)]]
        np.testing.assert_allclose(mine.to_numpy(float), draws.mean((0, 1)).ravel(), atol=0.006)
    assert np.isfinite(arviz_stats.loo(tree).elpd)


@pytest.mark.slow
def test_the_page_of_your_own_model(page):
    """20 lines give a posterior that holds what was simulated, of a density that plain loops give too."""
    fit = page.fit
    assert (
        fit.usable
        and fit.run.divergences == 0
        and page.result.interval_kind == "posterior"
        and "\n" not in str(fit)
    )
    assert str(fit).startswith("lookers: 4 chains of 500 draws, 600 labels of 150 samples, converged, usable")
    look = fit.run.flat("look")
    # Fixed key; a normal posterior is further off than 4.5 sd in 7e-6, and there are 4.
    assert (np.abs(look.mean(0) - page.looks) < 4.5 * look.std(0)).all()
    assert (fit.class_posterior.argmax(1) == page.truth).mean() > 0.85
    draws, z = {n: fit.run.flat(n)[::400] for n in ("prior", "look", "habit")}, page.labels.to_matrix()
    by_hand = np.zeros((5, 20))
    for d, i in product(range(5), range(20)):
        pi, looks, habit = (draws[n][d] for n in ("prior", "look", "habit"))
        terms = [
            pi[c] * np.prod([looks[t] * (k == c) + (1 - looks[t]) * habit[k] for t, k in enumerate(z[i])])
            for c in range(3)
        ]
        by_hand[d, i] = np.log(sum(terms))
    np.testing.assert_allclose(fit.log_likelihood()[::400, :20], by_hand, rtol=1e-10)
    function = next(code for code in PAGE if "def lookers" in code).partition("\n\n\n")[0]
    assert len(function.splitlines()) <= 20


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_arviz_compares_as_we_do(page):
    labels = page.labels
    joint = fit_joint(labels, key=jax.random.key(1), effort=Effort(pointwise=True))
    trees = {"own": page.tree, "gibbs": to_datatree(joint, labels)}
    theirs = arviz_stats.compare(trees)
    ours = compare_models(labels, key=0, models={"own": page.fit, "gibbs": joint})
    assert ours.names[0] == theirs.index[0]
    for name, loo in zip(ours.names, ours.loo, strict=True):
        assert float(theirs.loc[name, "elpd"]) == pytest.approx(
            loo.elpd, abs=0.15
        )  # it estimates the ESS itself
    rows = arviz_stats.summary(trees["gibbs"])
    assert {"prior[0]", "labeler_accuracy[0]"} <= set(rows.index)
    kept = joint.matrices.reshape(-1, 4, 3, 3).mean(axis=0)
    for t, c, k in ((3, 2, 1), (0, 1, 2), (1, 0, 2)):
        assert float(rows.loc[f"confusion[{t}, {c}, {k}]", "mean"]) == pytest.approx(kept[t, c, k], abs=0.006)
    assert leave_one_out(page.fit).num_bad == 0


@pytest.mark.filterwarnings("ignore")
def test_fits_without_labels_and_what_has_no_draws():
    rng = np.random.default_rng(1)
    weights = run_of({"intercept": rng.normal(size=(2, 50)), "weights": rng.normal(size=(2, 50, 3))})
    table = run_of({"classifier": rng.dirichlet(np.ones(3), (2, 50, 3))})
    for fit in (weights, table, SimpleNamespace(run=table)):
        run = fit if isinstance(fit, NutsRun) else fit.run
        rows = arviz_stats.summary(to_datatree(fit))
        assert len(rows) == sum(x[0, 0].size for x in run.samples.values())
    with pytest.raises(ValueError, match="dict has no posterior draws"):
        to_datatree({})
    with pytest.raises(ValueError, match="only needed with a JointPosterior"):
        to_datatree(made_up("pooled"), made_up("pooled").labels)
