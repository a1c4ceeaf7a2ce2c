"""One word for what an answer is about, in every answer, and the same for a plan and an evaluation."""

import numpy as np
import pytest

import jtruth as jt
from jtruth.evaluation.assumptions import ranges
from jtruth.tables.metrics import named_metric

pytestmark = pytest.mark.usefixtures("few_lineages")


@pytest.fixture(scope="module")
def case():
    rng = np.random.default_rng(0)
    y = (rng.random(80) < 0.4).astype(int)
    z = np.where(rng.random((80, 3)) < 0.8, y[:, None], 1 - y[:, None])
    return np.where(rng.random(80) < 0.85, y, 1 - y), jt.Labels.from_matrix(z, 2), y


def test_population_is_the_law_of_prior_and_matrix(case):
    """pi[0] K[0, 0] + pi[1] K[1, 1] of the same draws; wider than in-sample by the noise of 80 samples."""
    y_pred, labels, _ = case
    here = jt.evaluate(y_pred, labels, assume="independent")
    new = jt.evaluate(y_pred, labels, assume="independent", target="population")
    fit = new.fit
    for name in ("accuracy", "precision", "f1"):
        expected = named_metric(name).of_table(fit.prior[:, :, None] * fit.classifier)
        np.testing.assert_allclose(new.metrics[name].draws, expected, rtol=1e-9)
    assert new.accuracy.sd > here.accuracy.sd and abs(new.accuracy.mean - here.accuracy.mean) < 0.03
    assert (here.target, new.target) == ("in-sample", "population")
    assert new.to_dict()["target"] == "population" and "target: population" in new.summary(full=True)
    assert new.confusion_matrix.sum() == pytest.approx(80)


def test_refused_where_it_cannot_be_had(case):
    y_pred, labels, y = case
    noise, gold = jt.noise.Symmetric(0.2, 2), np.where(np.arange(80) < 30, y, -1)
    with pytest.raises(ValueError, match="error rates that are learned"):
        jt.evaluate(y_pred, labels, noise=noise, target="population")
    with pytest.raises(ValueError, match="no answer with gold"):
        jt.evaluate(y_pred, labels, gold=gold, target="population")
    with pytest.raises(ValueError, match="target must be one of"):
        jt.evaluate(y_pred, labels, target="here")
    with pytest.raises(ValueError, match="population only"):
        jt.evaluate(y_pred, labels, noise=noise, prior=[0.5, 0.5], method="tars", target="in-sample")
    found = jt.evaluate(y_pred, labels, noise=noise, prior=[0.5, 0.5], method="tars")
    assert found.target == "population"


@pytest.mark.slow
def test_where_independence_has_no_answer_it_is_left_out_by_name(case, monkeypatch):
    """A fit whose classes have exchanged names: the law is that of the other reading. Of labelers nothing is
    said: no other model of theirs was fitted."""
    from jtruth.evaluation.assumptions import registry

    y_pred, labels, _ = case
    whole = registry.fit_joint

    def switched(*arguments, **options):
        fit = whole(*arguments, **options)
        if options.get("dependence", "independent") != "independent":
            return fit
        return fit._replace(switched=True, warnings=("Class labels have switched",))

    monkeypatch.setattr(registry, "fit_joint", switched)
    monkeypatch.setattr(ranges, "_FEWEST_DRAWS", 0.0)
    monkeypatch.setattr(ranges, "_WORST_RHAT", np.inf)
    found = jt.evaluate(y_pred, labels)
    names = [one.name for one in found.assumptions]
    assert "independent" not in names and "shared_strata" in names and found.accuracy.mean > 0.6
    said = (*found.warnings, *found.views[1])
    assert any("'independent' is left out" in w and "Class labels have switched" in w for w in said)
    assert found.interval_kind == "predictive" and found.assumed
    assert list(found.posterior.readings) == ["majority_vote"]
    report = jt.evaluate_labelers(labels)
    assert report.rows == () and any("'independent' is left out" in text for text in report.warnings)
    assert report.summary().startswith("No answer: ")
