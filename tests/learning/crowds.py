"""Label sets for the tests of learning: two published tables, public sets, simulations."""

import csv

import numpy as np
from scipy.special import gammaln

from jtruth._host import vote_shares
from jtruth.labels import Labels
from jtruth.latent.model import LatentModel, Raters
from jtruth.learning.joint.inputs import DirichletPriors
from tests.reference import dawid_skene as oracle

# Espeland and Handelman (1989): X-rays with each pattern of labels by five dentists; dentist 1 is the top
# bit of the pattern.
CARIES = "1880 789 43 75 23 63 8 22 188 191 17 67 15 85 8 56 22 26 6 14 1 20 2 17 2 20 6 27 3 72 1 100"
# Dawid and Skene (1979), Table 1: anaesthetist 1 three times, then 2 to 5; one group of digits per patient.
ANAESTHETISTS = (
    "1111111 3334334 1122122 2223121 2223222 2223322 1222111 3333433 2222223 2322223 4444444 2223343 1111111 "
    "2223212 1211111 1112111 1111111 1111111 2222221 2221322 2222222 2222221 2223222 2212222 1111111 1111111 "
    "2322222 1111111 1111111 1121121 1111111 3333233 1111111 2222222 2223232 4334343 2212232 2323233 3333432 "
    "1111111 1111111 1212111 2322222 1211111 2222222"
)


def one_stratum(class_prior, labelers, classifier=None, fixed=False):
    """The model that those of `learning.joint.models` are built from."""
    every = np.arange(len(class_prior))
    raters = [Raters(rows, every) for rows in (labelers, *([] if classifier is None else [classifier[None]]))]
    return LatentModel(class_prior, tuple(raters), fixed)


def from_votes(labels):
    """Priors of `fit_joint`; from a given start it goes on by Gibbs sampling, which compiles nothing."""
    return DirichletPriors(start=vote_shares(labels.counts()))


def dirichlet_multinomial(counts, prior):
    """Log probability of category sequences with these counts, the probabilities integrated out."""
    total = gammaln(prior.sum(-1)) - gammaln(prior.sum(-1) + counts.sum(-1))
    return (total + (gammaln(prior + counts) - gammaln(prior)).sum(-1)).sum()


def caries():
    patterns = np.arange(32)[:, None] >> np.arange(4, -1, -1)[None, :] & 1
    return from_matrix(np.repeat(patterns, [int(k) for k in CARIES.split()], axis=0), 2)


def anaesthetists(table=ANAESTHETISTS):
    z = np.array([[int(digit) - 1 for digit in patient] for patient in table.split()])
    labeler = np.broadcast_to(np.array([0, 0, 0, 1, 2, 3, 4]), z.shape)
    sample = np.broadcast_to(np.arange(45)[:, None], z.shape)
    return Labels(sample.ravel(), labeler.ravel(), z.ravel(), 45, 5, 4)


def real_set(folder):
    """Labels and true classes of a public data set, coded 0.. already; every task has a truth."""
    with open(folder / "labels.csv") as labels, open(folder / "truth.csv") as truth:
        entries = np.array([[int(v) for v in row] for row in list(csv.reader(labels))[1:]], np.int32)
        task, known = np.array([[int(v) for v in row] for row in list(csv.reader(truth))[1:]]).T
    sizes = (int(k) + 1 for k in entries.max(axis=0))
    return Labels(*entries.T, *sizes), known[np.argsort(task)]


def simulate(seed, size=60, labelers=5, classes=3, accuracy=0.7, present=0.8):
    """A (samples, labelers) matrix with -1 for no label, and the true classes."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, size)
    z = np.where(
        rng.random((size, labelers)) < accuracy, y[:, None], rng.integers(0, classes, (size, labelers))
    )
    return np.where(rng.random(z.shape) < present, z, -1), y


def from_matrix(z, classes=3):
    sample, labeler = np.nonzero(z >= 0)
    return Labels(sample, labeler, z[sample, labeler], *z.shape, classes)


def as_counts(labels):
    entries = zip(labels.sample, labels.labeler, labels.label, strict=True)
    return oracle.counts_from_entries(entries, labels.num_samples, labels.num_labelers, labels.num_classes)
