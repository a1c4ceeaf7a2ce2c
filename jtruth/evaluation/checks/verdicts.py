"""Model checks of a result: each has a p-value, a verdict and an action.

Learned error rates are checked against the model of independent errors by parametric bootstrap
(`checks.bootstrap`): labels that fit raise one or more alarms in 5 of 100 sets. Given error rates and a class
prior are checked in three ways, with Holm's correction: `prior_score`, `label_distribution` and
`classifier_dependence`. Raters with shared mistakes look like better raters, so a passed check proves
nothing. The power of the checks: `benchmarks/checks.py`.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, Num
from scipy.special import chdtrc

from jtruth._host import cross_table, log, log_sum, softmax
from jtruth._random import Key, host_rng, stream, streams
from jtruth._validation import present
from jtruth._validation.words import part_of, some
from jtruth.evaluation.checks.bootstrap import ALIKE, Component, bootstrap, holm, largest
from jtruth.evaluation.checks.first_look import chance_check
from jtruth.evaluation.checks.label_sets import Parameters, Sets, with_classifier
from jtruth.evaluation.checks.of_labels import groups_check, missing_check
from jtruth.evaluation.inputs import Inputs, Model
from jtruth.evaluation.parts import WORTH_KNOWING, Check
from jtruth.labels import Labels
from jtruth.noise import NoiseModel

ALARM = 0.05
FEW_LABELS = 10  # of a labeler
GOLD_TELLS = "verify 30 or more random samples, and compare"
SATURATED = (
    "with {} raters and {} classes, any labels fit independent errors, so this cannot be checked. Collect "
    "labels of one more labeler, or verify 30 random samples"
)
# By name of the check: what fits, what does not, what to do.
LEARNED = {
    "label patterns": (
        "label patterns are as frequent as independent errors predict",
        "label patterns are not as frequent as independent errors predict",
        "Intervals that assume independence are too narrow and may be biased: " + GOLD_TELLS,
    ),
    "pairwise agreement": (
        "every pair of raters agrees as often as the model predicts",
        "{} agree {} often than independent errors predict",
        "Check whether one saw the other's answers, or whether some samples are hard for both",
    ),
    "labeler misfit": (
        "each rater agrees with the others as the model predicts",
        "{} does not agree with the other raters as the model predicts",
        "Look at this rater's labels, and evaluate without them",
    ),
    "labelers share errors": (
        "labelers share errors as often as the model predicts",
        "in class {}, labelers share errors {} often than the model predicts",
        "Each label adds less information: evaluate with assume='shared_difficulty', or " + GOLD_TELLS,
    ),
    "classifier and hard samples": (
        "the classifier's errors are unrelated to those of the labelers",
        "in class {}, the classifier errs {} often on samples that labelers get wrong",
        "Independence is violated: leave assume out, or " + GOLD_TELLS,
    ),
    "classifier and single labelers": (
        "the classifier's errors are unrelated to those of any single labeler",
        "the classifier errs {1} often where {0} errs",
        "Check whether the classifier was trained on this labeler's labels; evaluate without them",
    ),
    "given prior": (
        "the labels do not contradict the given class prior",
        "the labels contradict the given class prior",
        "Leave prior out to learn it, or check whether the samples come from another population",
    ),
}
# The same where error rates were given; every other name is one of what the classifier's errors may go with.
GIVEN = {
    "given prior": (
        "the labels do not contradict the given class prior",
        "these labels are far more likely under another class prior",
        "Leave prior out to integrate it out, or check whether the samples come from another population",
    ),
    "given error rates": (
        "class frequencies and agreement of labelers match the given error rates",
        "class frequencies and agreement of labelers contradict the given error rates",
        "Leave noise out to learn them, or " + GOLD_TELLS,
    ),
}
CLASSIFIER = (
    "given the class, the classifier's errors are unrelated to it",
    "given the class, the classifier's errors depend on it, so they are not independent of the labels",
    GOLD_TELLS.capitalize(),
)
SAME, DIFFERENT = (
    "no difference in accuracy between labelers is visible",
    "labelers differ in accuracy (most unusual: {}). The estimates account for that; the majority vote does "
    "not",
)
MOST_LABELS = 500_000  # more are not simulated
BLIND = {"given error rates": f"not checked: more than {MOST_LABELS} labels, repeated labels, or too few"}
NO_DOUBT = "labels leave no uncertainty to compare with"
_SETS = 199
_LABELS = 20_000_000  # of all simulated sets together; more labels, fewer sets
_TOGETHER = 25
_SAMPLES = 5_000  # samples that predictions are simulated for
_LEAST_SHARED = 5


def checks_of(data: Inputs, model: Model) -> tuple[Check, ...]:
    """Checks of independent errors, or of given error rates and prior."""
    key, by_chance = stream(data.key, "checks"), chance_check(data, model)
    if model.refusal is not None:
        checks = refused(model.refusal)
    elif data.model is not None:
        checks = given_checks(data, model, key)
    else:
        raters = with_classifier(data.own_labels(), data.y_pred)
        start = model.prior[None], present(model.matrices, "the learned rates")[None]
        checks = learned_checks(raters, start, key, gold=data.gold, prior=data.prior)
        checks += groups_check(data.own_labels(), key)
        if model.fit is not None:
            checks += data.missing or missing_check(data.own_labels(), model.fit.class_posterior)
    return (*checks, *by_chance)


def _judged(
    name: str, words: tuple[str, str, str], value: float, p_value: float, adjusted: float,
    *, before: str = "", after: str = "", of: tuple[str, ...] = (),
) -> Check:  # fmt: skip
    """Verdict on a check by its adjusted p-value; `words`: if it fits, if not (with `of`), what to do."""
    fits, misfit, to_do = words
    size = f"{before}p = {p_value:.2g}"
    if p_value < ALARM <= adjusted:
        size += f", {adjusted:.2g} adjusted for all checks"
    size += after
    if adjusted >= ALARM:
        return Check(name, value, p_value, "fits", f"{fits} ({size})")
    return Check(name, value, p_value, "does not fit", f"{misfit.format(*of)} ({size}). {to_do}")


def learned_checks(
    raters: Labels,
    start: Parameters,
    key: Key,
    *,
    gold: np.ndarray | None = None,
    prior: np.ndarray | None = None,
) -> tuple[Check, ...]:
    """All checks of independent errors for learned rates; the last rater is the classifier."""
    classes, size = raters.num_classes, int((raters.labels_per_labeler() > 0).sum())
    free = (classes - 1) * (size * classes + (prior is None))
    if (gold is None or not (gold >= 0).any()) and size < 30 and classes**size - 1 <= free:
        text = SATURATED.format(size, classes)
        return (Check("label patterns", None, None, "cannot be seen", text), *few_labels(raters))
    components, adjusted, sets = bootstrap(raters, start, key, gold=gold, prior=prior)
    there = [name for name in LEARNED if name in components]
    checks = [_learned(name, components[name], adjusted[name], sets, raters, free) for name in there]
    if ALIKE in components:
        ranks, worst, value = components[ALIKE]  # no misfit: learned error rates take it into account
        p_value, far = float(ranks[0]), _rater(worst % (raters.num_labelers - 1), raters)
        verdict, text = ("fits", SAME) if p_value >= ALARM else (WORTH_KNOWING, DIFFERENT.format(far))
        checks.append(Check(ALIKE, value, p_value, verdict, f"{text} (p = {p_value:.2g})"))
    return (*checks, *few_labels(raters))


def labeler_checks(
    labels: Labels, prior: np.ndarray, matrices: np.ndarray, key: Key, *, gold: np.ndarray | None = None
) -> tuple[Check, ...]:
    """The same checks without a classifier, at a learned prior and matrices of the labelers."""
    labeled = np.flatnonzero(labels.labels_per_sample() > 0)
    nobody = np.full(labeled.size, -1)  # a classifier without predictions as the last rater
    even = np.full((1, *matrices.shape[1:]), 1 / matrices.shape[1])
    start = prior[None], np.concatenate([matrices, even])[None]
    known = None if gold is None else gold[labeled]
    raters = with_classifier(labels.restrict(labeled), nobody)
    return (*learned_checks(raters, start, key, gold=known), *groups_check(labels, key))


def _learned(name: str, misfit: Component, adjusted: float, sets: Sets, raters: Labels, free: int) -> Check:
    ranks, worst, value = misfit
    size, part, num_samples = f"{abs(value):.1f} standard deviations, ", "", int(sets.weight[0].sum())
    if name == "label patterns":
        freedom = sets.known.size - sets.kind_size.size - free
        size = f"G2 = {value:.1f} on {freedom} degrees of freedom, "
    elif name == "given prior":
        size = f"likelihood ratio {value:.1f}, "
    if num_samples < raters.num_samples:
        part = f"; from {num_samples} of {raters.num_samples} samples"
    if name in ("labelers share errors", "classifier and hard samples"):
        place = repr(str(raters.class_names[worst]))
    elif name == "pairwise agreement":
        place = " and ".join(_rater(t, raters) for t in sets.pairs[worst])
    else:
        place = _rater(worst, raters)
    of = (place, "more" if value > 0 else "less")
    return _judged(name, LEARNED[name], value, float(ranks[0]), adjusted, before=size, after=part, of=of)


def _rater(t: int | np.integer, raters: Labels) -> str:
    if t == raters.num_labelers - 1:
        return "the classifier"
    return f"labeler {str(raters.workers[t])!r}" if raters.workers else f"labeler {t}"


def few_labels(raters: Labels) -> tuple[Check, ...]:
    """Check the number of labels from which error rates are learned; the classifier is the last rater."""
    per_labeler = raters.labels_per_labeler()[:-1]
    per_sample = float(per_labeler.sum()) / max(raters.num_samples, 1)
    rare = np.flatnonzero(per_labeler < FEW_LABELS)
    if per_sample >= 2 and rare.size == 0:
        text = f"{per_sample:.1f} labels per sample, at least {per_labeler.min()} by every labeler"
        return (Check("enough labels", per_sample, None, "fits", text),)
    few = f"{per_sample:.1f} labels per sample cannot show shared errors. Collect a second and third label"
    parts = [few] if per_sample < 2 else []
    if rare.size:
        names = some([_rater(t, raters) for t in rare[:3]], 3, rare.size)
        parts.append(
            f"{part_of(rare.size, per_labeler.size, 'labeler')} fewer than {FEW_LABELS} labels ({names}), so "
            "these error rates are mostly prior. Collect more labels of fewer labelers, or verified labels"
        )
    return (Check("enough labels", per_sample, None, "cannot be seen", ". ".join(parts)),)


def refused(refusal: str) -> tuple[Check, ...]:
    """The check of a result that is not identified."""
    name = "switching" if "switched" in refusal else "identified"
    return (Check(name, None, None, "cannot be seen", refusal),)


def given_checks(data: Inputs, model: Model, key: Key) -> tuple[Check, ...]:
    """Checks of given error rates (and of a given prior)."""
    first, _, times, free = data.distinct_rows
    labels, noise, prior = data.labels, data.noise, model.prior
    scores: dict[str, tuple[float, float]] = {}  # value and p-value by name
    if data.prior is not None and (prior > 0).all():
        of_prior = prior_score(model.log_likelihood[first[free]], prior, times[free])
        scores |= {} if of_prior is None else {"given prior": of_prior}
    dists: dict[str, Component | None] = {}
    if labels is not None and noise is not None:
        possible = labels.num_labels <= MOST_LABELS and not labels.patterns().labels.has_repeats()
        dists["given error rates"] = label_distribution(labels, noise, prior, key) if possible else None
    dists |= classifier_dependence(data, model, key)
    scores |= {name: (dist[2], float(dist[0][0])) for name, dist in dists.items() if dist is not None}
    blind = {name: BLIND.get(name, NO_DOUBT) for name, dist in dists.items() if dist is None}
    adjusted = holm(np.array([p for _, p in scores.values()]))
    each = zip(scores.items(), adjusted, strict=True)
    checks = (_judged(name, GIVEN.get(name, CLASSIFIER), *score, p) for (name, score), p in each)
    return (*checks, *(Check(name, None, None, "cannot be seen", text) for name, text in blind.items()))


def prior_score(
    log_likelihood: np.ndarray, prior: np.ndarray, times: np.ndarray
) -> tuple[float, float] | None:
    """Score statistic of a positive class prior, chi2 on classes - 1 degrees of freedom, and its p-value."""
    log_p = log_sum(log_likelihood + log(prior))[:, None]
    ratio = np.exp(log_likelihood - log_p)
    score = ratio[:, :-1] - ratio[:, -1:]
    information = score.T @ (score * times[:, None])
    values, vectors = np.linalg.eigh(information)
    alive = values > 1e-9 * max(values[-1], 1e-300)
    if len(score) == 0 or not alive.any() or values[-1] < 1e-12:
        return None  # no information about the classes
    along = vectors[:, alive].T @ (times @ score)
    statistic = float((along**2 / values[alive]).sum())
    return statistic, float(chdtrc(int(alive.sum()), statistic))


def label_distribution(labels: Labels, noise: NoiseModel, prior: np.ndarray, key: Key) -> Component | None:
    """Label frequencies and agreements against those of labels drawn from the given model."""
    z = labels.to_matrix()
    mask = z >= 0
    rng = host_rng(key, "label law")
    shared = mask.T.astype(np.float64) @ mask
    pairs = np.argwhere(np.triu(shared, 1) >= _LEAST_SHARED)
    sets = [_label_statistics(z, labels.num_classes, pairs)]
    repetitions = int(np.clip(_LABELS // max(labels.num_labels, 1), 39, _SETS))
    where = jnp.asarray(mask)
    for draw_key in streams(key, "label law", repetitions):
        y = rng.choice(prior.size, size=len(z), p=prior).astype(np.int32)
        drawn = np.asarray(_drawn(noise, draw_key, y, where))
        sets.append(_label_statistics(drawn, labels.num_classes, pairs))
    return largest(np.array(sets))


@jax.jit
def _drawn(noise: NoiseModel, key: jax.Array, y: jax.Array, mask: jax.Array) -> jax.Array:
    return noise.sample(key, y, mask)


def _label_statistics(z: np.ndarray, classes: int, pairs: np.ndarray) -> np.ndarray:
    """All agreements together, label counts of each labeler and class, agreements of each pair."""
    votes = (z[:, :, None] == np.arange(classes)).astype(np.float32)
    flat = np.moveaxis(votes, 1, 0).reshape(z.shape[1], -1)
    agree = (flat @ flat.T)[pairs[:, 0], pairs[:, 1]]
    return np.concatenate([[agree.sum()], votes.sum(axis=0).ravel(), agree])


def classifier_dependence(data: Inputs, model: Model, key: Key) -> dict[str, Component | None]:
    """Association of the classifier's errors, given the class, with covariates of the sample."""
    rng, chosen, classes = host_rng(key, "dependence"), np.arange(data.y_pred.size), model.prior.size
    if chosen.size > _SAMPLES:
        chosen = rng.choice(chosen.size, _SAMPLES, replace=False)
    row = data.distinct_rows[1][chosen]
    _, first, of_row = np.unique(row, return_index=True, return_inverse=True)
    h = softmax(model.log_likelihood[chosen[first]] + log(model.prior))
    against = _covariates(data, h, chosen[first])
    real = cross_table(of_row, data.y_pred[chosen], h.shape)[None]
    even = np.full((1, classes, classes), 1 / classes)
    rates = _classifier_rates(h, real, even, max_steps=200)
    chance = h @ rates[0]  # of each prediction, in each row
    chance /= chance.sum(axis=1, keepdims=True)
    sets = [_dependence(h, real, rates, against)]
    for k in range(0, _SETS, _TOGETHER):
        shape = (min(_TOGETHER, _SETS - k), len(h))
        drawn = rng.multinomial(real[0].sum(axis=1), chance, size=shape)
        sets.append(_dependence(h, drawn, rates, against))
    return {name: largest(np.concatenate([part[name] for part in sets])) for name in against}


def _classifier_rates(
    h: Float[np.ndarray, "rows classes"],
    number: Num[np.ndarray, "sets rows classes"],
    start: Float[np.ndarray, "1 classes classes"],
    max_steps: int = 8,
) -> Float[np.ndarray, "sets classes classes"]:
    """Maximum-likelihood error rates of the classifier by EM, given `number` of samples by prediction."""
    rates = np.broadcast_to(start, (len(number), *start.shape[1:]))
    for _ in range(max_steps):
        new = rates * (h.T @ (number / np.maximum(h @ rates, 1e-300))) + 0.01
        new /= new.sum(axis=2, keepdims=True)
        moved, rates = np.abs(new - rates).max(), new
        if moved < 1e-4:
            break
    return rates


def _dependence(
    h: Float[np.ndarray, "rows classes"],
    number: Num[np.ndarray, "sets rows classes"],
    start: Float[np.ndarray, "1 classes classes"],
    covariates: dict[str, np.ndarray],
) -> dict[str, np.ndarray]:
    """Sums of error residual times centred covariate, (sets, classes * covariates) for each name.

    The residual of a prediction u under class c, 1(u is not c) - P(it is not c), has the weight p(c | labels,
    u); over the predictions of a row these sum to h_c r_cc ((share r')_c - share_c), r the error rates and
    share the number of samples of each prediction over its probability.
    """
    rates = _classifier_rates(h, number, start)
    share = number / np.maximum(h @ rates, 1e-300)
    weighted = h * np.einsum("scc->sc", rates)[:, None] * (share @ rates.swapaxes(1, 2) - share)
    everything = h * number[0].sum(axis=1)[:, None]
    sums = {}
    for name, values in covariates.items():
        mean = np.einsum("nc,vnc->vc", everything, values) / np.maximum(everything.sum(axis=0), 1e-300)
        centred = (values - mean[:, None]).transpose(2, 1, 0)  # (classes, rows, covariates)
        sums[name] = (weighted.transpose(2, 0, 1) @ centred).swapaxes(0, 1).reshape(len(number), -1)
    return sums


def _covariates(data: Inputs, h: np.ndarray, chosen: np.ndarray) -> dict[str, np.ndarray]:
    """Covariates of the classifier's errors, (covariates, chosen samples, classes) each."""
    covariates, classes = {"classifier and vote margin": h[None]}, h.shape[1]
    if data.noise is not None and data.noise.hardness is not None:
        hardness = data.noise.hardness[None, chosen, None]
        covariates["classifier and difficulty"] = np.repeat(hardness, classes, axis=2)
    patterns = None if data.labels is None else data.labels.patterns()
    if patterns is not None and not patterns.labels.has_repeats() and 1 < patterns.labels.num_labelers <= 30:
        used, row = np.unique(patterns.inverse[chosen], return_inverse=True)
        z = patterns.labels.restrict(used).to_matrix()[row]
        wrong = (z[:, :, None] != np.arange(classes)) & (z >= 0)[:, :, None]
        covariates["classifier and single labelers"] = np.moveaxis(wrong, 1, 0).astype(np.float64)
    return covariates
