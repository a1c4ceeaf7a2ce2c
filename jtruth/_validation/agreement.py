"""Which labelers agree with which: counts for pairs of labelers (`jtruth.stats.agreement`: coefficients).

Pairs of a few labelers are counted in a table of all of them, label by label with the next labels of its
sample: ten million labels take a second. Many labelers have more pairs than ever met, and there products of
sparse matrices count those that did.
"""

from dataclasses import dataclass

import numpy as np
from scipy import sparse

from jtruth._validation.rows import has_duplicates

_FEW = 1_000_000  # numbers of a table that is always small enough


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
    key = sample.astype(np.int64) * num_labelers + labeler
    if has_duplicates(key) or (sample[1:] < sample[:-1]).any():
        return np.unique(key, return_index=True)[1]
    return np.arange(key.size)


def labeler_pairs(
    sample: np.ndarray, labeler: np.ndarray, label: np.ndarray, size: tuple[int, int], at_least: int = 1
) -> LabelerPairs:
    """Shared samples and agreement of labelers; `size` is (labelers, samples).

    The matrices leave out labelers with fewer than `at_least` labels, who cannot share so many samples: one
    sample with 10 000 labelers has 50 million pairs that mean nothing.
    """
    first = first_labels(sample, labeler, size[0])
    if not _is_all(first, sample.size):  # else no copy of perhaps ten million labels
        sample, labeler, label = sample[first], labeler[first], label[first]
    others = np.bincount(sample, minlength=size[1])[sample] - 1
    classes = int(label.max(initial=0)) + 1
    same = _occurrences(sample.astype(np.int64) * classes + label, size[1] * classes) - 1
    met, agreed_with = (np.bincount(labeler, many, size[0]).astype(np.int64) for many in (others, same))
    many = np.bincount(labeler, minlength=size[0]) >= at_least
    if not many.all():
        kept = many[labeler]
        sample, labeler, label = sample[kept], labeler[kept], label[kept]
    count = _few if size[0] ** 2 * classes <= _FEW + sample.size else _many
    return LabelerPairs(len(first), met, agreed_with, *count(sample, labeler, label, size))


def _is_all(places: np.ndarray, size: int) -> bool:
    """Whether the places are 0, 1, ..., size - 1 in this order."""
    return places.size == size and bool((places[1:] > places[:-1]).all())


def _few(sample: np.ndarray, labeler: np.ndarray, label: np.ndarray, size: tuple[int, int]) -> tuple:
    """(shared, agreed, variety) of labels in the order of samples, in a table of all pairs."""
    pairs, classes = size[0] ** 2, int(label.max(initial=0)) + 1
    shared, agreed = np.zeros(pairs, np.int64), np.zeros(classes * pairs, np.int64)
    step = 1
    while (first := np.flatnonzero(sample[step:] == sample[:-step])).size:  # label k and label k + step
        pair = labeler[first].astype(np.int64) * size[0] + labeler[first + step]
        same = label[first] == label[first + step]
        shared += np.bincount(pair, minlength=pairs)
        agreed += np.bincount(label[first][same] * pairs + pair[same], minlength=classes * pairs)
        step += 1

    def both(count: np.ndarray) -> sparse.csr_array:
        return sparse.csr_array(count + count.T)

    by_class = agreed.reshape(classes, size[0], size[0])
    met = (by_class + by_class.swapaxes(1, 2) > 0).sum(axis=0)
    return both(shared.reshape(size[0], -1)), both(by_class.sum(axis=0)), sparse.csr_array(met)


def _many(sample: np.ndarray, labeler: np.ndarray, label: np.ndarray, size: tuple[int, int]) -> tuple:
    """(shared, agreed, variety) by products of sparse matrices."""

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
    return overlap(label >= 0), agreed, variety


def _occurrences(code: np.ndarray, size: int) -> np.ndarray:
    """How often the code of each entry occurs; codes are below `size`."""
    if size <= 4 * code.size + _FEW:
        return np.bincount(code, minlength=1)[code]
    _, place, number = np.unique(code, return_inverse=True, return_counts=True)
    return number[place]


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
    by_other = _distinct(other.astype(np.int64) * size[0] + labeler, size[0] * size[1])
    other, mine = np.divmod(by_other, size[0])
    together = other[1:] == other[:-1]  # each with the next one of the same sample: so are all of them
    first, second = np.divmod(
        _distinct(mine[:-1][together] * size[0] + mine[1:][together], size[0] ** 2), size[0]
    )
    edges = sparse.csr_array((np.ones(first.size), (first, second)), shape=(size[0],) * 2)
    _, group = sparse.csgraph.connected_components(edges, directed=False)
    return group[labeler]


def _distinct(code: np.ndarray, size: int) -> np.ndarray:
    """The different codes, in increasing order; they are below `size`."""
    if size <= 4 * code.size + _FEW:
        return np.flatnonzero(np.bincount(code, minlength=1))
    code = np.sort(code)
    return code[np.append(True, code[1:] != code[:-1])] if code.size else code


def separate_groups(sample: np.ndarray, labeler: np.ndarray, size: tuple[int, int]) -> int:
    """Number of groups of labelers that no shared sample connects; `size` is (labelers, samples)."""
    return len(np.unique(groups_of(labeler, sample, size)))


def opposed(given: np.ndarray, pairs: LabelerPairs, at_least: int) -> np.ndarray:
    """Labelers whose agreement is below chance by 3 standard errors, labels being the independent units.

    `given` counts (labelers, classes); who met fewer than `at_least` labels of others is not judged.
    Chance is what the labeler's own use of the classes would give against the class shares of all labels.
    """
    number = np.maximum(1, given.sum(axis=1))
    chance = given @ (given.sum(axis=0) / max(1, given.sum())) / number
    least = chance - 3 * np.sqrt(chance * (1 - chance) / number)
    return (pairs.met >= at_least) & (pairs.agreed_with < least * pairs.met)
