"""Who labels what, before there is any label: a random regular assignment (Karger, Oh and Shah 2014).

Every sample is given to the same number of labelers and every labeler gets the same number of samples (they
differ by one where the division leaves a rest), at random otherwise. Such a graph has few short circles, so
opinions reach a labeler's evaluation by independent ways, and no method can do better, up to a constant, by
assigning otherwise without looking at answers. Whoever lets people choose what to label gets neither.

The draw is the configuration model of the paper: as many slots as labels, shuffled; a labeler who got a
sample twice swaps one of the two with a random slot. Where more than half of all labelers see a sample, those
who do NOT see it are drawn.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Int

from jtruth._one_line import one_line
from jtruth._random import as_key, host_rng
from jtruth._validation.in_range import check_whole

_MOST_SWAPS = 200  # rounds of swaps; each one halves the number of repeats, or nearly


class Assignment(NamedTuple):
    """Which labelers see which samples."""

    labelers: Int[np.ndarray, "samples each"]  # of each sample, ascending, all different
    per_labeler: Int[np.ndarray, " labelers"]  # number of samples of each labeler; they differ by one at most

    __repr__ = one_line

    @property
    def mask(self) -> Bool[np.ndarray, "samples labelers"]:
        """Whether a labeler sees a sample, as the noise models' `sample` takes it."""
        found = np.zeros((len(self.labelers), self.per_labeler.size), bool)
        np.put_along_axis(found, self.labelers, True, axis=1)
        return found


def regular_assignment(
    num_samples: int, num_labelers: int, labels_per_sample: int, *, key: Any = None
) -> Assignment:
    """Give every sample to as many labelers, and every labeler as many samples, at random.

    Args:
        num_samples, num_labelers: sizes.
        labels_per_sample: at least 1, at most `num_labelers`.
        key: of the draw; 0 if None.

    Raises:
        ValueError: sizes that cannot be met.

    >>> found = regular_assignment(num_samples=12, num_labelers=6, labels_per_sample=3)
    >>> found.labelers.shape, found.per_labeler.tolist()
    ((12, 3), [6, 6, 6, 6, 6, 6])
    """
    check_whole(num_samples=num_samples, num_labelers=num_labelers, labels_per_sample=labels_per_sample)
    if labels_per_sample > num_labelers:
        raise ValueError(
            f"labels_per_sample is {labels_per_sample} but there are {num_labelers} labelers, and nobody "
            "labels a sample twice; ask more people or for fewer labels"
        )
    rng = host_rng(as_key(key), "regular assignment")
    if 2 * labels_per_sample > num_labelers:
        unseen = _draw(rng, num_samples, num_labelers, num_labelers - labels_per_sample)
        mask = np.ones((num_samples, num_labelers), bool)
        np.put_along_axis(mask, unseen, False, axis=1)
        found = np.nonzero(mask)[1].reshape(num_samples, labels_per_sample)
    else:
        found = _draw(rng, num_samples, num_labelers, labels_per_sample)
    return Assignment(np.sort(found, axis=1), np.bincount(found.ravel(), minlength=num_labelers))


def _draw(rng: np.random.Generator, samples: int, labelers: int, each: int) -> np.ndarray:
    """(samples, each) different labelers in every row, each as often as any other, give or take one."""
    slots = np.resize(rng.permutation(labelers), samples * each)  # who gets one more is random too
    table = rng.permutation(slots).reshape(samples, each)
    for _ in range(_MOST_SWAPS):
        order = np.argsort(table, axis=1, kind="stable")
        ranked = np.take_along_axis(table, order, axis=1)
        row, place = np.nonzero(ranked[:, 1:] == ranked[:, :-1])
        if not row.size:
            return table
        here = np.ravel_multi_index((row, order[row, place + 1]), table.shape)
        flat = table.ravel()
        for a, b in zip(here, rng.integers(0, flat.size, here.size), strict=True):
            flat[a], flat[b] = flat[b], flat[a]
    raise RuntimeError(f"no assignment of {each} of {labelers} labelers to {samples} samples was found")
