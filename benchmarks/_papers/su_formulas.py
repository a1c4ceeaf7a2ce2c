"""Su (2023): tables of formulas (8, 9, 16), the information of labelers (Section 4), and lists."""

import itertools

import numpy as np

from benchmarks._papers.harness import Cell, Panel, Part
from benchmarks._papers.su_testing import TABLE
from jtruth import testing
from jtruth.information import bsbc_information, equivalent_error, smallest_team
from jtruth.testing.binary.empirical_bayes import ShareMoments, metric_ratio
from jtruth.training import discriminative_ml, generative_ml, logistic, mmse_risk
from jtruth.training.objectives import empirical_risk


def table_8(quick):
    """The two forms of each metric, on the table of the main example."""
    (tn, fp), (fn, tp) = TABLE
    n, n1 = TABLE.sum(), (fp + tp) / TABLE.sum()
    u, v = tp / n, fn / n
    forms = {
        "accuracy": u - v - n1 + 1,
        "precision": u / n1,
        "recall": u / (u + v),
        "false_alarm_rate": (n1 - u) / (1 - u - v),
        "f1": 2 * u / (u + v + n1),
        "f2": 5 * u / (4 * (u + v) + n1),
    }
    cells = [
        Cell(name, "random-variable form on 533, 246, 42, 179", float(value),
             float(testing.named_metric(name).of_counts(tp, fp, fn, tn)), digits=12)
        for name, value in forms.items()
    ]  # fmt: skip
    return Part(
        "Metrics in terms of U and V", cells, says="The paper's expression beside our metric of the counts."
    )


def table_16(quick):
    """Parameters of the ratios."""
    m = ShareMoments(0.17, 4e-5, 0.043, 3e-5, 0.425)
    u, v, su, sv, n1 = m.mean_u, m.mean_v, m.var_u, m.var_v, m.n1
    rho = np.sqrt(su / (su + sv))
    printed = {
        "recall": (u, su, u + v, su + sv, su),
        "false_alarm_rate": (n1 - u, su, 1 - (u + v), su + sv, su),
        "f1": (2 * u, 4 * su, u + v + n1, su + sv, 2 * su),
        "f2": (5 * u, 25 * su, 4 * (u + v) + n1, 16 * (su + sv), 20 * su),
    }
    cells = []
    for name, values in printed.items():
        r = metric_ratio(m, testing.named_metric(name))
        ours = (r.mean_z, r.var_z, r.mean_w, r.var_w, r.cov)
        scale = abs(ours[0] / values[0])  # a ratio may be written with both parts times the same number
        ours = (ours[0] / scale, ours[1] / scale**2, ours[2] / scale, ours[3] / scale**2, ours[4] / scale**2)
        rows = ("mean of Z'", "variance of Z'", "mean of W'", "variance of W'", "covariance")
        cells += [
            Cell(row, name, float(p), float(o), digits=12)
            for row, p, o in zip(rows, values, ours, strict=True)
        ]
        cells.append(Cell("rho", name, float(rho), float(ours[4] / np.sqrt(ours[1] * ours[3])), digits=12))
    return Part(
        "Parameters of the ratios of normals",
        cells,
        says="At moments (.17, 4e-5), (.043, 3e-5), N_1/N = .425; F_beta for beta = 1 and 2.",
    )


def table_9(quick):
    """Each objective against a sum over all label vectors, on six samples."""
    rng = np.random.default_rng(0)
    n, prior, theta = 6, np.array([0.6, 0.4]), 0.7
    s, y = rng.normal(size=n), rng.integers(0, 2, n)
    lik = rng.dirichlet((2, 2), n)
    log_p = np.stack([-np.logaddexp(0, s), -np.logaddexp(0, -s)], axis=1)
    dens = np.stack([-0.5 * s**2, -0.5 * (s - 1) ** 2], axis=1)
    known = np.where(np.eye(2)[y] == 1, 0.0, -np.inf)
    log_prior_theta = -0.5 * theta**2
    vectors = list(itertools.product((0, 1), repeat=n))

    def total(rows, weight):
        return (
            -np.log(
                sum(np.prod([np.exp(rows[i, c]) * weight[i, c] for i, c in enumerate(v)]) for v in vectors)
            )
            / n
        )

    disc, gen, loss = log_p, dens + np.log(prior), np.asarray(logistic(s))
    rho = lik * prior / (lik * prior).sum(axis=1, keepdims=True)
    risk = sum(np.prod([rho[i, c] for i, c in enumerate(v)]) * loss[range(n), v].mean() for v in vectors)
    one, extra = np.eye(2)[y], -log_prior_theta / n
    entries = {
        ("discriminative, ML", "ideal"): (total(disc, one), discriminative_ml(log_p, known)),
        ("discriminative, ML", "noisy"): (total(disc, lik), discriminative_ml(log_p, np.log(lik))),
        ("discriminative, MAP", "ideal"): (total(disc, one) + extra, discriminative_ml(log_p, known) + extra),
        ("discriminative, MAP", "noisy"): (
            total(disc, lik) + extra,
            discriminative_ml(log_p, np.log(lik)) + extra,
        ),
        ("generative, ML", "ideal"): (total(gen, one), generative_ml(dens, known, prior)),
        ("generative, ML", "noisy"): (total(gen, lik), generative_ml(dens, np.log(lik), prior)),
        ("generative, MAP", "ideal"): (total(gen, one) + extra, generative_ml(dens, known, prior) + extra),
        ("generative, MAP", "noisy"): (
            total(gen, lik) + extra,
            generative_ml(dens, np.log(lik), prior) + extra,
        ),
        ("non-probabilistic", "ideal"): (loss[range(n), y].mean(), empirical_risk(loss, y)),
        ("non-probabilistic", "noisy"): (risk, mmse_risk(loss, rho)),
    }
    cells = [Cell(row, column, float(p), float(o), digits=5) for (row, column), (p, o) in entries.items()]
    return Part(
        "Training objectives",
        cells,
        says="The entry, evaluated as printed with a sum over all 64 label vectors of six samples, beside "
        "ours (MAP: a normal prior of one parameter at .7 is added to both).",
    )


def figure_6(quick):
    """I(Z; Y | T, eps)."""
    errors = np.linspace(0, 0.5, 51)
    series = [
        (f"T = {t}", "line", errors, bsbc_information(t, errors, 0.1)) for t in (1, 2, 3, 5, 10, 20, 50, 100)
    ]
    top = -0.1 * np.log2(0.1) - 0.9 * np.log2(0.9)
    cells = [
        Cell("eps = 0: H(Y), any T", "bits", top, float(bsbc_information(7, 0.0, 0.1)), digits=10),
        Cell("eps = 1/2: nothing", "bits", 0.0, float(bsbc_information(7, 0.5, 0.1)), digits=10),
    ]
    return Part(
        "Mutual information of T labelers, pi(1) = .1",
        cells,
        [Panel("error probability", "bits", series, limits=(0, 0.5, 0, 0.5))],
        "a surface over T and eps, rising with T and as eps falls to 0.",
        "Curves instead of a surface. The formula printed in 4.1 cannot give it ([errata](errata.md)).",
    )


def figure_7(quick):
    """I(Z; Y | eps') of one labeler."""
    shares, errors = np.linspace(0, 1, 41), np.linspace(0, 1, 41)
    z = bsbc_information(1, errors[:, None], shares[None, :])
    mirrored = float(np.abs(z - z[:, ::-1]).max())
    return Part(
        "Mutual information of one labeler",
        [Cell("largest asymmetry about pi(1) = 1/2", "bits", 0.0, mirrored, digits=10)],
        [Panel("pi(1)", "error probability", [], heat={"z": np.round(z, 3), "extent": (0, 1, 0, 1)})],
        "a surface over pi(1) and eps', symmetric about 1/2.",
    )


def figure_8(quick):
    """Teams worth one labeler."""
    prior, teams = np.array([0.6, 0.4]), np.unique(np.geomspace(1, 100, 25).round().astype(int))
    series = []
    for single in (0.01, 0.02, 0.05, 0.10):
        bits = float(bsbc_information(1, single, 0.4))
        found = [float(equivalent_error(bits, prior, num_labelers=int(t))) for t in teams]
        series.append((f"eps' = {single}", "line", found, teams))
    cells = [
        Cell(
            "smallest team of error .25 worth one of .05",
            "T",
            None,
            smallest_team(0.25, prior, float(bsbc_information(1, 0.05, 0.4))),
            digits=0,
        ),
        Cell(
            "smallest team of error .45 worth one of .01",
            "T",
            None,
            smallest_team(0.45, prior, float(bsbc_information(1, 0.01, 0.4))),
            digits=0,
        ),
    ]
    return Part(
        "Labelers needed for the information of one, pi(1) = .4",
        cells,
        [Panel("error probability of each", "T", series, limits=(0, 0.5, 0, 100))],
        "four curves of T over eps for eps' = .01, .02, .05, .10, steep at first, with an asymptote at 1/2.",
    )


def bits_of_section_5_5():
    """The four numbers of 5.5, and what they are worth in one labeler."""
    share = 126 / 351
    rows = (
        ("1 of .05", 1, 0.05, 0.667),
        ("9 of .25", 9, 0.25, 0.758),
        ("1 of .01", 1, 0.01, 0.863),
        ("399 of .45", 399, 0.45, 0.859),
    )
    cells = [
        Cell(name, "bits", printed, float(bsbc_information(t, e, share))) for name, t, e, printed in rows
    ]
    for name, t, e, _ in rows[1::2]:
        bits = float(bsbc_information(t, e, share))
        cells.append(
            Cell(
                f"error of one labeler worth {name}",
                "eps'",
                None,
                float(equivalent_error(bits, np.array([1 - share, share]))),
                digits=5,
            )
        )
    return cells


LISTS = {  # a table or a figure without numbers: why there is nothing to compare
    "Table 1": Part(
        "Notation by an example",
        says="Five rows of the labels of Section 5.4, whose set is not printed in full: nothing to "
        "compute. `jtruth.Labels.from_matrix` takes such a table, -1 for no label.",
    ),
    "Table 2": None,
    "Table 3": None,
    "Table 4": None,
    "Table 5": Part("Abbreviations", says="A list of words."),
    "Table 6": Part("Symbols", says="A list of words."),
    "Table 7": Part(
        "Key distributions",
        says="A list of names of distributions: `jtruth.class_posterior` and "
        "`jtruth.class_posterior_given_prediction` compute them, and every number below uses them.",
    ),
    "Figure 1": Part("Supervised classification and estimation theory", says="A diagram of words."),
    "Figure 2": Part(
        "Graphical model of testing", says="A diagram: (7) says the same, and all of Section 5.2 samples it."
    ),
    "Figure 3": Part("Graphical model of the iteration", says="A diagram; the iteration is Figure 9."),
    "Figure 4": Part(
        "Graphical model of the iteration, several classes", says="A diagram; the iteration is Table 13."
    ),
    "Figure 5": Part(
        "Binary symmetric broadcast channel", says="A diagram of (57): `jtruth.noise.Symmetric`."
    ),
}
