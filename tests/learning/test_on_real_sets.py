"""Every consensus method on every public crowd: no NaN, no swapped classes, every sample.

On the first 60 tasks of each set and their labelers.
"""

import numpy as np
import pytest

import jtruth as jt
from jtruth.latent import Effort
from jtruth.learning.methods import METHODS, deserted

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


def read(folder):
    """All labels of a set."""
    path = next(path for path in (folder / "labels.csv", folder / "labels.csv.gz") if path.exists())
    return jt.read_labels(path, repeats="keep")


@pytest.fixture(scope="module")
def crowds(shared_data):
    """Labels of each set."""
    return {name: read(shared_data(name)) for name in SETS}


def beginning(labels):
    labels = labels.restrict(np.arange(min(60, labels.num_samples)))
    return labels.select_labelers(np.flatnonzero(labels.labels_per_labeler()))


def faults(fit, labels):
    """What is wrong with an answer, one sentence each.

    Where votes and consensus agree better with the names of two classes exchanged, the answer has to say so;
    or that one of the two was left without samples (Dawid-Skene of 1900 labelers with a few labels each, GLAD
    and KOS on bluebirds), which is no exchange.
    """
    p = fit.class_posterior
    if p.shape != (labels.num_samples, labels.num_classes) or fit.prior.shape != p.shape[1:]:
        return [f"{labels.num_samples} samples of {labels.num_classes} classes went in, {p.shape} came out"]
    if not (
        np.isfinite(p).all() and np.isfinite(fit.prior).all() and np.allclose(p.sum(axis=1), 1, atol=1e-9)
    ):
        return ["an entry is not finite, or a row does not sum to 1"]
    votes = labels.counts() / np.maximum(labels.labels_per_sample(), 1)[:, None]
    together = p.T @ votes
    own = np.diag(together)
    swapped = np.argwhere(np.triu(own[:, None] + own[None, :] < together + together.T - 1e-9, 1))
    said, empty = " ".join(fit.warnings), " ".join(deserted(p, labels))
    pairs = [tuple(repr(labels.class_names[c]) for c in pair) for pair in swapped.tolist()]
    return [
        f"classes {a} and {b} look exchanged, and nothing says so"
        for a, b in pairs
        if "look swapped" not in said and not any(f"is of class {n} " in empty for n in (a, b))
    ]


@pytest.mark.slow
@pytest.mark.parametrize("place", SETS)
@pytest.mark.parametrize("name", METHODS)
def test_every_method_answers_on_every_set(crowds, name, place):
    labels = beginning(crowds[place])
    reason = METHODS[name].refuses(labels)
    if reason is not None:
        with pytest.raises(ValueError) as error:
            METHODS[name].fit(labels, key=0)
        assert reason in str(error.value)
        return
    fit = METHODS[name].fit(labels, key=0, **({"effort": SHORT} if METHODS[name].draws else {}))
    assert faults(fit, labels) == []


def test_faults_are_seen(crowds):
    """Exchanged classes, a lost sample, and not a number."""
    labels = crowds["rte"]
    fit = METHODS["majority_vote"].fit(labels)
    assert faults(fit, labels) == []
    p = fit.class_posterior
    for wrong, said in ((p[:, ::-1], "look exchanged"), (p[1:], "went in"), (p * np.nan, "not finite")):
        assert said in faults(fit._replace(class_posterior=wrong), labels)[0]
