"""Calibration when experts disagree: the report, exchangeability of labelers, and the command."""

import json
import sys

import numpy as np
import pytest

from jtruth import cli
from jtruth import histograms as hist
from jtruth.answers import dist_row
from jtruth.answers.html import page_html
from jtruth.evaluation.calibration import evaluate_calibration
from jtruth.evaluation.checks.of_labels import exchangeability_check
from jtruth.histograms.concentration import Calibrated
from jtruth.io import read_predictions, write_labels
from jtruth.labels import Labels
from tests.evaluation.crowds import experts


@pytest.fixture(scope="module")
def report():
    labels, p = experts()
    return labels, p, evaluate_calibration(p, labels, method="temperature", split=2)


def test_report(report):
    labels, p, found = report
    direct = hist.loss_estimates(hist.from_labels(labels), p)
    dists = (found.before["epistemic_loss"], direct.estimates["epistemic_loss"])
    np.testing.assert_allclose(*((dist.mean, dist.sd) for dist in dists))
    assert found.after["epistemic_loss"].mean < found.before["epistemic_loss"].mean
    assert found.after["calibration_loss"].mean < found.before["calibration_loss"].mean
    assert found.after["epistemic_loss_after_one_label"].mean < found.after["epistemic_loss"].mean
    assert found.plugin["epistemic_loss"] > found.before["epistemic_loss"].mean
    assert found.checks[0].verdict == "fits"
    plain = json.loads(json.dumps(found.to_dict(), allow_nan=False))
    assert plain["before"]["epistemic_loss"] == dist_row(found.before["epistemic_loss"], 0.95)
    text = found.summary(full=True)
    assert "predict labels, not the truth" in text and "Exchangeable labelers (fits)" in text
    np.testing.assert_allclose(found.predictions().probabilities.sum(axis=1), 1)


def test_loss_after_one_label_equals_the_mean_over_labels():
    h = hist.from_counts([[3, 1, 0], [1, 1, 1], [2, 0, 0]])
    f, alpha = np.array([[0.5, 0.3, 0.2], [0.1, 0.6, 0.3], [0.4, 0.4, 0.2]]), np.array([2.0, 0.5, 1.0])
    found = np.asarray(hist.epistemic_after_one_label(h, Calibrated(f, alpha)))
    assert np.isnan(found[2])  # two labels: none to spare
    for i in range(2):
        losses = []
        for k in np.repeat(np.arange(3), h.counts[i]):
            posterior = (alpha[i] * f[i] + np.eye(3)[k]) / (alpha[i] + 1)
            rest = hist.from_counts(h.counts[i : i + 1] - np.eye(3, dtype=int)[k])
            losses.append(float(np.asarray(hist.epistemic_loss(rest, posterior[None])).sum()))
        np.testing.assert_allclose(found[i], np.mean(losses))


@pytest.mark.slow
def test_alpha_leaves_class_probabilities_and_fit_on_leaves_the_judged(report):
    labels, p, _ = report
    mask = np.arange(150) < 100
    found = evaluate_calibration(p, hist.from_labels(labels), split=mask)
    np.testing.assert_allclose(found.dist.probabilities, p, atol=1e-7)
    assert found.judged.tolist() == list(range(100, 150))
    assert found.checks[0].verdict == "cannot be seen"


@pytest.mark.slow
def test_false_alarms_of_exchangeability():
    """300 sets under the hypothesis: 5 % of alarms, within 2 s.e. (fixed seed); p <= .05 is 5 of 100."""
    rng, alarms = np.random.default_rng(1), 0
    for _ in range(300):
        q = rng.random(30)
        z = (rng.random((30, 4)) < q[:, None]).astype(int)
        how = {"key": int(rng.integers(2**31)), "permutations": 99}
        alarms += exchangeability_check(Labels.from_matrix(z, 2), **how).p_value <= 0.05
    assert abs(alarms / 300 - 0.05) < 2 * np.sqrt(0.05 * 0.95 / 300)


def test_two_fixed_raters_with_their_own_policies_are_seen():
    rng = np.random.default_rng(2)
    x = rng.random(80)
    z = np.stack([x + 0.05 * rng.normal(size=80) > 0.4, x + 0.05 * rng.normal(size=80) > 0.6], axis=1)
    check = exchangeability_check(Labels.from_matrix(z.astype(int), 2), key=0)
    assert check.verdict == "does not fit" and check.p_value == 1 / 500
    assert "where" in check.message and "Ask random labelers" in check.message
    same = exchangeability_check(Labels.from_matrix([[0, 0], [1, 1]], 2), key=0)
    assert same.verdict == "cannot be seen"
    # opposite policies in two groups of samples cancel unless the groups are told apart
    flipped = np.where((np.arange(80) % 2 == 0)[:, None], z, z[:, ::-1]).astype(int)
    labels, groups = Labels.from_matrix(flipped, 2), np.arange(80) % 2
    assert exchangeability_check(labels, key=0).p_value > 0.05
    assert exchangeability_check(labels, key=0, groups=groups).p_value < 0.01


BAD = {
    "method must be one of temperature": (False, {"method": "platt"}),
    "`split` must be 2 to 150": (False, {"split": 1}),
    "leave others to test": (False, {"split": np.ones(150)}),
    r"probability 0 of class .*cannot scale": (True, {"method": "vector"}),
    "but was given": (True, {}),
}


@pytest.mark.parametrize("message", BAD)
def test_bad_input(message, report, as_installed):
    labels, p, _ = report
    certain, how = BAD[message]
    with pytest.raises(ValueError, match=message):
        evaluate_calibration(np.eye(3)[p.argmax(1)] if certain else p, labels, **how)


@pytest.mark.slow
def test_from_the_shell(report, tmp_path, monkeypatch, capsys):
    labels, p, _ = report
    write_labels(tmp_path / "labels.csv", labels)
    rows = [f"{i},{row.argmax()},{row[0]},{row[1]},{row[2]}\n" for i, row in enumerate(p)]
    (tmp_path / "probs.csv").write_text("task,label,p_0,p_1,p_2\n" + "".join(rows))
    (tmp_path / "fit.csv").write_text("task\n" + "\n".join(map(str, range(100))) + "\n")
    command = ["jtruth", "calibrate", "labels.csv", "--predictions", "probs.csv", "--fit-on", "fit.csv",
               "--out", "out.csv", "--json", "out.json", "--report", "out.html", "--merge-bins"]  # fmt: skip
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", command)
    with pytest.raises(SystemExit) as stop:
        cli.main()
    printed = capsys.readouterr()
    assert not stop.value.code, printed.err
    assert "epistemic loss after one label" in printed.out
    assert json.loads((tmp_path / "out.json").read_text())["num_judged"] == 50
    page = (tmp_path / "out.html").read_text()
    assert "Do experts disagree as often as predicted?" in page and page.count('class="chart"') == 4
    assert "--merge-bins" in page and "bins were merged to" in printed.out
    header = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert header == "task,label,p_0,p_1,p_2,disagreement,alpha0,gain_bits"
    again = read_predictions(tmp_path / "out.csv", labels)
    np.testing.assert_allclose(again.probabilities, p, atol=1e-7)


@pytest.mark.slow
def test_losses_that_few_second_labels_leave_undefined_are_called_so():
    z = np.column_stack([np.arange(150) % 3, np.where(np.arange(150) < 2, np.arange(150), -1)])
    p = np.tile([0.3, 0.4, 0.3], (150, 1))
    found = evaluate_calibration(p, Labels.from_matrix(z, 3), drop=True, split=2)
    undefined = {name for name, dist in found.before.items() if np.isnan(dist.mean)}
    assert undefined == {"dispersion_loss", "epistemic_loss"}
    text = found.summary(full=True)
    both = [np.isnan(dist.mean) for dists in (found.before, found.after) for dist in dists.values()]
    assert text.count("undefined") == 2 + sum(both) and "nan" not in text  # first line, and each in its row
    assert "undefined" in page_html(found.blocks())
    assert found.to_dict()["before"]["epistemic_loss"]["mean"] is None
    json.dumps(found.to_dict(), allow_nan=False)  # nor an infinite standard deviation
