"""Check the input of an evaluation on the host, before any JAX call.

Whole numbers, booleans and data frames are no log-likelihood: a label matrix read as one has no meaning.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, TypedDict

import jax
import jax.numpy as jnp
import numpy as np
from jax.core import Tracer

from jtruth import _validation as check
from jtruth._host import cross_table, known_classes, log, most_likely_prior
from jtruth._one_line import one_line
from jtruth._random import Stated, as_key, stated
from jtruth._validation.times import times_of
from jtruth._validation.words import Read, number_of
from jtruth.evaluation import one_judge
from jtruth.evaluation.assumptions.model_error import check_kind
from jtruth.evaluation.parts import IN_SAMPLE, OF_ALL_CLASSES, OF_ONE_CLASS, POPULATION, Check
from jtruth.io.gold import Gold
from jtruth.labels import Labels, advice_on, matrix_labels, must_be_labels
from jtruth.learning.joint.posterior import JointPosterior
from jtruth.noise import IndependentLabelers, NoiseModel
from jtruth.noise.base import check_known_labels
from jtruth.posterior import check_not_contradictory, validate_prior
from jtruth.stats.estimates import check_level
from jtruth.tables.metrics import expected_table
from jtruth.tables.new_samples import NewSamples
from jtruth.tables.posterior import TableDraws, TablePosterior


def as_labels(values: Any, what: str = "labels") -> Labels:
    """Labels, also of a plain label matrix; ValueError for anything else."""
    labels = must_be_labels(matrix_labels(values), what)
    labels.entries(None)  # refuses codes outside of their sizes
    return labels


def read_log_likelihood(values: Any, noise: Any) -> np.ndarray:
    """Check an array (samples, classes) of log p(z_i | y_i = c) and return it in float64."""
    listed = isinstance(values, list | tuple) and not hasattr(values, "class_posterior")
    if not listed and (not hasattr(values, "dtype") or check.is_frame(values) or hasattr(values, "iloc")):
        as_labels(values)
    try:
        log_likelihood = np.asarray(values)
    except ValueError:
        raise ValueError("labels has rows of different lengths; give jt.Labels") from None
    if log_likelihood.ndim != 2 or log_likelihood.shape[1] < 2:
        advice = "give jt.Labels, or log p(z_i | y_i = c) of shape (samples, classes)"
        raise ValueError(f"labels is an array of shape {log_likelihood.shape}; {advice}")
    if not jnp.issubdtype(log_likelihood.dtype, np.floating):
        raise ValueError(f"labels is an array of {log_likelihood.dtype}, and a log-likelihood has decimal "
                         f"numbers; {advice_on(log_likelihood)}")  # fmt: skip
    if noise is not None:
        raise ValueError("labels is already a log-likelihood array, so leave noise out")
    log_likelihood = log_likelihood.astype(np.float64)
    finite = log_likelihood[np.isfinite(log_likelihood)]
    if (finite > 0).any() and (finite == np.floor(finite)).all():
        raise ValueError(f"labels is an array of whole numbers; {advice_on(np.nan_to_num(log_likelihood))}")
    bad = np.flatnonzero((np.isnan(log_likelihood) | (log_likelihood == np.inf)).any(1))
    if bad.size:
        text = f"the log-likelihood of samples {check.some(bad)} is NaN or infinite; check the noise model"
        raise ValueError(text)
    if (log_likelihood > 1e-9).any() and np.allclose(log_likelihood.sum(1), 1):
        raise ValueError("the rows of labels sum to 1: these are probabilities; give log p(z_i | y_i = c)")
    return log_likelihood


_NEEDED = "Every sample needs a prediction."
AS_KNOWN = (
    "The intervals are too narrow: the fitted error rates and class prior are used as if they were known."
)
AT_MEAN = "The intervals are too narrow: error rates are given as draws, but this answer uses their mean."


@dataclass
class Model:
    """Label model: log p(z_i | y_i = c), the class prior, and warnings about them."""

    log_likelihood: np.ndarray  # (samples, classes); known samples are 0 and -inf; learned: at mean matrices
    prior: np.ndarray  # (classes,)
    prior_unknown: bool = False  # two classes: the prior is integrated out
    refusal: str | None = None  # why the result is not identified
    warnings: tuple[str, ...] = ()
    labelers: tuple[dict[str, Any], ...] = ()  # a row each, the worst first
    count_draws: np.ndarray | None = None  # (draws, classes, symbols), if error rates were sampled
    fit: JointPosterior | None = None  # if error rates were sampled
    matrices: np.ndarray | None = None  # (raters, classes, classes) learned, the classifier's last

    __repr__ = one_line


_AT_RANDOM = Gold(None)
Progress = Callable[[int, int], None]  # of (sweeps done, sweeps planned)


@dataclass
class Inputs:
    """Checked input and options of an evaluation; `model` is None if the noise model has to be learned."""

    y_pred: np.ndarray  # (samples,) codes of classes, or of other symbols
    labels: Labels | None
    model: Model | None
    gold: np.ndarray  # (samples,) codes, -1 unknown
    prior: np.ndarray | None
    positive: int
    classes: tuple[str, ...]
    notes: tuple[str, ...]
    one_against_rest: bool = False  # a positive class was given
    chosen: str = ""  # how the positive class was chosen, in words
    # (classes, symbols) Dirichlet prior of the classifier's rows, for symbols that are no classes
    symbols: np.ndarray | None = None
    target: str = IN_SAMPLE  # or POPULATION
    missing: tuple[Check, ...] = ()  # the check that found labels missing by class
    noise: NoiseModel | None = None
    assume: str | None = None
    labelers_are: str = "unknown"  # see `assumptions.model_error`
    sampling: Gold = _AT_RANDOM  # how gold was chosen
    level: float = 0.95
    key: Any = 0  # of JAX, as `as_key` makes it
    stated: Stated = 0  # the key as the user gave it
    progress: Progress | None = None
    what_if: dict = field(default_factory=dict)  # by `ranges.what_if`, for every copy of an answer
    normal: bool = False  # whether independent errors use a Gaussian approximation instead of sampling

    __repr__ = one_line

    def known_model(self, noise: NoiseModel, prior: np.ndarray) -> Model:
        """Label model of these labels under a noise model; a class prior that was given replaces `prior`."""
        labels = self.own_labels()
        shares = prior if self.prior is None else self.prior
        return _known_model(_log_likelihood(noise, labels), shares, self.gold, labels.tasks)

    @property
    def known_prior(self) -> np.ndarray | None:
        """Class prior that was given, or else that of the noise model; None: neither."""
        return self.noise.mean_prior if self.prior is None and self.noise is not None else self.prior

    @property
    def only_gold(self) -> bool:
        """Whether there are verified labels and no others."""
        return self.labels is not None and not self.labels.num_labels and self.num_gold > 0

    @property
    def graded(self) -> bool:
        """Whether verified labels grade predictions of two classes."""
        return self.open and self.num_gold > 0 and len(self.classes) == self.num_symbols == 2

    @property
    def more(self) -> tuple[str, ...]:
        """Further metrics of such graded predictions."""
        return one_judge.MORE if self.graded else ()

    @property
    def verified(self) -> np.ndarray | None:
        """Counts (2, 2) of verified samples in the order of `answered`, if they grade predictions."""
        if not self.graded:
            return None
        known, turn = self.gold >= 0, 1 if self.positive else -1
        return cross_table(self.gold[known], self.y_pred[known], (2, 2)).astype(np.int64)[::turn, ::turn]

    @property
    def open(self) -> bool:
        """Whether error rates are learned and no assumption was named."""
        return self.model is None and self.assume in (None, "unknown")

    @property
    def known(self) -> Gold:
        """Known classes, and how they were sampled."""
        return self.sampling._replace(classes=self.gold)

    def without_gold(self) -> "Inputs":
        """The same input without gold, so that gold is used only once."""
        return replace(self, gold=np.full_like(self.gold, -1))

    def own_labels(self) -> Labels:
        """The labels; ValueError if only a log-likelihood array was given."""
        if self.labels is None:
            raise ValueError("this needs labels; a log-likelihood array has no single labels")
        return self.labels

    @property
    def num_symbols(self) -> int:
        """Number of possible predictions."""
        return len(self.classes) if self.symbols is None else self.symbols.shape[1]

    def table(self, truth: np.ndarray) -> np.ndarray:
        """Counts (classes, symbols) of the predictions, given class probabilities (samples, classes)."""
        return expected_table(truth, self.y_pred, self.num_symbols)

    @cached_property
    def distinct_rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Rows of samples with equal labels and gold, if the error rates allow it; else all samples.

        Returns a sample of each (rows,), the row of each sample, the number of samples in each row, and
        whether the class of the row is unknown.
        """
        if self.labels is None or not isinstance(self.noise, IndependentLabelers):
            every = np.arange(self.y_pred.size)
            return every, every, np.ones(every.size), self.gold < 0
        patterns = self.labels.patterns()
        row = patterns.inverse if not self.num_gold else check.collapse_rows(
            np.stack([patterns.inverse, self.gold], axis=1))[1]  # fmt: skip
        _, first, times = check.occurring(row, int(row.max()) + 1)
        return first, row, times, self.gold[first] < 0

    @property
    def some_gold(self) -> np.ndarray | None:
        """Gold, or None if no class is known."""
        return self.gold if self.num_gold else None

    @property
    def num_gold(self) -> int:
        """Number of samples whose class is known."""
        return int((self.gold >= 0).sum())

    @property
    def samples(self) -> Labels:
        """The labels, or empty labels with numbered samples and classes."""
        return self.labels or _numbered(self.y_pred.size, len(self.classes))

    @property
    def answered(self) -> tuple[tuple[str, ...], int]:
        """Classes in the order of the result's table, two as (negative, positive); index of the positive."""
        if len(self.classes) > 2:
            return self.classes, self.positive
        return (self.classes[1 - self.positive], self.classes[self.positive]), 1

    def tables(self, counts: np.ndarray) -> TableDraws:
        """Draws of the count table (draws, classes, symbols) in that order."""
        return TableDraws(counts[:, ::-1, ::-1] if len(self.classes) == 2 and self.positive == 0 else counts)

    def about(self, table: TablePosterior) -> TablePosterior:
        """Table of the target: these samples, or new ones."""
        return NewSamples(table, self.key) if self.target == POPULATION else table

    @property
    def headline(self) -> tuple[str, ...]:
        """Metrics of the headline."""
        if self.graded:
            return one_judge.HEADLINE
        return OF_ALL_CLASSES if len(self.classes) > 2 and not self.one_against_rest else OF_ONE_CLASS


def read_gold(gold: Any, labels: Labels) -> tuple[np.ndarray, tuple[str, ...]]:
    """Known classes (samples,), -1 where unknown, and notes."""
    classes, notes = np.full(labels.num_samples, -1, np.int32), ()
    if isinstance(gold, Gold):
        gold.refuse_sampling("this question uses gold as known, however it was chosen")
        gold = gold.classes
    if gold is not None:
        known = check.align(concrete(gold, "gold"), labels, "gold", partial=True)
        classes[known.samples] = _codes(known, labels)
        notes = known.notes
    return classes, notes


def read_labels_alone(
    labels: Any, gold: Any = None, *, key: Any = None, level: float = 0.95,
    assume: str | None = None, labelers_are: str | None = None, progress: Progress | None = None,
) -> Inputs:  # fmt: skip
    """Read labels without predictions: every sample has the same single symbol."""
    labels = as_labels(labels)
    known, notes = read_gold(gold.classes if isinstance(gold, Gold) else gold, labels)
    classes, (code, chosen) = tuple(map(str, labels.class_names)), check.positive_of(labels, None, known)
    data = Inputs(
        np.zeros(labels.num_samples, np.int64), labels, None, known, None, code, classes, notes,
        symbols=np.ones((len(classes), 1)), assume=assume, progress=progress, level=check_level(level),
        labelers_are=check_kind(labelers_are, assume is None), key=as_key(key), stated=stated(key),
        chosen=chosen,
    )  # fmt: skip
    read_sampling(gold, data)
    return data


def read(y_pred: Any, labels: Any, noise: Any, prior: Any, gold: Any, positive: Any) -> Inputs:
    """Check all input and build the label model, if a noise model was given."""
    labels = one_judge.labels_of_nobody(y_pred, gold) if labels is None else matrix_labels(labels)
    fitted = prior is None and noise is None and not isinstance(labels, Labels) and _of_fit(labels)
    if fitted:
        labels, prior = fitted
    if isinstance(labels, Labels):
        whose = table = as_labels(labels)
        log_likelihood = None
    else:
        table, log_likelihood = None, read_log_likelihood(labels, noise)
        whose = _numbered(*log_likelihood.shape)
    classes = tuple(map(str, whose.class_names))
    predicted = check.align(concrete(y_pred, "y_pred"), whose, "y_pred")
    y = _codes(predicted, whose, _NEEDED)
    known, notes = read_gold(gold.classes if isinstance(gold, Gold) else gold, whose)
    if prior is not None:
        shares = check.by_class(prior, classes)
        try:
            shares = np.asarray(shares, np.float64)
        except (TypeError, ValueError):
            given = check.brief(prior)
            raise ValueError(f"prior is {given}; give one probability for each class") from None
        prior = validate_prior(shares, len(classes))
    if noise is not None:
        if not isinstance(noise, NoiseModel):
            kind = type(noise).__name__
            raise ValueError(f"noise is a {kind}; give a model of jt.noise, or None to learn one")
        log_likelihood = _log_likelihood(noise, whose)
    shares = noise.mean_prior if prior is None and noise is not None else prior
    model = None if log_likelihood is None else _known_model(log_likelihood, shares, known, whose.tasks)
    if model is not None and known_by_draws(noise):
        model.warnings = (*model.warnings, AT_MEAN)
    notes = (*([AS_KNOWN] if fitted else []), *map(Read, (*whose.notes, *predicted.notes, *notes)))
    code, chosen = check.positive_of(whose, positive, known)
    return Inputs(y, table, model, known, prior, code, classes, notes, positive is not None, noise=noise,
                  chosen=chosen)  # fmt: skip


def known_by_draws(noise: NoiseModel | None) -> bool:
    """Whether the parameters of a noise model are draws."""
    return noise is not None and next(noise.models(1), None) is not None


def _of_fit(fit: Any) -> tuple[np.ndarray, np.ndarray] | None:
    """Log-likelihood of each class, and class prior, of a fit; None for anything else."""
    posterior, prior = (getattr(fit, name, None) for name in ("class_posterior", "prior"))
    if posterior is None or prior is None:
        return None
    posterior, prior = np.asarray(posterior, np.float64), np.asarray(prior, np.float64)
    prior = prior.mean(axis=0) if prior.ndim == 2 else prior  # draws of it
    prior = prior / prior.sum()  # float32
    return log(posterior) - log(prior), prior


def _log_likelihood(noise: NoiseModel, labels: Labels) -> np.ndarray:
    patterns = labels.patterns() if isinstance(noise, IndependentLabelers) else None
    with jax.enable_x64(True):
        rows = noise.log_likelihood(labels if patterns is None else patterns.labels)
        log_likelihood = np.asarray(rows, np.float64)
    return log_likelihood if patterns is None else log_likelihood[patterns.inverse]


def _with_notes(values: Any, notes: Sequence[str], data: Inputs) -> Any:
    data.notes += tuple(Read(note) for note in notes if note not in data.notes)
    return values


def aligned(values: Any, what: str, data: Inputs) -> check.Aligned:
    """One value for each sample; notes are added to `data`."""
    by_sample = check.align(concrete(values, what), data.samples, what)
    return _with_notes(by_sample, by_sample.notes, data)


def aligned_table(table: Any, what: str, data: Inputs) -> Any:
    """Values (samples, classes); rows of a frame are matched by task id and columns by class."""
    return _with_notes(*check.align_table(table, data.samples, data.classes, what), data)


def read_others(predictions: Mapping[str, Any], data: Inputs) -> np.ndarray:
    """Codes of further classifiers, (classifiers, samples)."""
    predicted = [aligned(values, f"y_pred of {name!r}", data) for name, values in predictions.items()]
    return np.array([_codes(one, data.samples, _NEEDED) for one in predicted])


def read_sampling(gold: Any, data: Inputs) -> None:
    """Store how gold was sampled, by sample; ValueError if the design would be ignored."""
    if not isinstance(gold, Gold):
        return
    if not (data.num_gold and data.open):
        known = "error rates are given, an assumption was named, or the method uses them as known"
        gold.refuse_sampling(known if data.num_gold else "there is no gold")
    chance, inside, size = (
        None if values is None else aligned(values, f"{name} of gold", data).values
        for name, values in zip(("inclusion", "strata", "sizes"), gold[1:], strict=True)
    )
    if chance is not None and chance.dtype.kind not in "iuf":
        raise ValueError(f"inclusion of gold has dtype {chance.dtype}; give one probability for each sample")
    if chance is not None and (unknown := np.flatnonzero((chance >= 1) & (data.gold < 0))).size:
        who = check.quoted(data.samples.task_names[i] for i in unknown)
        advice = "Give their classes, or an inclusion probability below 1"
        raise ValueError(f"inclusion of gold is 1 for {number_of(unknown.size, 'sample')} without gold "
                         f"({who}). {advice}")  # fmt: skip
    data.sampling = Gold(data.gold, chance, inside, size)


def _numbered(num_samples: int, num_classes: int) -> Labels:
    none = np.zeros(0, np.int32)
    return Labels(none, none, none, num_samples, 0, num_classes)


def _codes(predicted: check.Aligned, labels: Labels, if_missing: str | None = None) -> np.ndarray:
    coded = "classes" not in labels.inferred
    names = tuple(map(str, range(labels.num_classes) if predicted.coded else labels.class_names))
    return check.class_codes(predicted.values, names, predicted.entries, coded=coded, if_missing=if_missing)


def concrete(values: Any, what: str) -> Any:
    """Return the values; ValueError inside jit and vmap."""
    if isinstance(values, Tracer):
        raise ValueError(f"{what} is traced; evaluate runs on the host, so call it outside jit and vmap")
    return values


def _known_model(
    log_likelihood: np.ndarray, prior: np.ndarray | None, gold: np.ndarray, tasks: tuple | None
) -> Model:
    check_not_contradictory(log_likelihood, tasks, prior=prior)
    check_known_labels(log_likelihood, gold, tasks)
    clamped = known_classes(log_likelihood, gold)
    if prior is not None:
        return Model(clamped, prior)
    if log_likelihood.shape[1] == 2:
        return Model(clamped, np.array([0.5, 0.5]), prior_unknown=True)
    likeliest, converged = most_likely_prior(clamped)
    note = "The class prior was not given; its maximum-likelihood estimate is used"
    return Model(clamped, likeliest, warnings=(note + ("." if converged else " (it did not converge)."),))


def warnings(data: Inputs) -> list[str]:
    """Warnings about the input itself."""
    if (data.y_pred != data.y_pred[0]).any():
        return list(data.notes)
    name = data.classes[data.y_pred[0]]
    trivial = f"Every prediction is {name!r}, so some metrics are undefined or trivial."
    return [*data.notes, trivial]


def read_order(order: Any, data: Inputs) -> np.ndarray | None:
    """Time of each label: (samples,) numbers or dates in seconds, or (samples, labelers) with NaN."""
    if order is None:
        return None
    if isinstance(order, np.ndarray) and order.ndim == 2:
        labels = data.own_labels()
        sample, labeler, _ = labels.entries()
        times, size = np.asarray(order, np.float64), (labels.num_samples, labels.num_labelers)
        if times.shape != size or not np.isfinite(times[sample, labeler]).all():
            advice = f"a time for each label needs {size}, without gaps"
            raise ValueError(f"order has shape {times.shape}; {advice}")
        return times
    by_sample = aligned(order, "order", data)
    times = by_sample.values
    if times.dtype.kind in "OM" and (seconds := times_of(times, "order")) is not None:
        times = seconds
    if times.dtype.kind not in "iuf":
        advice = f"give one finite number or date for each of {times.size} samples"
        raise ValueError(f"order has dtype {times.dtype}; {advice}")
    bad = np.flatnonzero(~np.isfinite(times))
    if bad.size:
        where = by_sample.entries.entry(bad, "order ", by_sample.values[bad[0]])
        advice = "give one number or date for each sample, or leave order out"
        raise ValueError(f"{where} no time ({bad.size} such): {advice}")
    return times


class Judging(TypedDict, total=False):
    """Options of an evaluation by noisy labels."""

    noise: Any  # a noise model of known parameters; learned from the labels if None
    prior: Any  # (classes,) class prior
    gold: Any  # (samples,) known classes, -1 where unknown; a `jtruth.io.Gold` if not chosen at random
    assume: str | None  # "independent" if learned errors are independent given the class
    labelers_are: str | None  # "people", "experts" or "llm_judges": the kind of labelers
    level: float  # probability of the intervals, .95
    key: Any  # a whole number or a JAX key; 0 if None
    progress: Progress | None  # called with (sweeps done, sweeps planned) while error rates are sampled


def read_judged(asked: str, y_pred: Any, labels: Any, how: Judging, positive: Any = None) -> Inputs:
    """Check predictions (None: there are none), labels and options; `asked` is the caller's name."""
    names = tuple(Judging.__annotations__)
    unknown = [name for name in how if name not in names]
    if unknown:
        advice = f"it also takes {', '.join(names)}"
        raise TypeError(f"{asked}() got an unexpected keyword argument {unknown[0]!r}; {advice}")
    options: dict[str, Any] = {**dict.fromkeys(names), "level": 0.95, **how}
    level, empty = check_level(options["level"]), y_pred is None
    if empty:
        labels = one_judge.labels_of_nobody(None, None) if labels is None else labels
        named = isinstance(labels, Labels)
        none = np.zeros(labels.num_samples if named else len(labels), np.int32)
        y_pred = check.with_tasks(none, labels.tasks if named else None)
    data = read(y_pred, labels, options["noise"], options["prior"], options["gold"], positive)
    if empty:
        data.notes = tuple(note for note in data.notes if "y_pred" not in note)
    data.assume, data.level, data.progress = options["assume"], level, options["progress"]
    data.key, data.stated = as_key(options["key"]), stated(options["key"])
    read_sampling(options["gold"], data)
    data.labelers_are = check_kind(options["labelers_are"], data.open)
    return data


def read_one_assumption(asked: str, prediction: Any, labels: Any, how: Judging, **more: Any) -> Inputs:
    """Check the same where independence is the only assumption, and known noise needs the class prior."""
    data = read_judged(asked, prediction, labels, how, **more)
    if data.model is not None and data.known_prior is None:
        advice = "give prior=[p(class 0), p(class 1), ...]"
        raise ValueError(f"known error rates need the class prior too: {advice}")
    check.choose("assume", "unknown" if data.assume is None else data.assume, ("unknown", "independent"))
    return data
