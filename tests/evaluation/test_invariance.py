"""Invariance: rows, tasks and labelers permuted, another process and hash seed."""

import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

import jtruth as jt

pytestmark = pytest.mark.usefixtures("few_sets")

RNG = np.random.default_rng(0)
Y = RNG.integers(0, 2, 80)
Z = np.where(RNG.random((80, 4)) < 0.25, 1 - Y[:, None], Y[:, None])
MISSING = RNG.random(Z.shape) < 0.3
MISSING[MISSING.all(axis=1), 0] = False
IDS = np.array([f"q{k}" for k in RNG.permutation(500)[:80]])
PRED = pd.Series(np.where(RNG.random(80) < 0.85, Y, 1 - Y), index=IDS)
MATRICES = {w: [[1 - e, e], [e / 2, 1 - e / 2]] for w, e in zip("abcd", (0.1, 0.2, 0.3, 0.25), strict=True)}


def rows():
    i, t = np.nonzero(~MISSING)
    return pd.DataFrame({"task": IDS[i], "worker": np.array(list("abcd"))[t], "label": Z[i, t]})


def answer(labels, method="bayes"):
    noise = jt.noise.ConfusionMatrices(np.array([MATRICES[w] for w in labels.workers]))
    return jt.evaluate(PRED, labels, noise=noise, prior=[0.6, 0.4], method=method)


OTHERS = ("exact_means", "labels", "no_predictions")


@pytest.mark.parametrize(
    "method", ["bayes", "majority_vote", *(pytest.param(m, marks=pytest.mark.slow) for m in OTHERS)]
)
def test_permutations_leave_exact_methods_alone(method):
    expected = answer(jt.Labels.from_frame(rows()), method)
    labels = jt.Labels.from_frame(
        rows().sample(frac=1, random_state=1), workers=list("dbca"), tasks=IDS[::-1]
    )
    found = answer(labels, method)
    for name, dist in expected.metrics.items():
        assert found.metrics[name].mean == pytest.approx(dist.mean, abs=1e-12, nan_ok=True)
        assert found.metrics[name].sd == pytest.approx(dist.sd, abs=1e-12, nan_ok=True)


SCRIPT = """
import json
import jtruth as jt
from jtruth.evaluation.assumptions import ranges
ranges.ANSWER_EFFORT = ranges.EFFORT = jt.latent.Effort(min_sweeps=600, max_rhat=9, min_ess=1)
labels = jt.Labels.from_long(*zip(*{rows}), classes=["0", "1"])
result = jt.evaluate({pred}, labels, assume="independent", key=3)
print([repr(law.mean) for law in result.metrics.values()], labels.tasks[:5])
result = jt.evaluate({pred}, labels, key=3)
print([(repr(law.mean), law.interval()) for law in result.metrics.values()])
print(json.dumps(result.to_dict()), result)
"""


@pytest.mark.slow
def test_another_process_with_another_hash_seed_gives_the_same_bits():
    """Sets and dicts of text change their order with PYTHONHASHSEED; answers may not."""
    code = SCRIPT.format(
        rows=rows().astype(str).to_numpy().tolist(), pred={k: int(v) for k, v in PRED.items()}
    )
    said = []
    for seed in ("1", "2"):
        env = os.environ | {"PYTHONHASHSEED": seed}
        said.append(
            subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, check=True).stdout
        )
    assert said[0] == said[1] and b"majority_vote" in said[0]
