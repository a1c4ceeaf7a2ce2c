"""Weighted draws of the posterior from a normal distribution around its mode; NumPy, nothing is compiled.

Every Dirichlet row p of a model is softmax(theta), so its concentrations a make the mode of the posterior the
mean of Dirichlet(n + a) where the states are known (MacKay 1998). The curvature there is the information with
known states, less the loss by not knowing them (Louis 1982). With x_i[s] the numbers of times that row i of
the data uses each probability in state s, and rho_i[s] the probability of the state at the mode,

    information = sum over rows p of (n + A) (diag(p) - p p^T)  -  D [sum_i m_i Cov_rho(x_i)] D^T,

n the expected count of a row of probabilities, A the total of its concentrations, m_i the samples behind row
i, and D x = x - p times the sum of x, row by row. Draws have that spread around the mode (`Dist`), and are
weighted by the posterior over their density; as many are drawn again by these weights. If the largest
weights, smoothed (Vehtari et al. 2024), have a Pareto k below `good_shape`, and all are worth more than
`_WORTH`, draws are those of the posterior, and the mean of the weights is the evidence. States are Gibbs'.

A distribution around one mode ignores other modes (`learning.joint.guard`).
"""

import time
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import scipy
from jaxtyping import Float, Int
from scipy import sparse
from scipy.special import gammaln, logsumexp, softmax

from jtruth._arrays import systematic
from jtruth._host import log
from jtruth._random import host_rng
from jtruth.latent.infer import kernel
from jtruth.latent.infer.gibbs import Digest, GibbsRun, named_draws, run_of
from jtruth.latent.model import LatentModel, Observed
from jtruth.latent.walk import Convergence, Effort, Store
from jtruth.stats.loo import good_shape, smoothed_weights

MOST_TOGETHER = 2500  # probabilities whose joint information matrix is made
_MOST_WORK = 5e5  # numbers of the data times states, beyond which Gibbs sampling starts at once
_WORK, _MOST, _CHAINS = 2e9, 4000, 4  # numbers that all draws compute; draws, and parts they are dealt to
_SOME, _FIRST, _HOPELESS = 64, 500, 0.15  # draws that are looked at first; what they are worth at least
# Share of the draws that weights are worth at least: below it ends of intervals were off by .1 to .4 of their
# width, and Pareto's k did not tell (`benchmarks/engine.py`).
_WORTH = 0.3
_WIDTHS = (1.0, 1.15)  # of the draws, by the normal distribution's; wider ones reach tails that it does not
_PILOT, _PARTS = 1000, 4  # draws that the centre is found by; parts that tell the error of the evidence
# Of many labels: draws that show whether the posterior is normal, and what they are worth at least; fewest
# labels of a row of probabilities; cells of a table with fewer samples, of which more than so much is open.
_GLANCE, _SURE, _PLENTY, _MOST_FEW, _OPEN, _JITTER = 32, 0.5, 50.0, 10.0, 0.3, 1e-6
_MOST_ROWS = 40_000  # by which other modes are looked for
_BLOCK, _MOST_STEPS = 250_000, 1000  # rows x states x draws at once, which a cache holds; steps of EM
# Another mode counts if it is this little below, half of the probabilities and besides; or if it is no other.
_NEARLY, _BESIDES, _SAME = 0.5, 10.0, 0.01
_CLOSE = 1e-6  # last step of EM by p(class) of a row, where its start is the mode of some rows
_FLAT = 0.1  # least curvature of a direction: that of a few pseudo-counts
_LEAST, _ROUNDS = 1e-300, 5  # variance of a share; moves of the centre of a row


def has_normal_dist(model: LatentModel) -> bool:
    """Whether there is one stratum, and all rows have a fixed Dirichlet prior and fit into one matrix."""
    fixed = all(group.alike is None and group.common_prior is None for group in model.raters)
    size = sum(group.prior.size for group in model.raters) + model.class_prior.size
    return fixed and model.num_strata == 1 and size <= MOST_TOGETHER


# Where EM ended: state probabilities (states, rows), all probabilities (P,), and the expected counts of each
# with its concentration (P,).
Mode = tuple[np.ndarray, np.ndarray, np.ndarray]


def mode_of(problem: kernel.Problem, start: Float[np.ndarray, "states rows"], tol: float = 1e-7) -> Mode:
    """The mode that EM finds from state probabilities."""
    states, _ = kernel.em(problem, start, max_steps=_MOST_STEPS, tol=tol)
    symbols = kernel.count_symbols(problem, (states * problem.multiplicity)[:, None, :])
    total = problem.concentration + problem.count_probabilities(symbols)
    return states, np.exp(kernel.posterior_means(problem, total))[0], total[0]


def alone(problem: kernel.Problem, mode: Mode, starts: Sequence[Float[np.ndarray, "states rows"]]) -> bool:
    """Whether EM finds no other mode from these starts that is nearly as high."""
    others = (mode_of(problem, start) for start in starts)
    apart = [theta for states, theta, _ in others if np.abs(states - mode[0]).max() > _SAME]
    own, *heights = log_posterior(problem, log(np.array([mode[1], *apart])))
    return all(height <= own - _NEARLY * problem.concentration.size - _BESIDES for height in heights)


def run_normal(
    model: LatentModel, observed: Observed, *, key: Any, starts: Sequence[Float[np.ndarray, "states rows"]],
    digest: Digest, effort: Effort,
) -> GibbsRun | None:  # fmt: skip
    """Independent draws of a model that `has_normal_dist`, with states; arguments as of `run_gibbs`.

    `starts` are state probabilities for EM, the first of the mode, the others to look for other modes. None
    where weights are too uneven (unless `effort.normal`), where there are several modes, or too many labels.
    """
    began, rng, problem = time.monotonic(), host_rng(key, "normal law"), kernel.flatten(model, observed)
    work = _work_of(problem)
    if not effort.normal and work > _MOST_WORK:
        return _of_many(problem, starts, digest, effort, rng)
    mode = mode_of(problem, starts[0])
    local_dist = dist_around(problem, mode, rng)
    if local_dist is None or not (effort.normal or alone(problem, mode, starts[1:])):
        return None
    number = int(np.clip(_WORK / (2 * work), _FIRST, _MOST)) // _CHAINS * _CHAINS
    if not effort.normal and (number < effort.min_sweeps or 2 * work * number > effort.max_work):
        return None
    least, widths = max(effort.min_ess, _WORTH * number), _WIDTHS[:1] if effort.normal else _WIDTHS
    asked = 0.0 if effort.normal else least
    tries = (_weighed(problem, local_dist, wider, number, rng, asked) for wider in widths)
    found = next((one for one in tries if one is not None), None)
    if found is None:
        return None
    log_theta, log_w, weight, worth, shape = found
    good = shape < good_shape(number) and worth >= least
    log_theta = log_theta[rng.permutation(systematic(weight, number, rng.random()))]
    store = _stored(problem, log_theta.reshape(number // _CHAINS, _CHAINS, -1), digest, effort, rng)
    how = "converged" if good else f"uneven weights (Pareto k {shape:.2f}, {worth:.0f} effective draws)"
    spent = time.monotonic() - began
    convergence = Convergence(good, how, {}, {"weighed draws": worth}, number, 0, spent)
    each = logsumexp(log_w.reshape(_PARTS, -1), axis=1) - np.log(number // _PARTS)
    log_evidence, error = logsumexp(each) - np.log(_PARTS), each.std(ddof=1) / np.sqrt(_PARTS)
    return run_of(store, convergence, evidence=(float(log_evidence), float(error)))


def _of_many(
    problem: kernel.Problem, starts: Sequence[Float[np.ndarray, "states rows"]], digest: Digest,
    effort: Effort, rng: np.random.Generator,
) -> GibbsRun | None:  # fmt: skip
    """Draws where labels are so many that all is normal; None where it is not.

    The samples behind the columns, x, are sums over rows whose states are independent given theta. With
    V = sum of Cov(x of a row | its labels), E[x | theta] moves by V d log theta, and V is the covariance of x
    given theta. So one pass over the rows tells all. Some draws show whether it is the posterior.
    """
    began, used = time.monotonic(), problem.place < problem.concentration.size
    if digest.pointwise or not used.all() or np.unique(problem.place).size < problem.place.size:
        return None
    part, (first, *others) = _in_some(problem, starts, rng)
    near = mode_of(part, first)
    mode = mode_of(problem, kernel.state_probabilities(problem, log(near[1])[None])[:, 0], _CLOSE)
    few = np.add.reduceat(mode[2], problem.starts).min() < _PLENTY
    spread = lost_of(problem, mode)
    mean, variance = (mode[2] - problem.concentration)[problem.place], spread.diagonal()[problem.place]
    tables = [slice(*where) for name, where in problem.columns.items() if name not in ("samples", "raters0")]
    if few or any(((mean[part] < _MOST_FEW) & (variance[part] > _OPEN)).any() for part in tables):
        return None
    local_dist = dist_around(problem, mode, rng, spread)
    if local_dist is None or not alone(part, near, others):
        return None
    dist, root = local_dist
    number = int(np.clip(_WORK / len(spread) ** 2, _FIRST, _MOST // 2)) // _CHAINS * _CHAINS
    log_theta, log_q = dist.draw(root, number, rng)
    log_w = log_posterior(problem, log_theta[:_GLANCE]) - log_q[:_GLANCE]
    if 1 / (softmax(log_w) ** 2).sum() < _SURE * _GLANCE:
        return None
    moved = (log_theta - log(mode[1])) @ spread
    noise = rng.standard_normal(moved.shape) @ np.linalg.cholesky(spread + _JITTER * np.eye(len(spread))).T
    behind = np.maximum(np.rint(mode[2] - problem.concentration + moved + noise), 0)[:, problem.place]
    top, every = mean.argmax(axis=1), np.arange(len(mean))
    behind[:, every, top] += problem.design.T @ problem.multiplicity - behind.sum(axis=2)
    behind = np.moveaxis(behind.reshape(-1, _CHAINS, *mean.shape), 1, 3)
    store, log_theta = Store(effort.max_bytes), log_theta.reshape(-1, _CHAINS, log_theta.shape[1])
    store.add(
        *digest.keep(named_draws(problem, {"log_theta": log_theta, "symbols": behind})), mode[0] * number
    )
    spent = time.monotonic() - began
    convergence = Convergence(True, "converged", {}, {"draws": float(number)}, number, 0, spent)
    evidence = float(log_w.mean() + log_w.var() / 2), float(log_w.std() / np.sqrt(_GLANCE))
    return run_of(store, convergence, evidence=evidence)


def _in_some(
    problem: kernel.Problem, starts: Sequence[Float[np.ndarray, "states rows"]], rng: np.random.Generator
) -> tuple[kernel.Problem, list[np.ndarray]]:
    """Some rows, weighted to stand for all, and the starts there."""
    size = problem.multiplicity.size
    rows = np.sort(rng.choice(size, min(size, _MOST_ROWS), replace=False))
    times = problem.multiplicity[rows]
    part = replace(problem, design=problem.design[rows], offset=problem.offset[:, rows],
                   multiplicity=times * (problem.multiplicity.sum() / times.sum()))  # fmt: skip
    return part, [start[:, rows] for start in starts]


def _weighed(
    problem: kernel.Problem, local_dist: tuple["Dist", np.ndarray], wider: float, number: int,
    rng: np.random.Generator, least: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray, float, float] | None:  # fmt: skip
    """Draws, log weights, smoothed weights, their worth in even draws, and Pareto's k.

    None where they are worth fewer than `least`, or k is too large; with `least` 0 any are good enough.
    """
    log_theta, log_q = local_dist[0].draw(wider * local_dist[1], number, rng)
    log_w = np.zeros(0)
    for upto in (_SOME, _FIRST, number):  # few draws look better than many: what is hopeless stays so
        more = slice(log_w.size, upto)
        log_w = np.append(log_w, log_posterior(problem, log_theta[more]) - log_q[more])
        if least and upto < number and 1 / (softmax(log_w) ** 2).sum() < _HOPELESS * upto:
            return None
    smooth, k = smoothed_weights(log_w[None], 1.0)
    weight = softmax(smooth[0])
    worth, shape = float(1 / (weight**2).sum()), float(k[0])
    good = shape < good_shape(number) and worth >= least
    return (log_theta, log_w, weight, worth, shape) if good or not least else None


def _stored(
    problem: kernel.Problem,
    log_theta: Float[np.ndarray, "draws chains P"],
    digest: Digest,
    effort: Effort,
    rng: np.random.Generator,
) -> Store:
    """What is kept of all draws, block by block, with states drawn."""
    store, rows = Store(effort.max_bytes), problem.offset.size * _CHAINS
    for part in np.array_split(log_theta, -(-len(log_theta) * rows // _BLOCK)):
        draws, chains, size = part.shape
        log_p = kernel.log_states(problem, part.reshape(-1, size))
        of_row = np.logaddexp.reduce(log_p, axis=0)
        p = np.exp(log_p - of_row)
        symbols = kernel.draw_counts(problem, p, rng)
        symbols = np.moveaxis(symbols.reshape(*symbols.shape[:2], draws, chains), 2, 0)
        small, large = digest.keep(named_draws(problem, {"log_theta": part, "symbols": symbols}))
        if digest.pointwise:
            large["log_p"] = np.swapaxes(of_row.reshape(draws, chains, -1), 0, 1)
        store.add(small, large, p.sum(axis=1))
    return store


def log_posterior(
    problem: kernel.Problem, log_theta: Float[np.ndarray, "draws P"]
) -> Float[np.ndarray, " draws"]:
    """log p(everything seen, probabilities), as a density of log p_k - log p_last of every row."""
    concentration, starts = problem.concentration, problem.starts
    constant = gammaln(np.add.reduceat(concentration, starts)).sum() - gammaln(concentration).sum()
    density, large = log_theta @ concentration + constant, _work_of(problem) > _MOST_WORK
    for some in kernel.in_parts(problem, _CHAINS) if large else [problem]:
        blocks = -(-len(log_theta) * some.offset.size // _BLOCK)
        for part in np.array_split(np.arange(len(log_theta)), max(blocks, 1)):
            density[part] += kernel.log_rows(some, log_theta[part]) @ some.multiplicity
    return density


def _work_of(problem: kernel.Problem) -> int:
    """Numbers of the data times states."""
    return problem.design.nnz * problem.offset.shape[0]


class Dist(NamedTuple):
    """Rows of probabilities around the mode: log p = centre + scale (step - sum p step), then normalized.

    To first order p_k changes by the share g_k = step_k - sum_j p_j step_j, of variance v. But exp(g) of a
    normal g has the mean exp(v / 2) and a spread far above v where cells hold few labels and v is 1 and more.
    A normal g of variance log(1 + v) has the exponential whose squared coefficient of variation is v.
    Dividing a row by its sum takes away about 2 / n of v, n the labels that the row is worth, so as much is
    added before; then the centre is moved until the means are right. A row whose class is known is
    Dirichlet(n p): standard deviations are its own within 5 % from n = 8, and up to 30 % less below.
    """

    p: Float[np.ndarray, " P"]
    starts: Int[np.ndarray, " rows"]  # where each row begins
    centre: Float[np.ndarray, " P"]
    scale: Float[np.ndarray, " P"]

    def logs(self, step: Float[np.ndarray, "num P"]) -> tuple[np.ndarray, np.ndarray]:
        """Logs of probabilities for normal steps, and the moves before rows were normalized."""
        moves = self.scale * (step - self.of_rows(self.p * step))
        return self.normalised(self.centre + moves), moves

    def of_rows(self, values: np.ndarray, add: np.ufunc = np.add) -> np.ndarray:
        """The sum (or `add`) of each row (..., P), at all of its entries."""
        length = np.diff(np.append(self.starts, self.p.size))
        return np.repeat(add.reduceat(values, self.starts, axis=-1), length, axis=-1)

    def normalised(self, values: np.ndarray) -> np.ndarray:
        """Logs of probabilities that sum to 1 in each row."""
        values = values - self.of_rows(values, np.maximum)
        return values - np.log(self.of_rows(np.exp(values)))

    def draw(
        self, root: Float[np.ndarray, "P P"], number: int, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "draws P"], Float[np.ndarray, " draws"]]:
        """Logs of all probabilities, with steps root @ noise, and log densities (of log p_k - log p_last)."""
        last = np.append(self.starts[1:], self.p.size) - 1
        free = np.delete(np.arange(self.p.size), last)
        of_entry = last[np.searchsorted(last, free)]  # the last entry of its row
        logs, moves = self.logs((root @ rng.standard_normal((len(root), number))).T)
        unit = self.logs(root.T)[1]  # what a unit of noise does
        seen = unit[:, free] - unit[:, of_entry]
        factor = np.linalg.cholesky(seen.T @ seen)
        far = scipy.linalg.solve_triangular(factor, (moves[:, free] - moves[:, of_entry]).T, lower=True)
        constant = np.log(np.diag(factor)).sum() + 0.5 * free.size * np.log(2 * np.pi)
        return logs, -0.5 * (far**2).sum(axis=0) - constant


def fitted(
    p: Float[np.ndarray, " P"], starts: Int[np.ndarray, " rows"], step: Float[np.ndarray, "num P"]
) -> Dist:
    """The distribution for which steps like these have the mean p and their spread to first order."""
    dist = Dist(p, starts, log(p), np.ones(p.size))
    share = step - dist.of_rows(p * step)
    v = np.maximum(share.var(axis=0), _LEAST)
    worth = dist.of_rows(1 - p) / dist.of_rows(p * v)
    dist = dist._replace(scale=np.sqrt(np.log1p(v * (1 + 2 / worth)) / v))
    for _ in range(_ROUNDS):
        drawn = np.exp(dist.normalised(dist.centre + dist.scale * share))
        dist = dist._replace(centre=dist.centre + log(p) - log(drawn.mean(axis=0)))
    return dist


def around(
    rows: Float[np.ndarray, "rows classes"], step: Float[np.ndarray, "num rows classes"]
) -> Float[np.ndarray, "num rows classes"]:
    """Rows with means `rows` and about the coefficients of variation of p exp(step)."""
    flat = step.reshape(len(step), -1)
    dist = fitted(rows.ravel(), np.arange(len(rows)) * rows.shape[1], flat)
    return np.exp(dist.logs(flat)[0]).reshape(step.shape)


def dist_around(
    problem: kernel.Problem, mode: Mode, rng: np.random.Generator, lost: np.ndarray | None = None
) -> tuple[Dist, np.ndarray] | None:
    """The distribution at a mode, and the root of its steps; None where the information has no inverse.

    `lost` is `lost_of` the mode, if already computed.
    """
    try:
        factor = np.linalg.cholesky(information(problem, mode, lost))
    except np.linalg.LinAlgError:
        return None
    root = scipy.linalg.solve_triangular(factor, np.eye(len(factor)), lower=True).T
    pilot = (root @ rng.standard_normal((len(root), _PILOT))).T
    return fitted(mode[1], problem.starts, pilot), root


def information(
    problem: kernel.Problem, mode: Mode, lost: np.ndarray | None = None
) -> Float[np.ndarray, "P P"]:
    """Minus the second derivatives of the log posterior by theta, plus 1 in every block of a row."""
    _, theta, total = mode
    lost = lost_of(problem, mode) if lost is None else lost
    return curvature(lost, theta, np.add.reduceat(total, problem.starts), problem.starts)


def lost_of(problem: kernel.Problem, mode: Mode) -> Float[np.ndarray, "P P"]:
    """Covariance of the counts of the probabilities, given these and the labels, summed over rows.

    That of states s and s' of a row is rho_s (1[s = s'] - rho_s'), which sums to 0 over s.
    """
    states, (columns, number) = mode[0], problem.place.shape
    each = np.zeros((columns, number, columns, number))
    for s, other in zip(*np.triu_indices(number, 1), strict=True):
        weight = problem.multiplicity * states[s] * states[other]
        weighted = sparse.csr_array(
            (
                problem.design.data * np.repeat(weight, np.diff(problem.design.indptr)),
                problem.design.indices,
                problem.design.indptr,
            ),
            problem.design.shape,
        )
        both = (problem.design.T @ weighted).toarray()
        for one, two in ((s, other), (other, s)):
            each[:, one, :, two] -= both
            each[:, one, :, one] += both
    return problem.tie @ (problem.tie @ each.reshape(columns * number, -1)).T


def curvature(
    lost: Float[np.ndarray, "P P"],
    p: Float[np.ndarray, " P"],
    total: Float[np.ndarray, " rows"],
    starts: Int[np.ndarray, " rows"],
) -> Float[np.ndarray, "P P"]:
    """total (diag(p) - p p^T) of each row of probabilities less D lost D^T, plus 1 in every block.

    The 1 is for the direction that moves all entries of a row, which softmax forgets.
    """
    length, matrix = np.diff(np.append(starts, p.size)), -lost
    for _ in range(2):  # D lost, then D of its transpose
        of_row = np.repeat(np.add.reduceat(matrix, starts, axis=0), length, axis=0)
        matrix = (matrix - p[:, None] * of_row).T
    for first, size, number in zip(starts, length, total, strict=True):
        here = slice(first, first + size)
        matrix[here, here] += number * (np.diag(p[here]) - np.outer(p[here], p[here])) + 1.0
    return matrix


def steps_of(
    matrix: np.ndarray, number: int, rng: np.random.Generator
) -> Float[np.ndarray, "draws probabilities"]:
    """Normal draws of theta around the mode with this information matrix.

    A direction in which it is flat or worse (EM stopped early, poor labels) gets `_FLAT`, wide but finite.
    """
    noise = rng.standard_normal((len(matrix), number))
    try:
        return scipy.linalg.solve_triangular(np.linalg.cholesky(matrix).T, noise).T
    except np.linalg.LinAlgError:
        value, vector = np.linalg.eigh(matrix)
        return (vector @ (noise / np.sqrt(np.maximum(value, _FLAT))[:, None])).T
