"""Arguments of `fit_joint`, checked before sampling."""

from typing import Any, NamedTuple

import numpy as np
from scipy.special import softmax

from jtruth._host import diagonal_rows, labels_log_likelihood, vote_shares
from jtruth._one_line import one_line
from jtruth._validation import choose
from jtruth._validation.in_range import check_codes, check_positive, check_rows, check_shape
from jtruth.labels import Labels, must_be_labels
from jtruth.latent.model import LatentModel, Raters
from jtruth.latent.models.alike import alike_classes, alike_raters
from jtruth.latent.rows import Rows, groups_by_number
from jtruth.learning._fit import clamp, known_prior, one_hot, soft_counts
from jtruth.stats.agreement import brennan_prediger, point

# A fixed prior of the rows would decide the answer where a cell of a matrix has fewer labels than this, on
# average, or where labelers agree hardly more than guesses: Brennan and Prediger's coefficient below .1, as
# with accuracies below 66 % of two classes. (Fleiss' kappa is as low where a class is rare and labels are
# informative.) With 300 samples five labelers of .53 to .60 were estimated at .67.
FEW, WEAK = 10.0, 0.1


class DirichletPriors(NamedTuple):
    """Dirichlet concentrations of everything that is drawn, and where the chains start.

    Without `diagonal` and `off_diagonal_total`, and with fewer than ten labels a cell on average or labelers
    who hardly agree more than guesses (Brennan and Prediger's coefficient below .1), no prior of rows is
    fixed: rows of one class are alike over labelers, and those of a classifier with so few samples or such
    labelers over classes (`latent.models.alike`), in models of strata within each stratum. Otherwise alike
    rows would move answers by .17 of their standard deviation (`benchmarks/honesty.py dense`).
    """

    prior_concentration: Any = 1.0  # of the class prior pi, a number or (classes,)
    diagonal: float | int | None = None  # of a row, on the diagonal; 2 by default
    off_diagonal_total: float | int | None = None  # in all off the diagonal; 1 by default
    # (classes, U) of the classifier; by default as the labelers, or 2/U everywhere, two samples a row, if its
    # symbols are not the classes. "shared_strata" takes only the proportions, and only of such symbols.
    classifier_concentration: Any = None
    # "one" class prior for all samples, or "by_number": samples with equally many labels (up to five groups)
    # have one of their own, as labels missing by class ask for. Not with a known prior.
    shares: str = "one"
    num_symbols: int | None = None  # U, of the predictions; None: the classes. Others: score bins, "abstain"
    start: Any = None  # (samples, classes) class probabilities to start from instead of vote shares

    __repr__ = one_line


WEAK_PRIORS = DirichletPriors()


def checked_predictions(labels: Labels, y_pred: Any, num_symbols: int | None) -> tuple[Any, int]:
    """Predicted symbols as int64 (or None), and how many symbols there are; labels must be `Labels`."""
    must_be_labels(labels)
    if y_pred is None:
        if num_symbols is not None:
            raise ValueError("num_symbols is the number of symbols in y_pred, and y_pred was not given")
        return None, 0
    symbols = labels.num_classes if num_symbols is None else num_symbols
    if symbols < 2:
        raise ValueError(f"num_symbols must be at least 2; got {symbols}")
    codes = np.asarray(y_pred)
    check_codes(codes, symbols, "y_pred", size=labels.num_samples, missing=True, kinds="iu")
    codes = codes.astype(np.int64)
    if not (codes >= 0).any():
        raise ValueError("y_pred has no prediction (every entry is -1); leave it out")
    return codes, symbols


def checked_priors(labels: Labels, y_pred, symbols: int, gold, prior, priors: DirichletPriors) -> LatentModel:
    """Class prior and rows under independence; rows are alike if labels are few and no prior is given."""
    classes = labels.num_classes
    prior_concentration, diagonal, off_diagonal_total, classifier_concentration, *_ = priors
    alike = diagonal is None and off_diagonal_total is None
    diagonal = 2.0 if diagonal is None else diagonal
    off_diagonal_total = 1.0 if off_diagonal_total is None else off_diagonal_total
    for name, value in (("diagonal", diagonal), ("off_diagonal_total", off_diagonal_total)):
        check_positive(value, name, "a Dirichlet concentration", size=1)
    row = diagonal_rows(classes, diagonal, off_diagonal_total)
    labelers = np.tile(row, (labels.num_labelers, 1, 1))
    classifier = None
    if symbols:
        classifier = row if symbols == classes else np.full((classes, symbols), 2 / symbols)
        if classifier_concentration is not None:
            classifier = np.asarray(classifier_concentration, np.float64)
            name = "classifier_concentration"
            check_shape(classifier, name, "classes symbols", classes=classes, symbols=symbols)
            check_positive(classifier.ravel(), name, "Dirichlet concentrations")
    every, alike_labelers, alike_classifier = np.arange(classes), None, None
    if alike and prior_decides(labels):
        votes = np.bincount(labels.entries()[2], minlength=classes)
        alike_labelers = alike_raters(votes, labels.num_labelers)
    if alike and symbols == classes and classifier_concentration is None:
        votes = np.bincount(y_pred[y_pred >= 0], minlength=classes)
        if votes.sum() < FEW * classes**2 or weak_labels(labels):
            alike_classifier = alike_classes(votes)
    raters = [Raters(labelers, every, alike=alike_labelers)]
    if classifier is not None:
        raters.append(Raters(classifier[None], every, alike=alike_classifier))
    if prior is not None:
        return LatentModel(known_prior(prior, labels.class_names, gold), tuple(raters), True)
    alpha = np.asarray(prior_concentration, np.float64)
    alpha = np.full(classes, alpha) if alpha.ndim == 0 else alpha
    check_positive(alpha, "prior_concentration", "Dirichlet concentrations, one for each class", size=classes)
    return LatentModel(alpha, tuple(raters))


def prior_decides(labels: Labels) -> bool:
    """Whether a fixed prior of the labelers' rows would decide the answer."""
    return labels.num_labels < FEW * labels.num_labelers * labels.num_classes**2 or weak_labels(labels)


def weak_labels(labels: Labels) -> bool:
    """Whether labels of a sample hardly agree more than guesses; not where none has two labels."""
    return bool(point(brennan_prediger(labels.counts())) < WEAK)


def share_groups(
    shares: str, labels: Labels, rows: Rows, prior: Any
) -> tuple[np.ndarray | None, np.ndarray | None]:
    """The group of each row, and the share of the samples in each group; None with one prior for all."""
    choose("shares", shares, ("one", "by_number"))
    if shares == "one":
        return None, None
    if prior is not None:
        raise ValueError(
            "shares='by_number' learns class shares, but prior gives them; leave one of them out"
        )
    group = groups_by_number(labels, rows)
    size = np.bincount(group, weights=rows.multiplicity)
    return group, size / size.sum()


def vote_start(start: Any, rows: Rows) -> np.ndarray:
    """(rows, classes) where EM starts: vote shares, or the mean of `start` over the samples of each row.

    With gold of every class they are class posteriors by the matrices of the gold alone: from the votes of
    labelers who are mostly wrong, EM would climb to a mode that contradicts the gold.
    """
    classes = rows.labels.num_classes
    if start is None:
        votes = rows.labels.counts().astype(np.float64)
        pooled = rows.multiplicity @ votes
        shares = vote_shares(votes, pooled / pooled.sum())
        if np.unique(rows.gold[rows.gold >= 0]).size == classes:  # by the matrices that the gold alone gives
            known = one_hot(rows.gold, classes) * rows.multiplicity[:, None]
            counts = soft_counts(rows.labels, known) + diagonal_rows(classes, 2.0, 1.0)
            matrices = counts / counts.sum(axis=2, keepdims=True)
            log_likelihood = labels_log_likelihood(matrices, *rows.labels.arrays, len(known))
            shares = softmax(log_likelihood + np.log(known.sum(axis=0)), axis=1)
    else:
        probabilities = np.asarray(start, np.float64)
        check_shape(start, "start", "samples classes", samples=rows.row_of_sample.size, classes=classes)
        check_rows(probabilities, "start")
        shares = np.zeros((rows.multiplicity.size, classes))
        np.add.at(shares, rows.row_of_sample, probabilities)
        shares /= rows.multiplicity[:, None]
    return clamp(shares, rows.gold)
