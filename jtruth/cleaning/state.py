"""The state of a cleaning (`State`): data, answers so far, and a file of it.

A `State` is immutable; asking and answering make new ones. A state is written only over one whose answers and
requests it includes, so none are lost. All random draws depend on the seed and on the number of answers, so
an interrupted run resumes with the same samples in the same order, bit for bit.
"""

import hashlib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np
from jaxtyping import Bool, Float, Int

from jtruth._cache import keep_programs
from jtruth._checkpoint import Checkpoint
from jtruth._host import log
from jtruth._one_line import one_line, picture
from jtruth._random import as_key, host_rng
from jtruth._validation import some
from jtruth._validation.in_range import check_features, check_positive, check_rows, check_shape
from jtruth._validation.words import number_of, present
from jtruth.cleaning.learners import Learner, LinearLearner
from jtruth.labels import Labels
from jtruth.noise import NoiseModel
from jtruth.testing import Consolidated, consolidate

_MARK = "cleaning, format 1"


class State(NamedTuple):
    """The data of a cleaning, its options, and its progress."""

    x: Float[np.ndarray, "samples features"]
    of_labels: Float[np.ndarray, "samples classes"]  # log p(labels | class)
    prior: Float[np.ndarray, " classes"]
    noisy: Consolidated  # one label for each sample, before any answer
    validation: Bool[np.ndarray, " samples"]  # held out: neither trained on nor asked for (TARS 5.3)
    costs: Float[np.ndarray, " samples"]
    oracle: Float[np.ndarray, "classes classes"]  # P(answer | true class); the identity never errs
    tasks: tuple | None = None
    probabilities: Float[np.ndarray, "samples classes"] | None = None  # p(y | features) of another model
    class_names: tuple = ()
    learner: Learner = LinearLearner()
    strategy: str = "risk"
    seed: int = 0
    model: Any = None  # trained on what is known
    answers: tuple[tuple[int, int], ...] = ()  # (sample, label) of the oracle
    pending: tuple[int, ...] = ()  # asked and not yet answered
    # How good the model was: number of answers, accuracy estimated from noisy labels, the true one or None.
    trail: tuple[tuple[int, float, float | None], ...] = ()
    doubts: tuple[str, ...] = ()  # of the training of `model`

    plot = picture
    __repr__ = one_line

    @property
    def task_names(self) -> Sequence[Any]:
        """Ids of the samples, or their numbers."""
        return self.tasks or range(len(self.x))

    @property
    def labelled(self) -> Int[np.ndarray, " samples"]:
        """The most probable class by the labels; with one label a sample this label."""
        return self.of_labels.argmax(axis=1)

    @property
    def digest(self) -> str:
        """Sixteen hexadecimal digits that identify all data."""
        digest = hashlib.sha256()
        others = () if self.probabilities is None else (self.probabilities,)
        for part in (*self[:3], *self.noisy, *self[4:7], *others):
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()[:16]

    @property
    def open(self) -> Bool[np.ndarray, " samples"]:
        """Samples that may be asked for."""
        free = ~self.validation
        free[[sample for sample, _ in self.answers] + list(self.pending)] = False
        return free

    @property
    def log_likelihood(self) -> Float[np.ndarray, "samples classes"]:
        """log p(labels and answers | class)."""
        total = self.of_labels.copy()
        for sample, label in self.answers:
            total[sample] += log(self.oracle[:, label])
        return total

    @property
    def consolidated(self) -> Consolidated:
        """One label for each sample and its distribution; an answer replaces the labels."""
        label, rates = self.noisy.label.copy(), self.noisy.rates.copy()
        for sample, answer in self.answers:
            label[sample], rates[sample] = answer, self.oracle
        return self.noisy._replace(label=label, rates=rates)

    @property
    def evidence(self) -> Float[np.ndarray, "samples classes"]:
        """Evidence on which the learner is trained."""
        return self.learner.evidence(self.log_likelihood, self.prior, self.consolidated.label)

    def refitted(self) -> "State":
        """The state with the learner trained on it; a warning if training stopped early."""
        keep_programs()  # most of the time of a small cleaning is compilation
        model, converged = self.learner.fit(self.x, self.evidence, ~self.validation, self.model)
        doubt = (
            f"{type(self.learner).__name__} did not converge after {number_of(len(self.answers), 'answer')}, "
            "so its probabilities are rough. Use more regularization, fewer features, or another learner."
        )
        return self._replace(model=model, doubts=() if converged else (doubt,))


def model_chances(state: State) -> Float[np.ndarray, "samples classes"]:
    """p(class | features) of the model of a state."""
    return state.learner.probabilities(state.model, state.x)


def data_of(
    x: Any,
    labels: Labels,
    noise: NoiseModel,
    prior: Any,
    *,
    validation: float | Bool[np.ndarray, " samples"] = 0.0,
    costs: Any = None,
    oracle: NoiseModel | None = None,
    key: Any = 0,
) -> State:
    """Checked data of a cleaning without a learner; see `start` for the arguments."""
    check_features(np.asarray(x), samples=labels.num_samples)
    x = np.asarray(x).astype(np.float64)
    noisy = consolidate(labels, noise, prior, key=key)
    held_out = _validation(validation, noisy.label, labels.num_classes, key)
    costs = np.ones(len(x)) if costs is None else np.asarray(costs, np.float64)
    check_positive(costs, "costs", f"prices of {len(x)} samples", size=len(x))
    matrix = np.eye(labels.num_classes)
    if oracle is not None:
        strata = oracle.strata(1)
        if strata is None or strata.rows.shape != (1, 1, *matrix.shape):
            raise ValueError(f"oracle must be a noise model of one labeler and {labels.num_classes} classes")
        matrix = strata.rows[0, 0]
    with jax.enable_x64(True):
        log_likelihood = np.asarray(noise.log_likelihood(labels), np.float64)
    return State(x, log_likelihood, noisy.prior, noisy, held_out, costs, matrix, labels.tasks,
                 class_names=tuple(labels.class_names))  # fmt: skip


def with_probabilities(state: State, probabilities: Any) -> State:
    """Add p(y | features) of another model, of classes that the labels allow."""
    p, log_likelihood = np.asarray(probabilities, np.float64), state.of_labels
    samples, classes = log_likelihood.shape
    check_shape(p, "probabilities", "samples classes", samples=samples, classes=classes)
    check_rows(p, "probabilities")
    bad = np.flatnonzero(~((p > 0) & (log_likelihood > -np.inf)).any(axis=1))
    if bad.size:
        why = f"is 0 for every class that its labels allow ({bad.size} such)"
        raise ValueError(f"probabilities[{bad[0]}] {why}; give the other classes a small probability")
    return state._replace(probabilities=p)


def _validation(part_of: Any, label: Int[np.ndarray, " samples"], num_classes: int, key: Any) -> np.ndarray:
    size = label.size
    if np.ndim(part_of) == 0:
        if not 0 <= float(part_of) < 1:
            raise ValueError(f"validation is {part_of}; give a share from 0 up to 1, or a mask")
        held_out = np.zeros(size, bool)
        order = host_rng(as_key(key), "validation of a cleaning").permutation(size)
        held_out[order[: round(float(part_of) * size)]] = True
    else:
        held_out = np.asarray(part_of)
        if held_out.shape != (size,) or held_out.dtype != bool:
            raise ValueError(
                f"validation must be a share or {size} booleans; got {held_out.shape} of {held_out.dtype}"
            )
    for part, name in ((held_out, "validation"), (~held_out, "training")):
        missing = sorted(set(range(num_classes)) - set(label[part].tolist()))
        if held_out.any() and missing:
            raise ValueError(f"the {name} part has no sample labelled {missing[0]}; take another split")
    return held_out


def write_state(path: str | Path, state: State) -> None:
    """Write the state as one file; ValueError if an existing file has answers or requests it lacks."""
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(state.model)]
    if any(leaf.dtype == object for leaf in leaves):
        leaves = []  # scikit-learn's: fitted again when it is read
    words = {"answers": state.answers, "pending": state.pending, "trail": state.trail, "doubts": state.doubts}
    answered = {tuple(pair) for pair in state.answers}
    known = {sample for sample, _ in state.answers} | set(state.pending)
    Checkpoint(path, _MARK).write(
        {f"leaf{k}": leaf for k, leaf in enumerate(leaves)},
        words | _begun(state),
        lambda old: set(map(tuple, old["answers"])) <= answered and set(old["pending"]) <= known,
    )


def _begun(state: State) -> dict[str, Any]:
    return {"digest": state.digest, "learner": repr(state.learner), "strategy": state.strategy,
            "seed": state.seed}  # fmt: skip


def read_state(path: str | Path, fresh: State) -> State:
    """Read a state of the same data, learner, strategy and seed as a fresh one (from `start`)."""
    try:
        arrays, words = present(Checkpoint(path, _MARK).read(), "the file")
    except (RuntimeError, ValueError) as error:
        raise ValueError(f"{path} cannot be used as the state of a cleaning: {error}") from None
    for name, value in _begun(fresh).items():
        if words[name] != value:
            kind = "data (digest)" if name == "digest" else name
            raise ValueError(f"{path} is a state of other {kind}: {words[name]} there, {value} here; use the "
                             "input of that state, or start a new one")  # fmt: skip
    answers = tuple((int(i), int(c)) for i, c in words["answers"])
    bad = [sample for sample, _ in answers if not 0 <= sample < len(fresh.x)]
    if bad:
        raise ValueError(f"{path} has answers for samples {some(bad)}, which do not exist")
    trail = tuple(tuple(step) for step in words["trail"])
    pending, doubts = tuple(words["pending"]), tuple(words.get("doubts", ()))
    state = fresh._replace(answers=answers, pending=pending, trail=trail, doubts=doubts)
    if not arrays or "doubts" not in words:  # an older version's model was penalised in other units
        return state.refitted()
    leaves = [arrays[f"leaf{k}"] for k in range(len(arrays))]
    treedef = jax.tree.structure(fresh.model)
    return state._replace(model=jax.tree.unflatten(treedef, leaves))
