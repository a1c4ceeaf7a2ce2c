"""Su (2023): the related work of Tables 2 to 4 on the paper's simulation, Sections 5.4 and 5.5, Appendix F.

Training is that of `benchmarks/training_ionosphere.py`, whose head holds 30 draws; here fewer draws are made,
with pictures of the first.
"""

import time
import warnings
from functools import cache, partial

import jax
import jax.numpy as jnp
import numpy as np

import jtruth as jt
from benchmarks._papers.agreement_accuracy import carlotto_accuracy, lehner_accuracy, weighted_vote_accuracy
from benchmarks._papers.harness import DATA, Cell, Panel, Part, average
from benchmarks._papers.su_formulas import bits_of_section_5_5
from benchmarks._papers.su_testing import COLUMNS, ETA, NAMES, PHI, draw_labels, main_sets, true_metrics
from jtruth import testing
from jtruth.lam_stork import true_error_rate
from jtruth.learning import METHODS, fit_dawid_skene
from jtruth.noise import Symmetric

NO_DATA = "the Ionosphere data are not here"
PRIOR = np.array([0.8, 0.2])


def complete_sets(number):
    """Sets of the main example's labelers with classes drawn anew: (y, y_pred, labels)."""
    found = []
    for seed in range(number):
        rng = np.random.default_rng(seed)
        y = (rng.random(1000) < 0.2).astype(int)
        y_pred = (rng.random(1000) < np.where(y == 1, 0.8, 0.3)).astype(np.int32)
        z, log_lik = draw_labels(jax.random.key(seed), jnp.asarray(y), jnp.asarray(PHI), jnp.asarray(ETA))
        found.append((y, y_pred, jt.Labels.from_matrix(np.asarray(z), 2), np.asarray(log_lik, np.float64)))
    return found


NAMED_2 = {
    "majority_vote": "votes",
    "dawid_skene": "Dawid and Skene (1979)",
    "glad": "Whitehill et al. (2009)",
    "welinder": "Welinder and Perona (2010)",
    "kos": "Karger et al. (2014)",
    "minimax_entropy": "Zhou et al. (2015)",
    "hierarchical": "Platanios et al. (2016), hierarchical rows",
    "label_model": "Ratner et al. (2016), triplets",
    "one_coin": "one error rate a labeler",
    "difficulty_fallibility": "Su's own model (59)-(60), learned",
}


def _judged(rows, name, y, p, psi, seconds):
    p = np.asarray(p, np.float64) / np.asarray(p, np.float64).sum(axis=1, keepdims=True)
    best = p.max(axis=1, keepdims=True)
    tied = p > best - 1e-9
    right = (tied[np.arange(y.size), y] / tied.sum(axis=1)).mean()
    rows.setdefault(name, []).append((right, p[:, 1].mean() - y.mean(), psi, seconds))


def table_2(quick):
    """Every named way to learn labelers, on the main example."""
    rows, sets = {}, complete_sets(3 if quick else 12)
    for y, _, labels, log_lik in sets:
        _judged(rows, "Su: parameters known", y, np.asarray(jt.class_posterior(log_lik, PRIOR)), np.nan, 0.0)
        for name, method in METHODS.items():
            if name not in NAMED_2 or method.refuses(labels):
                continue
            start = time.process_time()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                fit = method.fit(labels, key=0)
            error = _labeler_error(fit, labels, y)
            _judged(
                rows, NAMED_2[name], y, np.asarray(fit.class_posterior), error, time.process_time() - start
            )
    columns = ("correct classes", "share of class 1, error", "matrices, mean error", "seconds")
    cells = []
    for name, values in rows.items():
        for column, each in zip(columns, np.array(values).T, strict=True):
            if np.isfinite(each).any():
                cells.append(average(name, column, each, 2 if column == "seconds" else 3))
    return Part(
        "Related work on learning labelers",
        cells,
        says="The paper's table names methods and has no numbers. Here each that can be computed learns "
        f"from {len(sets)} sets of the main example (1000 samples, about 2.8 labels each). The "
        "columns are the share of correct classes, the error of the share of class 1, and the "
        "mean difference of learned from counted matrices; ± is the standard error. Donmez et al. "
        "(2010) is EM of the same model as Dawid and Skene's; Branson (2017) and Van Horn et al. (2018) "
        "ask for labels in sequence; Northcutt et al. (2021) needs a trained classifier's probabilities "
        "(`jtruth.learning.fit_confident`), Table 3 trains some.",
    )


def _labeler_error(fit, labels, y):
    try:
        strata = fit.noise_model().strata(labels.num_labelers)
    except ValueError:  # a method that does not estimate how labelers err
        return np.nan
    found = np.einsum("hc,htck->tck", np.asarray(strata.weights), np.asarray(strata.rows))
    sample, labeler, label = labels.entries()
    own = np.zeros(found.shape)
    np.add.at(own, (labeler, y[sample], label), 1)
    return np.abs(found - own / np.maximum(own.sum(axis=2, keepdims=True), 1)).mean()


def ionosphere_draw(seed, labelers=5):
    """One draw of Section 5.4: (x, y, z, log-likelihood, training rows, test rows)."""
    from sklearn.model_selection import train_test_split

    from benchmarks import training_ionosphere as own

    x, y = own.load()
    rng = np.random.default_rng(seed)
    a, b = train_test_split(np.arange(351), test_size=0.25, stratify=y, random_state=seed)
    z, delta, phi = own.draw_labels(rng, y)
    labels = jt.Labels.from_matrix(z[:, :labelers], 2)
    log_lik = np.asarray(
        jt.noise.DifficultyFallibility(delta, phi[:labelers], 2).log_likelihood(labels), np.float64
    )
    return x, y, z[:, :labelers], log_lik, a, b, phi


def _outputs(model, x):
    from jtruth.training import linear_outputs

    return np.asarray(linear_outputs(model, jnp.asarray(x)))


def _trained(seed, labelers):
    """Scores of the test part by every way of Table 3 and Section 3; lambda = 5."""
    from jtruth import training

    x, y, z, log_lik, a, b, phi = ionosphere_draw(seed, labelers)
    prior, lam = np.array([225, 126]) / 351, 5.0
    labels = jt.Labels.from_matrix(z[a], 2)
    rho = np.asarray(jt.class_posterior(log_lik[a], prior))
    hard = lambda c: np.where(np.eye(2)[c] == 1, 0.0, -np.inf)  # noqa: E731

    def fit(lik, objective="mmse"):
        return training.fit_linear(x[a], lik, prior, regularisation=lam, objective=objective).model

    scores = {
        "ideal: correct labels": _outputs(fit(hard(y[a])), x[b]),
        "Su: ML (32)": _outputs(fit(log_lik[a], "ml"), x[b]),
        "Su: MMSE (40); Ratner et al.": _outputs(fit(log_lik[a]), x[b]),
        "Su 3.7: label estimation": _outputs(fit(hard(rho.argmax(axis=1))), x[b]),
        "first labeler's labels as they are": _outputs(fit(hard(z[a, 0])), x[b]),
    }
    voters = training.fit_voters(x[a], labels, regularisation=lam)
    each = [_outputs(jax.tree.map(lambda leaf, t=t: leaf[t], voters.model), x[b]) for t in range(labelers)]
    scores["Su 3.7: voting"] = np.asarray(training.median_scores(np.stack(each)))
    raykar = training.fit_raykar(x[a], labels, regularisation=lam, pseudo_counts=(1.0, 1.0))
    scores["Raykar et al. (2010)"] = _outputs(raykar.model, x[b])

    def train(posterior):
        model = training.fit_linear(
            x[a], np.log(np.maximum(posterior, 1e-12)), np.array([0.5, 0.5]), regularisation=lam
        ).model
        return model, (_outputs(model, x[a]) > 0).astype(int)

    scores["Khetan et al. (2018)"] = _outputs(training.fit_mbem(train, labels).model, x[b])
    scores |= _corrected(x, z, phi, a, b, lam)
    return scores, y[b]


@jax.jit
def proxy_objective(w, design, zs, channels, ridge):
    """Mean proxy loss of all labels: Natarajan et al., Su (56)."""
    from jtruth.training import logistic
    from jtruth.training.corrections import weak_losses

    losses, total = logistic(design @ w), 0.0
    for t in range(zs.shape[1]):
        weak = weak_losses(losses, channels[t])
        mine = jnp.take_along_axis(weak, jnp.maximum(zs[:, t], 0)[:, None], axis=1)[:, 0]
        total = total + jnp.where(zs[:, t] >= 0, mine, 0).sum()
    return total / (zs >= 0).sum() + ridge * (w[1:] ** 2).sum()


@jax.jit
def layer_objective(v, design, zs, trace, ridge):
    """Labels predicted through a learned layer for each labeler, with a multiple of the mean trace."""
    from jtruth.training import log_probabilities

    size = zs.shape[1]
    w, rows = v[: design.shape[1]], jax.nn.softmax(v[design.shape[1] :].reshape(size, 2, 2), axis=2)
    p, total = jnp.exp(log_probabilities(design @ w)), 0.0
    for t in range(size):
        mine = jnp.take_along_axis(p @ rows[t], jnp.maximum(zs[:, t], 0)[:, None], axis=1)[:, 0]
        total = total - jnp.where(zs[:, t] >= 0, jnp.log(mine), 0).sum()
    penalty = trace * jnp.trace(rows, axis1=1, axis2=2).mean() + ridge * (w[1:] ** 2).sum()
    return total / (zs >= 0).sum() + penalty


_PROXY, _LAYER = (jax.jit(jax.value_and_grad(f)) for f in (proxy_objective, layer_objective))


def _corrected(x, z, phi, a, b, lam):
    """Losses of single labels, and labelers learned as a layer, with and without a trace."""
    from scipy.optimize import minimize

    design, size = jnp.asarray(np.column_stack([np.ones(len(a)), x[a]]), jnp.float32), z.shape[1]
    error, width = phi[:size] / 2 + (1 - phi[:size]) / 12, design.shape[1]  # mean difficulty 1/6
    channels = jnp.asarray([[[1 - e, e], [e, 1 - e]] for e in error], jnp.float32)
    start = np.concatenate([np.zeros(width), np.tile(2 * np.eye(2), (size, 1, 1)).ravel()])
    zs, ridge = jnp.asarray(z[a]), jnp.float32(lam / (2 * len(a)))
    wanted = {
        "Natarajan et al. (2013), Cid-Sueiro (2012)": (_PROXY, start[:width], channels),
        "Sukhbaatar et al. (2015), Jindal et al. (2016)": (_LAYER, start, jnp.float32(0)),
        "Tanno et al. (2019)": (_LAYER, start, jnp.float32(0.01)),
    }
    found = {}
    for name, (both, at, extra) in wanted.items():
        fun = lambda v, f=both, e=extra: tuple(  # noqa: E731
            np.asarray(o, float) for o in f(jnp.asarray(v, jnp.float32), design, zs, e, ridge)
        )
        w = minimize(fun, at, jac=True, method="L-BFGS-B").x[:width]
        found[name] = np.column_stack([np.ones(len(b)), x[b]]) @ w
    return found


def table_3(quick):
    """Every named way to train, on Ionosphere."""
    from sklearn.metrics import roc_auc_score

    says = (
        "The paper's table names methods and has no numbers. Here each trains logistic regression "
        "(lambda = 5) on Ionosphere with the labelers of Section 5.4. Shown is the area under the "
        "ROC curve against correct labels, test part, ± standard error over draws. The same "
        "linear model replaces the papers' convolutional networks, so only the use of the labels "
        "is compared. van Rooyen "
        "and Williamson (2018) is a framework."
    )
    if not (DATA / "ionosphere").exists():
        return Part("Related work on training", [Cell("all", "", None, None, reason=NO_DATA)], says=says)
    cells, draws = [], 3 if quick else 12
    for labelers in (1, 5):
        rows = {}
        for seed in range(draws):
            scores, y = _trained(seed, labelers)
            for name, s in scores.items():
                rows.setdefault(name, []).append(roc_auc_score(y, s))
        for name, values in rows.items():
            cells.append(average(name, f"area, T = {labelers}", values))
    return Part("Related work on training", cells, says=says + f" {draws} draws.")


def table_4(quick):
    """Every named way to test, on the main example."""
    sets, rows = complete_sets(4 if quick else 60), {}
    for y, y_pred, labels, log_lik in sets:
        true = (y == y_pred).mean()
        z = labels.to_matrix()
        mine = z[:, 1] >= 0  # the best labeler, who has labelled most
        apparent = (y_pred[mine] == z[mine, 1]).mean()
        right = (z[mine, 1] == y[mine]).mean()
        x = np.asarray(testing.log_odds_of(jnp.asarray(log_lik), jnp.asarray(PRIOR)), np.float64)
        em = fit_dawid_skene(labels)
        votes = labels.counts().argmax(axis=1)
        found = {
            "votes taken as true": (votes == y_pred).mean(),
            "Smyth et al. (1994): EM's classes taken as true": (
                em.class_posterior.argmax(axis=1) == y_pred
            ).mean(),
            "Lam and Stork (2003), labeler 2, rate known": 1 - true_error_rate(1 - apparent, 1 - right),
            "Carlotto (2009), labeler 2, rate known": carlotto_accuracy(apparent, right, 2),
            "Lehner (2015), after Holodnak et al. (2018)": lehner_accuracy(y_pred, labels),
            "weighted votes, after Holodnak et al. (2018)": weighted_vote_accuracy(y_pred, labels),
            "labelers' mean (Su 2.6.1)": testing.labeler_metrics(y_pred, labels).mean[0],
            "labelers' median (Su 2.6.1)": testing.labeler_metrics(y_pred, labels).median[0],
        }
        for name, method in (
            ("Su, Algorithm 1", "empirical_bayes"),
            ("Su, Algorithm 3", "labels"),
            ("predictions ignored", "no_predictions"),
            ("exact posterior", "bayes"),
        ):
            found[name] = testing.binary_posterior(x, y_pred, method=method).table.estimate("accuracy").mean
        for name, value in found.items():
            rows.setdefault(name, []).append(float(value) - true)
    cells = []
    for name, off in rows.items():
        off = np.array(off)
        cells.append(average(name, "mean error", off, 4))
        cells.append(Cell(name, "root mean squared error", None, float(np.sqrt((off**2).mean())), 0.0, 4))
    return Part(
        "Related work on testing",
        cells,
        says="The paper's table names methods and has no numbers. Here each estimates the accuracy of the "
        f"main example's classifier on {len(sets)} sets. The report of Holodnak et al. was not to be "
        "had (`benchmarks/_papers/agreement_accuracy.py` has what is known of it).",
    )


@cache
def drawn(quick):
    """The first draw of Section 5.4: for each T log odds and by method the chosen scores, test part."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import train_test_split

    from benchmarks import training_ionosphere as own

    x, y = own.load()
    rng, prior = np.random.default_rng(0), np.array([225, 126]) / 351
    a, b = train_test_split(np.arange(351), test_size=0.25, stratify=y, random_state=0)
    z, delta, phi = own.draw_labels(rng, y)
    models = own.train(x[a], y[a], z[a], own.evidence_of(z[a], delta[a], phi, prior), own.METHODS)
    test = own.evidence_of(z[b], delta[b], phi, prior)
    from jtruth.training import linear_outputs, median_scores

    scores_of = jax.vmap(jax.vmap(linear_outputs, in_axes=(0, None)), in_axes=(0, None))
    scores = {name: np.asarray(scores_of(model, x[b])) for name, model in models.items()}
    ideal = scores["ideal"][0][np.argmax([roc_auc_score(y[b], s) for s in scores["ideal"][0]])]
    found = {}
    for k, t in enumerate(own.LABELERS):
        log_odds = np.asarray(testing.log_odds_of(jnp.asarray(test[k][0]), jnp.asarray(prior)), np.float64)
        chosen = {}
        for method in own.METHODS:
            mine = (
                scores[method][k]
                if method != "voting"
                else np.stack(
                    [np.asarray(median_scores(one)) for one in scores["voting"][:t].transpose(1, 0, 2)]
                )
            )
            mine = mine[:: 4 if quick else 1]
            chosen[method] = mine[own.areas(mine, log_odds).argmax()]
        found[t] = (log_odds, chosen)
    return found, ideal, y[b]


def _or_missing(make, title):
    def part(quick):
        if not (DATA / "ionosphere").exists():
            return Part(title, [Cell("all", "", None, None, reason=NO_DATA)])
        return make(quick)._replace(title=title)

    return part


ONE_DRAW = "Drawn is our first split and labels; the paper's are not printed, nor any number of this figure."


def _figure_19(quick):
    found, ideal, y = drawn(quick)
    panels, cells = [], []
    for t, (log_odds, chosen) in found.items():
        series = []
        for method, scores in chosen.items():
            y_pred = (scores > 0).astype(int)
            table = testing.binary_posterior(log_odds, y_pred, method="empirical_bayes").table
            (x, low, high), (p, down, up) = (
                (law.mean, *law.interval(0.95)[:2]) for law in map(table.estimate, ("recall", "precision"))
            )
            true = true_metrics(y_pred, y)
            series.append((f"{method}: estimated", "error", [x], [p], [x - low, high - x, p - down, up - p]))
            series.append((f"{method}: actual", "cross", [true["recall"]], [true["precision"]]))
            for name, column, value in (("recall", "REC", x), ("precision", "PREC", p)):
                gap = float(value - true[name])
                cells.append(Cell(f"T = {t}, {method}", f"{column}, estimated - actual", None, gap, 0.0))
        at = true_metrics((ideal > 0).astype(int), y)
        series.append(("ideal classifier", "points", [at["recall"]], [at["precision"]]))
        panels.append(Panel("recall", "precision", series, f"T = {t}", (0.2, 1.05, 0.4, 1.05)))
    return Part(
        "",
        cells,
        panels,
        "contours of (PREC, REC) at threshold 1/2 for four trainings and T = 1, 5, 9, 13; regions shrink "
        "with T and the estimates meet the actual points.",
        ONE_DRAW + " Bars are 95 % intervals by Algorithm 1.",
    )


def _roc(scores, y):
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(y[order])
    return np.r_[0, (np.arange(1, y.size + 1) - hits) / (1 - y).sum()], np.r_[0, hits / y.sum()]


def _figure_20(quick):
    found, ideal, y = drawn(quick)
    panels = []
    for t, (log_odds, chosen) in found.items():
        series = []
        for method, scores in chosen.items():
            curve = testing.curves_at_thresholds(log_odds, scores)
            series.append((method, "line", curve.false_alarm, curve.detection))
        panels.append(
            Panel("P_FA", "P_D", [*series, ("ideal", "dashed", *_roc(ideal, y))], f"T = {t}", (0, 1, 0, 1))
        )
    return Part(
        "",
        [],
        panels,
        "estimated ROC curves, jagged at T = 1, stepwise and near the ideal one from T = 5.",
        ONE_DRAW,
    )


def _figure_21(quick):
    from sklearn.metrics import roc_auc_score

    from benchmarks import training_ionosphere as own

    found, ideal, y = drawn(quick)
    panels = [
        Panel(
            "P_FA",
            "P_D",
            [(m, "line", *_roc(s, y)) for m, s in chosen.items()] + [("ideal", "dashed", *_roc(ideal, y))],
            f"T = {t}",
            (0, 1, 0, 1),
        )
        for t, (_, chosen) in found.items()
    ]
    cells = [Cell(f"{m}, this draw", f"T = {t}", None, float(roc_auc_score(y, s)))
             for t, (_, chosen) in found.items() for m, s in chosen.items()]  # fmt: skip
    kept = own.__doc__.split("actual    ML", 1)[1].split("estimated ML")[0]
    lines = [
        "ML" + line if k == 0 else line for k, line in enumerate(kept.strip("\n").split("\n")) if line.strip()
    ]
    for line in lines:
        name, *values = _split(line)
        cells += [
            Cell(f"{name}, 30 draws (stored)", f"T = {t}", None, m, e)
            for t, (m, e) in zip(own.LABELERS, values, strict=True)
        ]
    return Part(
        "",
        cells,
        panels,
        "actual ROC curves of the same classifiers: all near the ideal one.",
        ONE_DRAW + " Areas of 30 draws are the stored result of `benchmarks/training_ionosphere.py`.",
    )


def _split(line):
    import re

    numbers = re.findall(r"(\d\.\d+) \+- (\d\.\d+)", line)
    return line[: line.index(numbers[0][0])].strip(), *((float(m), float(e)) for m, e in numbers)


def _heat(log_odds, scores, curve, title, series, quick):
    found = testing.curve_density(log_odds, scores, curve=curve, thresholds=12 if quick else 40, cells=40)
    z = np.log10(np.clip(found.density.T, 1e-3, 1e4))
    names = ("P_FA", "P_D") if curve == "roc" else ("recall", "precision")
    return Panel(*names, series, title, (0, 1, 0, 1), {"z": np.round(z, 1), "extent": (0, 1, 0, 1)})


def _points(log_odds, scores, y, curve):
    found = testing.curves_at_thresholds(log_odds, scores)
    if curve == "roc":
        return [
            ("estimated", "line", found.false_alarm, found.detection),
            ("actual", "dashed", *_roc(scores, y)),
        ]
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(y[order])
    return [("estimated", "line", found.detection[1:], found.precision[1:]),
            ("actual", "dashed", hits / y.sum(), hits / np.arange(1, y.size + 1))]  # fmt: skip


def _posterior_figure(quick, method, curve, shows):
    found, _, y = drawn(quick)
    panels = [_heat(x, chosen[method], curve, f"T = {t}", _points(x, chosen[method], y, curve), quick)
              for t, (x, chosen) in found.items()]  # fmt: skip
    return Part(
        "",
        [],
        panels,
        shows,
        ONE_DRAW + " Grey is log10 of the density from -3 to 4, averages of exact joint posteriors over "
        "thresholds (the paper's are the normal ones of Algorithm 1).",
    )


TEAMS = {"1 of .05": (1, 0.05), "9 of .25": (9, 0.25), "1 of .01": (1, 0.01), "399 of .45": (399, 0.45)}


@cache
def teams(draws):
    """Areas (draws,) by (team, objective); and of the first draw what is drawn."""
    from sklearn.metrics import roc_auc_score
    from sklearn.model_selection import train_test_split

    from benchmarks import training_ionosphere as own
    from jtruth.training import fit_linear

    x, y = own.load()
    prior, areas, first = np.array([225, 126]) / 351, {}, {}
    for seed in range(draws):
        rng = np.random.default_rng(seed)
        a, b = train_test_split(np.arange(351), test_size=0.25, stratify=y, random_state=seed)
        for team, (size, error) in TEAMS.items():
            z = np.where(rng.random((351, size)) < error, 1 - y[:, None], y[:, None])
            log_lik = np.asarray(Symmetric(error, 2).log_likelihood(jt.Labels.from_matrix(z, 2)), np.float64)
            for objective in ("ml", "mmse"):
                model = fit_linear(x[a], log_lik[a], prior, regularisation=5.0, objective=objective).model
                scores = _outputs(model, x[b])
                areas.setdefault((team, objective.upper()), []).append(roc_auc_score(y[b], scores))
                if seed == 0:
                    log_odds = np.asarray(
                        testing.log_odds_of(jnp.asarray(log_lik[b]), jnp.asarray(prior)), np.float64
                    )
                    first[team, objective.upper()] = (log_odds, scores, y[b])
    return areas, first


def _teams_figure(quick, names, curve, shows):
    draws = 3 if quick else 12
    areas, first = teams(draws)
    cells = [cell for cell in bits_of_section_5_5() if any(name in cell.row for name in names)]
    for team in names:
        for objective in ("ML", "MMSE"):
            cells.append(average(team, f"area, {objective}", areas[team, objective]))
    gap = np.array(areas[names[1], "ML"]) - areas[names[0], "ML"]
    cells.append(average(f"{names[1]} less {names[0]}, paired", "area, ML", gap, 4))
    panels = [_heat(*first[team, o][:2], curve, f"{team}, {o}", _points(*first[team, o], curve), quick)
              for o in ("ML", "MMSE") for team in names]  # fmt: skip
    return Part(
        "",
        cells,
        panels,
        shows,
        f"Areas are means over {draws} draws ± standard error, lambda = 5; drawn is the first.",
    )


def _figure_24(quick):
    return _teams_figure(
        quick,
        ("1 of .05", "9 of .25"),
        "roc",
        "ROC analysis, one good labeler left, nine mediocre ones right: the nine train a better "
        "classifier, and their posteriors are narrower.",
    )


def _figure_25(quick):
    return _teams_figure(
        quick,
        ("1 of .01", "399 of .45"),
        "precision_recall",
        "posteriors of P-R curves of one expert and of 399 poor labelers: comparable.",
    )


figure_19 = _or_missing(_figure_19, "Training with T labelers, threshold 1/2")
figure_20 = _or_missing(_figure_20, "Estimated ROC curves")
figure_21 = _or_missing(_figure_21, "Actual ROC curves")
figure_22 = _or_missing(
    lambda quick: _posterior_figure(
        quick,
        "ML",
        "roc",
        "heat maps of ROC curve posteriors of the ML-trained classifier, broad at T = 1, narrow at 13.",
    ),
    "Posteriors of ROC curves, ML",
)
figure_23 = _or_missing(
    lambda quick: _posterior_figure(
        quick, "MMSE", "precision_recall", "the same of P-R curves of the MMSE-trained classifier."
    ),
    "Posteriors of precision-recall curves, MMSE",
)
figure_24 = _or_missing(_figure_24, "One good labeler or nine mediocre ones")
figure_25 = _or_missing(_figure_25, "One expert or 399 poor labelers")


def appendix_f(quick):
    """Objectives and gradients of logistic regression, printed against ours, at a random point."""
    from jtruth.training import Linear, linear_objective

    rng = np.random.default_rng(0)
    n, d, lam = 12, 3, 1.5
    x, theta, lik = rng.normal(size=(n, d)), rng.normal(size=d + 1), rng.dirichlet((2, 2), n)
    rho = lik * [0.6, 0.4] / (lik * [0.6, 0.4]).sum(axis=1, keepdims=True)
    tilde = np.column_stack([np.ones(n), x])
    p = 1 / (1 + np.exp(-tilde @ theta))
    ridge = lam / (2 * n) * (theta[1:] ** 2).sum()
    own = np.r_[0.0, lam / n * theta[1:]]
    both = {
        "ML": (
            -np.log(lik[:, 0] * (1 - p) + lik[:, 1] * p).mean() + ridge,
            ((p - lik[:, 1] * p / (lik[:, 0] * (1 - p) + lik[:, 1] * p)) @ tilde) / n + own,
            np.log(lik),
            "ml",
        ),
        "MMSE": (
            -(rho[:, 0] * np.log(1 - p) + rho[:, 1] * np.log(p)).mean() + ridge,
            ((rho[:, 0] * p - rho[:, 1] * (1 - p)) @ tilde) / n + own,
            rho,
            "mmse",
        ),
    }
    cells = []
    with jax.enable_x64(True):
        model = Linear(jnp.asarray(theta[0]), jnp.asarray(theta[1:]))
        for name, (value, gradient, evidence, objective) in both.items():
            of = partial(linear_objective, objective=objective)
            ours, slope = jax.value_and_grad(of)(model, jnp.asarray(x), jnp.asarray(evidence), lam)
            slopes = np.r_[float(slope.intercept), np.asarray(slope.weights)]
            cells.append(Cell(f"J_{name}", "value", float(value), float(ours), digits=10))
            cells += [Cell(f"J_{name}", f"slope {j}", float(g), float(o), digits=10)
                      for j, (g, o) in enumerate(zip(gradient, slopes, strict=True))]  # fmt: skip
    return Part(
        "Logistic regression: objectives and gradients",
        cells,
        says="The printed formulas at a random point (12 samples, 3 features) beside automatic "
        "differentiation of ours.",
    )


def tempered(x, y_pred):
    """Draws of the count table by tempering, and log evidence with its error."""
    from jtruth.latent import Effort
    from jtruth.latent.fit import model_of, run_tempered
    from jtruth.latent.infer.gibbs import Digest
    from jtruth.latent.models import strata
    from jtruth.latent.models.strata import arrays_of
    from jtruth.latent.rows import number_of_groups
    from jtruth.testing.multiclass import table_problem

    two = np.stack([-np.logaddexp(0, x), -np.logaddexp(0, -x)], axis=1)
    model, observed = table_problem(two, y_pred, np.ones((2, 2)), learned=False)
    found = model_of(strata.KIND, arrays_of(model, number_of_groups(observed)), observed, 2)
    counts = Digest(lambda draws: ({"counts": np.rint(draws["table0"])}, {}), ("counts",))
    return run_tempered(found, observed, counts, key=0, effort=Effort())


def empirical_and_full_bayes(quick):
    """One model, five ways, on one set of the main example; and the error of empirical Bayes."""
    from jtruth.tables.posterior import TableDraws
    from jtruth.testing.bayes import binary_nuts

    y_pred, sets = main_sets(1)
    x = sets[0][1]
    tables, cells, seconds = {}, [], {}
    ways = {
        "empirical Bayes, Algorithm 1": lambda: (
            testing.binary_posterior(x, y_pred, method="empirical_bayes").table
        ),
        "empirical Bayes, Algorithm 2": lambda: (
            testing.binary_posterior(x, y_pred, method="sampling", key=jax.random.key(0)).table
        ),
        "full Bayes, exact": lambda: testing.binary_posterior(x, y_pred).table,
        "full Bayes, tempering": lambda: tempered(x, y_pred),
        "full Bayes, NUTS": lambda: binary_nuts(x, y_pred, key=jax.random.key(0)),
        "2.6.2 as printed": lambda: testing.binary_posterior(x, y_pred, method="prior_marginal").table,
    }
    for name, make in ways.items():
        start = time.process_time()
        tables[name] = make()
        seconds[name] = time.process_time() - start
    run = tables["full Bayes, tempering"]
    counts = np.asarray(run.draws["counts"]).reshape(-1, 2, 2)
    tables["full Bayes, tempering"] = TableDraws(counts.astype(np.int64))
    exact = {name: tables["full Bayes, exact"].estimate(name) for name in NAMES}
    for name, table in tables.items():
        for metric, column in zip(NAMES, COLUMNS, strict=True):
            law = table.estimate(metric)
            sampled = name in ("full Bayes, tempering", "full Bayes, NUTS")
            error = float(law.sd / np.sqrt(400)) if sampled else 0.0  # at least 400 effective draws
            cells.append(Cell(f"{name}: mean", column, None, float(law.mean), error, 4))
            if sampled:
                gap = (law.mean - exact[metric].mean) / error
                cells.append(
                    Cell(f"{name}: mean less the exact one, in errors", column, None, float(gap), 0.0, 1)
                )
            low, high = law.interval(0.95)
            cells.append(Cell(f"{name}: width of 95 %", column, None, float(high - low), 0.0, 4))
        cells.append(Cell(f"{name}: mean", "seconds", None, float(seconds[name]), 0.0, 1))
    evidence = testing.binary_posterior(x, y_pred).log_evidence
    cells.append(Cell("full Bayes, exact: log evidence", "value", None, float(evidence), 0.0, 3))
    cells.append(Cell("full Bayes, tempering: log evidence", "value", None, *map(float, run.evidence), 3))
    return Part(
        "one model five ways",
        cells,
        says="Not in the paper: the same model (operating point uniform) five ways on our first set of "
        "the main example. Errors of tempering and NUTS are those of 400 effective draws, which both "
        "have at least.",
    )
