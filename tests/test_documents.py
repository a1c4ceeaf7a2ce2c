"""The Python in README.md and CONTRIBUTING.md works as printed."""

import itertools
import re
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jtruth.labels import Labels
from jtruth.testing import metrics

ROOT = Path(__file__).resolve().parents[1]


def python_blocks(name: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", (ROOT / name).read_text(), re.DOTALL)


MODEL, METRIC = python_blocks("CONTRIBUTING.md")


@pytest.mark.parametrize("number", range(len(python_blocks("README.md"))))
def test_the_examples_of_the_readme_run(number, capsys):
    exec(python_blocks("README.md")[number], {})
    assert capsys.readouterr().out


def test_the_noise_model_to_copy_is_one():
    names = {}
    exec(MODEL, names)
    model = names["Spammers"]([0.0, 0.5, 1.0], [0.2, 0.3, 0.5])
    vectors = np.array(list(itertools.product(range(3), repeat=3)))
    likelihood = np.exp(model.log_likelihood(Labels.from_matrix(vectors, 3)))
    np.testing.assert_allclose(likelihood.sum(axis=0), 1, rtol=1e-12)

    y = np.repeat(np.arange(3), 4000)
    z = np.asarray(model.sample(jax.random.key(0), jnp.asarray(y), jnp.ones((len(y), 3), bool)))
    for c in range(3):
        expected = likelihood[:, c]
        share = np.bincount(np.ravel_multi_index(z[y == c].T, (3, 3, 3)), minlength=27) / 4000
        # 5 standard deviations in each of 81 cells: a false alarm for less than one key in 10^4.
        assert (np.abs(share - expected) <= 5 * np.sqrt(expected * (1 - expected) / 4000)).all()


def test_the_metric_to_copy_is_one():
    names = {"ratio": metrics.ratio}
    exec(METRIC, names)
    assert names["specificity"](1, 2, 3, 6) == 6 / 8
    assert np.isnan(names["specificity"](1, 0, 3, 0))
