"""Noisy labels in long form: one entry for every label that a labeler gave to a sample.

`Labels` is what every noise model and every learner takes: a JAX pytree whose leaves are its three integer
arrays and whose sizes are static, so it passes through `jax.jit` and `jax.vmap`; names, notes and the scale
are gone from one that came out of a transformation (`with_names` gives them back). The factories check
everything; they and the methods run on the host.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from os import PathLike
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Int

from jtruth import _validation as check
from jtruth._arrays import is_concrete
from jtruth._host import cross_table

_PYTHON_ROWS = check.Source()  # rows of columns handed over in Python, counted from 0


@jax.tree_util.register_pytree_node_class
@dataclass(frozen=True, eq=False)
class Labels:
    """Noisy labels, long form. Build one by `from_long`, `from_matrix`, `from_frame` or `jtruth.read_labels`.

    Entry k says: labeler `labeler[k]` gave class `label[k]` to sample `sample[k]`. A label of -1 is no
    label; it contributes nothing anywhere (simulated and padded labels use it).

    Where labelers labelled samples again, `self_agreement` is an array (labelers,) with the fields "repeats"
    (labels beyond the first of a sample), "pairs" (of labels of one sample), how many of these "agree", and
    "effective", the number of independent pairs that say as much; of all samples that were read.

    Example:
        >>> labels = Labels.from_long(["a", "a", "b"], ["ann", "bob", "bob"], ["no", "yes", "no"])
        >>> labels.classes, labels.counts().tolist()
        (('no', 'yes'), [[1, 1], [1, 0]])
    """

    sample: Any  # (labels,) int, 0..num_samples-1
    labeler: Any  # (labels,) int, 0..num_labelers-1
    label: Any  # (labels,) int, -1..num_classes-1
    num_samples: int
    num_labelers: int
    num_classes: int
    tasks: tuple | None = None  # task id of each sample
    workers: tuple | None = None  # worker id of each labeler
    classes: tuple | None = None  # name of each class
    notes: tuple = ()  # sentences: what was left out or read in a special way
    inferred: tuple = ()  # "tasks", "classes": names in an order that nobody gave (first seen, alphabetical)
    scale: str = "nominal"  # of the classes; "ordinal": they are in order; "interval": numbers, `values`
    self_agreement: Any = None  # agreement with themselves (see above); None without them

    def __repr__(self) -> str:
        """One line."""
        sizes = f"{self.num_samples} samples, {self.num_labelers} labelers, {self.num_classes} classes"
        return f"Labels({sizes}, {np.size(self.label)} labels)"

    def tree_flatten(self):
        """Leaves and static sizes for JAX; names and notes are left behind."""
        sizes = self.num_samples, self.num_labelers, self.num_classes
        return (self.sample, self.labeler, self.label), sizes

    @classmethod
    def tree_unflatten(cls, sizes, leaves):
        """Rebuild from leaves; never validates, since JAX calls it with tracers and placeholders."""
        return cls(*leaves, *sizes)

    @classmethod
    def from_long(
        cls,
        task: Any,
        worker: Any,
        label: Any,
        *,
        tasks: Iterable | None = None,
        workers: Iterable | None = None,
        classes: Iterable | None = None,
        num_classes: int | None = None,
        repeats: str = "majority",
        missing: str = "error",
        abstain: Iterable = (),
        allow_unlabelled: bool = False,
        scale: str | None = None,
        source: check.Source = _PYTHON_ROWS,
    ) -> "Labels":
        """Labels from three columns with one row per label.

        Args:
            task, worker: ids, text or whole numbers. Samples and labelers are numbered in the order of
                `tasks` and `workers` where given; ids 0..n-1 as they are; others by first appearance.
            label: class codes 0..C-1 or class names. Without `classes` and `num_classes`, whole numbers
                0, 1, ... without a gap are codes; anything else is a name, and names are sorted: numbers by
                value, words of a common scale (low, medium, high) in its order, others by the alphabet.
            classes: names in order of their codes; labels are these names, or the codes.
            num_classes: C, when the labels are codes.
            repeats: what counts of a worker who labelled a task more than once: "majority", the most
                frequent label (of a tie the first given); "first" or "last" in order of rows; "keep", all
                of them as independent evidence, which makes intervals too narrow; "error" refuses them.
            missing: "error" or "drop", for rows without a label (None, NaN, -1, or text such as "NA").
            abstain: labels that say nothing, such as ["unsure"]: left out and counted in a note.
            allow_unlabelled: accept samples without any label.
            scale: "nominal", "ordinal" (in the order of `classes`) or "interval" (classes are numbers). If
                None: interval for numbers, ordinal for words of a common scale, otherwise nominal.
            source: where the rows came from, for messages.

        Raises:
            ValueError: naming the first rows that cannot be used and what to do.
        """
        columns = {"task": task, "worker": worker, "label": label}
        orders = {"tasks": tasks, "workers": workers, "classes": classes, "num_classes": num_classes}
        encoded = check.encode_columns(columns, **orders, rules=(repeats, missing, abstain), source=source,
                                       scale=scale)  # fmt: skip
        labels = cls(*encoded)
        labelled = labels._number("sample", labels.num_samples) > 0
        if tasks is None and not allow_unlabelled and not labelled.all():  # their only rows had no label
            lost = check.quoted(labels.task_names[i] for i in np.flatnonzero(~labelled))
            note = check.bare_note(np.count_nonzero(~labelled), f": {lost}.")
            labels = replace(labels.restrict(np.flatnonzero(labelled)), notes=(*labels.notes, note))
        return labels._checked(allow_unlabelled)

    @classmethod
    def from_matrix(
        cls,
        z: Any,
        num_classes: int | None = None,
        *,
        classes: Iterable | None = None,
        missing: Any = -1,
        allow_unlabelled: bool = False,
        scale: str | None = None,
    ) -> "Labels":
        """Labels from a (samples, labelers) table, with `missing` or None where there is no label.

        Args:
            z: class codes (whole numbers in a float matrix, too) or class names. A data frame gives its
                columns as workers, its index as tasks, and NaN where there is no label.
            num_classes, classes, allow_unlabelled, scale: as in `from_long`; columns of categories as in
                `from_frame`.
            missing: what stands where there is no label; numpy.nan is possible.
        """
        check.class_names(classes, num_classes)
        if hasattr(z, "dtype") and not is_concrete(z):
            raise ValueError(
                "z is traced (inside jit, vmap or grad), but Labels are made on the host: give the array "
                "itself to the noise model, model.log_likelihood(z) with -1 where there is no label"
            )
        return cls(*check.matrix_entries(z, num_classes, classes, missing, scale))._checked(allow_unlabelled)

    @classmethod
    def from_frame(
        cls, frame: Any, *, task: str = "task", worker: str = "worker", label: str = "label", **options: Any
    ) -> "Labels":
        """Labels from any data frame that narwhals can read (pandas, polars, pyarrow, ...).

        A lazy one (a Polars LazyFrame, a relation of DuckDB, a PySpark frame) may be larger than memory: its
        engine finds the ids and sorts, and only codes come here. It has no order of rows, so samples and
        labelers are in the order of their ids, and of repeated labels none came first: ties of
        repeats="majority" go to the first class.

        Args:
            frame: one row per label. Values are taken as they are: 1 and "1" are different.
            task, worker, label: names of its columns.
            options: those of `from_long`. Row numbers in messages count from 0. Ordered categories (pandas)
                and an Enum (polars, DuckDB) say `classes` and scale="ordinal"; other categories are nominal.

        Raises:
            ValueError: as `from_long`; repeats="first" or "last" of a lazy frame.
        """
        columns, source, counts = check.frame_columns(frame, {"task": task, "worker": worker, "label": label})
        classes, scale = (options.get(name) for name in ("classes", "scale"))
        classes, scale = check.frame_order(frame, [label], classes, scale)
        options |= {"classes": classes, "scale": scale}
        if source is None:
            labels = cls.from_long(*columns, **options)
            return replace(labels, notes=(*counts, *labels.notes))
        if options.get("repeats") in ("first", "last"):
            raise ValueError(
                f"repeats={options['repeats']!r}: rows of a {type(frame).__name__} have no order; keep one "
                "label of each in the query, or collect it first"
            )
        return cls.from_long(*columns, source=source, **options)

    @property
    def num_labels(self) -> int:
        """Number of labels (entries of -1 do not count)."""
        return self.entries(None)[0].size

    @property
    def class_names(self) -> tuple:
        """Names of the classes in order of their codes: `classes`, or "0", "1", ... without them."""
        return self.classes or tuple(map(str, range(self.num_classes)))

    @property
    def values(self) -> tuple[float, ...] | None:
        """The numbers that the classes are, in order of their codes, where the scale is "interval"."""
        return check.values_of(self.class_names) if self.scale == "interval" else None

    @property
    def task_names(self) -> tuple:
        """Ids of the samples in order: `tasks`, or 0, 1, ... without them."""
        return self.tasks or tuple(range(self.num_samples))

    @property
    def worker_names(self) -> tuple:
        """Ids of the labelers in order of their codes: `workers`, or 0, 1, ... without them."""
        return self.workers or tuple(range(self.num_labelers))

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

    @cached_property
    def used(self) -> Int[np.ndarray, "labelers classes"]:
        """How often each labeler gave each class."""
        _, labeler, label = self.entries(None)
        return cross_table(labeler, label, (self.num_labelers, self.num_classes))

    def counts(self) -> Int[np.ndarray, "samples classes"]:
        """Votes: how often each class was given to each sample; counted once, and read only."""
        return self._votes

    @cached_property
    def _votes(self) -> np.ndarray:
        sample, _, label = self.entries()
        votes = cross_table(sample, label, (self.num_samples, self.num_classes))
        votes.flags.writeable = False
        return votes

    def has_labelled(self) -> Bool[np.ndarray, "samples labelers"]:
        """Who has labelled what."""
        labelled = np.zeros((self.num_samples, self.num_labelers), bool)
        sample, labeler, _ = self.entries()
        labelled[sample, labeler] = True
        return labelled

    def has_repeats(self) -> bool:
        """Whether a labeler labelled some sample more than once."""
        return self._repeats

    @cached_property
    def _repeats(self) -> bool:
        sample, labeler, _ = self.entries()
        return check.has_duplicates(sample * self.num_labelers + labeler)

    def to_matrix(self) -> Int[np.ndarray, "samples labelers"]:
        """Class codes as a matrix, -1 where there is no label; an error with repeated labels."""
        if self.has_repeats():
            raise ValueError("a matrix holds one label per sample and labeler; some labelers gave several")
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
        mask = self._mask
        every = (np.asarray(a) for a in (self.sample, self.labeler, self.label))
        codes = [a if mask is None else a[mask] for a in every]
        sample, labeler, label = (a if dtype is None else a.astype(dtype, copy=False) for a in codes)
        return sample, labeler, label

    @cached_property
    def _mask(self) -> np.ndarray | None:
        """Which entries are labels, None if all are; codes that lie outside their sizes are refused."""
        codes = tuple(np.asarray(a) for a in (self.sample, self.labeler, self.label))
        check.check_entries(codes, (self.num_samples, self.num_labelers, self.num_classes))
        return None if (codes[2] >= 0).all() else codes[2] >= 0

    def _table(self) -> np.ndarray:
        """(samples, most labels of a sample) of labeler * C + label, sorted, -1 padded."""
        sample, labeler, label = self.entries()
        return check.padded_rows(sample, labeler * self.num_classes + label, self.num_samples)

    def patterns(self) -> "Patterns":
        """Samples with the same (labeler, label) pairs collapsed into one; found once."""
        return self._patterns

    @cached_property
    def _patterns(self) -> "Patterns":
        sizes = self.num_samples, self.num_labelers, self.num_classes
        codes = check.row_codes(self.entries(None), sizes)
        if codes is None:
            first, inverse, counts = check.collapse_rows(self._table())
            return Patterns(replace(self, tasks=None).restrict(first), inverse, counts)
        number = (self.num_classes + 1) ** self.num_labelers
        seen, _, counts = check.occurring(codes, number)
        z = seen[:, None] // (self.num_classes + 1) ** np.arange(self.num_labelers) % (self.num_classes + 1)
        sample, labeler = (a.astype(np.int32) for a in np.nonzero(z))
        leaves = {"sample": sample, "labeler": labeler, "label": z[sample, labeler].astype(np.int32) - 1}
        patterns = replace(self, **leaves, num_samples=seen.size, tasks=None)
        order, place, _ = check.collapse_rows(patterns._table())  # the same order as above
        row = np.zeros(number, np.int64)
        row[seen] = place
        return Patterns(patterns.restrict(order), row[codes], counts[order])

    def restrict(self, samples: Any) -> "Labels":
        """Labels of these samples only (distinct indices; renumbered in the order given)."""
        return self._select("sample", "num_samples", "tasks", samples)

    def select_labelers(self, labelers: Any) -> "Labels":
        """Labels of these labelers only (distinct indices); all samples stay, labelled or not."""
        return self._select("labeler", "num_labelers", "workers", labelers)

    def without_labeler(self, worker: Any) -> "Labels":
        """Labels of all other labelers; all samples stay, labelled or not."""
        return self.select_labelers(np.delete(np.arange(self.num_labelers), self.worker_index(worker)))

    def labels_of(self, worker: Any, *, repeat: str = "error") -> Int[np.ndarray, " samples"]:
        """Class codes that one worker gave, -1 where none; `repeat` is "error", "first" or "last"."""
        check.choose("repeat", repeat, ("error", "first", "last"))
        mine = self.select_labelers([self.worker_index(worker)])
        if repeat == "error" and mine.has_repeats():
            raise ValueError(f"worker {worker!r} labelled samples repeatedly: set repeat='first' or 'last'")
        sample, _, label = (a if repeat == "last" else a[::-1] for a in mine.entries())
        codes = np.full(self.num_samples, -1, np.int32)
        codes[sample] = label  # NumPy keeps the last assignment to a place
        return check.with_tasks(codes, self.tasks)

    def split_rater(self, worker: Any, *, repeat: str = "error", keep_alone: bool = False) -> "RaterSplit":
        """One worker's labels as predictions, and the other workers' labels of the same samples.

        `keep_alone`: samples that nobody else labelled stay, because gold may say what they are.
        """
        codes, others = self.labels_of(worker, repeat=repeat), self.without_labeler(worker)
        judged = (others.labels_per_sample() > 0) | keep_alone
        samples, alone = np.flatnonzero((codes >= 0) & judged), np.flatnonzero((codes >= 0) & ~judged)
        if not samples.size:
            why = f"worker {worker!r} cannot be graded, because nobody else labelled the same samples"
            raise ValueError(f"{why}. Verified labels are enough: gold=..., --gold FILE or column:NAME")
        rest = others.restrict(samples)
        return RaterSplit(check.with_tasks(codes[samples], rest.tasks), rest, samples, alone)

    def worker_index(self, worker: Any) -> int:
        """Number of a worker, by id (by number where `workers` is None)."""
        return check.position(worker, self.worker_names, "worker")

    def class_code(self, name: Any) -> int:
        """Code of a class, by name; capitals count only where they tell classes apart.

        (A file that says TRUE and FALSE is read as the classes true and false, and asked about as TRUE.)
        """
        names, asked = self.class_names, str(name)
        alike = [one for one in names if one.casefold() == asked.casefold()]
        only = asked not in names and len(alike) == 1
        return check.position(alike[0] if only else asked, names, "class")

    def with_names(
        self,
        *,
        tasks: Iterable | None = None,
        workers: Iterable | None = None,
        classes: Iterable | None = None,
        scale: str | None = None,
    ) -> "Labels":
        """The same labels with names attached, for instance those lost in a JAX transformation.

        Without `scale` new names of classes say it, as in `from_long`; ordinal classes stay ordinal.
        """
        named: dict[str, Any] = {
            "tasks": check.names_for(tasks, "tasks", self.num_samples),
            "workers": check.names_for(workers, "workers", self.num_labelers),
            "classes": check.names_for(classes, "classes", self.num_classes),
        }
        renamed = {axis: names for axis, names in named.items() if names is not None}
        if scale is not None or classes is not None:
            new = tuple(map(str, named["classes"] or self.class_names))
            known = scale or ("ordinal" if self.scale == "ordinal" else None)
            renamed["scale"] = check.scale_of(new, known, named=True)[0]
        return replace(self, **renamed, inferred=tuple(axis for axis in self.inferred if axis not in renamed))

    def _select(self, axis: str, size: str, names: str, chosen: Any) -> "Labels":
        """Keep and renumber the chosen samples or labelers."""
        chosen = check.distinct_indices(chosen, getattr(self, size), axis)
        if chosen.size == getattr(self, size) and (np.diff(chosen) > 0).all():
            return self
        new = np.full(getattr(self, size), -1, np.int32)
        new[chosen] = np.arange(chosen.size, dtype=np.int32)
        codes = new[np.asarray(getattr(self, axis))]
        every = {k: np.asarray(getattr(self, k)) for k in ("sample", "labeler", "label")} | {axis: codes}
        leaves = {k: values[codes >= 0] for k, values in every.items()}
        own = self.self_agreement
        kept = (known := getattr(self, names)) and tuple(map(known.__getitem__, chosen.tolist()))
        own = own[chosen] if own is not None and axis == "labeler" else own
        return replace(self, **leaves, **{size: int(chosen.size), names: kept, "self_agreement": own})

    def _checked(self, allow_unlabelled: bool) -> "Labels":
        """Refuse samples without labels unless allowed; note labelers and classes that are never used."""
        check.none_unlabelled(self._number("sample", self.num_samples), self.tasks, allow_unlabelled)
        notes = check.unused(self._number("labeler", self.num_labelers), self.workers, *check.IDLE)
        notes += check.unused(self._number("label", self.num_classes), self.classes, *check.ABSENT)
        return replace(self, notes=self.notes + notes)

    def _number(self, axis: str, size: int) -> np.ndarray:
        """How often each code of one axis occurs, of labels that a factory made: every entry is a label."""
        return np.bincount(getattr(self, axis), minlength=size)


class Patterns(NamedTuple):
    """Distinct rows of labels: sample i has the labels of row `inverse[i]`."""

    labels: Labels  # one sample for each distinct set of (labeler, label) pairs
    inverse: Int[np.ndarray, " samples"]
    counts: Int[np.ndarray, " patterns"]  # how many samples have each pattern; they sum to num_samples

    def entries(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Pattern, labeler and label of the entries that are labels, and how many samples have each."""
        pattern, labeler, label = self.labels.entries()
        return pattern, labeler, label, self.counts[pattern]

    def table(self, codes: Int[np.ndarray, " samples"], size: int) -> Int[np.ndarray, "patterns size"]:
        """How many samples of each pattern have each code 0..size-1 (of a prediction, for instance)."""
        return cross_table(self.inverse, codes, (self.labels.num_samples, size))


class RaterSplit(NamedTuple):
    """One labeler to be graded by the others."""

    y_pred: Int[np.ndarray, " judged"]  # the worker's labels
    labels: Labels  # the other workers' labels of these samples
    samples: Int[np.ndarray, " judged"]  # which samples of the original they are
    alone: Int[np.ndarray, " unjudged"]  # samples that only this worker labelled: left out, so say so


def must_be_labels(value: Any, name: str = "labels") -> Labels:
    """The labels themselves; of anything else a `ValueError` says how to make labels of it."""
    if not isinstance(value, Labels):
        raise ValueError(f"{name} is a {type(value).__name__}; {advice_on(value)}")
    return value


def matrix_labels(value: Any, classes: Iterable | None = None) -> Any:
    """`Labels` of an array (samples, labelers) that can be nothing else; any other value as it is.

    That is integers with -1 for gaps, names with None, or whole numbers in decimals with NaN or -1 for gaps.
    Decimals without gaps may be log-likelihoods: `classes` says that they are labels.
    """
    plain = isinstance(value, list | tuple | np.ndarray | jax.Array) and is_concrete(value)
    if not plain or hasattr(value, "class_posterior") or not _is_even(value):
        return value
    entries = np.asarray(value)
    if entries.ndim != 2 or not entries.size:
        return value
    decimal, number = entries.dtype.kind == "f", None
    gaps = np.isnan(entries) if decimal else np.zeros(entries.shape, bool)
    known = entries[~gaps]
    if known.dtype.kind in "fiu":
        most, least = int(known.max(initial=0)), known.min(initial=0)
        plain = most > 0 and least >= -1 and bool((known == np.round(known)).all())
        if not plain or (decimal and classes is None and not gaps.any() and least == 0):
            return value
        number = most + 1 if classes is None else None
    return Labels.from_matrix(entries, number, classes=classes, missing=np.nan if gaps.any() else -1)


def _is_even(value: Any) -> bool:
    """Whether rows of nested lists have one length."""
    return hasattr(value, "shape") or len({len(row) if hasattr(row, "__len__") else -1 for row in value}) == 1


def advice_on(value: Any) -> str:
    """How to make labels of something that is neither `Labels` nor a log-likelihood."""
    if hasattr(value, "class_posterior") and hasattr(value, "prior"):
        return (
            "a fit can replace labels only where no noise or prior is given, jt.evaluate(y_pred, fit); "
            "otherwise give its jt.Labels"
        )
    if check.is_frame(value):
        return (
            "it looks like a table of labels: jt.Labels.from_frame(frame, task=..., worker=..., label=...) "
            "reads one row per label, jt.Labels.from_matrix(frame) one row per sample, a column per labeler"
        )
    if isinstance(value, str | PathLike):
        return "read a file by jt.read_labels(path)"
    if isinstance(value, list) or len(getattr(value, "shape", ())) == 2:
        entries = np.asarray(value)
        most = int(entries.max()) + 1 if entries.dtype.kind in "biuf" and entries.size else 2
        return f"it looks like a label matrix: jt.Labels.from_matrix(z, {max(most, 2)})"
    return "give jt.Labels"
