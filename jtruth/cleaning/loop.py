"""The loop: start, ask, answer, and again; `clean` runs it against an oracle that is a function.

    state = start(x, labels, noise, prior)
    request = ask(state, 10)                  # ten samples, why these, and what each is expected to bring
    state = answer(request.state, {17: 1, ...})
    write_state("cleaning.json", state)       # go on tomorrow: the same queue, to the bit

States are values: asking and answering return new ones. After every answer the learner is trained again, and
the state's trail says how good it is, as estimated from noisy labels, and truly where that is known.
"""

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth._one_line import one_line
from jtruth._random import host_rng, stream
from jtruth._validation import choose, quoted
from jtruth.cleaning.expected_fall import answer_chances, best_batch, influence
from jtruth.cleaning.learners import Fitted, Learner, LinearLearner
from jtruth.cleaning.state import Answer, State, Step, problem_of, told
from jtruth.cleaning.strategies import STRATEGIES, estimated_accuracy
from jtruth.labels import Labels
from jtruth.noise import NoiseModel

_LOGISTIC = LinearLearner()


class Request(NamedTuple):
    """Samples to ask an oracle about, the best first."""

    samples: Int[np.ndarray, " asked"]
    tasks: tuple  # their ids, or their numbers
    scores: Float[np.ndarray, " asked"]
    reasons: tuple[str, ...]
    state: State  # with these samples pending: hand it to `answer`

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
    probabilities: Any = None,
    **data: Any,
) -> State:
    """A cleaning that has not begun: data checked, the learner trained on the noisy labels.

    Args:
        x: (samples, features), finite numbers.
        labels: of the same samples.
        noise: of known (or learned) error rates.
        prior: (classes,), positive.
        learner: what is trained; logistic regression by the likelihood (32) with known noise by default.
        strategy: a name in `STRATEGIES`.
        seed: of ties and random choices.
        probabilities: (samples, classes) p(y | features) of a model that did not see these labels, from which
            "risk" knows what to expect; the learner's, trained with the noise known, if None.
        data: `validation` (share or mask of samples held out, which the `emi_split` strategies need),
            `costs` (samples,) of asking, `oracle` (a `NoiseModel` of one labeler: an answer is a label then).

    Raises:
        ValueError: what `problem_of` and `told` refuse, or an unknown strategy.
        RuntimeError: the learner does not converge.

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
    problem = told(problem_of(x, labels, noise, prior, key=seed, **data), probabilities)
    return State(problem, learner, strategy, seed, Fitted(None, True)).refitted()


def ask(state: State, num: int = 1) -> Request:
    """The next samples to ask an oracle about, by the state's strategy.

    Equal scores are ordered at random, by the seed. Strategy "risk" corrects a batch for overlap.

    Raises:
        ValueError: fewer samples are left than asked for.
    """
    free = state.open
    if not 1 <= num <= free.sum():
        raise ValueError(
            f"num is {num}, and {int(free.sum())} samples may still be asked for; give 1 to that"
        )
    key = stream(state.seed, "cleaning", len(state.answers), len(state.pending))
    scores = STRATEGIES[state.strategy](key, state)
    if state.strategy == "risk" and num > 1:
        chosen = np.array(best_batch(influence(state), free / state.problem.costs, num))
    else:
        shuffled = host_rng(key, "ties of scores").permutation(scores.size)
        order = shuffled[np.argsort(-np.where(free, scores, -np.inf)[shuffled], kind="stable")]
        chosen = order[:num]
    tasks = state.problem.tasks
    names = tuple(tasks[i] for i in chosen) if tasks is not None else tuple(map(int, chosen))
    asked = state._replace(pending=(*state.pending, *map(int, chosen)))
    return Request(chosen, names, scores[chosen], _reasons(state, chosen), asked)


def _reasons(state: State, chosen: np.ndarray) -> tuple[str, ...]:
    """What speaks for asking, in words."""
    chance, label = answer_chances(state), state.consolidated.label
    model = state.learner.probabilities(state.fitted.model, state.problem.x)
    return tuple(
        f"labelled {label[i]}; the model says {int(model[i].argmax())} ({model[i].max():.2f}); "
        f"labels and model together {int(chance[i].argmax())} ({chance[i].max():.2f})"
        for i in chosen
    )


def answer(state: State, classes: Mapping[Any, int], *, truth: tuple[Any, Any] | None = None) -> State:
    """A new state that knows what the oracle said.

    Args:
        state: the `state` of a `Request`.
        classes: sample's task id (its number, where there are none) -> class code.
        truth: (x, y) of test samples, to follow the true accuracy as well.

    Raises:
        ValueError: a sample that was never asked for, or one answered before with another class.
        RuntimeError: the learner does not converge; the old state is still good.
    """
    number = {task: i for i, task in enumerate(state.problem.tasks or range(len(state.problem.x)))}
    p, known, new = state.problem, dict(state.answers), []
    unknown = [task for task in classes if task not in number]
    if unknown:
        raise ValueError(f"there is no sample {quoted(unknown)}")
    for task, label in classes.items():
        i, label = number[task], int(label)
        if not 0 <= label < state.problem.prior.size:
            raise ValueError(f"the answer for {task!r} is {label}; classes are 0..{p.prior.size - 1}")
        if known.get(i, label) != label:
            raise ValueError(f"sample {task!r} was answered before, {known[i]}, and is {label} now; an "
                             "oracle that errs is said by oracle=..., and asked once")  # fmt: skip
        if i in known:
            continue
        if i not in state.pending:
            raise ValueError(f"sample {task!r} was never asked for; answer() takes the state of ask()")
        if not (np.isfinite(state.log_likelihood[i]) & (state.problem.oracle[:, label] > 0)).any():
            raise ValueError(f"the answer {label} for sample {task!r} contradicts labelers that "
                             "cannot err; give them a small error probability")  # fmt: skip
        new.append(Answer(i, label))
        known[i] = label
    left = tuple(i for i in state.pending if i not in known)
    return followed(state._replace(answers=(*state.answers, *new), pending=left).refitted(), truth)


def followed(state: State, truth: tuple[Any, Any] | None) -> State:
    """The state with one step more in its trail."""
    true = None
    if truth is not None:
        x, y = (np.asarray(part) for part in truth)
        true = float((state.learner.probabilities(state.fitted.model, x).argmax(axis=1) == y).mean())
    step = Step(len(state.answers), estimated_accuracy(state), true)
    return state._replace(trail=(*state.trail, step))


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
        raise ValueError(f"budget is {budget}, and {int(state.open.sum())} samples may be asked for")
    if not state.trail:
        state = followed(state, truth)
    while budget:
        request = ask(state, min(batch, budget))
        names = request.tasks
        said = {name: oracle(int(i)) for name, i in zip(names, request.samples, strict=True)}
        state = answer(request.state, said, truth=truth)
        budget -= len(names)
    return state
