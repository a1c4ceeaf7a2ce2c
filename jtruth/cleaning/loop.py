"""The cleaning loop: start, ask, answer, repeat; `clean` runs it against an oracle function.

    state = start(x, labels, noise, prior)
    request = ask(state, 10)                  # ten samples, why these, and what each is expected to bring
    state = answer(request.state, {17: 1, ...})
    write_state("cleaning.state", state)       # go on tomorrow: the same queue, to the bit

After every answer the learner is trained again, and the state's trail has its accuracy, estimated from noisy
labels, and the true one if known.

Strategies are functions (key, state) -> scores: larger is sooner, -inf is never. Docstrings mark what is
certain in the scan of the paper and what is reconstructed (a page is missing between 5.1 and 5.3). The
default is `risk`: the expected reduction of the risk of a noise-aware learner (`expected_fall`).

The probability that a consolidated label is wrong is Bayes from r and the prior (a reconstruction that agrees
with the reference values):  P(y = k | label l) = prior[k] r[k, l] / sum_m prior[m] r[m, l].
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from jtruth._one_line import one_line
from jtruth._random import host_rng, stream
from jtruth._validation import choose, quoted
from jtruth._validation.words import number_of
from jtruth.cleaning.expected_fall import Influence, answer_chances, best_batch, influence, worth
from jtruth.cleaning.learners import Learner, LinearLearner
from jtruth.cleaning.state import State, data_of, model_chances, with_probabilities
from jtruth.labels import Labels
from jtruth.noise import NoiseModel
from jtruth.testing import estimate_counts

Scores = Float[np.ndarray, " samples"]


def label_posterior(state: State) -> Float[np.ndarray, "samples classes"]:
    """P(true class | consolidated label): Bayes from r and the prior, without features."""
    labels = state.consolidated
    joint = labels.prior[None, :] * labels.rates[np.arange(labels.label.size), :, labels.label]
    return joint / joint.sum(axis=1, keepdims=True)


def chance_of_flip(state: State) -> Scores:
    """P(the consolidated label is wrong)."""
    p = label_posterior(state)
    return 1 - p[np.arange(len(p)), state.consolidated.label]


def emi(key: Any, state: State) -> Scores:
    """(16)-(21): sum over flips of P(flip) (eval(f_i) - eval(f)), both estimated by (7) on all of D.

    Reconstructed: P(flip); f_i is estimated on D with label i clean, as in 5.3 for D_i.
    """
    everything = np.ones(len(state.x), bool)
    return _emi(state, everything, learns_sample=True)


def emi_split(key: Any, state: State) -> Scores:
    """The same on held-out noisy samples (5.3, "Splitting the noisy data"); certain, as `emi`."""
    if not state.validation.any():
        raise ValueError("this strategy needs held-out samples: start with validation=1/3, or a mask")
    return _emi(state, state.validation, learns_sample=False)


def emi_split_uncertainty(key: Any, state: State) -> Scores:
    """The paper's TARS, (22)-(23): u(x_i) sigmoid(EMI(i)), u = 1 - P(f(x_i) | x_i). Certain.

    EMI is a difference of accuracies times a probability, so sigmoid(EMI) is 1/2 within a few thousandths and
    this is uncertainty sampling with EMI for ties.
    """
    return uncertainty(key, state) * expit(emi_split(key, state))


def masked_tars(key: Any, state: State) -> Scores:
    """`emi_split_uncertainty` without labels that cannot be wrong, which the paper also selects."""
    return np.where(chance_of_flip(state) > 0, emi_split_uncertainty(key, state), -np.inf)


def sort_noise(key: Any, state: State) -> Scores:
    """The label that is most probably wrong (6.1); certain but for P(flip). Ties are random."""
    return chance_of_flip(state)


def wrong_label(key: Any, state: State) -> Scores:
    """P(the label is wrong) by the features alone, of a model that did not see the label.

    The order of cleanlab, by a model trained with the error rates known (`benchmarks/label_issues.py`).
    """
    chances = answer_chances(state) if state.probabilities is None else state.probabilities
    return 1 - chances[np.arange(len(state.x)), state.labelled]


def expected_error(key: Any, state: State) -> Scores:
    """Roy, McCallum (2001): minus the error expected after the answer, measured on the noisy labels.

    Reconstructed: answer probabilities are those of the model, and the error is the share of training labels
    that the retrained model does not predict.
    """
    chance, where = model_chances(state), ~state.validation
    label = state.consolidated.label
    scores = np.where(state.open, 0.0, -np.inf)
    error_now = (chance.argmax(1) != label)[where].mean()
    for k, rows, predicted in _retrained(state):
        error = (predicted != label[None])[:, where].mean(axis=1)
        scores[rows] -= chance[rows, k] * error
    same = np.flatnonzero(state.open)
    scores[same] -= chance[same, label[same]] * error_now
    return scores


def active_clean(key: Any, state: State) -> Scores:
    """Expected norm of the change of the sample's gradient by an answer (reconstructed)."""
    size = np.linalg.norm(influence(state).changes, axis=2)
    return (model_chances(state) * size).sum(axis=1)


def uncertainty(key: Any, state: State) -> Scores:
    """u(x_i) = 1 - P(f(x_i) | x_i), the uncertainty of the model, without labels."""
    return 1 - model_chances(state).max(axis=1)


def random(key: Any, state: State) -> Scores:
    """Random order."""
    return host_rng(key, "random cleaning").random(len(state.x))


def risk(key: Any, state: State) -> Scores:
    """Expected reduction of the learner's risk per unit of cost (`expected_fall`); not from the paper."""
    return _risk(influence(state), state)


def _risk(effects: Influence, state: State) -> Scores:
    return worth(effects.falls, 1 / state.costs)


STRATEGIES: dict[str, Callable[[Any, State], Scores]] = {
    function.__name__: function
    for function in (risk, masked_tars, emi_split_uncertainty, emi_split, emi, sort_noise, wrong_label,
                     expected_error, active_clean, uncertainty, random)
}  # fmt: skip


def estimated_accuracy(state: State) -> float:
    """Accuracy of the state's model by unbiased counts (7), in [0, 1]: on held-out samples if any."""
    held_out = state.validation
    on = held_out if held_out.any() else np.ones(held_out.size, bool)
    predicted = model_chances(state).argmax(axis=1)
    unbiased = float(_truth(state, on)[np.arange(held_out.size), predicted][on].mean())
    return min(max(unbiased, 0.0), 1.0)


def _truth(state: State, on: Bool[np.ndarray, " samples"]) -> np.ndarray:
    """(7): unbiased substitute for "1 at the true class", 0 outside of `on`."""
    consolidated = state.consolidated
    used = consolidated._replace(label=consolidated.label[on], rates=consolidated.rates[on])
    truth = np.zeros(consolidated.rates.shape[:2])
    truth[on] = estimate_counts(np.zeros(int(on.sum()), np.int64), used).truth
    return truth


def _retrained(state: State) -> Any:
    """(class k, samples that may be asked for and are not labelled k, their retrained predictions)."""
    label, classes = state.consolidated.label, np.arange(state.prior.size)
    for k in classes:
        rows = np.flatnonzero(state.open & (label != k))
        if rows.size:
            certain = np.where(classes == k, 0.0, -np.inf)[None].repeat(rows.size, 0)
            new = state.learner.evidence(certain, state.prior, np.full(rows.size, k))
            data = state.x, state.evidence, ~state.validation
            models = state.learner.retrain(state.model, *data, rows, new)
            yield k, rows, state.learner.predictions(models, state.x)


def _emi(state: State, on: Bool[np.ndarray, " samples"], learns_sample: bool) -> Scores:
    """Expected change of the estimated accuracy over the samples of `on`."""
    size = on.size
    truth = _truth(state, on)
    now = truth[np.arange(size), model_chances(state).argmax(axis=1)][on].mean()
    chance, scores = label_posterior(state), np.where(state.open, 0.0, -np.inf)
    for k, rows, after in _retrained(state):
        right = truth[np.arange(size)[None], after]
        total = right[:, on].sum(axis=1)
        if learns_sample:  # the sample itself is known then
            total += (after[np.arange(rows.size), rows] == k) - right[np.arange(rows.size), rows]
        scores[rows] += chance[rows, k] * (total / on.sum() - now)
    return scores


_LOGISTIC = LinearLearner()


class Request(NamedTuple):
    """Samples to ask an oracle about, the best first."""

    samples: Int[np.ndarray, " asked"]
    tasks: tuple  # their ids, or their numbers
    scores: Float[np.ndarray, " asked"]
    reasons: tuple[str, ...]
    state: State  # with these samples pending: hand it to `answer`
    effects: Influence | None = None  # of all possible answers, by which strategy "risk" asks

    __repr__ = one_line


def start(
    x: Any,
    labels: Labels,
    noise: NoiseModel,
    prior: Any,
    *,
    learner: Learner = _LOGISTIC,
    strategy: str = "risk",
    seed: int = 0,
    **data: Any,
) -> State:
    """Check the data of a cleaning and train the learner on the noisy labels.

    Args:
        x: (samples, features), finite numbers.
        labels: of the same samples.
        noise: of known (or learned) error rates.
        prior: (classes,), positive.
        learner: `LinearLearner` (default: the likelihood (32), known noise), `SklearnLearner` or your own.
        strategy: a name in `STRATEGIES`.
        seed: of ties and random choices.
        data: `validation` (share or mask of samples held out, which the `emi_split` strategies need), `costs`
            (samples,) of asking, `oracle` (a `NoiseModel` of one labeler whose answers are labels),
            `probabilities` (samples, classes), p(y | features) of a model that did not see these labels, for
            the expected answers of "risk"; by default those of the learner trained with known noise.

    Raises:
        ValueError: features that are no finite numbers, costs that are not positive, a validation split
            without one of the classes, an oracle or probabilities of other classes, an unknown strategy.

    Example:
        >>> import numpy as np, jtruth as jt
        >>> x = np.array([[-2.0], [-1.0], [1.0], [2.0]])
        >>> labels = jt.Labels.from_matrix(np.array([[0], [1], [1], [1]]), 2)
        >>> state = start(x, labels, jt.noise.Symmetric(0.3, 2), [0.5, 0.5])
        >>> request = ask(state, 1)
        >>> asked = request.tasks[0]
        >>> len(answer(request.state, {asked: 0}).answers)
        1
    """
    choose("strategy", strategy, tuple(STRATEGIES))
    probabilities = data.pop("probabilities", None)
    state = data_of(x, labels, noise, prior, key=seed, **data)
    if probabilities is not None:
        state = with_probabilities(state, probabilities)
    return state._replace(learner=learner, strategy=strategy, seed=seed).refitted()


def ask(state: State, num: int = 1) -> Request:
    """The next samples to ask an oracle about, by the state's strategy.

    Equal scores are ordered at random, by the seed. Strategy "risk" corrects a batch for overlap.

    Raises:
        ValueError: fewer samples are left than asked for.
    """
    free = state.open
    if not 1 <= num <= free.sum():
        num_open = int(free.sum())
        left = number_of(num_open, "sample is", "samples are")
        raise ValueError(f"num is {num}, but {left} left to ask for; give 1 to {num_open}")
    key = stream(state.seed, "cleaning", len(state.answers), len(state.pending))
    effects = influence(state) if state.strategy == "risk" else None
    scores = STRATEGIES[state.strategy](key, state) if effects is None else _risk(effects, state)
    if effects is not None and num > 1:
        chosen = np.array(best_batch(effects, free / state.costs, num))
    else:
        shuffled = host_rng(key, "ties of scores").permutation(scores.size)
        order = shuffled[np.argsort(-np.where(free, scores, -np.inf)[shuffled], kind="stable")]
        chosen = order[:num]
    names = tuple(state.task_names[i] for i in chosen)
    asked = state._replace(pending=(*state.pending, *map(int, chosen)))
    chance, label, classes = answer_chances(state), state.labelled, state.class_names
    model = model_chances(state)
    reasons = tuple(
        f"label: {classes[label[i]]}; model: {classes[model[i].argmax()]} ({model[i].max():.2f}); "
        f"combined posterior: {classes[chance[i].argmax()]} ({chance[i].max():.2f})"
        for i in chosen
    )
    return Request(chosen, names, scores[chosen], reasons, asked, effects)


def answer(state: State, classes: Mapping[Any, int], *, truth: tuple[Any, Any] | None = None) -> State:
    """Add an oracle's answers to a state.

    Args:
        state: the `state` of a `Request`.
        classes: sample's task id (or its number) -> class code.
        truth: (x, y) of test samples, to follow the true accuracy as well.

    Raises:
        ValueError: a sample that was never asked for, or one answered before with another class.
    """
    number = {task: i for i, task in enumerate(state.task_names)}
    known, new = dict(state.answers), []
    unknown = [task for task in classes if task not in number]
    if unknown:
        raise ValueError(f"there is no sample {quoted(unknown)}")
    for task, label in classes.items():
        i, label = number[task], int(label)
        if not 0 <= label < state.prior.size:
            raise ValueError(f"the answer for {task!r} is {label}; classes are 0..{state.prior.size - 1}")
        if known.get(i, label) != label:
            raise ValueError(f"sample {task!r} was answered {known[i]} before and {label} now; for an oracle "
                             "that errs give oracle=..., and ask once")  # fmt: skip
        if i in known:
            continue
        if i not in state.pending:
            raise ValueError(f"sample {task!r} was never asked for; answer() takes the state of ask()")
        if not (np.isfinite(state.log_likelihood[i]) & (state.oracle[:, label] > 0)).any():
            raise ValueError(f"the answer {label} for sample {task!r} contradicts labelers with error "
                             "rate 0; give them a small error rate")  # fmt: skip
        new.append((i, label))
        known[i] = label
    left = tuple(i for i in state.pending if i not in known)
    return followed(state._replace(answers=(*state.answers, *new), pending=left).refitted(), truth)


def followed(state: State, truth: tuple[Any, Any] | None) -> State:
    """The state with another step in its trail."""
    true = None
    if truth is not None:
        x, y = (np.asarray(part) for part in truth)
        true = float((state.learner.probabilities(state.model, x).argmax(axis=1) == y).mean())
    return state._replace(trail=(*state.trail, (len(state.answers), estimated_accuracy(state), true)))


def clean(
    state: State,
    oracle: Callable[[int], int],
    budget: int,
    *,
    batch: int = 1,
    truth: tuple[Any, Any] | None = None,
) -> State:
    """Ask and answer until the budget is spent.

    Args:
        state: from `start`, or a later one.
        oracle: sample number -> class code.
        budget: number of answers.
        batch: samples asked for at a time.
        truth: (x, y) of test samples, to follow the true accuracy as well.

    Raises:
        ValueError: a budget larger than the number of samples that are left.
    """
    if not 0 <= budget <= state.open.sum():
        left = number_of(int(state.open.sum()), "sample is", "samples are")
        raise ValueError(f"budget is {budget}, but {left} left to ask for")
    if not state.trail:
        state = followed(state, truth)
    while budget:
        request = ask(state, min(batch, budget))
        names = request.tasks
        answers = {name: oracle(int(i)) for name, i in zip(names, request.samples, strict=True)}
        state = answer(request.state, answers, truth=truth)
        budget -= len(names)
    return state
