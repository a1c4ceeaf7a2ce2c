"""Pictures of consensus, class scores, doubtful labels, requests, cleaning, bits: drawn is what is said."""

import numpy as np
import pytest

import jtruth as jt
from jtruth import cleaning, information
from jtruth.asking.labels import LabelRequest
from jtruth.cleaning.state import Problem, State, Step
from jtruth.inspection import inspect_labels
from jtruth.stats.draws import DrawsEstimate

Z = np.array([[0, 0, 1], [1, 1, 1], [0, 0, -1], [0, 1, -1], [1, 1, 0]])


@pytest.fixture(scope="module")
def labels():
    return jt.Labels.from_matrix(Z, 2).with_names(workers=["ann", "<b>", "cy"])


def marks(ax, marker="o"):
    return [line.get_xdata()[0] for line in ax.lines if line.get_marker() == marker]


def test_a_consensus_is_its_samples_who_says_otherwise_and_a_curve(labels):
    found = jt.consensus(labels, "majority_vote")
    samples, others, curve = found.plot().axes
    assert marks(samples) == sorted(found.probability.tolist())
    shares = [row["num_disagree"] / row["num_labels"] for row in found.labelers()]
    assert marks(others) == shares
    assert [text.get_text() for text in others.get_yticklabels()] == [r["worker"] for r in found.labelers()]
    x, y = curve.lines[0].get_xdata(), curve.lines[0].get_ydata()
    assert y[0] == 1 and x[-1] == 1
    np.testing.assert_allclose(y, [(found.probability >= at - 1e-9).mean() for at in x])


def test_scores_of_every_class_and_their_averages():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    labels = jt.Labels.from_matrix(np.stack([y, y], axis=1), 3)
    p = np.eye(3)[y] * 0.5 + rng.random((60, 3)) * 0.5
    found = jt.evaluate_class_scores(p, labels, noise=jt.noise.Symmetric(0.1, 3), prior=np.full(3, 1 / 3))
    auc, *curves = found.plot().axes
    laws = [*(one.auc for one in found.each.values()), found.auc["macro"], found.auc["weighted"]]
    np.testing.assert_allclose(marks(auc), [law.mean for law in laws])
    precision = [*(one.average_precision for one in found.each.values()), *found.average_precision.values()]
    np.testing.assert_allclose(marks(auc, "s"), [law.mean for law in precision])
    assert [ax.get_title() for ax in curves] == ["ROC curve", "Precision and recall"]
    frame = found.to_frame("pandas")
    np.testing.assert_allclose(frame["auc"], [law.mean for law in laws])
    assert frame["class"].tolist() == ["0", "1", "2", "macro average", "weighted average"]


def test_doubtful_labels_most_doubtful_on_top(labels):
    p = jt.class_posterior(jt.noise.Symmetric(0.2, 2).log_likelihood(labels), np.array([0.5, 0.5]))
    found = cleaning.suspicious_labels(labels, {"one": p, "other": 0.5 * p + 0.25})
    ax, of_labelers, of_classes = found.plot().axes
    assert marks(of_labelers) == sorted(found.of_labelers, reverse=True)
    assert marks(of_classes) == found.of_classes.tolist()
    assert marks(ax) == found.p_wrong.tolist() and marks(ax) == sorted(marks(ax), reverse=True)
    lines = [line.get_xdata() for line in ax.lines if len(line.get_xdata()) == 2]
    np.testing.assert_array_equal(lines, np.stack([found.low, found.high], axis=1))
    assert ax.get_yticklabels()[0].get_text() == "0, cy: 1"


def test_a_request_is_a_share_of_the_variance():
    found = LabelRequest(np.array([3, 1]), np.array([0, -1]), np.array([0.02, 0.01]), np.zeros((4, 1)),
                         np.zeros(4), 0.1, "accuracy", "exact", ())  # fmt: skip
    (ax,) = found.plot().axes
    assert marks(ax) == pytest.approx([0.2, 0.1])
    assert [text.get_text() for text in ax.get_yticklabels()] == ["3", "1"]


def test_a_cleaning_is_a_learning_curve():
    state = State(Problem(*[np.zeros(1)] * 7), None, "risk", 0, None)
    with pytest.raises(ValueError, match="no trail"):
        state.plot()
    one, two = Step(0, 0.6, 0.5), Step(5, 0.7, 0.8)
    (ax,) = state._replace(trail=(one, two)).plot().axes
    assert [line.get_ydata().tolist() for line in map(_arrays, ax.lines)] == [[0.6, 0.7], [0.5, 0.8]]
    (ax,) = state._replace(trail=(one, two._replace(true=None))).plot().axes
    assert len(ax.lines) == 1


def _arrays(line):
    line.set_ydata(np.asarray(line.get_ydata()))
    return line


def test_bits_of_labelers_and_of_a_team():
    noise = jt.noise.Symmetric([0.05, 0.3, 0.45], 2)
    found = information.labeler_information(noise, [0.5, 0.5])
    (ax,) = found.plot().axes
    assert marks(ax) == found.alone.tolist() and marks(ax, "x") == found.last.tolist()
    team = information.best_labelers(noise, [0.5, 0.5])
    (ax,) = team.plot().axes
    np.testing.assert_allclose(ax.lines[0].get_xydata(), np.stack([team.cost, team.bits], axis=1))
    assert ", ".join(map(str, team.order.tolist())) in ax.get_title()


def test_a_first_look_and_a_law(labels):
    look = inspect_labels(labels)
    shares, agreement = look.plot().axes
    assert marks(shares) == sorted(look.class_shares, reverse=True)
    known = [one.value for one in look.coefficients.values() if one.value == one.value]
    assert marks(agreement) == known
    law = DrawsEstimate(np.random.default_rng(0).normal(0.5, 0.1, 300))
    (ax,) = law.plot().axes
    assert ax.get_ylabel() == "posterior density" and law.mean in marks(ax)
