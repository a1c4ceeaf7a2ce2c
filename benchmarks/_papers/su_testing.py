"""Su (2023), Sections 2, 5.2 and 5.3: testing of two and of four classes on sets like the paper's.

The paper shows one simulated set. Its printed metrics give its count table: of 221 positives 179 were found,
of 779 negatives 246 called positive, which rounds to .712, .421, .810, .316, .554. So our sets have that very
table, and the fallibilities and participations that the paper prints; difficulties and labels are drawn anew.
"""

from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

import jtruth as jt
from benchmarks._papers.harness import Cell, Panel, Part, average, over_sets, status
from jtruth import testing
from jtruth.noise import DifficultyFallibility
from jtruth.simulation import sample_difficulty, sample_participation, to_labels
from jtruth.stats.ratio_of_normals import second_order_mean
from jtruth.testing.binary import empirical_bayes as eb
from jtruth.testing.binary.empirical_bayes import NormalTable, joint_density, metric_ratio

NAMES = ("accuracy", "precision", "recall", "false_alarm_rate", "f1")
COLUMNS = ("ACC", "PREC", "P_D", "P_FA", "F_1")
TABLE = np.array([[533, 246], [42, 179]])  # correct class, predicted class
PHI, ETA = np.array([0.249, 0.030, 0.387, 0.244, 0.154]), np.array([0.727, 0.873, 0.286, 0.657, 0.232])
MULTI = np.array([[290, 40, 40, 39], [58, 391, 68, 68], [8, 10, 168, 27], [93, 43, 36, 621]])
PAIRS = {"(PREC, REC)": ("precision", "recall"), "(P_D, P_FA)": ("recall", "false_alarm_rate")}


def samples_of(table):
    """(y, y_pred) of a count table."""
    c, u = np.indices(table.shape)
    return np.repeat(c.ravel(), table.ravel()), np.repeat(u.ravel(), table.ravel())


@partial(jax.jit, static_argnames=("beta", "classes"))
def draw_labels(key, y, phi, eta, *, beta=(1, 5), classes=2):
    """(labels z, log-likelihood) of one set: difficulties from a beta law (None: 0), labels by Su 5.1.2."""
    keys = jax.random.split(key, 3)
    delta = jnp.zeros(y.shape[0]) if beta is None else sample_difficulty(keys[0], y.shape[0], *beta)
    noise = DifficultyFallibility(delta, phi, classes)
    z = noise.sample(keys[2], y, sample_participation(keys[1], eta, y.shape[0]))
    return z, noise.log_likelihood(to_labels(z, classes))


@cache
def main_sets(number):
    """(y_pred, [(z, log odds)]) of sets like the main example."""
    y, y_pred = samples_of(TABLE)
    prior, sets = jnp.array([0.8, 0.2]), []
    for seed in range(number):
        z, log_likelihood = draw_labels(
            jax.random.key(seed), jnp.asarray(y), jnp.asarray(PHI), jnp.asarray(ETA)
        )
        sets.append((np.asarray(z), np.asarray(testing.log_odds_of(log_likelihood, prior), np.float64)))
    return y_pred, sets


def plugged_in(x, y_pred, fit):
    """The paper's laws (2.3) at a point."""
    with jax.enable_x64(True):
        point = jnp.asarray([float(fit.p_detection), float(fit.p_false_alarm)])
        m = eb.ShareMoments(*(float(v) for v in eb.moments(jnp.asarray(x), jnp.asarray(y_pred), point)))
    return m


def laws(x, y_pred, method, key=None):
    """Law of each metric and modes of the two pairs."""
    found = testing.binary_posterior(x, y_pred, method=method, key=key)
    if method == "sampling":  # the paper's laws at Algorithm 2's point
        m = plugged_in(x, y_pred, found.fit)
        table = NormalTable(**vars(testing.exact_posterior(testing.collapse(x, y_pred))), moments=m)
    else:
        table = found.table
    modes = {}
    if method in ("empirical_bayes", "sampling", "prior_marginal"):
        modes = {name: table.joint(*pair).mode for name, pair in PAIRS.items()}
    return {name: table.estimate(name) for name in NAMES}, modes


PAPER_10 = {  # Table 10: conditional mean, MAP, ends of the region; joint MAP
    "Alg. 1": ((0.700, 0.397, 0.795, 0.328, 0.534), (0.700, 0.397, 0.795, 0.325, 0.529),
               (0.687, 0.373, 0.764, 0.317, 0.506), (0.713, 0.420, 0.828, 0.335, 0.553),
               (0.397, 0.795, 0.796, 0.325)),
    "Alg. 2": ((0.701, 0.397, 0.796, 0.327, 0.535), (0.701, 0.397, 0.796, 0.325, 0.530),
               (0.688, 0.374, 0.765, 0.316, 0.506), (0.714, 0.421, 0.829, 0.334, 0.554),
               (0.397, 0.796, 0.796, 0.325)),
    "2.6.2": ((0.646, 0.345, 0.664, 0.360, 0.456), (0.662, 0.342, 0.714, 0.349, 0.464), None, None,
              (0.347, 0.690, 0.663, 0.360)),
}  # fmt: skip
PAPER_LABELERS = (  # number of labels, metrics
    (727, 0.622, 0.450, 0.574, 0.354, 0.505), (879, 0.653, 0.414, 0.643, 0.343, 0.504),
    (272, 0.618, 0.405, 0.605, 0.377, 0.485), (667, 0.619, 0.421, 0.587, 0.366, 0.490),
    (229, 0.668, 0.465, 0.667, 0.331, 0.548),
)  # fmt: skip
MEAN_OF_LABELERS = (0.636, 0.431, 0.615, 0.354, 0.506)
MEDIAN_OF_LABELERS = (0.622, 0.421, 0.605, 0.354, 0.504)


def law_rows(method, name, key, y_pred, sets):
    """Cells of one method of Table 10."""
    mean, mode, low, high, pairs = PAPER_10.get(name, (None,) * 5)
    found = [laws(x, y_pred, method, jax.random.fold_in(key, k)) for k, (_, x) in enumerate(sets)]
    cells = []
    for k, (metric, column) in enumerate(zip(NAMES, COLUMNS, strict=True)):
        each = [law[metric] for law, _ in found]
        ends = np.array([law.interval(0.95)[:2] for law in each])
        rows = {
            "conditional mean": (mean, [law.mean for law in each]),
            "MAP": (mode, [law.mode for law in each]),
            "lower end": (low, ends[:, 0]),
            "upper end": (high, ends[:, 1]),
        }
        for row, (paper, values) in rows.items():
            if paper is not None or name == "exact":
                cells.append(over_sets(f"{name}, {row}", column, paper and paper[k], values))
    if pairs is not None:
        modes = np.array([[*m["(PREC, REC)"], *m["(P_D, P_FA)"]] for _, m in found])
        columns = ("PREC of (PREC, REC)", "REC of (PREC, REC)", "P_D of (P_D, P_FA)", "P_FA of (P_D, P_FA)")
        cells += [
            over_sets(f"{name}, joint MAP", c, p, v) for c, p, v in zip(columns, pairs, modes.T, strict=True)
        ]
    return cells


def ideal_cells():
    """The metrics of the table that we found from their printed digits."""
    found = [float(testing.METRICS[name](*testing.binary_counts(*samples_of(TABLE)[::-1]))) for name in NAMES]
    printed = (0.712, 0.421, 0.810, 0.316, 0.554)
    return [Cell("Ideal", c, p, v) for c, p, v in zip(COLUMNS, printed, found, strict=True)]


CHANCE = (
    "the paper's single set is farther off than 97.7 % of ours; its cells are correlated, and one "
    "in twenty does so at random"
)
WHY_JOINT = (
    "the printed joint MAP (.663, .360) of 2.6.2 is its conditional mean (.664, .360) but for a unit; ours "
    "moves with the scalar MAP, as the paper's own joint MAP of (PREC, REC) does"
)


def table_10(quick):
    """All methods of Section 2 on sets like the main example."""
    many, few = (12, 6) if quick else (100, 20)
    y_pred, sets = main_sets(many)
    key, cells = jax.random.key(1), ideal_cells()
    cells += law_rows("empirical_bayes", "Alg. 1", key, y_pred, sets)
    cells += law_rows("sampling", "Alg. 2", key, y_pred, sets[:few])
    hard = np.array([[law.mean for law in laws(x, y_pred, "labels")[0].values()] for _, x in sets])
    cells += [over_sets("Alg. 3 (labels)", c, p, v) for c, p, v in
              zip(COLUMNS, (0.720, 0.402, 0.868, 0.316, 0.550), hard.T, strict=True)]  # fmt: skip
    each = [testing.labeler_metrics(y_pred, jt.Labels.from_matrix(z, 2)) for z, _ in sets]
    for name, printed, of in (("mean of labelers", MEAN_OF_LABELERS, lambda m: m.mean),
                              ("median of labelers", MEDIAN_OF_LABELERS, lambda m: m.median)):  # fmt: skip
        values = np.array([of(m) for m in each])
        cells += [over_sets(name, c, p, v) for c, p, v in zip(COLUMNS, printed, values.T, strict=True)]
    number = np.array([(z >= 0).sum(axis=0) for z, _ in sets])
    for t, (size, *printed) in enumerate(PAPER_LABELERS):
        values = np.array([m.each[t] for m in each])
        cells.append(over_sets(f"labeler {t + 1}", "labels", size, number[:, t], digits=0))
        cells += [
            over_sets(f"labeler {t + 1}", c, p, v) for c, p, v in zip(COLUMNS, printed, values.T, strict=True)
        ]
    fully = law_rows("prior_marginal", "2.6.2", key, y_pred, sets[:few])
    cells += [c._replace(reason=WHY_JOINT) if "joint" in c.row else c for c in fully]
    cells += law_rows("bayes", "exact", key, y_pred, sets)
    return Part(
        "Testing metrics of the main example",
        cells,
        says=f"Sets with the paper's count table, fallibilities and participations: {many} for Algorithms "
        f"1, 3, the labelers and the exact posterior, {few} for Algorithm 2 and 2.6.2. *2.6.2* is "
        "what the paper calls fully Bayesian; it weighs operating points by their prior "
        "([errata](errata.md)). *exact* is Bayes' rule for the same model; the paper has no such "
        "row.",
        reason=CHANCE,
    )


GRID = np.arange(0.05, 1, 0.1)
PAPER_11 = {  # Ratios, Sampling, Estimated labels
    "p_D": ((0.0149, 3.20e-4, 0.0153), (0.0131, 4.15e-4, 0.0142), (-0.0473, 1.61e-2, 0.0715)),
    "p_FA": ((-0.0118, 6.34e-5, 0.0119), (-0.0092, 8.56e-5, 0.0095), (-0.0015, 1.49e-3, 0.0033)),
    "steps": ((6.6, 1.08, 8), (6.6, 1.05, 8), (6.2, 2.35, 10)),
}
PAPER_12 = {
    "p_D": ((-0.0113, 1.04e-2, 0.0314), (-0.0114, 9.56e-3, 0.0310), (-0.0141, 1.95e-1, 0.3590)),
    "p_FA": ((0.0120, 1.36e-2, 0.0442), (0.0122, 1.14e-2, 0.0381), (0.0210, 2.03e-1, 0.3369)),
    "steps": ((10.9, 3.15, 17), (11.2, 3.46, 18), (10.4, 3.39, 21)),
}
WAYS = ("Ratios", "Sampling", "Est. labels")


def _step(way, key, x, y_pred):
    if way == "Ratios":
        return eb.ratio_step(x, y_pred)
    from jtruth.testing import steps

    law = eb.class_dist(x)
    of = steps.sampling_step(key, law, y_pred) if way == "Sampling" else steps.labels_step(law, y_pred)
    return eb.of_point(of)


def _run(key, x, y_pred, start, way):
    fit = testing.iterate(_step(way, key, x, y_pred), dtype=x.dtype, start=start)
    return jnp.stack([fit.p_detection, fit.p_false_alarm, fit.num_steps.astype(x.dtype)]), fit.path


@partial(jax.jit, static_argnames="way")
def _all_runs(keys, x, y_pred, start, way):
    return jax.lax.map(lambda one: _run(one[0], x, one[1], one[2], way), (keys, y_pred, start))


def runs(way, key, x, y_pred, starts):
    """(runs, 3), paths: final point and number of steps, over starts or over predictions."""
    many = max(len(np.atleast_2d(y_pred)), len(np.atleast_2d(starts)))
    keys = jax.vmap(partial(jax.random.fold_in, key))(jnp.arange(many))
    y_pred, starts = (jnp.broadcast_to(jnp.asarray(v), (many, np.shape(v)[-1])) for v in (y_pred, starts))
    found, paths = _all_runs(keys, jnp.asarray(x), y_pred, starts, way)
    return np.asarray(found), np.asarray(paths)


def statistics(points, ideal):
    """Mean, standard deviation and largest size of errors; mean, deviation and largest number of steps."""
    found = {}
    for k, name in enumerate(("p_D", "p_FA")):
        off = ideal[..., k] - points[:, k]
        found[name] = off.mean(), off.std(ddof=1), np.abs(off).max()
    n = points[:, 2]
    return found | {"steps": (n.mean(), n.std(ddof=1), n.max())}


def statistic_cells(printed, found):
    """Cells of Tables 11 and 12: `found` is way -> statistics of each set."""
    cells, digits = [], {"p_D": (4, 5, 4), "p_FA": (4, 5, 4), "steps": (1, 2, 0)}
    titles = {"p_D": "error of p_D", "p_FA": "error of p_FA", "steps": "number of steps"}
    for what, by_way in printed.items():
        for s, statistic in enumerate(("mean", "standard deviation", "largest")):
            for way, values in zip(WAYS, by_way, strict=True):
                ours = [one[what][s] for one in found[way]]
                cells.append(over_sets(f"{titles[what]}, {statistic}", way, values[s], ours, digits[what][s]))
    return cells


WHY_11 = (
    "on the paper's set Algorithm 3 has limits further apart, and takes more steps, than on nearly all of "
    "ours with its count table, fallibilities and participations. A deviation of .0161 or more "
    "occurs in 9 of 20 000 sets, no more often among those on which Algorithm 1 errs as in the "
    "paper. No "
    "interpretation of Algorithm 3 that was tried gives both the printed mean error (-.047, ours "
    "-.046) and such a standard deviation. Tried were difficulties at their mean or "
    "left out, errors not halved, class priors equal or counted, one rate "
    "after the other. So either the set is a rare one or a detail is not printed; we do not know which"
)


def table_11(quick):
    """Starts on a grid."""
    many = (6, 2, 12) if quick else (100, 12, 300)
    y_pred, sets = main_sets(many[2])
    grid = np.stack(np.meshgrid(GRID, GRID), axis=-1).reshape(-1, 2)
    some = grid[3 :: 29 if quick else 7]  # no divisor of 10: all rows and columns of the grid
    ideal, key, found = np.array([179 / 221, 246 / 779]), jax.random.key(2), {}
    for way, number in zip(WAYS, many, strict=True):
        starts = some if way == "Sampling" else grid
        found[way] = [statistics(runs(way, key, x, y_pred, starts)[0], ideal) for _, x in sets[:number]]
    spread = np.array([one["p_D"][1] for one in found["Est. labels"]])
    return Part(
        "Final operating points from 100 starts, errors on the main example",
        [
            *(
                c._replace(reason=WHY_11) if c.column == WAYS[2] else c
                for c in statistic_cells(PAPER_11, found)
            ),
            Cell("largest deviation of p_D in any set", "Est. labels", None, float(spread.max()), 0.0, 4),
        ],
        says=f"{many[0]} and {many[2]} sets of 100 starts; *Sampling* {many[1]} sets of {len(some)} starts.",
        reason=CHANCE,
    )


def operating_points(seed):
    """One repetition of 5.2.4: 100 desired points; (log odds, predictions (100, N), ideal points, y, z)."""
    rng = np.random.default_rng(seed)
    y = (rng.random(1000) < 0.5).astype(int)
    phi, eta = rng.uniform(0, 0.5, 5), rng.uniform(0, 1, 5)
    z, log_likelihood = draw_labels(
        jax.random.key(seed),
        jnp.asarray(y),
        jnp.asarray(phi, jnp.float32),
        jnp.asarray(eta, jnp.float32),
        beta=(1, 1),
    )
    x = np.asarray(testing.log_odds_of(log_likelihood, jnp.array([0.5, 0.5])), np.float64)
    desired = np.stack(np.meshgrid(GRID, GRID), axis=-1).reshape(-1, 2)
    y_pred = (rng.random((1, 1000)) < np.where(y == 1, desired[:, :1], desired[:, 1:])).astype(np.int32)
    ideal = np.stack([y_pred[:, y == 1].mean(axis=1), y_pred[:, y == 0].mean(axis=1)], axis=1)
    return x, y_pred, ideal, y, np.asarray(z)


@cache
def swept(quick):
    """Statistics of each repetition and way, and errors of metrics in each repetition (Figures 14 to 16)."""
    many, few = (4, 2) if quick else (12, 3)
    key, found, errors = jax.random.key(3), {way: [] for way in WAYS}, []
    start = jnp.array([0.5, 0.5])
    for seed in range(many):
        x, y_pred, ideal, y, z = operating_points(seed)
        points = {}
        for way in WAYS:
            if way == "Sampling" and seed >= few:
                continue
            points[way] = runs(way, key, x, y_pred, start)[0]
            found[way].append(statistics(points[way], ideal))
        errors.append(metric_errors(x, y_pred, y, z, points))
    return found, errors, many, few


def by_labelers(y_pred, labels):
    """Mean and geometric median over labelers; NaN where the iteration of the median does not settle."""
    try:
        found = testing.labeler_metrics(y_pred, labels)
        return found.mean, found.median
    except RuntimeError:
        return np.full(5, np.nan), np.full(5, np.nan)


def metrics_of(y_pred, y):
    """(sets, metrics) of predictions (sets, samples)."""
    counts = [((y_pred == p) & (y == c)).sum(axis=-1) for p, c in ((1, 1), (1, 0), (0, 1), (0, 0))]
    return np.stack([np.asarray(testing.METRICS[name](*counts)) for name in NAMES], axis=-1)


def metric_errors(x, y_pred, y, z, points):
    """Errors of the metrics, (100, 5) by method, ours of Su 5.2.4."""
    true = metrics_of(y_pred, y)
    metrics = [testing.named_metric(name) for name in NAMES]

    @jax.jit
    @jax.vmap
    def means(y_one, point):
        m = eb.moments(jnp.asarray(x), y_one, point)
        return jnp.stack([second_order_mean(metric_ratio(m, one)) for one in metrics])

    found = {"Alg. 1, mean": np.asarray(means(jnp.asarray(y_pred), jnp.asarray(points["Ratios"][:, :2])))}
    labels = [(x + np.where(p == 1, np.log(q[0] / q[1]), np.log((1 - q[0]) / (1 - q[1]))) > 0).astype(int)
              for p, q in zip(y_pred, points["Est. labels"], strict=True)]  # fmt: skip
    found["Alg. 3"] = metrics_of(y_pred, np.array(labels))
    given = jt.Labels.from_matrix(z, 2)
    each = [by_labelers(p, given) for p in y_pred]
    found["mean of labelers"] = np.array([mean for mean, _ in each])
    found["median of labelers"] = np.array([median for _, median in each])
    return {name: true - values for name, values in found.items()}


def table_12(quick):
    """Ideal points on a grid."""
    found, _, many, few = swept(quick)
    return Part(
        "Final operating points for 100 ideal ones, errors",
        statistic_cells(PAPER_12, found),
        says=f"{many} repetitions of the 100 sets ({few} for *Sampling*). The paper does not say N and T "
        "of these sets; ours have 1000 and 5, as the main example. The 100 sets of a repetition "
        "share their random numbers, because the seed is reset for each. Labels are the same, and "
        "a prediction is positive where one uniform number is below the desired rate. Means of "
        "-.011 with a standard deviation of .010 over 100 points cannot come from 100 independent "
        "sets. Their mean would be within .002 of 0, and the standard deviation .017 even with "
        "shared labels.",
        reason="the paper's 100 points are one repetition, whose labelers (fallibilities, participations) "
        "it does not print; errors of all 100 depend on them",
    )


def _errors_figure(quick, pairs=None, column=""):
    """Panels and cells of the errors of all metrics, or of a pair of them."""
    _, errors, many, _ = swept(quick)
    panels, cells = [], []
    for method in errors[0]:
        off, each = errors[0][method], [e[method] for e in errors]
        lim = (-0.05, 0.05) if method == "Alg. 1, mean" else (-0.5, 0.5)
        if pairs is None:
            series = [("", "points", off[:, k], [c] * len(off)) for k, c in enumerate(COLUMNS)]
            panels.append(Panel("error", "", series, method, (*lim, -0.7, 4.7)))
            for name, of in (("mean error", np.nanmean), ("standard deviation", np.nanstd)):
                values = np.array([of(e, axis=0) for e in each])
                cells += [
                    over_sets(f"{method}, {name}", c, None, v) for c, v in zip(COLUMNS, values.T, strict=True)
                ]
            continue
        i, j = (NAMES.index(name) for name in pairs)
        series = [("", "points", off[:, i], off[:, j])]
        panels.append(Panel(f"error of {COLUMNS[i]}", f"error of {COLUMNS[j]}", series, method, lim * 2))
        whole = [e[~np.isnan(e).any(axis=1)] for e in each]
        roots = np.sqrt(np.linalg.eigvalsh([np.cov(e[:, [i, j]].T) for e in whole]))
        cells.append(over_sets(f"{method}, larger root of the covariance", column, None, roots[:, 1]))
        cells.append(over_sets(f"{method}, smaller root", column, None, roots[:, 0]))
    return panels, cells, many


def figure_14(quick):
    """Errors of scalar metrics."""
    panels, cells, many = _errors_figure(quick)
    _, errors, *_ = swept(quick)
    mean = [np.abs(e["Alg. 1, mean"].mean(axis=0)).mean() for e in errors]
    spread = [e["Alg. 1, mean"].std(axis=0).mean() for e in errors]
    cells.insert(
        0, over_sets("Alg. 1, size of the average error, over metrics", "text of 5.2.4", 0.012, mean)
    )
    cells.insert(1, over_sets("Alg. 1, standard deviation, over metrics", "text of 5.2.4", 0.011, spread))
    return Part(
        "Errors of scalar metrics for 100 ideal operating points",
        cells,
        panels,
        "scatters of the errors of five metrics: Algorithms 1 and 2 within ±.05, Algorithm 3 and the "
        "labelers within ±.5 (average errors .001 to .043, standard deviations .100 to over .200).",
        f"{many} repetitions; drawn is the first. Algorithm 2 is in Table 12. Points at which the "
        "iteration of the geometric median does not settle are left out of the labelers' rows.",
        "as in Table 12: the labelers of the paper's repetition are not printed",
    )


def figure_15(quick):
    """Errors in the precision-recall plane."""
    panels, cells, many = _errors_figure(quick, ("precision", "recall"), "P-R")
    return Part(
        "Errors in precision-recall analysis",
        cells,
        panels,
        "scatters with fitted ellipses; roots of the covariance's eigenvalues .005 to .025 for Algorithms "
        "1 and 2, about .100 to over .430 for the others (with Figure 16).",
        f"{many} repetitions.",
    )


def figure_16(quick):
    """Errors in the ROC plane."""
    panels, cells, many = _errors_figure(quick, ("false_alarm_rate", "recall"), "ROC")
    return Part(
        "Errors in ROC analysis",
        cells,
        panels,
        "the same in the ROC plane; average errors of Algorithms 1 and 2 near .015.",
        f"{many} repetitions.",
    )


def figure_9(quick):
    """Paths."""
    many, half, series, cells = (3, 2) if quick else (300, 20), jnp.array([0.5, 0.5]), [], []
    y_pred, sets = main_sets(many[0])
    for way, printed in zip(WAYS, (7, 7, 9), strict=True):
        some = sets[: many[1]] if way == "Sampling" else sets
        each = [runs(way, jax.random.key(k), x, y_pred, half) for k, (_, x) in enumerate(some)]
        cells.append(
            over_sets(f"{way}: steps to convergence", "", printed, [e[0, 2] for e, _ in each], digits=0)
        )
        path = each[0][1][0][: int(each[0][0][0, 2]) + 1]
        for k, (kind, name) in enumerate((("line", "p_D"), ("dashed", "p_FA"))):
            series.append((f"{way}: {name}", kind, np.arange(len(path)), path[:, k]))
    series += [("ideal", "dashed", [0, 10], [rate, rate]) for rate in (179 / 221, 246 / 779)]
    return Part(
        "Progress of the operating point",
        cells,
        [Panel("step", "rate", series, limits=(0, 10, 0.2, 1))],
        "p_D and p_FA by step for three methods from (1/2, 1/2); Algorithms 1 and 2 settle after seven "
        "steps on the dotted ideal values, Algorithm 3 after nine, too high in p_D.",
        "Drawn for the first of our sets.",
        "the same as in Table 11: on the paper's set Algorithm 3 is slower than on 99 % of ours",
    )


def _densities(found, name, points=150):
    law = found[name]
    grid = np.linspace(law.mean - 5 * law.sd, law.mean + 5 * law.sd, points)
    return grid, law.density(grid)


def _one_set(seed=0):
    y_pred, sets = main_sets(max(seed + 1, 1))
    return y_pred, *sets[seed]


def figure_10(quick):
    """Accuracy by all methods."""
    y_pred, z, x = _one_set()
    by = {n: laws(x, y_pred, m, jax.random.key(0))[0] for n, m in
          (("Alg. 1", "empirical_bayes"), ("exact", "bayes"), ("2.6.2", "prior_marginal"))}  # fmt: skip
    series = [(name, "line", *_densities(found, "accuracy")) for name, found in by.items()]
    hard = laws(x, y_pred, "labels")[0]["accuracy"].mean
    each = testing.labeler_metrics(y_pred, jt.Labels.from_matrix(z, 2)).each[:, 0]
    series += [("Alg. 3", "points", [hard], [1.0]), ("labelers", "points", each, np.full(len(each), 2.0)),
               ("ideal", "dashed", [0.712, 0.712], [0.0, 60.0])]  # fmt: skip
    return Part(
        "Accuracy by all methods",
        [],
        [Panel("accuracy", "density", series)],
        "the posterior density of accuracy by Algorithms 1 and 2 over a histogram of 5000 draws, around "
        "the ideal .712; Algorithm 3 near it, labelers far below, the fully Bayesian density spread out.",
        "Our first set. Its numbers are in Table 10.",
    )


def figure_11(quick):
    """The other scalar metrics."""
    y_pred, _, x = _one_set()
    by = {n: laws(x, y_pred, m)[0] for n, m in (("Alg. 1", "empirical_bayes"), ("exact", "bayes"))}
    ideal = dict(zip(NAMES, (0.712, 0.421, 0.810, 0.316, 0.554), strict=True))
    panels = []
    for name, column in zip(NAMES[1:], COLUMNS[1:], strict=True):
        series = [(one, "line", *_densities(found, name)) for one, found in by.items()]
        top = float(max(series[0][3].max(), series[1][3].max()))
        panels.append(Panel(column, "density", [*series, ("ideal", "dashed", [ideal[name]] * 2, [0.0, top])]))
    return Part(
        "Scalar metrics",
        [],
        panels,
        "four densities by Algorithm 1 with mean, MAP and 95 % region beside the ideal value, Algorithm 3 "
        "and the labelers; the exact posterior is ours.",
        "Our first set.",
    )


def _joint_panels(x, y_pred, ideal, method="empirical_bayes", z=None, size=60):
    """Densities of (17) and (18) with their 95 % region, beside the ideal point and other estimates.

    With `method` "empirical_bayes" the exact posterior's means and intervals too.
    """
    exact = testing.binary_posterior(x, y_pred).table if method == "empirical_bayes" else None
    with jax.enable_x64(True):
        fit = testing.binary_posterior(x, y_pred, method=method).fit if method == "empirical_bayes" else None
        point = (0.5, 0.5) if fit is None else (float(fit.p_detection), float(fit.p_false_alarm))
        m = eb.ShareMoments(
            *(float(v) for v in eb.moments(jnp.asarray(x), jnp.asarray(y_pred), jnp.asarray(point)))
        )
    hard = "labels" if fit is not None else "labels_no_predictions"
    others = {"ideal": [ideal], "Alg. 3": [estimated_labels(x, y_pred, hard)]}
    if z is not None:
        each = testing.labeler_metrics(y_pred, jt.Labels.from_matrix(z, 2)).each
        others["labelers"] = [dict(zip(NAMES, one, strict=True)) for one in each]
    panels = []
    for a, b in (("precision", "recall"), ("false_alarm_rate", "recall")):
        laws_of = [testing.normal_posterior(m, one) for one in (a, b)]
        own = [] if exact is None else [exact.estimate(one) for one in (a, b)]
        points = {name: [[one[way] for one in found] for way in (a, b)] for name, found in others.items()}
        extent = []
        for k, law in enumerate(laws_of):
            seen = [v for name in points for v in points[name][k]]
            seen += own[k].interval(0.95)[:2] if own else ()
            extent += [
                max(-0.02, min(law.mean - 4.5 * law.sd, *seen) - 0.02),
                min(1.02, max(law.mean + 4.5 * law.sd, *seen) + 0.02),
            ]
        gx, gy = (np.linspace(*extent[k : k + 2], size) for k in (0, 2))
        density = np.maximum(joint_density(m, a, b)(gx[None, :], gy[:, None]), 0)
        inside = ((gx >= 0) & (gx <= 1))[None, :] & ((gy >= 0) & (gy <= 1))[:, None]
        density = np.where(inside, density, 0)
        most = np.sort(density.ravel())[::-1]
        level = most[np.searchsorted(np.cumsum(most), 0.95 * most.sum())]
        heat = {
            "z": np.round(np.sqrt(density / density.max()), 2),
            "extent": extent,
            "levels": [float(np.sqrt(level / density.max()))],
        }
        series = [("mean", "points", *([law.mean] for law in laws_of))]
        if own:
            ends = [abs(v - law.mean) for law in own for v in law.interval(0.95)[:2]]
            series.append(("exact: 95 %", "error", *([law.mean] for law in own), ends))
        series += [(name, "cross" if name == "ideal" else "points", *where) for name, where in points.items()]
        names = {"false_alarm_rate": "P_FA", "recall": "REC or P_D"}
        panels.append(Panel(names.get(a, a), names[b], series, heat=heat, limits=extent))
    return panels


def estimated_labels(x, y_pred, method="labels"):
    """Metrics of Algorithm 3, or of the fourth approach of 2.6.1, which leaves predictions out."""
    if method == "labels":
        return {name: law.mean for name, law in laws(x, y_pred, "labels")[0].items()}
    return true_metrics(y_pred, (np.asarray(x) > 0).astype(int))


def true_metrics(y_pred, y):
    """Metrics by name."""
    return dict(zip(NAMES, map(float, metrics_of(y_pred, y)), strict=True))


def figure_12(quick):
    """Joint metrics."""
    y_pred, z, x = _one_set()
    return Part(
        "Joint metrics of the main example",
        [],
        _joint_panels(x, y_pred, true_metrics(*samples_of(TABLE)[::-1]), z=z),
        "contours of (17) and (18) by Algorithm 1 with the 95 % region, which holds the ideal point; "
        "Algorithm 3 is further off and labelers far.",
        "Our first set; grey is the root of the density, the line holds 95 %. The cross with bars is the "
        "exact posterior (mean, 95 % intervals), which the paper has not.",
    )


def figure_13(quick):
    """Predictions not exploited."""
    many = 12 if quick else 150
    y_pred, sets = main_sets(many)
    true = true_metrics(*samples_of(TABLE)[::-1])
    cells = []
    for name, column in zip(NAMES, COLUMNS, strict=True):
        found = [
            testing.binary_posterior(x, y_pred, method="no_predictions").table.estimate(name) for _, x in sets
        ]
        cells.append(over_sets("mean - ideal", column, None, [law.mean - true[name] for law in found]))
        ends = np.array([law.interval(0.95)[:2] for law in found])
        held = ((ends[:, 0] <= true[name]) & (true[name] <= ends[:, 1])).mean()
        cells.append(
            Cell("95 % intervals that hold the ideal (paper: none)", column, None, float(held), 0.0, 2)
        )
    return Part(
        "Predictions not exploited (no iteration)",
        cells,
        _joint_panels(sets[0][1], y_pred, true, method="none"),
        "as Figures 10 and 12 with predictions left out of the posterior: estimates off, regions that miss.",
        f"{many} sets; drawn is the first.",
    )


def _example(seed, size, labelers, positive, point, beta, phi, eta):
    rng = np.random.default_rng(seed)
    y = (rng.random(size) < positive).astype(int)
    y_pred = (rng.random(size) < np.where(y == 1, *point)).astype(np.int32)
    phi, eta = rng.uniform(*phi, labelers), rng.uniform(*eta, labelers)
    _, log_likelihood = draw_labels(
        jax.random.key(seed),
        jnp.asarray(y),
        jnp.asarray(phi, jnp.float32),
        jnp.asarray(eta, jnp.float32),
        beta=beta,
    )
    x = np.asarray(testing.log_odds_of(log_likelihood, jnp.array([1 - positive, positive])), np.float64)
    return y, y_pred, x


SINGLE = (1000, 1, 0.6, (0.9, 0.1), None, (0.2, 0.2), (1.0, 1.0))
SMALL = (70, 3, 0.5, (0.85, 0.2), (1, 2), (0.2, 0.5), (0.0, 1.0))


def _covering(example, quick):
    """Errors and coverage of Algorithm 1, Algorithm 3 and the exact posterior over sets of one example."""
    cells, rows = [], {"Alg. 1": "empirical_bayes", "exact": "bayes", "Alg. 3": "labels"}
    many = 15 if quick else 100
    sets = [_example(seed, *example) for seed in range(many)]
    for name, method in rows.items():
        found = [laws(x, p, method)[0] for _, p, x in sets]
        for metric, column in zip(NAMES, COLUMNS, strict=True):
            true = np.array([true_metrics(p, y)[metric] for y, p, _ in sets])
            off = np.array([f[metric].mean for f in found]) - true
            cells.append(average(f"{name}: mean error", column, off))
            cells.append(
                Cell(
                    f"{name}: root mean squared error", column, None, float(np.sqrt((off**2).mean())), 0.0, 3
                )
            )
            if method != "labels":
                ends = np.array([f[metric].interval(0.95)[:2] for f in found])
                held = ((ends[:, 0] <= true + 1e-9) & (true <= ends[:, 1] + 1e-9)).mean()
                error = float(np.sqrt(max(held * (1 - held), 0.01) / many))
                cells.append(Cell(f"{name}: 95 % intervals hold", column, None, float(held), error, 2))
    return cells, many, sets


def figure_17(quick):
    """A single labeler."""
    cells, many, sets = _covering(SINGLE, quick)
    y, p, x = sets[0]
    return Part(
        "A single labeler, constant error .1",
        cells,
        _joint_panels(x, p, true_metrics(p, y)),
        "densities and joint contours of Algorithm 1 around the ideal metrics; Algorithm 3 and the "
        "labeler's own labels coincide and are much less accurate.",
        f"{many} sets; drawn is the first, with the exact posterior's mean and 95 % intervals as bars. The "
        "paper prints no number. Algorithm 1's intervals hold too seldom: they take the operating point as "
        "known.",
    )


def figure_18(quick):
    """A small sample."""
    cells, many, sets = _covering(SMALL, quick)
    y, p, x = sets[0]
    size = np.array([one.sum() for _, one, _ in sets])
    cells.insert(0, over_sets("predicted positive", "N_1 of 70", 37, size, digits=0))
    return Part(
        "A small sample (N = 70)",
        cells,
        _joint_panels(x, p, true_metrics(p, y)),
        "densities of P_FA that are not normal and wide regions of (P_D, P_FA), which hold the ideal point.",
        f"{many} sets; drawn is the first, with the exact posterior's mean and 95 % intervals as bars. There "
        "Algorithm 1's region misses the ideal point, as its intervals do in four of ten sets; the exact "
        "ones hold it.",
    )


PAPER_14 = {
    "Alg. 4": (
        (284.8, 41.3, 36.6, 33.9),
        (63.7, 391.7, 67.0, 67.6),
        (7.5, 7.3, 169.8, 29.0),
        (93.0, 43.6, 38.7, 624.6),
    ),
    "Alg. 3": ((288, 43, 35, 37), (61, 395, 70, 68), (7, 4, 170, 25), (93, 42, 37, 625)),
    "mean of labelers": (
        (238.9, 60.7, 65.3, 54.2),
        (60.7, 335.5, 66.3, 86.3),
        (36.7, 54.2, 130.1, 64.8),
        (76.6, 91.3, 48.8, 529.6),
    ),
    "median of labelers": (
        (254.1, 57.4, 46.8, 56.2),
        (71.1, 343.4, 67.2, 86.9),
        (26.1, 35.9, 145.9, 62.3),
        (90.6, 65.8, 46.7, 543.6),
    ),
}
PAPER_15 = (
    ((277.72, 291.95), (35.80, 46.79), (32.27, 40.88), (28.54, 39.22)),
    ((57.75, 69.56), (384.72, 398.77), (61.51, 72.46), (60.74, 74.43)),
    ((4.79, 10.23), (3.97, 10.67), (163.73, 175.83), (24.03, 33.93)),
    ((86.74, 99.25), (38.47, 48.82), (34.34, 42.99), (615.90, 633.21)),
)
ACCURACIES = (0.6586, 0.5667, 0.6397, 0.6698, 0.5504)


def four_labels(seed, second=None):
    """(z, log-likelihood) of one set; `second`: how many labels the second labeler gives, else as all."""
    # printed accuracies against labelers are about .735 (1 - e) + .265 e/3: they give e, and phi = e 4/3
    phi = np.array([(0.735 - a) / (0.735 - 0.265 / 3) for a in ACCURACIES]) * 4 / 3
    eta = np.random.default_rng(seed).uniform(0, 1, 5)
    eta[1] = eta[1] if second is None else second / 2000
    phi, eta = (jnp.asarray(v, jnp.float32) for v in (phi, eta))
    y = jnp.asarray(samples_of(MULTI)[0])
    return draw_labels(jax.random.key(seed), y, phi, eta, beta=None, classes=4)


@cache
def four_labelers(quick, second=None):
    """Of each set: scaled matrices against each labeler, their mean and median, accuracies."""
    from jtruth.testing.baselines import geometric_median

    y_pred, found = samples_of(MULTI)[1], []
    for seed in range(8 if quick else 300):
        tables, z = np.zeros((5, 4, 4)), np.asarray(four_labels(seed, second)[0])
        sample, t = np.nonzero(z >= 0)
        np.add.at(tables, (t, z[sample, t], y_pred[sample]), 1)
        tables *= 2000 / np.maximum(tables.sum(axis=(1, 2), keepdims=True), 1)
        found.append({
            "mean of labelers": tables.mean(axis=0),
            "median of labelers": geometric_median(tables.reshape(5, 16)).reshape(4, 4),
            "each": np.trace(tables, axis1=1, axis2=2) / 2000,
        })  # fmt: skip
    return found


@cache
def four_classes(quick):
    """Of each set: the table by Algorithm 4 with ends, accuracy, the table by Algorithm 3."""
    from jtruth.testing import steps

    y_pred = samples_of(MULTI)[1]
    prior, found = np.array([0.2, 0.3, 0.1, 0.4]), []
    for seed in range(4 if quick else 20):
        log_lik = np.asarray(four_labels(seed)[1], np.float64)
        key = jax.random.key(seed)
        four = testing.multiclass_posterior(log_lik, prior, y_pred, key=key, method="sampling")
        hard = testing.multiclass_posterior(log_lik, prior, y_pred, key=key, method="labels")
        with jax.enable_x64(True):
            mean, var = steps.expected_counts(
                jnp.asarray(log_lik + np.log(prior)),
                jnp.asarray(y_pred, jnp.int32),
                jnp.asarray(four.fit.confusion),
            )
        half = 1.959964 * np.sqrt(np.asarray(var))
        mean = np.asarray(mean)
        law = four.estimate("accuracy")
        found.append({
            "Alg. 4": mean, "low": mean - half, "high": mean + half,
            "Alg. 3": np.asarray(hard.table.counts[0], float),
            "law": (law.mean, law.mode, *law.interval(0.95)[:2]),
            "steps": (int(four.fit.num_steps), int(hard.fit.num_steps)),
        })  # fmt: skip
    return found


FOUR = (
    "{} sets with the paper's table of counts (Table 14, ideal; {} for the labelers). The "
    "labelers' fallibilities are not printed. Ours follow from the printed accuracies against "
    "each labeler (.6586, .5667, .6397, .6698, .5504). They are .16, .35, .20, .13, .38, all "
    "inside the paper's (0, .4). Participations "
    "are uniform draws."
)


def four_part(title, cells, quick):
    """One of the three tables."""
    number = len(four_classes(quick)), len(four_labelers(quick))
    return Part(title, cells, says=FOUR.format(*number), reason="participations are not printed")


def table_13(quick):
    """Accuracy with four classes."""
    found, own = four_classes(quick), four_labelers(quick)
    law = np.array([one["law"] for one in found])
    trace = lambda name: [np.trace(one[name]) / 2000 for one in found]  # noqa: E731
    rows = (
        ("Ideal", 0.7350, [np.trace(MULTI) / 2000] * 2),
        ("Alg. 4, conditional mean", 0.7355, law[:, 0]),
        ("Alg. 4, MAP", 0.7355, law[:, 1]),
        ("Alg. 4, lower end", 0.7282, law[:, 2]),
        ("Alg. 4, upper end", 0.7427, law[:, 3]),
        ("Alg. 3 (labels)", 0.7390, trace("Alg. 3")),
        ("mean of labelers", 0.6170, [one["each"].mean() for one in own]),
        ("median of labelers", 0.6397, [np.median(one["each"]) for one in own]),
        ("Alg. 4, steps", 6, [one["steps"][0] for one in found]),
        ("Alg. 3, steps", 6, [one["steps"][1] for one in found]),
    )
    cells = [over_sets(row, "ACC", paper, values, 0 if "steps" in row else 4) for row, paper, values in rows]
    cells += [
        over_sets(f"labeler {t + 1}", "ACC", p, [one["each"][t] for one in own], 4)
        for t, p in enumerate(ACCURACIES)
    ]
    return four_part("Accuracy, four classes", cells, quick)


def further_off(printed, matrices):
    """Share of sets whose matrix is further from the mean of all, in their covariance, than the printed."""
    x = np.array(matrices).reshape(len(matrices), 16)[:, :15]  # the sum is fixed
    away = np.concatenate([x, np.reshape(printed, 16)[None, :15]]) - x.mean(axis=0)
    size = np.einsum("sa,ab,sb->s", away, np.linalg.pinv(np.cov(x.T)), away)
    return float((size[:-1] >= size[-1]).mean())


FEW = 30


def labels_of_labeler_2(quick):
    """Cells of the labelers' matrices under another participation: how many are off, and all together."""
    cells = []
    for title, second in (("participations uniform", None), (f"labeler 2 gave {FEW} labels", FEW)):
        found = four_labelers(quick, second)
        for name in ("mean of labelers", "median of labelers"):
            each = [
                over_sets("", "", PAPER_14[name][c][u], [one[name][c, u] for one in found], 1)
                for c, u in np.ndindex(4, 4)
            ]
            off = sum(status(cell._asdict()) == "beyond" for cell in each)
            share = further_off(PAPER_14[name], [one[name] for one in found])
            cells.append(Cell(f"{name}, {title}", "of 16 beyond 2 errors", None, off, 0.0, 0))
            cells.append(Cell(f"{name}, {title}", "sets further off than the paper's", None, share, 0.0, 2))
    return cells


WHY_14 = (
    "participations are not printed. Labeler 2's accuracy .5667 is 17 of 30: had this labeler given 30 "
    "labels, whose matrix is scaled up to 2000, the printed tables would be ordinary ones (last rows)"
)


def table_14(quick):
    """Confusion matrices."""
    cells = []
    for name, printed in PAPER_14.items():
        found = four_labelers(quick) if "labelers" in name else four_classes(quick)
        for c, u in np.ndindex(4, 4):
            values, digits = [one[name][c, u] for one in found], 0 if name == "Alg. 3" else 1
            cells.append(over_sets(f"{name}, class {c}", f"predicted {u}", printed[c][u], values, digits))
    part = four_part("Confusion matrices, four classes", cells + labels_of_labeler_2(quick), quick)
    return part._replace(reason=WHY_14)


def table_15(quick):
    """Regions of single elements."""
    found, cells = four_classes(quick), []
    for c, u in np.ndindex(4, 4):
        for k, (end, name) in enumerate((("low", "lower"), ("high", "upper"))):
            values = [one[end][c, u] for one in found]
            cells.append(over_sets(f"class {c}, {name} end", f"predicted {u}", PAPER_15[c][u][k], values, 2))
    held = [((one["low"] <= MULTI) & (one["high"] >= MULTI)).mean() for one in found]
    cells.append(over_sets("share of the 16 regions that hold (paper: all)", "all", 1.0, held, 2))
    return four_part("95 % regions of elements, four classes", cells, quick)
