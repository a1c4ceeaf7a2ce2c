"""One label and one row of probabilities for each sample, checked before anything is computed."""

from typing import Any

import numpy as np
from jaxtyping import Float, Int

from jtruth._validation.in_range import check_rows
from jtruth.labels import Labels
from jtruth.learning._given import read_given


def one_label(
    labels: Labels, probabilities: Any, gold: Any
) -> tuple[Int[np.ndarray, " samples"], Float[np.ndarray, "samples classes"], Int[np.ndarray, " samples"]]:
    """(label, probabilities, known class or -1) of each sample, checked."""
    known, _ = read_given(labels, gold, None)
    number = labels.labels_per_sample()
    bad = np.flatnonzero(number != 1)
    if bad.size:
        raise ValueError(
            f"sample {bad[0]} has {number[bad[0]]} labels ({bad.size} such samples); this method takes one"
            " for each. For several labelers use fit_joint, or choose one label (select_labelers)"
        )
    shape = (labels.num_samples, labels.num_classes)
    q = np.asarray(probabilities, np.float64)
    if q.shape != shape:
        raise ValueError(f"probabilities has shape {q.shape}; it must be {shape}, samples by classes")
    check_rows(q, "probabilities", tolerance=1e-4, hint="rows must be p(y | x) of every class")
    label = labels.counts().argmax(axis=1).astype(np.int32)
    return label, q / q.sum(axis=1, keepdims=True), known.astype(np.int32)
