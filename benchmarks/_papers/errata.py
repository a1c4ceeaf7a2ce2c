"""What is wrong in the four papers, each with a number that shows it: docs/papers/errata.md.

An entry holds what is printed, says why it is wrong, and evaluates the printed, the right one, and a
reference by enumeration or simulation that shares no code with either. `tests/test_papers.py` asks that right
and reference agree, and the printed not.
"""

import itertools
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from scipy.special import gammaln
from scipy.stats import norm

from jtruth import testing
from jtruth.histograms import calibration_loss
from jtruth.histograms.concentration import log_dirichlet_multinomial
from jtruth.histograms.label_counts import from_counts
from jtruth.information import bsbc_information
from jtruth.lam_stork import error_bounds
from jtruth.lam_stork.rates import true_error_variance
from jtruth.testing import steps
from jtruth.testing.baselines import prior_marginal_table
from jtruth.training import discriminative_ml


class Erratum(NamedTuple):
    """One of them."""

    where: str
    formula: str  # as printed
    says: str  # why it is wrong
    what: str  # the number
    printed: float
    right: float
    reference: float
    tolerance: float = 1e-9


def information():
    """Su 4.1."""
    t, e, p1 = 3, 0.2, 0.3
    m = np.arange(t + 1)
    choose = np.array([1, 3, 3, 1])
    a, b = e**m * (1 - e) ** (t - m), (1 - e) ** m * e ** (t - m)
    mixed = (1 - p1) * a + p1 * b
    printed = (1 - p1) * (choose * a * np.log2(a)).sum() - (choose * mixed * np.log2(mixed)).sum()
    total = 0.0  # sum over all label vectors and classes of p log p(z|y)/p(z)
    for z in itertools.product((0, 1), repeat=t):
        given = [np.prod([1 - e if v == y else e for v in z]) for y in (0, 1)]
        law = (1 - p1) * given[0] + p1 * given[1]
        total += sum(w * g * np.log2(g / law) for w, g in zip((1 - p1, p1), given, strict=True))
    return Erratum(
        "Su 4.1, the displayed formula of I(Z; Y | T, eps)",
        "I(Z; Y) = pi(0) sum_m C(T, m) eps^m (1 - eps)^(T - m) log2(eps^m (1 - eps)^(T - m)) - sum_m C(T, "
        "m) p_m log2 p_m, with p_m = pi(0) eps^m (1 - eps)^(T - m) + pi(1) (1 - eps)^m eps^(T - m)",
        "The first sum is multiplied by pi(0). With H(Z | y) the same for both classes, I = H(Z) - H(Z | "
        "Y) = H(Z) + sum_m C(T, m) eps^m (1 - eps)^(T - m) log2 of the same: no factor. As printed, "
        "information exceeds the entropy of Y.",
        "bits at T = 3, eps = .2, pi(1) = .3 (H(Y) = .881)",
        printed,
        float(bsbc_information(t, e, p1)),
        total,
    )


SMALL = (np.array([1, 1, 1, 0, 0, 0]), np.array([0.9, 0.8, 0.3, 0.2, 0.6, 0.1]))


def bayes():
    """Su 2.6.2."""
    y_pred, rho = SMALL
    x = np.log(rho / (1 - rho))
    data = testing.collapse(x, y_pred)
    n1, total, mean = 3, 0.0, 0.0
    for y in itertools.product((0, 1), repeat=6):
        y = np.array(y)
        weight = np.prod(np.where(y == 1, rho, 1 - rho))
        a, b = (y * y_pred).sum(), (y * (1 - y_pred)).sum()
        logs = (
            gammaln([a + 1, b + 1, n1 - a + 1, 3 - b + 1]).sum() - gammaln([a + b + 2, 6 - a - b + 2]).sum()
        )
        weight *= np.exp(logs)
        total, mean = total + weight, mean + weight * (y == y_pred).mean()
    return Erratum(
        "Su 2.6.2, fully Bayesian estimation",
        "E[ACC | yhat, z] = integral of E[ACC | yhat, z, p_D, p_FA] p(p_D, p_FA) over the unit square, p "
        "the prior",
        "p(y | yhat, z) is written as an integral of p(y | yhat, z; p_D, p_FA) over the PRIOR of the "
        "operating point. By total probability, the weight is the posterior p(p_D, p_FA | yhat, "
        "z), which is the prior times p(yhat | z; p_D, p_FA) up to a constant. The printed "
        "formula ignores the information of the data on the operating point. Therefore it is wide "
        "(Table 10); full Bayes is not less appropriate.",
        "mean accuracy, six samples",
        prior_marginal_table(data).estimate("accuracy").mean,
        testing.exact_posterior(data).estimate("accuracy").mean,
        mean / total,
    )


def expected_confusion():
    """Su 2.7.2."""
    rng = np.random.default_rng(0)
    rho, k = rng.dirichlet(np.ones(3), 5), rng.dirichlet(np.ones(3) * 2, 3)
    y_pred = np.array([0, 1, 1, 2, 0])
    law = rho * k[:, y_pred].T
    law /= law.sum(axis=1, keepdims=True)
    ours = float(
        steps.expected_counts(jnp.log(jnp.asarray(rho)), jnp.asarray(y_pred), jnp.asarray(k))[0][0, 1]
    )
    reference = 0.0
    for y in itertools.product(range(3), repeat=5):
        reference += np.prod(law[range(5), y]) * sum(
            c == 0 and u == 1 for c, u in zip(y, y_pred, strict=True)
        )
    printed = float(sum(law[i, 1] for i in range(5) if y_pred[i] == 1))
    return Erratum(
        "Su 2.7.2, the mean of a confusion-matrix element",
        "E[C(l, n)] = sum over i with yhat_i = n of p(Y_i = yhat_i | yhat_i, z_i)",
        "E[C(l, n)] is a sum over samples with yhat_i = n of the probability of the predicted class "
        "yhat_i; it must be that of the row's class, p(y_i = l | yhat_i, z_i). As printed, all rows of a "
        "column are equal.",
        "E[C(0, 1)], five samples, three classes",
        printed,
        ours,
        reference,
        1e-5,
    )


def policies():
    """Lam & Stork above (4)."""
    e, m, size = 0.1, 0.02, 1000
    different = float(true_error_variance(e, m, 2 * size))
    same = float(true_error_variance(e, m**2, size))
    apparent = lambda q: e * (1 - q) + (1 - e) * q  # noqa: E731
    by_hand = [
        apparent(q) * (1 - apparent(q)) / (n * (1 - 2 * q) ** 2) for q, n in ((m, 2 * size), (m**2, size))
    ]
    return Erratum(
        "Lam and Stork, the inequality above (4)",
        "take 2l labels on l samples if Var(2l labels on 2l samples) < Var(2l labels on l samples)",
        "The text takes the policy '2l labels on l samples' if its variance is lower, and then writes "
        "that the variance of '2l labels on 2l samples' is lower. (4) follows from what is written and so "
        "is the rule for other samples, as Figure 2 and the sentence after it have it.",
        "variance of 'same samples' less 'other samples', times 1e5, at error .1, mislabeling .02 "
        "(positive: other samples)",
        1e5 * (different - same),
        1e5 * (same - different),
        1e5 * (by_hand[1] - by_hand[0]),
    )


def distance():
    """TARS 6.1."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400_000)
    x = rng.normal(size=y.size) + y
    return Erratum(
        "TARS 6.1, the Gaussian set",
        "x ~ N(0, 1) of class 0 and N(1, 1) of class 1; Figure 11: accuracy .94",
        "Two unit normals at distance 1 cannot be classified with accuracy .94 (Figure 11): the "
        "best "
        "rule, x > 1/2, is right in Phi(1/2) of the cases. Accuracy .94 needs distance 3.11, which our "
        "runs have.",
        "best accuracy at distance 1",
        0.94,
        float(norm.cdf(0.5)),
        float(((x > 0.5) == y).mean()),
        0.003,
    )


def squashed():
    """TARS (22)."""
    emi = 0.4 * 0.01  # P(flip) times a gain of accuracy of a point: large for one label of a thousand
    right = 1 / (1 + np.exp(-emi))
    return Erratum(
        "TARS (22), the product with sigmoid(EMI)",
        "MU(i) = u(x_i) sigmoid(EMI(i))",
        "EMI is a change of accuracy, of the order of 1e-3. The sigmoid has slope 1/4 at 0, so all labels "
        "have .5 ± .003 and (22) ranks by the model's uncertainty alone; the paper says that it weighs "
        "the two. No wrong formula, but not what the text says, and the cause of our 88.1 ± .3 where the "
        "paper has 94.",
        "sigmoid of an EMI of .004",
        1.0,
        float(right),
        0.5 + emi / 4,
        1e-6,
    )


def swapped():
    """TARS Figure 3."""
    y, y_pred = np.array([0, 0, 0, 1]), np.array([1, 1, 0, 0])
    fp = float(((y == 0) & (y_pred == 1)).sum())
    return Erratum(
        "TARS Figure 3",
        "FP: y = 1 and predicted 0; FN: y = 0 and predicted 1",
        "The cells named FP and FN are exchanged: a false positive is predicted positive and negative in "
        "truth.",
        "false positives of y = 0001, predicted 1100",
        1.0,
        float(testing.binary_counts(y_pred, y)[1]),
        fp,
    )


def ensembles():
    """Mimori (81), published code."""
    f = np.array([[0.9, 0.1], [0.2, 0.8]])  # two members
    counts = np.array([3, 1])
    summed = (counts * f).sum(axis=1)
    weights = np.exp(counts @ np.log(f).T)
    ours = float(weights @ f[:, 0] / weights.sum())
    law = lambda w: float((w / w.sum()) @ f[:, 0])  # noqa: E731
    total, mean = 0.0, 0.0  # Bayes' rule over members by the sequences of four labels
    for member in f:
        like = member[0] ** 3 * member[1]
        total, mean = total + like, mean + like * member[0]
    return Erratum(
        "Mimori et al. (81), in the published code",
        "w_s = sum_k y_k f_sk (code), for w_s = prod_k f_sk^y_k (text)",
        "Members of an ensemble are weighed by w_s = prod_k f_sk^y_k, the probability of the labels. The "
        "authors' code sums y_k f_sk instead, which makes weights nearly equal and the posterior nearly "
        "the prior.",
        "probability of class 0 after labels 0, 0, 0, 1",
        law(summed),
        float(ours),
        mean / total,
        1e-6,
    )


def bins():
    """Mimori (14)."""
    z = np.array([0.2, 0.6])
    shares, choose = np.array([0.0, 0.5, 1.0]), np.array([1, 2, 1])
    printed = ours = 0.0
    for pair in itertools.product((0, 1), repeat=2):  # predictions of two samples, all in one bin
        predicted = z[list(pair)]
        law = choose * predicted[:, None] ** (2 * shares) * (1 - predicted[:, None]) ** (2 - 2 * shares)
        for i, j in itertools.product(range(3), repeat=2):  # their shares of two labels
            chance, y = 0.25 * law[0, i] * law[1, j], shares[[i, j]]
            printed += chance * ((y - predicted).mean() ** 2 - y.var())
            found = calibration_loss(y[:, None], predicted[:, None], jnp.array([0.0, 1.0]), debias="exact")
            ours += chance * float(found.total)
    return Erratum(
        "Mimori et al. (14), the debiased calibration loss",
        "CL_kb = (mean of labels less mean of predictions)^2 - variance of the labels / (|I| - 1), "
        "weighted by |I| / N",
        "The variance of the labels' mean in a bin is subtracted. It includes that of the "
        "predictions if they differ inside the bin; the variance of labels minus prediction does "
        "not "
        '(`debias="exact"`). Here labels have the predicted probabilities, so the loss is 0.',
        "mean over two samples of two labels, predictions .2 and .6 in one bin",
        printed,
        ours,
        0.0,
        1e-6,
    )


def sums():
    """Lam & Stork Table 3."""
    return Erratum(
        "Lam and Stork, Table 3, the upper bound of 4 - 5",
        "upper bound = .83 + .28 = 1.11",
        "Printed bounds are sums and differences of rounded rates: .83 + .28 = 1.11, while 3 and 1 of 363 "
        "digits are 4 of 363.",
        "per cent",
        1.11,
        100 * error_bounds(3 / 363, 1 / 363).upper,
        100 * 4 / 363,
        1e-6,
    )


def rounding():
    """Dirichlet-multinomial in float32."""
    counts, f, alpha = np.array([1, 2, 0]), np.array([0.2, 0.3, 0.5]), 1e6
    a32 = (np.float32(alpha) * f).astype(np.float32)
    printed = float(
        np.float32(
            gammaln(a32 + counts.astype(np.float32)).astype(np.float32) - gammaln(a32).astype(np.float32)
        ).sum()
        - np.float32(gammaln(np.float32(alpha) + np.float32(3)) - gammaln(np.float32(alpha)))
    )
    printed += float(np.log(3))
    ours = float(
        np.asarray(
            log_dirichlet_multinomial(from_counts(counts[None]), jnp.asarray(f)[None], jnp.asarray([alpha]))
        )[0]
    )
    rising = sum(np.log(alpha * f[k] + j) for k in range(3) for j in range(counts[k]))
    rising += np.log(3) - sum(np.log(alpha + j) for j in range(3))  # 3 sequences have these counts
    return Erratum(
        "Mimori et al. (50), in the published code",
        "log B(alpha + y) - log B(alpha), by log-gamma functions in float32",
        "log B(alpha + y) - log B(alpha) by float32 log-gamma functions loses all digits at a large "
        "concentration; sums of rising factors, sum_j log(alpha f_k + j), do not.",
        "log probability of labels (1, 2, 0) at alpha_0 = 1e6",
        printed,
        ours,
        float(rising),
        1e-4,
    )


def seeds():
    """Su Table 12."""
    return Erratum(
        "Su 5.2.3, Table 12 and Figures 14 to 16 ('100 different ideal operating points')",
        "error of p_D over '100 different ideal operating points': mean -.0113, standard deviation .0104",
        "The 100 points are not 100 independent simulations. The errors of p_D have mean -.0113 "
        "and standard deviation .0104. For 100 independent errors, that mean would be 11 standard "
        "errors (.00104) from 0, although the estimator's error has mean 0 over sets. If the 100 "
        "points share labels and the uniform numbers of the predictions (the seed is reset for "
        "each), they share errors. p_D and p_FA then err in opposite directions, "
        "as printed ([Table 12](su.md)). The paper's "
        "averages of about .012 are one draw of a common error, not a bias of the method.",
        "standard errors of the printed mean under independence (should be within 3)",
        0.0113 / 0.00104,
        0.0,
        0.0,
    )


def circular():
    """Su 5.1.1."""
    k = np.array([[0.7, 0.3], [0.2, 0.8]])
    law = np.full((2, 2), 0.5)  # of the prediction by class, drawn from the row of itself until it settles
    for _ in range(200):
        law = law @ k
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400_000)
    drawn = rng.random(y.size) < k[y, 1]
    return Erratum(
        "Su 5.1.1, drawing predictions",
        "yhat_i ~ Cat(K[. | yhat_i])",
        "A prediction cannot be drawn from the row of itself: it must be the row of y_i. As "
        "printed, in the limit of repeated draws, predictions do not depend on the class.",
        "P(yhat = 1 | y = 1) - P(yhat = 1 | y = 0) for rows (.7, .3) and (.2, .8)",
        float(law[1, 1] - law[0, 1]),
        float(k[1, 1] - k[0, 1]),
        float(drawn[y == 1].mean() - drawn[y == 0].mean()),
        0.005,
    )


def two_rates():
    """Su (25)."""
    prior, given = np.array([0.5, 0.3, 0.2]), np.array([0.2, 0.7, 0.4])  # p(z | y)
    k = np.array([[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.3, 0.1, 0.6]])
    below = (prior * k[:, 1] * given).sum()
    rates = np.array([k[[0, 2], 1].mean(), k[1, 1], k[[0, 2], 1].mean()])  # P_FA, P_D, P_FA
    log_rho = jnp.log(jnp.asarray(prior * given))[None]
    ours = np.exp(np.asarray(steps.log_testing_posterior(log_rho, jnp.array([1]), jnp.asarray(k))))[0, 0]
    joint = {(c, u): prior[c] * given[c] * k[c, u] for c in range(3) for u in range(3)}
    return Erratum(
        "Su (25), first line",
        "p(y | yhat, z; K) = pi(y) p(yhat, z | y; P_D, P_FA) / sum over y' of pi(y') p(yhat, z | y'; K)",
        "Two rates cannot stand for C rows: above the line must be K, as in the second line. With P_D of the "
        "predicted class and P_FA the mean of the others, three classes do not even sum to 1.",
        "p(y = 0 | yhat = 1, z), three classes",
        float(prior[0] * rates[0] * given[0] / below),
        float(ours),
        float(joint[0, 1] / sum(joint[c, 1] for c in range(3))),
        1e-6,
    )


def listed_prior():
    """Su Table 9 and (32)."""
    rng = np.random.default_rng(0)
    p, lik, prior = rng.dirichlet((1, 1), 4), rng.dirichlet((2, 2), 4), np.array([0.9, 0.1])
    reference = 0.0
    for y in itertools.product((0, 1), repeat=4):
        reference += np.prod([p[i, c] * lik[i, c] for i, c in enumerate(y)])
    return Erratum(
        "Su Table 9, discriminative training with truthing issues",
        "J(theta; x, z, psi, pi)",
        "The class prior is listed among what it uses. (32) does not contain it: p(y | x; theta) takes its "
        "place. With pi as another factor the objective is not -log p(z | x; theta) / N.",
        "(32) of four samples",
        float(-np.log((p * lik * prior).sum(axis=1)).mean()),
        float(discriminative_ml(jnp.log(jnp.asarray(p)), jnp.log(jnp.asarray(lik)))),
        float(-np.log(reference) / 4),
        1e-6,
    )


PRINTED_3 = (
    (359, 33, 31, 2),
    (363, 4, 3, 1),
    (353, 6, 6, 2),
    (354, 20, 18, 6),
)  # digits, true, apparent, labeler


def dependence():
    """Lam & Stork 6.1."""
    both = [(true + labeler - apparent) / 2 for _, true, apparent, labeler in PRINTED_3]
    alone = sum(labeler * true / size for size, true, _, labeler in PRINTED_3)
    rng = np.random.default_rng(0)
    drawn = sum(rng.hypergeometric(true, size - true, labeler, 100_000)
                for size, true, _, labeler in PRINTED_3)  # fmt: skip
    return Erratum(
        "Lam and Stork 6.1, 'an insignificant positive dependence'",
        "Table 3: true, apparent and mislabeling rates of naive Bayes and nearest neighbour",
        "Of two classes, two that are both wrong agree: apparent = true + mislabeled - 2 both. So the "
        f"printed rates say that naive Bayes errs on {sum(both):.0f} of the 11 mislabeled digits; "
        "independence would make it half a digit, and 8 or more in none of 100 000 draws. That is why the "
        "true rate is near the upper bound.",
        "digits that both get wrong",
        float(sum(both)),
        float(alone),
        float(drawn.mean()) if drawn.max() < sum(both) else np.nan,
        0.01,
    )


def turned():
    """TARS 6.2.2 and Appendix A."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200_000)
    z = np.where(rng.random(y.size) < 0.1, 1 - y, y)
    return Erratum(
        "TARS 6.2.2 and Appendix A, noise rates of .8 and .9",
        "a 'good' worker has the noise rate .9, a 'bad' one .4; noise rate .8 for Heart, German and Cancer",
        "A noise rate is the probability that a label is flipped (6.1). So .9 is wrong nine times "
        "in ten, and .4 is the better worker. .1 and .2 are meant, or flipped labels: (15) is the "
        "same for beta and 1 - beta. Our runs have .1 and .2.",
        "share of right labels of a good worker",
        1 - 0.9,
        1 - 0.1,
        float((z == y).mean()),
        0.005,
    )


ALL = (
    information,
    bayes,
    expected_confusion,
    circular,
    two_rates,
    listed_prior,
    seeds,
    policies,
    sums,
    dependence,
    swapped,
    distance,
    squashed,
    turned,
    ensembles,
    bins,
    rounding,
)
ANSWERS = (  # to what a paper asks or concludes: no formula is wrong
    "Su 2.4.4 asks whether the iteration has one limit. For its maximum-likelihood twin (ratios of means) it "
    "has: the collapsed log-likelihood is a sum of logarithms of affine functions of (p_D, p_FA), hence "
    "concave ([beyond](beyond.md); `tests/test_beyond.py`).",
    "Su 5.2.4: 'the empirical Bayes approach is clearly more appropriate than the fully Bayesian "
    "one' follows from 2.6.2 above. Bayes' rule proper has the same means, and intervals that cover where "
    "those of Algorithm 1 do not ([Figures 17, 18](su.md); `tests/test_papers.py`, "
    "`test_the_exact_intervals_hold_and_those_of_algorithm_1_do_not`).",
)


def page():
    """The list as Markdown."""
    lines = [
        "# Errata of the four papers",
        "",
        "Each entry shows what is printed, why it is wrong, and a number: as printed, as jtruth "
        "computes it, and a reference by enumeration, by hand or by simulation. "
        "`tests/test_papers.py` runs each entry as `test_errata[NAME]`. Made by "
        "`python -m benchmarks papers`.",
        "",
    ]
    for make in ALL:
        e = make()
        lines += [
            f"## {e.where}",
            "",
            f"*Printed:* {e.formula}",
            "",
            f"{e.says} (`test_errata[{make.__name__}]`)",
            "",
            f"| {e.what} | |",
            "|---|---|",
            f"| as printed | {round(e.printed, 8) + 0:.6g} |",
            f"| right, by jtruth | {round(e.right, 8) + 0:.6g} |",
            f"| reference | {round(e.reference, 8) + 0:.6g} |",
            "",
        ]
    return "\n".join([*lines, "## Answers", "", *(f"- {one}" for one in ANSWERS), ""])


def write(folder):
    """The page."""
    (folder / "errata.md").write_text(page())
