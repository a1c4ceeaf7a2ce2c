"""Notes of commands on how they read a file, and advice that the command itself can follow."""

import numpy as np
import pytest

from jtruth import compare_classifiers
from jtruth import comparison as models
from jtruth.evaluation.compared import Dists
from jtruth.inspection import inspect_labels
from jtruth.labels import Labels
from jtruth.stats.draws import DrawsEstimate

pytestmark = pytest.mark.usefixtures("few_lineages")


@pytest.fixture
def stray(small):
    """Gold of one task that nobody labelled."""
    with (small / "gold.csv").open("a") as file:
        file.write("t_nobody,no\n")
    return small


@pytest.mark.parametrize(
    "command", ["prevalence", "consensus", pytest.param("labelers", marks=pytest.mark.slow)]
)
def test_gold_of_a_task_without_labels_can_be_left_out_where_the_message_says_so(
    run, refusal, stray, command
):
    words = [command, stray / "labels.csv", "--gold", stray / "gold.csv"]
    assert "--common-only" in refusal(*words)
    code, out, err = run(*words, "--common-only")
    assert code == 0 and "'t_nobody'" in out and "common tasks are used" in out, err


def test_features_of_every_task_offer_no_common_tasks(refusal, small):
    (small / "x.csv").write_text("task,x\n" + "\n".join(f"t{i},{i}" for i in range(39)) + "\n")
    err = refusal("clean", small / "labels.csv", "--features", small / "x.csv")
    assert "common" not in err and "Every task needs its row" in err


WIDE = "item,ann,bob,cy\n" + "\n".join(
    f"q{i},{'yes' if i % 2 else 'no'},{'yes' if i % 3 else 'no'},{'yes' if i % 2 else 'no'}"
    for i in range(30)
)


@pytest.mark.parametrize(
    "command",
    ["prevalence --assume independent", "consensus --method majority_vote", "inspect", "labelers --fast"],
)
def test_who_was_read_as_a_labeler_is_said(run, tmp_path, command):
    (tmp_path / "wide.csv").write_text(WIDE + "\n")
    name, *options = command.split()
    code, out, err = run(name, tmp_path / "wide.csv", *options)
    assert (
        code == 0 and " ".join(out.split()).count("Read as a wide table: 3 labelers 'ann', 'bob', 'cy'") == 1
    ), err


def test_the_worst_term_of_a_model_is_named_by_its_task():
    loo = models.LeaveOneOut(-1.0, 0.1, 1.0, np.zeros(2), np.array([0.1, 0.94]), 0.7)
    (said,) = models._doubts("m", loo, (), ("a", "b"))
    assert "worst 0.94 at task 'b'" in said


def test_random_labels_and_lists_of_classes_are_odd():
    z = np.random.default_rng(0).integers(0, 2, (60, 3))
    labels = Labels.from_matrix(z, classes=["cat", "cat;dog"])
    found = {one.name: one.message for one in inspect_labels(labels).findings}
    assert "no better than chance" in found["no_agreement"] and "'cat;dog'" in found["lists"]
    good = inspect_labels(Labels.from_matrix(np.repeat(z[:, :1], 3, axis=1), classes=["a, b", "c"]))
    assert not {"no_agreement", "lists"} & {one.name for one in good.findings}


def test_two_classifiers_have_one_probability_to_be_better():
    """Where differences have a distribution of their own, columns are an approximation of it."""
    rng = np.random.default_rng(1)
    columns = rng.normal(size=(500, 2))
    apart = DrawsEstimate(rng.normal(0.3, 1.0, 400))
    values = dict(zip("ab", map(DrawsEstimate, columns.T), strict=True))
    for sign in (1.0, -1.0):
        dists = Dists(values, {("a", "b"): apart}, columns, sign)
        first = np.mean(sign * apart.draws > 0)
        assert dists.p_better("a", "b") == first and dists.p_better("b", "a") == 1 - first
        np.testing.assert_allclose(dists.ranks[:, 0], [first, 1 - first])


@pytest.fixture(scope="module")
def by_gold():
    rng = np.random.default_rng(2)
    y = rng.integers(0, 2, 80)
    said = lambda right: np.where(rng.random(80) < right, y, 1 - y)  # noqa: E731
    labels = Labels.from_matrix(said(0.8)[:, None], 2)
    gold = np.where(np.arange(80) < 25, y, -1)
    return compare_classifiers({"a": said(0.9), "b": said(0.8)}, labels, gold=gold, key=0)


def test_a_comparison_with_gold_does_not_say_that_there_is_none(by_gold):
    text = by_gold.summary(full=True)
    assert "labels alone determine nothing" in text and "No label was taken" not in text
    assert "need not add up" not in text  # one distribution of all: they do
    here = by_gold.in_sample
    a, b = (here.values[name].draws for name in "ab")
    np.testing.assert_allclose(here.differences["a", "b"].draws, a - b, atol=1e-12)
