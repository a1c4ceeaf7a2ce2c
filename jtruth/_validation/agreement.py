"""Which labelers agree with which: counts for pairs of labelers (`jtruth.stats.agreement`: coefficients)."""

from dataclasses import dataclass

import numpy as np
from scipy import sparse


@dataclass(frozen=True)
class LabelerPairs:
    """Counts from the first label of each labeler for a sample; matrices of pairs are symmetric."""

    num_first: int  # labels that are the first of their labeler for the sample
    met: np.ndarray  # (labelers,) labels of others on the samples of each
    agreed_with: np.ndarray  # (labelers,) ... that are the same as his
    shared: sparse.csr_array  # (labelers, labelers) samples that both labelled
    agreed: sparse.csr_array  # ... on which they gave the same class
    variety: sparse.csr_array  # number of different classes they agreed on


def first_labels(sample: np.ndarray, labeler: np.ndarray, num_labelers: int) -> np.ndarray:
    """Where the first label of each labeler for each sample stands, in the order of the samples."""
    return np.unique(sample.astype(np.int64) * num_labelers + labeler, return_index=True)[1]


def labeler_pairs(
    sample: np.ndarray, labeler: np.ndarray, label: np.ndarray, size: tuple[int, int], at_least: int = 1
) -> LabelerPairs:
    """Shared samples and agreement of labelers; `size` is (labelers, samples).

    The matrices leave out labelers with fewer than `at_least` labels, who cannot share so many samples: one
    sample with 10 000 labelers has 50 million pairs that mean nothing.
    """
    first = first_labels(sample, labeler, size[0])
    sample, labeler, label = sample[first], labeler[first], label[first]
    others = np.bincount(sample, minlength=size[1])[sample] - 1
    kind = sample.astype(np.int64) * (label.max(initial=0) + 1) + label
    _, place, alike = np.unique(kind, return_inverse=True, return_counts=True)
    same = alike[place] - 1
    met, agreed_with = (np.bincount(labeler, many, size[0]).astype(np.int64) for many in (others, same))
    kept = np.bincount(labeler, minlength=size[0])[labeler] >= at_least
    sample, labeler, label = sample[kept], labeler[kept], label[kept]

    def overlap(mine: np.ndarray) -> sparse.csr_array:
        ones = np.ones(np.count_nonzero(mine), np.int64)
        incidence = sparse.csr_array((ones, (labeler[mine], sample[mine])), shape=size)
        product = sparse.csr_array(incidence @ incidence.T)
        product.setdiag(0)
        product.eliminate_zeros()
        return product

    agreed = variety = sparse.csr_array((size[0], size[0]), dtype=np.int64)
    for c in np.unique(label):
        both = overlap(label == c)
        agreed = agreed + both
        variety = variety + sparse.csr_array((np.ones_like(both.data), both.indices, both.indptr), both.shape)
    return LabelerPairs(len(first), met, agreed_with, overlap(label >= 0), agreed, variety)


def full_agreement(pairs: LabelerPairs, at_least: int) -> list[tuple[int, int, int]]:
    """(labeler, labeler, shared samples) of pairs that never disagree, the most samples first.

    Only pairs with `at_least` shared samples, and only where both gave more than one class to them: that two
    labelers both give the common class all the time is no sign of copying.
    """
    upper = sparse.triu(pairs.shared).tocoo()
    first, second = upper.row[upper.data >= at_least], upper.col[upper.data >= at_least]
    if not len(first):
        return []
    shared, agreed, variety = (
        np.asarray(m[first, second]).ravel() for m in (pairs.shared, pairs.agreed, pairs.variety)
    )
    found = np.flatnonzero((agreed == shared) & (variety > 1))
    return sorted(((int(first[k]), int(second[k]), int(shared[k])) for k in found), key=lambda pair: -pair[2])


def groups_of(labeler: np.ndarray, other: np.ndarray, size: tuple[int, int]) -> np.ndarray:
    """Group of the labeler of each label: labelers who share something (samples, classes) are in one group.

    Args:
        labeler: (labels,) codes.
        other: (labels,) codes of what may be shared.
        size: numbers of labelers and of those things.
    """
    edges = sparse.csr_array((np.ones(len(other)), (labeler, size[0] + other)), shape=(sum(size),) * 2)
    _, group = sparse.csgraph.connected_components(edges, directed=False)
    return group[labeler]


def separate_groups(sample: np.ndarray, labeler: np.ndarray, size: tuple[int, int]) -> int:
    """Number of groups of labelers that no shared sample connects; `size` is (labelers, samples)."""
    return len(np.unique(groups_of(labeler, sample, size)))
