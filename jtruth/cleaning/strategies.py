"""Which label should be cleaned next? The strategies of the paper, each a function (key, state) -> scores.

Larger is sooner; -inf is never. What the scan of the paper leaves certain, and what is reconstructed (a page
is missing between 5.1 and 5.3), is said at each. All train what the state's learner trains.

By default jtruth asks by `risk`: the expected fall of the risk of a noise-aware learner (`expected_fall`).

The probability that a label is wrong, given the consolidated label alone, is Bayes from r and the prior (a
reconstruction; the reference values agree):  P(y = k | label l) = prior[k] r[k, l] / sum_m prior[m] r[m, l].
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import expit

from jtruth._random import host_rng
from jtruth.cleaning.expected_fall import influence, worth
from jtruth.cleaning.state import State
from jtruth.testing import estimate_counts

Scores = Float[np.ndarray, " samples"]


def label_posterior(state: State) -> Float[np.ndarray, "samples classes"]:
    """P(true class | consolidated label): Bayes from r and the prior; features have no say."""
    given = state.consolidated
    joint = given.prior[None, :] * given.rates[np.arange(given.label.size), :, given.label]
    return joint / joint.sum(axis=1, keepdims=True)


def chance_of_flip(state: State) -> Scores:
    """P(the consolidated label is wrong)."""
    p = label_posterior(state)
    return 1 - p[np.arange(len(p)), state.consolidated.label]


def emi(key: Any, state: State) -> Scores:
    """(16)-(21): sum over flips of P(flip) (eval(f_i) - eval(f)), both estimated by (7) on all of D.

    Certain: the product of P(flip) and the change of the estimated accuracy of the retrained model.
    Reconstructed: P(flip) (module docstring); f_i is estimated on D with label i clean, as 5.3 says of D_i.
    """
    everything = np.ones(len(state.problem.x), bool)
    return _emi(state, everything, own_truth=True)


def emi_split(key: Any, state: State) -> Scores:
    """The same on held-out noisy samples (5.3, "Splitting the noisy data"); certain, as `emi`."""
    if not state.problem.validation.any():
        raise ValueError("this strategy estimates on held-out samples: start with validation=1/3, or a mask")
    return _emi(state, state.problem.validation, own_truth=False)


def emi_split_uncertainty(key: Any, state: State) -> Scores:
    """The paper's TARS, (22)-(23): u(x_i) sigmoid(EMI(i)), u = 1 - P(f(x_i) | x_i). Certain.

    EMI is a difference of accuracies times a probability, so sigmoid(EMI) is 1/2 within a few thousandths
    and this is uncertainty sampling with EMI for ties.
    """
    return uncertainty(key, state) * expit(emi_split(key, state))


def masked_tars(key: Any, state: State) -> Scores:
    """`emi_split_uncertainty` without labels that cannot be wrong, which the paper asks for as well. Ours."""
    return np.where(chance_of_flip(state) > 0, emi_split_uncertainty(key, state), -np.inf)


def sort_noise(key: Any, state: State) -> Scores:
    """The label that is most probably wrong (6.1); certain but for P(flip). Equal ones go by lot."""
    return chance_of_flip(state)


def expected_error(key: Any, state: State) -> Scores:
    """Roy, McCallum (2001): minus the error expected after the answer, measured on the noisy labels.

    Certain: that error is measured on noisy labels. Reconstructed: answers as probable as the model says, and
    the share of training labels that the retrained model does not predict as the error.
    """
    p, where = state.problem, ~state.problem.validation
    chance = state.learner.probabilities(state.fitted.model, p.x)
    label = state.consolidated.label
    scores = np.full(len(p.x), -np.inf)
    scores[state.open] = 0.0
    here = (state.learner.probabilities(state.fitted.model, p.x).argmax(1) != label)[where].mean()
    for k, rows, predicted in _retrained(state):
        error = (predicted != label[None])[:, where].mean(axis=1)
        scores[rows] -= chance[rows, k] * error
    same = np.flatnonzero(state.open)
    scores[same] -= chance[same, label[same]] * here
    return scores


def active_clean(key: Any, state: State) -> Scores:
    """The answer that changes the model most: expected size of the gradient's change.

    Certain: "would impart the greatest change to the current model". Reconstructed: the change is the norm of
    the difference of the sample's gradients before and after, and the answer as probable as the model says.
    """
    found = influence(state)
    size = np.linalg.norm(found.changes, axis=2)
    chance = state.learner.probabilities(state.fitted.model, state.problem.x)
    return (chance * size).sum(axis=1)


def uncertainty(key: Any, state: State) -> Scores:
    """u(x_i) = 1 - P(f(x_i) | x_i): how unsure the model is; labels have no say."""
    return 1 - state.learner.probabilities(state.fitted.model, state.problem.x).max(axis=1)


def random(key: Any, state: State) -> Scores:
    """All alike."""
    return host_rng(key, "random cleaning").random(len(state.problem.x))


def risk(key: Any, state: State) -> Scores:
    """Ours: expected fall of the believed risk of the learner per unit of cost (`expected_fall`)."""
    return worth(influence(state).falls, 1 / state.problem.costs)


STRATEGIES: dict[str, Callable[[Any, State], Scores]] = {
    function.__name__: function
    for function in (risk, masked_tars, emi_split_uncertainty, emi_split, emi, sort_noise, expected_error,
                     active_clean, uncertainty, random)
}  # fmt: skip


def estimated_accuracy(state: State) -> float:
    """Accuracy of the state's model by unbiased counts (7): on held-out samples where there are some."""
    held = state.problem.validation
    on = held if held.any() else np.ones(held.size, bool)
    predicted = state.learner.probabilities(state.fitted.model, state.problem.x).argmax(axis=1)
    return float(_truth(state, on)[np.arange(held.size)[on], predicted[on]].mean())


def _truth(state: State, on: Bool[np.ndarray, " samples"]) -> np.ndarray:
    """(7): what stands in the place of "1 at the true class", 0 outside of `on`."""
    given = state.consolidated
    some = given._replace(label=given.label[on], rates=given.rates[on])
    truth = np.zeros(given.rates.shape[:2])
    truth[on] = estimate_counts(np.zeros(int(on.sum()), np.int64), some).truth
    return truth


def _retrained(state: State) -> Any:
    """(class k, samples that may be asked for and are not labelled k, their retrained predictions)."""
    p, label = state.problem, state.consolidated.label
    for k in range(p.prior.size):
        rows = np.flatnonzero(state.open & (label != k))
        if rows.size:
            certain = np.where(np.arange(p.prior.size) == k, 0.0, -np.inf)[None].repeat(rows.size, 0)
            new = state.learner.evidence(certain, p.prior, np.full(rows.size, k))
            models = state.learner.retrain(state.fitted.model, p.x, state.evidence, ~p.validation, rows, new)
            yield k, rows, state.learner.predictions(models, p.x)


def _emi(state: State, on: Bool[np.ndarray, " samples"], own_truth: bool) -> Scores:
    """Expected change of the estimated accuracy over the samples of `on`."""
    size = on.size
    truth = _truth(state, on)
    predicted = state.learner.probabilities(state.fitted.model, state.problem.x).argmax(axis=1)
    now = truth[np.arange(size), predicted][on].mean()
    chance = label_posterior(state)
    scores = np.full(size, -np.inf)
    scores[state.open] = 0.0
    for k, rows, after in _retrained(state):
        each = truth[np.arange(size)[None], after]
        total = each[:, on].sum(axis=1)
        if own_truth:  # the sample itself is known then
            total += (after[np.arange(rows.size), rows] == k) - each[np.arange(rows.size), rows]
        scores[rows] += chance[rows, k] * (total / on.sum() - now)
    return scores
