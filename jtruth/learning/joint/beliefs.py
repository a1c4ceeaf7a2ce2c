"""What is believed of raters and classes before their labels are seen, for `fit_joint`."""

from typing import Any, NamedTuple


class Beliefs(NamedTuple):
    """Dirichlet concentrations of everything that is drawn, and where the chains start.

    Where neither `diagonal` nor `off_diagonal_total` is given and a cell holds fewer than ten labels on
    average, or labelers hardly agree more than if they guessed (Brennan and Prediger's coefficient below .1),
    nothing is fixed: rows of one class are alike over labelers, and those of a classifier with fewer than ten
    samples a cell, or with such labelers, over classes (`latent.models.alike`); in models of strata those
    of each stratum by themselves. Labelers of two classes with ten labels a cell keep the fixed prior: alike
    rows would move such answers by .17 of their standard deviation (`benchmarks/honesty.py dense`).
    """

    prior_concentration: Any = 1.0  # of the class prior pi, a number or (classes,)
    # (labelers, classes, classes) earlier labels of known class (gold questions, history), rows true, columns
    # given; added to the prior. Strata models have their own row priors and refuse them.
    pseudo_counts: Any = None
    diagonal: float | int | None = None  # of a row, on the diagonal; 2 by default
    off_diagonal_total: float | int | None = None  # in all off the diagonal; 1 by default
    # (classes, U) of the classifier; by default as the labelers, or 2/U everywhere, two samples a row, if its
    # symbols are not the classes. "shared_strata" takes only the proportions, and only of such symbols.
    classifier_concentration: Any = None
    # "one" class prior for all samples, or "by_number": samples with equally many labels (up to five groups)
    # have one of their own, as labels missing by class ask for. Not with a known prior.
    shares: str = "one"
    start: Any = None  # (samples, classes) class probabilities to start from instead of vote shares


NOTHING = Beliefs()
