"""`target` means the same in every answer, in a plan and in an evaluation."""

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


def test_new_samples_are_the_counts_of_these_with_the_error_of_drawing_them(case):
    """The same mixture by draws of tables and of Beta distributions; the learned matrix agrees."""
    y_pred, labels, _ = case
    new = jt.evaluate(y_pred, labels, assume="independent")
    here, rng = new.in_sample, np.random.default_rng(0)
    tables = here.posterior.counts
    for name in ("accuracy", "precision"):
        above, below = (np.einsum("dcs,cs->d", tables, w) for w in named_metric(name).terms(np.ones((2, 2))))
        drawn = rng.beta(np.repeat(above, 50) + 0.5, np.repeat(below - above, 50) + 0.5)
        np.testing.assert_allclose(new.metrics[name].mean, here.metrics[name].mean)
        np.testing.assert_allclose(
            new.metrics[name].interval(0.95), np.quantile(drawn, [0.025, 0.975]), atol=4e-3
        )
    fit = new.fit
    learned = named_metric("accuracy").of_table(fit.prior[:, :, None] * fit.classifier)
    np.testing.assert_allclose(
        [new.accuracy.mean, new.accuracy.sd], [learned.mean(), learned.std()], atol=0.02
    )
    assert new.accuracy.sd > here.accuracy.sd
    assert (here.target, new.target) == ("in-sample", "population")
    assert new.to_dict()["target"] == "population" and "Target: population" in new.summary(full=True)
    assert new.confusion_matrix.sum() == pytest.approx(80)
    asked = jt.evaluate(y_pred, labels, assume="independent", target="in-sample")
    assert asked.accuracy.mean == here.accuracy.mean and "for these samples" in str(asked)
    assert [row.metrics["recall"].mean for row in asked.assumptions] == [
        row.metrics["recall"].mean for row in here.assumptions
    ]


def test_no_model_is_fitted_twice_and_a_page_or_a_picture_fits_none(case, monkeypatch, tmp_path):
    """A page shows the numbers of the screen; `full` adds each other assumption, fitted once for all."""
    from jtruth.evaluation.assumptions import registry

    fitted, whole = [], registry.fit_joint

    def counted(*arguments, **options):
        fitted.append(options["dependence"])
        return whole(*arguments, **options)

    monkeypatch.setattr(registry, "fit_joint", counted)
    (y_pred, labels, _), path = case, tmp_path / "page.html"
    found = jt.evaluate(y_pred, labels, key=7)
    alone, title, asked = list(fitted), "Estimates under each assumption", "use report(path, full=True)"
    found.report(path)
    brief, (drawn,) = path.read_text(), found.plot().axes
    assert len(found.require("accuracy >= .5").plot().axes) > 2
    assert fitted == alone == ["independent"] and print(found) is None and found._repr_html_()
    assert title in brief and "cannot tell whether labelers and classifier" in brief and asked in brief
    found.report(path, paper=True)
    assert (
        title in (paper := path.read_text()) and "make the same mistakes, and" in paper and asked not in paper
    )
    assert not any(entry.sentence in brief for entry in registry.ASSUMPTIONS.values())
    found.with_warnings(["Look."]).report(path, full=True)
    models = [row["name"] for row in found.to_dict()["assumptions"] if row["name"] != "majority_vote"]
    assert sorted(fitted) == sorted(models) and len(models) == 4  # independent errors are those of the answer
    page, marks = path.read_text(), found.plot(assumptions=True).axes[0].lines
    assert len(marks) >= len(drawn.lines) + 5 * len(found.metrics) and asked not in page
    for row in found.assumptions:
        assert row.sentence in page and f"{row.metrics['recall'].mean:.3f}" in page
    for name, dist in found.metrics.items():
        low, high = dist.interval(0.95)
        text = f"{dist.mean:.3f}&nbsp;[{low:.3f},&nbsp;{high:.3f}]"
        assert text in brief and text in page and f"{dist.mean:.3f} [{low:.3f}, {high:.3f}]" in str(found), (
            name
        )
    here = found.in_sample.assumptions
    assert [row.name for row in here] == [row.name for row in found.assumptions]
    new, old = (next(row for row in rows if row.name == "independent") for rows in (found.assumptions, here))
    np.testing.assert_array_equal(old.posterior.counts, found.basis[1].fit.counts)
    assert old.metrics["recall"].sd < new.metrics["recall"].sd and len(fitted) == 4
    given = jt.evaluate(y_pred, labels, gold=np.where(np.arange(80) < 30, case[2], -1))
    seen = len(fitted)
    given.report(path)
    assert "verified labels only" in path.read_text() and len(fitted) == seen  # those are part of the answer


def test_refused_where_it_cannot_be_had(case):
    y_pred, labels, _ = case
    known = {"noise": jt.noise.Symmetric(0.2, 2), "prior": [0.5, 0.5]}
    for method in ("majority_vote", "labels", "smyth"):
        some = {} if method == "smyth" else known
        assert jt.evaluate(y_pred, labels, method=method, **some).target == "in-sample"
        with pytest.raises(ValueError, match="without uncertainty"):
            jt.evaluate(y_pred, labels, method=method, target="population", **some)
    with pytest.raises(ValueError, match="target must be one of"):
        jt.evaluate(y_pred, labels, target="here")
    with pytest.raises(ValueError, match="population only"):
        jt.evaluate(y_pred, labels, method="tars", target="in-sample", **known)
    found = jt.evaluate(y_pred, labels, method="tars", **known)
    assert found.target == "population"


def test_every_answer_says_what_it_is_about(case):
    y_pred, labels, _ = case
    known = {"noise": jt.noise.Symmetric(0.2, 2), "prior": [0.5, 0.5]}
    score = y_pred + np.random.default_rng(1).normal(0, 0.4, 80)
    new = jt.evaluate_scores(score, labels, **known)
    here = jt.evaluate_scores(score, labels, target="in-sample", **known)
    assert new.auc.sd > here.auc.sd and abs(new.auc.mean - here.auc.mean) < 0.02
    assert new.in_sample.auc.mean == here.auc.mean
    assert "for new samples" in str(new) and "for these samples" in str(here)
    share = jt.prevalence(labels, assume="independent")
    shown = share.to_dict()
    assert shown["target"] == "population" and share.in_sample.to_dict()["target"] == "in-sample"
    assert share.shares["1"].sd > share.in_sample.shares["1"].sd
    report, these = (jt.evaluate_labelers(labels, target=t) for t in ("population", "in-sample"))
    for one, other in zip(report.rows, these.rows, strict=True):
        assert one["high"] - one["low"] > other["high"] - other["low"] - 0.01


@pytest.mark.slow
def test_where_independence_has_no_answer_it_is_left_out_by_name(case, monkeypatch):
    """A fit whose classes have exchanged names: the posterior is that of the other reading. Of labelers
    nothing is
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
    assert list(found.in_sample.posterior.by_model) == ["majority_vote"]
    report = jt.evaluate_labelers(labels)
    assert report.rows == () and any("'independent' is left out" in text for text in report.warnings)
    assert report.summary().startswith("Not identified: ")
