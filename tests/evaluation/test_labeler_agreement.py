"""`labeler_agreement`: all pairs and all together, by name, against the coefficients themselves."""

import numpy as np
import pytest
from sklearn.metrics import cohen_kappa_score

import jtruth as jt
from jtruth.stats.agreement import agreement, cohen, gwet_ac1, krippendorff, point


@pytest.fixture(scope="module")
def ratings():
    rng = np.random.default_rng(0)
    y = rng.integers(0, 3, 60)
    z = np.where(rng.random((60, 3)) < 0.7, y[:, None], rng.integers(0, 3, (60, 3)))
    z[5:, 2] = np.where(rng.random(55) < 0.3, -1, z[5:, 2])
    return z


def test_all_and_every_two(ratings):
    labels = jt.Labels.from_matrix(ratings, 3)
    found = jt.labeler_agreement(labels, weights="quadratic")
    assert found.differences == "interval" and found.num_left_out == 0 and len(found.pairs) == 3
    assert found.overall["krippendorff"].value == point(krippendorff(labels.counts(), "interval"))
    assert found.overall["gwet_ac1"].value == point(gwet_ac1(labels.counts(), "quadratic"))
    for pair, kappa in found.pairs.items():
        a, b = (ratings[:, int(name)] for name in pair)
        both = (a >= 0) & (b >= 0)
        expected = cohen_kappa_score(a[both], b[both], weights="quadratic")
        assert abs(kappa.value - expected) < 1e-12 and kappa.num_samples == both.sum()
        assert kappa.low < expected < kappa.high
    text = found.summary(full=True)
    assert "Fleiss' kappa" in text and " 60" in text and "quadratic" in text
    linear = jt.labeler_agreement(labels, weights="linear")
    interval = jt.labeler_agreement(labels, differences="interval")
    assert linear.overall["krippendorff"].value == interval.overall["krippendorff"].value


def test_intervals_of_two_are_those_of_the_pair_alone(ratings):
    """What unseen samples add is drawn once for all pairs; labels in any order."""
    z = np.concatenate([ratings] * 4)
    sample, labeler = np.nonzero(z >= 0)
    order = np.random.default_rng(1).permutation(sample.size)
    rows = (part[order].tolist() for part in (sample, labeler, z[sample, labeler]))
    found = jt.labeler_agreement(jt.Labels.from_long(*rows, classes=range(3)))
    for (a, b), kappa in found.pairs.items():
        alone = agreement(cohen(z[:, int(a)], z[:, int(b)], 3), 5, replicates=20_000)
        assert (kappa.value, kappa.standard_error) == pytest.approx((alone.value, alone.standard_error))
        assert abs(kappa.low - alone.low) < 0.02 and abs(kappa.high - alone.high) < 0.02
        assert abs(kappa.unseen - alone.unseen) < 0.05


def test_undefined_is_said():
    found = jt.labeler_agreement(jt.Labels.from_matrix(np.ones((8, 2), int), 2))
    assert np.isnan(next(iter(found.pairs.values())).value) and "undefined" in found.summary(full=True)
    alone = jt.labeler_agreement(jt.Labels.from_matrix(np.array([[1, -1], [-1, 0], [1, 0]]), 2))
    assert alone.pairs == {} and alone.num_left_out == 1


def test_one_number_has_one_interval_whoever_is_asked(ratings):
    labels = jt.Labels.from_matrix(ratings, 3)
    assert jt.inspect_labels(labels).coefficients == jt.labeler_agreement(labels).overall
    assert jt.inspect_labels(labels, key=1).coefficients == jt.labeler_agreement(labels, key=1).overall
    assert jt.inspect_labels(labels, key=1).coefficients != jt.labeler_agreement(labels).overall


def test_who_agrees_least_and_most(ratings):
    found = jt.labeler_agreement(jt.Labels.from_matrix(ratings, 3))
    kappas = {f"{a}, {b}": kappa.value for (a, b), kappa in found.pairs.items()}
    least, most = (f"{kappas[k]:.2f} ({k})" for k in (one(kappas, key=kappas.get) for one in (min, max)))
    assert f"Cohen's kappa of pairs ranges from {least} to {most}." in " ".join(found.summary().split())
    two = jt.labeler_agreement(jt.Labels.from_matrix(ratings[:, :2], 3))
    assert "of two labelers" not in two.blocks().sentence


def test_two_hundred_pairs_are_the_most():
    z = np.random.default_rng(0).integers(0, 2, (4, 21))
    found = jt.labeler_agreement(jt.Labels.from_matrix(z, 2), key=0)
    assert len(found.pairs) == 200 and found.num_left_out == 10


def test_doubled_labelers_are_said_first(ratings):
    """The same table twice: evaluate's first line stands above the coefficients too."""
    z = np.repeat(np.concatenate([ratings] * 2)[:, :2], 2, axis=1)
    found = jt.labeler_agreement(jt.Labels.from_matrix(z, 3))
    assert found.warnings[0].startswith("Look first: every labeler occurs more than once")
    assert "occurs more than once" in found.to_dict()["look_first"][0]
    assert not jt.labeler_agreement(jt.Labels.from_matrix(ratings, 3)).warnings


def test_cells_that_nobody_saw_are_said():
    z = np.repeat([[0, 0], [0, 1]], [120, 5], axis=0)
    labels = jt.Labels.from_matrix(z, 2)
    sentence = "The interval of Krippendorff's alpha and of Fleiss' kappa is mostly due to combinations of"
    assert sentence in jt.labeler_agreement(labels).blocks().sentence
    assert sentence in " ".join(jt.inspect_labels(labels).summary(full=True).split())
    assert "no_agreement" not in {one.name for one in jt.inspect_labels(labels).findings}
