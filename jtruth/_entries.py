"""What the entries of `Labels` say as tables: how many labels, votes, matrices, rows."""

from typing import Any

import numpy as np
from jaxtyping import Bool, Int

from jtruth import _validation as check


class Entries:
    """Sample, labeler and label of every entry, and the questions that nothing else is needed for."""

    sample: Any
    labeler: Any
    label: Any
    num_samples: int
    num_labelers: int
    num_classes: int
    classes: tuple | None

    @property
    def num_labels(self) -> int:
        """Number of labels (entries of -1 do not count)."""
        return int(np.count_nonzero(np.asarray(self.label) >= 0))

    @property
    def class_names(self) -> tuple:
        """Names of the classes in order of their codes: `classes`, or "0", "1", ... without them."""
        return self.classes or tuple(map(str, range(self.num_classes)))

    @property
    def arrays(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sample, labeler and label of every entry, on the host, int64; a label of -1 is none."""
        sample, labeler, label = (np.asarray(a, np.int64) for a in (self.sample, self.labeler, self.label))
        return sample, labeler, label

    def labels_per_sample(self) -> Int[np.ndarray, " samples"]:
        """Number of labels that each sample has."""
        return np.bincount(self.entries(None)[0], minlength=self.num_samples)

    def labels_per_labeler(self) -> Int[np.ndarray, " labelers"]:
        """Number of labels that each labeler gave."""
        return np.bincount(self.entries(None)[1], minlength=self.num_labelers)

    def counts(self) -> Int[np.ndarray, "samples classes"]:
        """Votes: how often each class was given to each sample."""
        sample, _, label = self.entries()
        shape = (self.num_samples, self.num_classes)
        return np.bincount(sample * shape[1] + label, minlength=shape[0] * shape[1]).reshape(shape)

    def counts_by_labeler(self) -> Int[np.ndarray, "labelers classes"]:
        """How often each labeler gave each class."""
        _, labeler, label = self.entries(None)
        shape = (self.num_labelers, self.num_classes)
        return np.bincount(labeler * shape[1] + label, minlength=shape[0] * shape[1]).reshape(shape)

    def has_labelled(self) -> Bool[np.ndarray, "samples labelers"]:
        """Who has labelled what."""
        found = np.zeros((self.num_samples, self.num_labelers), bool)
        sample, labeler, _ = self.entries()
        found[sample, labeler] = True
        return found

    def has_repeats(self) -> bool:
        """Whether a labeler labelled some sample more than once."""
        sample, labeler, _ = self.entries()
        return check.has_duplicates(sample * self.num_labelers + labeler)

    def to_matrix(self) -> Int[np.ndarray, "samples labelers"]:
        """Class codes as a matrix, -1 where there is no label; an error with repeated labels."""
        if self.has_repeats():
            raise ValueError("some labelers labelled a sample more than once: a matrix has room for one")
        sample, labeler, label = self.entries()
        z = np.full((self.num_samples, self.num_labelers), -1, np.int32)
        z[sample, labeler] = label
        return z

    def padded(self) -> tuple[Int[np.ndarray, "samples most"], Int[np.ndarray, "samples most"]]:
        """(labeler, label) of each sample's labels, sorted, -1 padded to the most labels of a sample."""
        table = self._table()
        labeler = table // self.num_classes  # -1 // C is -1
        return labeler.astype(np.int32), np.where(table < 0, -1, table % self.num_classes).astype(np.int32)

    def entries(self, dtype: Any = np.int64) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Sample, labeler and label of the entries that are labels; of `dtype`, or None: as they are kept."""
        sample, labeler, label = (np.asarray(a, dtype) for a in (self.sample, self.labeler, self.label))
        check.check_entries((sample, labeler, label), (self.num_samples, self.num_labelers, self.num_classes))
        given = label >= 0
        return (sample, labeler, label) if given.all() else (sample[given], labeler[given], label[given])

    def _table(self) -> np.ndarray:
        """(samples, most labels of a sample) of labeler * C + label, sorted, -1 padded."""
        sample, labeler, label = self.entries()
        return check.padded_rows(sample, labeler * self.num_classes + label, self.num_samples)
