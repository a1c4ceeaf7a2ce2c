"""Every consensus method on every public crowd: no NaN, no class that has exchanged its name, every sample.

The first 60 tasks of each set and their labelers: slow methods take part too.
"""

import numpy as np
import pytest

import jtruth as jt
from jtruth.learning.methods import METHODS, deserted
from jtruth.sampling import Effort

SETS = (
    "bluebirds",
    "cifar10h_a",
    "dawid_skene_1979",
    "dogs",
    "faces",
    "labelerrors_mnist",
    "restaurant",
    "rte",
)
SHORT = Effort(chains=4, burn_in=50, min_sweeps=200, max_sweeps=200)  # what is drawn is not judged here


@pytest.fixture(scope="module")
def crowds(shared_data):
    """Labels of the first tasks of each set."""

    def read(name):
        folder = shared_data(name)
        path = next(path for path in (folder / "labels.csv", folder / "labels.csv.gz") if path.exists())
        labels = jt.read_labels(path, repeats="keep")
        labels = labels.restrict(np.arange(min(60, labels.num_samples)))
        return labels.select_labelers(np.flatnonzero(labels.labels_per_labeler()))

    return {name: read(name) for name in SETS}


@pytest.mark.slow
@pytest.mark.parametrize("place", SETS)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_answers_on_every_set(crowds, name, place):
    labels = crowds[place]
    reason = METHODS[name].refuses(labels)
    if reason is not None:
        with pytest.raises(ValueError) as error:
            METHODS[name].fit(labels, key=0)
        assert reason in str(error.value)
        return
    fit = METHODS[name].fit(labels, key=0, **({"effort": SHORT} if METHODS[name].draws else {}))
    p = fit.class_posterior
    assert p.shape == (labels.num_samples, labels.num_classes) and fit.prior.shape == (labels.num_classes,)
    assert np.isfinite(p).all() and np.isfinite(fit.prior).all()
    np.testing.assert_allclose(p.sum(axis=1), 1, atol=1e-9)
    # Where votes and consensus agree better with the names of two classes exchanged, the answer says so; or
    # it says that one of the two was left without samples (Dawid-Skene of 1900 labelers with a few labels
    # each, GLAD and KOS on bluebirds), which is no exchange.
    votes = labels.counts() / np.maximum(labels.labels_per_sample(), 1)[:, None]
    together = p.T @ votes
    own = np.diag(together)
    swapped = np.argwhere(np.triu(own[:, None] + own[None, :] < together + together.T - 1e-9, 1))
    said = " ".join(fit.warnings)
    empty = " ".join(deserted(p, labels))
    for a, b in swapped.tolist():
        names = [repr(labels.class_names[c]) for c in (a, b)]
        assert "look swapped" in said or any(f"is of class {n} " in empty for n in names), (names, said)
