"""The joint posterior of classifier, labelers and labels when error rates are unknown.

The classifier under test is one more rater. Class prior pi, every labeler's confusion matrix, the
classifier's matrix K and the true classes are drawn together given all labels and predictions. A draw of the
true classes is one of the count table n[c, u] of these samples, a draw of (pi, K) one of the population.

Prior: pi ~ Dirichlet(1), every row of a matrix ~ Dirichlet with 2 on the diagonal and 1 spread over the rest.
Where raters err independently given the class, 95 % intervals cover the truth about as often
(`benchmarks/honesty.py learned`). Where raters share errors, no number here is right: `dependence` offers
other models, gold labels are the remedy.
"""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int

from jtruth import _validation as check
from jtruth._one_line import one_line
from jtruth._random import seeded
from jtruth._validation import present
from jtruth.labels import Labels
from jtruth.latent import STANDARD, Effort, fit, run_gibbs
from jtruth.latent.density import Seen
from jtruth.latent.fit import RowLikelihood
from jtruth.latent.infer.gibbs import GibbsRun
from jtruth.latent.infer.normal import has_normal_dist, run_normal
from jtruth.latent.model import LatentModel, Model, Observed
from jtruth.latent.rows import (
    Rows,
    label_columns,
    merge_samples,
    number_of_groups,
    prediction_columns,
    seen_of,
)
from jtruth.latent.walk import Convergence
from jtruth.learning._fit import gold_and_prior
from jtruth.learning.joint import guard, inputs
from jtruth.learning.joint.draws import EFFECT, LogPrior, joint_digest, log_prior, mean_share
from jtruth.learning.joint.inputs import WEAK_PRIORS, DirichletPriors
from jtruth.learning.joint.models import Build, Built, named_model

_COMPARED = ("prior", "mean_diagonal", "classifier")  # where several modes are looked for


class JointPosterior(NamedTuple):
    """Draws of everything unknown, chain after chain. C classes, U predicted symbols."""

    prior: Float[np.ndarray, "draws classes"]  # pi
    matrices: Float[np.ndarray, "kept labelers classes classes"]  # float32; every `thin`-th sweep if large
    matrix_draw: Int[np.ndarray, " kept"]  # the draw that each of `matrices` belongs to
    mean_matrices: Float[np.ndarray, "labelers classes classes"]  # over all draws
    labeler_accuracy: Float[np.ndarray, "draws labelers"]  # sum_c pi[c] psi_t[c, c]
    classifier: Float[np.ndarray, "draws classes symbols"] | None  # K; None without y_pred
    counts: Int[np.ndarray, "draws classes symbols"] | None  # n[c, u] of the samples at hand
    class_posterior: Float[np.ndarray, "samples classes"]  # p(y_i = c | everything seen)
    weights: Float[np.ndarray, "draws rows strata"] | None  # share of each stratum; None with one stratum
    chain: Int[np.ndarray, " draws"]  # which chain a draw is of
    convergence: Convergence  # converged, stopped_by, rhat, ess, num_sweeps
    switched: bool  # whether classes have exchanged names, over all chains or in some of them
    identified: bool  # False: the draws repeat the prior
    dependence: str
    warnings: tuple[str, ...]
    pointwise: RowLikelihood | None = None  # log p(one sample | draw), where it was asked for
    log_prior: LogPrior | None = None  # of every draw of `matrices`; None: a share is fixed
    right: Int[np.ndarray, "draws labelers"] | None = None  # how many of the labels that each gave are right
    class_counts: Int[np.ndarray, "draws classes"] | None = None  # samples of each class; None: prior given
    evidence: tuple[float, float] | None = None  # log p(everything seen), its standard error; None: Gibbs

    __repr__ = one_line

    @property
    def converged(self) -> bool:
        """Whether every monitored quantity passed split R-hat and effective sample size."""
        return self.convergence.converged

    @property
    def usable(self) -> bool:
        """Whether the labels identify the model, and no classes have exchanged names."""
        return self.identified and not self.switched

    def tables(self, target: str) -> Float[np.ndarray, "draws classes symbols"]:
        """Draws of the table (true class, predicted symbol) that metrics are functions of.

        Args:
            target: "in-sample", counts of the samples at hand; or "population", the probabilities pi[c] K[c,
                u] of a new sample.
        """
        check.choose("target", target, ("in-sample", "population"))
        if self.classifier is None or self.counts is None:
            raise ValueError("this fit had no y_pred, so there is no classifier to tabulate")
        if target == "in-sample":
            return self.counts.astype(np.float64)
        return self.prior[:, :, None] * self.classifier


@seeded
def fit_joint(
    labels: Labels,
    *,
    key: Any = None,
    y_pred: Any = None,
    gold: Any = None,
    prior: Any = None,
    priors: DirichletPriors = WEAK_PRIORS,
    dependence: str | Build = "independent",
    effort: Effort = STANDARD,
) -> JointPosterior:
    """Sample class prior, labelers, classifier and true classes given labels and predictions.

    Args:
        labels: noisy labels. Several labels of a sample by one labeler count as independent.
        key: a whole number or a JAX key; 0 if None.
        y_pred: (samples,) predicted symbols 0..U-1, -1 where there is none; None: only learn the labelers.
            They are the classes unless `priors.num_symbols` is given.
        gold: (samples,) known classes, -1 where unknown. They are certain.
        prior: (classes,) known class prior; by default it is drawn too.
        priors: Dirichlet concentrations, and where to start.
        dependence: "independent"; "shared_strata" (samples easy or hard for all), "labeler_strata" (for the
            labelers only), "random_effect" (difficulty is gradual, two classes), "copying" (the classifier
            repeats labels). Or a function that builds another model, as those of `models` do; its
            `fixed_share` makes one of these with a known share of dependent samples.
        effort: when to stop, pointwise log-likelihoods, progress, and a `mesh` of devices that share the
            samples (docs/many_devices.md); the draws depend on how many devices it has, not on which.

    Returns:
        `JointPosterior`; look at `warnings` and `usable` first.

    Raises:
        ValueError: input that cannot be used, before sampling starts.

    >>> import jax
    >>> z = np.repeat([[0, 0, 0], [1, 1, 1], [0, 1, 0], [1, 0, 1]], [40, 30, 6, 5], axis=0)
    >>> fit = fit_joint(Labels.from_matrix(z, 2), y_pred=z[:, 0], key=jax.random.key(0))
    >>> fit.usable, fit.tables("in-sample").shape[1:], bool(fit.mean_matrices[0, 0, 0] > 0.9)
    (True, (2, 2), True)
    """
    build, name = named_model(dependence)
    built, rows, observed, group_share = laid_out(labels, y_pred, build, gold, prior, priors)
    model, given_start = built.model, priors.start is not None
    copied = mean_share(labels) if name == "copying" else None
    named = np.unique(rows.gold[rows.gold >= 0]).size == labels.num_classes
    kept = joint_digest(model, effort, labeler_share=copied, group_share=group_share,
                        shared=built.other is not None, named=named)  # fmt: skip
    first = inputs.vote_start(priors.start, rows).T[:, None, :] * built.start_strata  # states where EM starts
    start = np.ascontiguousarray(first.reshape(-1, first.shape[2]))
    asked = given_start or effort.device or effort.chains or effort.mesh is not None
    usual = not asked and effort.normal is None and not inputs.prior_decides(labels)
    run, here = None, not (given_start or effort.device or effort.mesh is not None)
    seen = rows.y_pred[rows.row_of_sample] if len(model.raters) > 1 else None
    doubt = guard.check_identified(labels, seen, rows.gold[rows.row_of_sample])
    if doubt is not None and effort.normal is None:
        effort = effort._replace(normal=True)  # the draws that cost least are enough for a refusal
    if (usual or effort.normal) and built.other is None and has_normal_dist(model):
        starts = start, *guard.believing_each(rows)
        run = run_normal(model, observed, key=key, starts=starts, digest=kept, effort=effort)
    if run is None and built.other is not None:
        if given_start or effort.mesh is not None:
            raise ValueError(f"{name} starts from its prior, on one device: leave priors.start and mesh out")
        made = present(density_of(built, observed), "a log density")
        run = fit.run_tempered(made, observed, kept, key=key, effort=effort)
    if run is None and here:
        run = fit.tempered_run(model, observed, kept, key=key, effort=effort)
    if run is None:
        away = None if given_start else guard.away_from(model, rows)
        run = run_gibbs(model, observed, key=key, start=start, away=away, digest=kept, effort=effort)
    if group_share is not None:  # the log prior of their class shares is left out
        built = built._replace(model=model._replace(class_fixed=True))
    posterior = gather(run, labels, rows, built, doubt, name)
    if not effort.pointwise:
        return posterior
    if run.evidence is not None:
        log_p = run.large["log_p"]
        log_p = log_p[:, fit.chosen_draws(*log_p.shape)].astype(np.float64)
        return posterior._replace(pointwise=fit.row_likelihood(log_p, rows.row_of_sample))
    return posterior._replace(pointwise=fit.of_gibbs(model, observed, run.large))


def with_rows(found: JointPosterior, labels: Labels, **asked: Any) -> JointPosterior:
    """A fit of a classifier's independent errors, with log p(one sample | draw) from draws that it has.

    `asked` are y_pred, gold, prior and priors as it was fitted; not with class priors by number of labels.
    """
    built, _, observed, _ = laid_out(labels, build=named_model("independent")[0], **asked)
    chains, draw = int(found.chain[-1]) + 1, found.matrix_draw
    classifier = present(found.classifier, "the classifier's matrix")[draw][:, None]
    large = {"pi": found.prior[draw], "raters0": found.matrices, "raters1": classifier}
    large = {name: a.reshape(chains, -1, *a.shape[1:]) for name, a in large.items()}
    return found._replace(pointwise=fit.of_gibbs(built.model, observed, large))


def laid_out(
    labels: Labels,
    y_pred: Any,
    build: Build,
    gold: Any = None,
    prior: Any = None,
    priors: DirichletPriors = WEAK_PRIORS,
) -> tuple[Built, Rows, Observed, np.ndarray | None]:
    """The checked arguments of `fit_joint`: a model, its data, the share of samples in each group."""
    y_pred, symbols = inputs.checked_predictions(labels, y_pred, priors.num_symbols)
    known, _ = gold_and_prior(labels, gold, None)
    base = inputs.checked_priors(labels, y_pred, symbols, known, prior, priors)
    rows = merge_samples(labels, y_pred, None if gold is None else known)
    group, group_share = inputs.share_groups(priors.shares, labels, rows, prior)
    built = build(base, rows)
    seen = [label_columns(rows.labels)]
    if y_pred is not None or built.other is not None:
        seen.append(prediction_columns(rows.y_pred, symbols or labels.num_classes))
    times = rows.multiplicity.astype(np.float64)
    return built, rows, Observed(tuple(seen), times, built.offset, rows.row_of_sample, group), group_share


def joint_model(
    labels: Labels,
    y_pred: Any = None,
    *,
    gold: Any = None,
    prior: Any = None,
    priors: DirichletPriors = WEAK_PRIORS,
    dependence: str | Build = "independent",
) -> tuple[LatentModel, Seen]:
    """The model that `fit_joint` samples and the merged rows it sees, for `jtruth.latent.log_density`.

    Arguments and errors are those of `fit_joint`; "random_effect" is refused.
    """
    built, _, observed, _ = laid_out(labels, y_pred, named_model(dependence)[0], gold, prior, priors)
    if built.other is not None:
        raise ValueError("random_effect is no table of states; fit_joint samples it")
    return built.model, seen_of(observed)


def density_of(built: Built, observed: Observed) -> Model | None:
    """The model as a log density of the data; None where it has none, or is too large for one."""
    if built.other is None:
        return fit.tempered_model(built.model, observed)
    return fit.model_of(*built.other(number_of_groups(observed)), observed, built.model.num_classes)


def gather(
    run: GibbsRun, labels: Labels, rows: Rows, built: Built, not_identified: str | None, dependence: str
) -> JointPosterior:  # fmt: skip
    """The run as a `JointPosterior`, with its warnings."""
    draws = {name: values.reshape(-1, *values.shape[2:]) for name, values in run.draws.items()}
    chains, sweeps = run.draws["prior"].shape[:2]
    matrices = run.large["matrices"]
    kept = np.arange(matrices.shape[1]) * run.thin
    draw = np.arange(chains)[:, None] * sweeps + kept[None, :]
    by_state = run.state_posterior[rows.row_of_sample]
    by_class = by_state.reshape(labels.num_samples, labels.num_classes, -1).sum(axis=2)
    model, gold = built.model, rows.gold[rows.row_of_sample]
    switched = guard.check_switching(_rater_means(run, labels), labels.class_names, gold)
    several = (
        guard.several_modes({k: run.draws[k] for k in _COMPARED if k in run.draws}) if run.apart else None
    )
    # of draws that only repeat the prior nobody need know whether they are good
    doubts = (not_identified, switched, several, None if not_identified else run.convergence.sentence())
    same = ("prior", "labeler_accuracy", "classifier", "counts", "weights", "right", "class_counts")
    fields: dict[str, Any] = {name: draws.get(name) for name in same}
    posterior = JointPosterior(
        **fields,
        matrices=matrices.reshape(-1, *matrices.shape[2:]),
        matrix_draw=draw.ravel(),
        mean_matrices=run.large_mean["matrices"],
        class_posterior=by_class,
        chain=np.repeat(np.arange(chains), sweeps),
        convergence=run.convergence,
        switched=switched is not None,
        identified=not_identified is None,
        dependence=dependence,
        warnings=tuple(text for text in doubts if text),
        evidence=run.evidence,
    )
    if built.other is not None:
        values = run.draws["log_prior"].reshape(-1)[posterior.matrix_draw]
        return posterior._replace(log_prior=LogPrior(values, 1.0, (EFFECT,)))
    if model.weights_fixed:
        return posterior
    return posterior._replace(log_prior=log_prior(model, posterior, run.large))


def _rater_means(run, labels):
    """(chains, raters, classes, classes) means of active raters; where chains are short, of four groups."""
    active = labels.labels_per_labeler() > 0
    means = run.large["matrices"].mean(axis=1, dtype=np.float64)[:, active]
    classifier = run.draws.get("classifier")
    if classifier is not None and classifier.shape[-1] == labels.num_classes:
        means = np.concatenate([means, classifier.mean(axis=1)[:, None]], axis=1)
    if run.evidence is None:
        return means
    return means.reshape(4, -1, *means.shape[1:]).mean(axis=1)
