"""Sizes that no sampler is made for: an answer within a minute, or a sentence that says why there is none."""

import time

import numpy as np
import pytest

import jtruth as jt

SIZES = {  # samples, labelers, classes
    "one sample": (1, 10_000, 2),
    "many labelers": (10, 2000, 2),
    "many classes": (2000, 5, 100),
}
SECONDS = 60.0  # of one processor

pytestmark = pytest.mark.slow


def crowd(samples, labelers, classes):
    """Labels and predictions that are right four times in five."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, classes, samples)
    right = rng.random((samples, labelers + 1)) < 0.8
    z = np.where(right, y[:, None], rng.integers(0, classes, right.shape))
    return z[:, :-1], z[:, -1]


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ask", ["evaluate", "labelers"])
def test_python_answers_within_a_minute_and_says_how_far_it_is(ask, size):
    z, y_pred = crowd(*SIZES[size])
    labels, told, began = jt.Labels.from_matrix(z, SIZES[size][2]), [], time.process_time()
    progress = lambda *done: told.append(done)  # noqa: E731
    if ask == "evaluate":
        found = jt.evaluate(y_pred, labels, progress=progress)
    else:
        found = jt.evaluate_labelers(labels, progress=progress)
    text = str(found)
    spent = time.process_time() - began
    print(f"{ask}, {size}: {spent:.0f} s\n{text}")
    assert spent < SECONDS and text and told


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("ask", ["evaluate", "labelers"])
def test_the_shell_answers_within_a_minute(ask, size, run, tmp_path):
    z, y_pred = crowd(*SIZES[size])
    rows = [f"s{i},w{t},c{label}" for i, row in enumerate(z) for t, label in enumerate(row)]
    (tmp_path / "labels.csv").write_text("\n".join(["task,worker,label", *rows]) + "\n")
    predicted = [f"s{i},c{label}" for i, label in enumerate(y_pred)]
    (tmp_path / "pred.csv").write_text("\n".join(["task,label", *predicted]) + "\n")
    more, began = (["--predictions", "pred.csv"] if ask == "evaluate" else []), time.process_time()
    code, out, err = run(ask, "labels.csv", *more, folder=tmp_path, full=False)
    spent = time.process_time() - began
    print(f"{ask}, {size}: {spent:.0f} s, exit code {code}\n{out}{err}")
    assert spent < SECONDS and "Traceback" not in err
    assert (code == 0 and out) or (code == 2 and len(err.strip().split("\n")) == 1)
