"""How well does EM know the labelers? The posterior of prior and matrices as a normal law around its mode.

Every row of a matrix, and the class prior, is softmax(theta): EM with pseudo-counts a finds the mode of the
Dirichlet(a) prior in that basis (MacKay 1998), which is the mean of p where classes are known. The curvature
there is what would be known if the classes were, less what is lost by not knowing them (Louis 1982). With
s_i[c] the score of sample i if its class were c and rho the class posterior,

    information = sum over rows of (n + A) (diag(p) - p p^T)  -  sum_i Cov_rho(s_i),

where row p has n expected labels and pseudo-counts of total A, and s_i[c] for the row of labeler t, who gave
label k, and class c is 1[j = k] - psi_t[c, j]. No sample is visited
twice, so ten million labels take seconds. Up to `MOST_TOGETHER` parameters they are taken together; beyond,
each labeler alone, as if the others were known, which leaves little out where each sample is labelled by a
few of many labelers. The curvature gives the spread of p to first order, and draws are made to have that
spread around the mode (`around`): softmax of a normal theta would pull large probabilities down by half their
standard deviation where other cells of the row hold a label or two. With 80 to 1000 labels of a labeler 95 %
intervals hold 90 to 93 % of the accuracies (`benchmarks/streaming.py`). What Gibbs sampling gives
(`fit_joint`) is better where labels are few or classes hard to tell apart: there the posterior is not normal.
"""

from typing import Any

import numpy as np
from jaxtyping import Float
from scipy import sparse

from jtruth._random import host_rng
from jtruth.latent.infer.normal import MOST_TOGETHER, around, steps_of
from jtruth.learning._fit import LabelerDraws, labeler_draws
from jtruth.learning.em.columns import Kinds, expected_counts, posterior_of, stretches
from jtruth.learning.em.streaming import Stream

_MOST_ROWS, _PLENTY = 200_000, 1000  # rows that the information is taken from; labels of a labeler there
_MOST_CELLS, _FEWEST, _MOST = 20_000_000, 200, 1000  # numbers drawn in all, and draws


def laplace_draws(
    state: Stream, key: Any, posterior: Float[np.ndarray, "kinds classes"] | None = None
) -> LabelerDraws:
    """Draws of prior and matrices from the normal law around a fitted stream.

    Args:
        state: fitted with pseudo-counts above 0, which keep every probability off 0.
        key: of the draws.
        posterior: class posterior of each row of the state, where it has been computed.

    Raises:
        ValueError: a pseudo-count of 0.
    """
    if min(state.smoothing) <= 0:
        raise ValueError(
            f"intervals need pseudo-counts above 0 in every place; these are {tuple(state.smoothing)}. Begin "
            "with Smoothing(diagonal=2, off_diagonal=1 / (classes - 1), prior=1), the prior of fit_joint"
        )
    size, classes = len(state.workers), len(state.classes)
    num = int(np.clip(_MOST_CELLS // (size * classes**2), _FEWEST, _MOST))
    together = (size * classes + 1) * classes <= MOST_TOGETHER and not state.closed.num_samples
    rng = host_rng(key, "normal law of labelers")
    draw = _draw_together if together else _draw_alone
    if posterior is None:
        posterior = posterior_of(state.kinds, state.prior, state.matrices)
    prior, matrices = draw(state, posterior, num, rng)
    how = f"the normal law around the mode of EM, {num} draws"
    how += "" if together else ", each labeler alone, as if the others were known"
    return labeler_draws(prior, matrices, posterior[state.kind], how, state.warnings)


def _draw_together(state: Stream, posterior: np.ndarray, num: int, rng: np.random.Generator):
    """All parameters with one information matrix."""
    size, classes = len(state.workers), len(state.classes)
    rows = np.concatenate([state.matrices.reshape(-1, classes), state.prior[None]])
    drawn = _drawn(rows, information(state, posterior, _enough(state, rng)), num, rng)
    return drawn[:, -1], drawn[:, :-1].reshape(num, size, classes, classes)


def information(
    state: Stream, posterior: Float[np.ndarray, "kinds classes"], kept: np.ndarray
) -> Float[np.ndarray, "parameters parameters"]:
    """Minus the second derivatives of the log posterior by theta, plus 1 in every block of a row.

    Args:
        state: fitted, nothing closed.
        posterior: class posterior of each of its rows.
        kept: rows from which the loss by unknown classes is taken, and scaled to all.
    """
    kinds, size, classes = state.kinds, len(state.workers), len(state.classes)
    rows = np.concatenate([state.matrices.reshape(-1, classes), state.prior[None]])
    code = kinds.code[stretches((np.cumsum(kinds.length) - kinds.length)[kept], kinds.length[kept])]
    seen, rho = Kinds(code, kinds.length[kept], kinds.number[kept]), posterior[kept]
    lost = score_products(seen, rho, size, known=True) - score_products(seen, rho, size)
    found = -projected(lost * (kinds.number.sum() / max(seen.number.sum(), 1)), rows)
    counts, _ = expected_counts(kinds, posterior, size)
    complete = np.append(counts.sum(axis=2).ravel(), kinds.number.sum()) + _smoothing(state)
    for r, total in enumerate(complete):
        at = slice(r * classes, (r + 1) * classes)
        found[at, at] += _dirichlet(rows[r], total)
    return found


def _drawn(
    rows: Float[np.ndarray, "rows classes"], found: np.ndarray, num: int, rng: np.random.Generator
) -> Float[np.ndarray, "num rows classes"]:
    """Rows of probabilities with the mode as their mean, and the spread that this information says."""
    return around(rows, steps_of(found, num, rng).reshape(num, *rows.shape))


def _enough(state: Stream, rng: np.random.Generator) -> np.ndarray:
    """Rows that the information is taken from: all, unless a random part has plenty of every labeler."""
    kinds, size = state.kinds, state.kinds.length.size
    if size > _MOST_ROWS:
        kept = rng.random(size) < _MOST_ROWS / size
        labeler = kinds.code[np.repeat(kept, kinds.length)] // len(state.classes)
        if np.bincount(labeler, minlength=len(state.workers)).min() >= _PLENTY:
            return np.flatnonzero(kept)
    return np.arange(size)


def _draw_alone(state: Stream, posterior: np.ndarray, num: int, rng: np.random.Generator):
    """Each labeler's matrix by its own block, and the prior by its own."""
    size, classes = len(state.workers), len(state.classes)
    counts, products = expected_counts(state.kinds, posterior, size)
    counts, products = counts + state.closed.matrices, products + state.closed.products
    weight = _smoothing(state)
    matrices = np.empty((num, size, classes, classes), np.float32)
    for t in range(size):
        moments = np.zeros((classes, classes, classes, classes))  # of rho[c] 1[label k]: [c, k, d, l]
        for k in range(classes):
            moments[:, k, :, k] = products[t, k]
        lost = np.diag(counts[t].ravel()) - moments.reshape(classes**2, classes**2)
        block = -projected(lost, state.matrices[t])
        for c in range(classes):
            at, number = slice(c * classes, (c + 1) * classes), counts[t, c].sum()
            block[at, at] += _dirichlet(state.matrices[t, c], number + weight[t * classes + c])
        matrices[:, t] = _drawn(state.matrices[t], block, num, rng)
    mass = state.closed.prior.sum() + state.kinds.number.sum()
    moment = (state.kinds.number[:, None] * posterior).T @ posterior
    share = moment / max(state.kinds.number.sum(), 1) * mass  # closed samples are taken to be like open ones
    if not state.kinds.number.sum():
        share = np.diag(state.closed.prior)
    lost = np.diag(share.sum(axis=1)) - share
    block = _dirichlet(state.prior, mass + weight[-1]) - projected(lost, state.prior[None])
    return _drawn(state.prior[None], block, num, rng)[:, 0], matrices


def score_products(
    kinds: Kinds, posterior: Float[np.ndarray, "kinds classes"], num_labelers: int, *, known: bool = False
) -> Float[np.ndarray, "parameters parameters"]:
    """sum_i x_i x_i^T: x_i[t, c, k] = rho_i[c] if t gave k to i; x_i[c] = rho_i[c] at the end.

    Or, with `known`, sum_i sum_c rho_i[c] x x^T, x what it would be if the class of sample i were c.
    """
    classes, size = posterior.shape[1], kinds.length.size
    row, each = np.repeat(np.arange(size), kinds.length), np.arange(classes)
    root = np.sqrt(kinds.number[:, None] * posterior) if known else np.sqrt(kinds.number)[:, None] * posterior
    labeler, label = np.divmod(kinds.code, classes)
    cells = (labeler[:, None] * classes + each) * classes + label[:, None]
    columns = np.concatenate([cells.ravel(), np.tile(num_labelers * classes**2 + each, size)])
    at = np.arange(size)[:, None] * classes + each if known else np.tile(np.arange(size)[:, None], classes)
    values = np.concatenate([root[row].ravel(), root.ravel()])
    shape = size * (classes if known else 1), (num_labelers * classes + 1) * classes
    rows = np.concatenate([at[row].ravel(), at.ravel()])
    x = sparse.csr_array((values, (rows, columns)), shape=shape)
    return (x.T @ x).toarray()


def projected(
    products: Float[np.ndarray, "parameters parameters"], rows: Float[np.ndarray, "rows classes"]
) -> Float[np.ndarray, "parameters parameters"]:
    """D M D^T, where D takes x to scores: minus p times its sum, in each row of probabilities p."""
    shape, found = rows.shape, products
    for _ in range(2):
        cube = found.reshape(*shape, -1)
        found = (cube - rows[:, :, None] * cube.sum(axis=1, keepdims=True)).reshape(rows.size, -1).T
    return found


def _dirichlet(p: Float[np.ndarray, " classes"], total: float) -> Float[np.ndarray, "classes classes"]:
    """What a Dirichlet prior adds; and 1 in the direction that moves all entries, which softmax forgets."""
    return total * (np.diag(p) - np.outer(p, p)) + 1.0


def _smoothing(state: Stream) -> Float[np.ndarray, " rows"]:
    """Sum of the pseudo-counts of each row, the prior's last."""
    classes = len(state.classes)
    row = state.smoothing.diagonal + (classes - 1) * state.smoothing.off_diagonal
    return np.append(np.full(len(state.workers) * classes, row), classes * state.smoothing.prior)
