"""Every kind of answer is plain data: it pickles, copies, prints in a line, and answers again."""

import copy
import pickle

import jax
import numpy as np
import pytest

import jtruth as jt
from jtruth.tables.metrics import default_metrics, named_metric
from jtruth.testing.methods import MULTICLASS_METHODS
from tests.evaluation.crowds import careless, crowd, some_gold

pytestmark = pytest.mark.usefixtures("few_lineages")

KEY = jax.random.key(0)
NAMES = ("not <b>", "is")


def named(z, classes):
    """Labels whose classes have names."""
    task, worker = np.indices(z.shape)
    label = [classes[c] for c in z.ravel()]
    return jt.Labels.from_long(task.ravel(), worker.ravel(), label, classes=classes)


def known(method="bayes", **options):
    _, y_pred, z = careless()
    labels = jt.Labels.from_matrix(z, 2)
    return jt.evaluate(y_pred, labels, noise=jt.noise.Symmetric(0.2, 2), method=method, key=KEY, **options)


def learned(**options):
    """Its models are fitted in other files too."""
    y, y_pred, labels = crowd()
    gold = some_gold(y, 30) if options.pop("gold", False) else None
    return jt.evaluate(y_pred, labels, gold=gold, key=KEY, **options)


def many(method="bayes", **options):
    _, y_pred, z = careless(3)
    labels, noise = jt.Labels.from_matrix(z, 3), jt.noise.Symmetric(0.25, 3)
    return jt.evaluate(y_pred, labels, noise=noise, prior=[0.3, 0.4, 0.3], method=method, key=KEY, **options)


EVEN = {"prior": [0.5, 0.5]}
KINDS = {
    "exact": lambda: known(**EVEN),
    "normal": lambda: known("empirical_bayes", **EVEN),
    "sampling": lambda: known("sampling", **EVEN),
    "labels": lambda: known("labels", **EVEN),
    "votes": lambda: known("majority_vote", **EVEN),
    "prior unknown": known,
    "draws": lambda: learned(assume="independent"),
    "pooled": lambda: learned(assume="shared_difficulty"),
    "range": lambda: learned(),
    "gold": lambda: learned(gold=True),
    "plug in": lambda: learned(method="plug_in"),
    "nothing": lambda: jt.evaluate([1, 0], jt.Labels.from_matrix(np.array([[1], [0]]), 2)),
    "many": many,
    "many, sampling": lambda: many("sampling"),
    "many, against the rest": lambda: many("exact_means", positive=2),
}
NO_JOINT = {"range": "this predictive answer has no joint posterior; give assumption=",
            "nothing": "do not determine the counts"}  # fmt: skip


SLOW = ("sampling", "normal", "many, sampling")  # their holders are those of other answers


@pytest.fixture(
    scope="module", params=[pytest.param(k, marks=[pytest.mark.slow] * (k in SLOW)) for k in KINDS]
)
def answer(request):
    return request.param, KINDS[request.param]()


def test_pickle_and_copy_give_the_same_answers(answer):
    _, result = answer
    for again in (pickle.loads(pickle.dumps(result)), copy.deepcopy(result)):
        assert str(again) == str(result) and again.to_dict() == result.to_dict()
        one, two = (r.f_score(2.0) for r in (again, result))
        np.testing.assert_array_equal([one.mean, *one.interval()], [two.mean, *two.interval()])


def test_every_answer_knows_joint_dists_or_says_why_not(answer):
    kind, result = answer
    if kind in NO_JOINT:
        with pytest.raises(ValueError, match=NO_JOINT[kind]):
            result.joint()
        members = [a.posterior for a in result.assumptions if a.posterior is not None]
        if kind != "nothing":
            assert members[0].joint("recall", "precision").mean.shape == (2,)
        return
    joint = result.joint("precision", "recall")
    assert joint.mean == pytest.approx([result.precision.mean, result.recall.mean], abs=0.02)


def test_any_metric_can_be_asked_of_every_answer(answer):
    kind, result = answer
    wanted = ["accuracy", "balanced_accuracy", "kappa", "f2", f"recall[{result.classes[0]}]"]
    for name in wanted:
        dist = result.estimate(name)
        assert np.isnan(dist.mean) if kind == "nothing" else -1 <= dist.mean <= 1
    assert result.estimate("recall").mean == pytest.approx(result.recall.mean, nan_ok=True)
    with pytest.raises(ValueError, match="unknown metric 'recal'"):
        result.estimate("recal")


def test_cells_are_the_expected_table(answer):
    kind, result = answer
    if kind == "nothing":
        assert np.isnan(result.confusion_matrix).all()
        return
    assert result.confusion_matrix.sum() == pytest.approx(result.num_samples)
    assert (result.confusion_low <= result.confusion_matrix + 1e-9).all()
    assert (result.confusion_matrix <= result.confusion_high + 1e-9).all()
    right = np.trace(result.confusion_matrix) / result.num_samples
    assert result.accuracy.mean == pytest.approx(right, abs=0.03)


def test_one_line_in_a_terminal_and_a_table_in_a_notebook(answer):
    _, result = answer
    assert "\n" not in repr(result) and repr(result).startswith("Evaluation(")
    html = result._repr_html_()
    assert html.count("<tr>") == len(result.blocks().tables()[0].rows) + 1
    assert ("majority vote" in html) == bool(result.baselines)
    dist = next(iter(result.metrics.values()))
    assert "\n" not in repr(dist) and len(repr(dist)) < 120
    assert "\n" not in repr(result.posterior) and len(repr(result.posterior)) < 120


@pytest.mark.parametrize("backend", [None, "pandas", "polars", "pyarrow"])
def test_data_frames_of_any_library(backend):
    if backend is not None:
        pytest.importorskip(backend)
    result = known(**EVEN)
    frame = result.to_frame(backend)
    column = [float(v) for v in (frame["mean"].to_pylist() if backend == "pyarrow" else frame["mean"])]
    assert column == [dist.mean for dist in result.metrics.values()]
    assert type(frame).__module__.startswith(backend or "")
    with pytest.raises(ValueError, match="needs one of pandas, polars, pyarrow; 'numpy' is not"):
        result.to_frame("numpy")


def test_names_in_notebooks_are_text_not_code():
    _, y_pred, z = careless()
    labels = named(z, NAMES)
    html = jt.evaluate(y_pred, labels, noise=jt.noise.Symmetric(0.2, 2), positive="not <b>")._repr_html_()
    assert "&lt;b&gt;" in html and "not <b>" not in html


@pytest.mark.parametrize("assume", ["independent", "unknown"])
def test_rows_of_the_table_are_named_also_where_class_0_is_positive(assume):
    """Class 0 as positive is the same problem with the names exchanged; so is its table, names and all."""
    y, y_pred, z = careless()
    gold = np.where(np.arange(y.size) < 30, y, -1) if assume == "unknown" else None
    labels = named(z, ("a", "b"))
    one, other = (
        jt.evaluate(y_pred, labels, assume=assume, gold=gold, positive=name, key=KEY) for name in ("a", "b")
    )
    assert one.classes == ("b", "a") and other.classes == ("a", "b")
    np.testing.assert_allclose(one.confusion_matrix, other.confusion_matrix[::-1, ::-1])
    for name in ("a", "b"):
        first, second = (r.estimate(f"recall[{name}]").mean for r in (one, other))
        assert first == pytest.approx(second, abs=1e-12 if gold is None else 0.01)


# ---- more than two classes


@pytest.mark.parametrize("method", [*(m for m in MULTICLASS_METHODS if m != "plug_in"), "majority_vote"])
def test_methods_work_on_the_full_table(method):
    y, y_pred, _ = careless(3)
    result = many(method)
    assert result.confusion_matrix.shape == (3, 3) and tuple(result.metrics) == default_metrics("012")
    assert not any("against all" in w for w in result.warnings)
    table = np.zeros((3, 3))
    np.add.at(table, (y, y_pred), 1)
    slack = 0.25 if method in ("no_predictions",) else 0.12
    for name in ("accuracy", "macro_f1", "kappa", "recall[2]"):
        truth = named_metric(name, "012").of_table(table)
        assert abs(result.metrics[name].mean - truth) < slack
    assert set(result.baselines["majority_vote"]) == set(result.metrics)
    if method == "majority_vote":
        assert result.metrics["accuracy"].mean == result.baselines["majority_vote"]["accuracy"]


def test_one_class_against_the_rest_only_where_it_is_asked_for():
    asked = many("exact_means", positive=2)
    assert asked.classes == ("not 2", "2") and asked.confusion_matrix.shape == (2, 2)
    assert any("against all others" in w for w in asked.warnings)
    for method in ("empirical_bayes", "prior_marginal"):
        with pytest.raises(ValueError, match=f"method='{method}' handles two classes: give positive"):
            many(method)
    assert many("empirical_bayes", positive=0).classes == ("not 0", "0")


@pytest.mark.slow
def test_all_gold_gives_the_metrics_themselves():
    """Nothing is left to estimate: every draw is the table; PPI++ has no error either."""
    y, y_pred, z = careless(3, size=60)
    result = jt.evaluate(y_pred, jt.Labels.from_matrix(z, 3), gold=y, key=KEY, target="in-sample")
    table = np.zeros((3, 3))
    np.add.at(table, (y, y_pred), 1)
    ppi = next(a for a in result.assumptions if a.name == "ppi").metrics
    for name in ("macro_f1", "kappa", "mcc", "accuracy"):
        assert ppi[name].mean == pytest.approx(named_metric(name, "012").of_table(table), abs=1e-6)
        assert result.metrics[name].mean == pytest.approx(
            named_metric(name, "012").of_table(table), abs=1e-12
        )
        assert result.metrics[name].sd < 1e-12
    np.testing.assert_allclose(result.confusion_low, table)


@pytest.mark.slow
@pytest.mark.parametrize("gold", [0, 25])
def test_joint_dists_of_named_classes_under_an_assumption(gold):
    """A predictive posterior has none, that by gold has; so have their estimates, by the names of the
    answer."""
    rng = np.random.default_rng(0)
    y, names = rng.integers(0, 3, 150), np.array(["ant", "bee", "cat"])
    z = np.where(rng.random((150, 4)) < 0.8, y[:, None], rng.integers(0, 3, (150, 4)))
    y_pred = np.where(rng.random(150) < 0.85, y, rng.integers(0, 3, 150))
    labels = jt.Labels.from_matrix(z, 3, classes=names.tolist())
    known = {"gold": [*names[y[:gold]], *[None] * (150 - gold)]} if gold else {}
    found = jt.evaluate(names[y_pred], labels, target="in-sample", **known)
    if gold:
        whole = found.joint("precision[bee]", "recall[bee]")
        own = [found.metrics[name].mean for name in ("precision[bee]", "recall[bee]")]
        np.testing.assert_allclose(whole.mean, own, atol=1e-6)
    else:
        with pytest.raises(ValueError, match=r"has no joint posterior; give assumption=.*independent"):
            found.joint("precision[bee]", "recall[bee]")
    with pytest.raises(ValueError, match="has no assumption 'ppi'"):
        found.joint("precision[bee]", "recall[bee]", assumption="ppi")
    joint = found.joint("precision[bee]", "recall[bee]", assumption="independent")
    row = next(row for row in found.assumptions if row.name == "independent")
    np.testing.assert_allclose(
        joint.mean, [row.metrics["precision[bee]"].mean, row.metrics["recall[bee]"].mean], atol=1e-6
    )


def test_the_normal_joint_dist_of_the_paper_does_not_care_for_the_order():
    rng = np.random.default_rng(1)
    y = rng.integers(0, 2, 200)
    z = np.where(rng.random((200, 3)) < 0.8, y[:, None], 1 - y[:, None])
    found = jt.evaluate(
        np.where(rng.random(200) < 0.9, y, 1 - y), jt.Labels.from_matrix(z, 2), method="empirical_bayes",
        noise=jt.noise.Symmetric(0.2, 2), prior=[0.5, 0.5], target="in-sample",
    )  # fmt: skip
    one, other = found.joint("precision", "recall"), found.joint("recall", "precision")
    np.testing.assert_allclose(one.mean, other.mean[::-1], atol=1e-9)
    np.testing.assert_allclose(one.mode, other.mode[::-1], atol=1e-6)
    np.testing.assert_allclose(one.on_grid(21)[2], other.on_grid(21)[2].T, rtol=1e-9)


def test_beta_is_kept_to_the_last_digit_and_checked():
    y_pred, labels = np.array([1, 0, 1, 1]), np.log([[0.1, 0.9], [0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    found = jt.evaluate(y_pred, labels, prior=[0.5, 0.5])
    assert found.f_score(1 / 3).mean != found.f_score(0.333333).mean
    for beta in (0, -1, np.inf, np.nan):
        with pytest.raises(ValueError, match="0 < beta < inf"):
            found.f_score(beta)


def test_point_methods_print_no_intervals():
    y_pred, labels = np.array([1, 0, 1, 1]), np.log([[0.1, 0.9], [0.9, 0.1], [0.4, 0.6], [0.7, 0.3]])
    text = jt.evaluate(y_pred, labels, prior=[0.5, 0.5], method="labels").summary(full=True)
    assert "no intervals" in text and "[1" not in text.partition("Confusion matrix: ")[0]


def test_a_normal_dist_of_few_samples_that_leaves_its_range_says_so():
    labels = jt.Labels.from_matrix(np.array([[1, 1, 1], [0, 0, 1], [1, 0, 0]]), 2)
    given = {"noise": jt.noise.Symmetric(0.3, 2), "prior": [0.6, 0.4], "level": 0.99}
    found = jt.evaluate([1, 0, 1], labels, method="empirical_bayes", **given)
    beyond = found.in_sample.accuracy.interval(0.99).high > 1
    assert beyond and any("accuracy" in w and "beyond [0, 1]" in w for w in found.warnings)
    assert not any("beyond" in w for w in jt.evaluate([1, 0, 1], labels, **given).warnings)
