"""What surrounds a NUTS run of an annotation model: where it starts, and what is made of its draws."""

from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from jtruth._host import diagonal_rows
from jtruth._random import stream
from jtruth._validation import choose
from jtruth.labels import Labels, must_be_labels
from jtruth.latent.infer.nuts_run import NutsRun
from jtruth.latent.pointwise import RowLikelihood
from jtruth.learning._fit import LabelerDraws, labeler_draws
from jtruth.learning._given import soft_counts
from jtruth.learning.annotation._agreement import Agreement, labeler_agreement
from jtruth.learning.annotation.rows import MergedRows, digest, matrices_of, pointwise
from jtruth.learning.annotation.spec import Hyper, Spec
from jtruth.learning.em.dawid_skene import Smoothing, fit_dawid_skene
from jtruth.learning.joint.guard import Switching, check_identified, check_switching

_MOST_CELLS, _FEWEST = 20_000_000, 100  # numbers of all matrices, and draws
STARTS = ("majority", "em", "diagonal")


class NutsFit(NamedTuple):
    """The posterior of one annotation model, and what speaks against it."""

    model: str
    spec: Spec
    labels: Labels
    hyper: Hyper  # the prior settings used
    data: MergedRows  # the rows that NUTS saw
    run: NutsRun  # samples (chains, draws, ...), R-hat, ESS, divergences
    class_posterior: Float[np.ndarray, "samples classes"]  # mean over draws of p(y_i = c | z_i, draw)
    prior: Float[np.ndarray, " classes"]  # posterior mean of pi
    mean_matrices: Float[np.ndarray, "labelers classes classes"]  # posterior mean of p(label | class)
    agreement: Agreement  # do pairs of labelers agree as often as the model says?
    switching: Switching
    identified: bool
    warnings: tuple[str, ...]

    def __repr__(self) -> str:
        """One line."""
        return f"NutsFit({self.model!r}, {self.labels!r}, converged={self.converged}, usable={self.usable})"

    def __str__(self) -> str:
        """One line: size, whether to trust it, and what there is to read."""
        chains, draws = self.run.statistics["diverging"].shape
        state = "converged" if self.converged else "not converged"
        state += ", usable" if self.usable else ", not usable"
        doubts = f", {len(self.warnings)} warnings (fit.warnings)" if self.warnings else ""
        return (
            f"{self.model}: {chains} chains of {draws} draws, {self.labels.num_labels} labels of "
            f"{self.labels.num_samples} samples, {state}{doubts}"
        )

    @property
    def converged(self) -> bool:
        """Split R-hat below 1.01 and ESS of 100 a chain, for every parameter."""
        return self.run.converged

    @property
    def usable(self) -> bool:
        """Identified, and no class has exchanged its name."""
        return self.identified and not self.switching.switched

    def pointwise(self, *, thin: bool = True) -> RowLikelihood:
        """log p(labels of a sample | draw); equal samples are one row, and large sets are thinned."""
        size = self.labels.num_labelers
        return pointwise(self.spec.channel, self.run.samples, self.data, self.hyper, size, thin=thin)

    def log_likelihood(self) -> Float[np.ndarray, "draws samples"]:
        """log p(labels of the sample | draw), one column for every sample: 8 bytes each, so mind the size."""
        found = self.pointwise(thin=False)
        return found.log_p.reshape(-1, found.log_p.shape[2])[:, found.row_of_sample]

    def matrix_draws(self) -> LabelerDraws:
        """Class prior and a matrix for each labeler, of the draws, thinned where labelers are very many.

        Where samples differ in difficulty a matrix is the mean over samples.
        """
        flat = {name: np.reshape(x, (-1, *x.shape[2:])) for name, x in self.run.samples.items()}
        size, classes = self.labels.num_labelers, self.labels.num_classes
        most = max(_FEWEST, _MOST_CELLS // (size * classes**2))
        kept = np.unique(np.linspace(0, len(flat["prior"]) - 1, min(len(flat["prior"]), most)).astype(int))
        chosen = {name: x[kept] for name, x in flat.items()}
        matrices = matrices_of(self.spec.channel, chosen, self.hyper, size)
        how = f"{kept.size} draws of the annotation model {self.model} by NUTS"
        return labeler_draws(chosen["prior"], matrices, self.class_posterior, how, self.warnings)


def check_input(labels: Labels, start: Any) -> None:
    """ValueError for what cannot be fitted."""
    if must_be_labels(labels).num_labels == 0:
        raise ValueError("labels holds no label at all, so there is nothing to learn from")
    if isinstance(start, str):
        choose("start", start, STARTS)


def start_values(spec: Spec, labels: Labels, hyper: Hyper, start: str | dict[str, Any]) -> dict[str, Any]:
    """Parameters to start at: those given, or those nearest to a class prior and matrices."""
    if not isinstance(start, str):
        return start
    classes = labels.num_classes
    if start == "diagonal":
        psi = np.tile(diagonal_rows(classes, 0.7, 0.3), (labels.num_labelers, 1, 1))
        return spec.start(np.full(classes, 1 / classes), psi, hyper)
    if start == "em":
        fit = fit_dawid_skene(labels, smoothing=Smoothing(2.0, 1.0 / (classes - 1), 1.0))
        return spec.start(fit.prior, fit.matrices, hyper)
    return spec.start(*majority_matrices(labels), hyper)


def majority_matrices(
    labels: Labels,
) -> tuple[Float[np.ndarray, " classes"], Float[np.ndarray, "labelers classes classes"]]:
    """Class prior and matrices if vote shares were class probabilities; each row has a prior worth 3."""
    votes = labels.counts().astype(np.float64)
    share = votes / np.maximum(votes.sum(axis=1, keepdims=True), 1)
    rows = soft_counts(labels, share) + diagonal_rows(labels.num_classes, 2.0, 1.0)
    prior = share.sum(axis=0) + 1
    return prior / prior.sum(), rows / rows.sum(axis=2, keepdims=True)


def gather(
    name: str, spec: Spec, labels: Labels, hyper: Hyper, data: MergedRows, run: NutsRun, key: Any
) -> NutsFit:
    """The run as a `NutsFit`, with its doubts."""
    posterior, matrices = digest(spec.channel, run.samples, data.rows, hyper, labels.num_labelers)
    key = stream(key, "agreement")
    agreement = labeler_agreement(spec.channel, run.samples, labels, hyper, key)
    active = labels.labels_per_labeler() > 0
    switching = check_switching(matrices[:, active], labels.class_names)
    doubt = check_identified(
        labels, None, None, informed=spec.rigid and bool(labels.labels_per_sample().max() > 1)
    )
    texts = (doubt, switching.sentence, *run.warnings, agreement.sentence(labels.workers))
    return NutsFit(
        model=name,
        spec=spec,
        labels=labels,
        hyper=hyper,
        data=data,
        run=run,
        class_posterior=posterior[data.row_of_sample],
        prior=run.flat("prior").mean(axis=0),
        mean_matrices=matrices.mean(axis=0),
        agreement=agreement,
        switching=switching,
        identified=doubt is None,
        warnings=tuple(text for text in texts if text),
    )
