"""Su (2023), Sections 2.1-2.7 and Appendix B, as plain NumPy float64 loops: the yardstick of the tests.

Nothing here imports the package under test, and nothing is fast. One formula is one function with its
equation number. Notation: `lik[i][c]` = p(z_i | y_i = c); `prior[c]` = pi(c); `y_pred[i]`; rows of a
confusion matrix K are true classes, columns predicted classes, so the binary K is
[[1 - p_FA, p_FA], [1 - p_D, p_D]]. A missing label is -1. A table is an array
T[a, b] = p(A = a, B = b | y_pred, z) with A = #(y_pred = 1, y = 1) and B = #(y_pred = 0, y = 1). Values of
metrics are exact `Fraction`s, so equal atoms merge exactly; an undefined (0/0) metric is None.
Densities take a number or an array of them, because an integral asks for thousands.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
from scipy.special import erf

METRICS = ("ACC", "PREC", "P_D", "P_FA", "F")

# ---------------------------------------------------------------- label model and class posteriors


def operating_matrix(p_d, p_fa):
    """(3)-(6) as a matrix: rows true class, columns predicted class."""
    return np.array([[1 - p_fa, p_fa], [1 - p_d, p_d]])


def class_posterior(lik, prior):
    """(21) = (41): p(y_i | z_i), without the prediction."""
    return np.array([[prior[c] * row[c] for c in range(len(prior))] for row in lik]) / np.array(
        [[sum(prior[c] * row[c] for c in range(len(prior)))] for row in lik]
    )


def testing_posterior(lik, prior, y_pred, k):
    """(10) and, for any number of classes, (25): p(y_i | y_pred_i, z_i; K), an array (samples, classes)."""
    out = np.zeros((len(lik), len(prior)))
    for i, row in enumerate(lik):
        joint = [prior[c] * k[c][y_pred[i]] * row[c] for c in range(len(prior))]
        out[i] = [j / sum(joint) for j in joint]
    return out


testing_posterior.__test__ = False  # a formula, not a test, whatever its name begins with


# ---------------------------------------------------------------- enumeration of all C^N label vectors


def confusion_counts(y, y_pred, num_classes):
    """n[l][n] = #(y = l, y_pred = n) as plain integers."""
    counts = [[0] * num_classes for _ in range(num_classes)]
    for true, pred in zip(y, y_pred, strict=True):
        counts[true][pred] += 1
    return counts


def log_dirichlet_integral(counts, alpha):
    """log E[prod_n p_n^counts_n] for p ~ Dirichlet(alpha)."""
    out = math.lgamma(sum(alpha)) - math.lgamma(sum(alpha) + sum(counts))
    for n, a in zip(counts, alpha, strict=True):
        out += math.lgamma(a + n) - math.lgamma(a)
    return out


def enumerate_labels(lik, prior, y_pred, k=None, alpha=None):
    """All C^N label vectors: ({y: p(y | y_pred, z)}, p(y_pred, z)).

    Give `k` (product of (10)), or `alpha` (classes, classes): row c of K ~ Dirichlet(alpha[c]), marginalised.
    """
    num_classes = len(prior)
    joint = {}
    for y in itertools.product(range(num_classes), repeat=len(y_pred)):
        weight = 1.0
        for i, c in enumerate(y):
            weight *= prior[c] * lik[i][c]
            if k is not None:
                weight *= k[c][y_pred[i]]
        if k is None:
            for counts, row in zip(confusion_counts(y, y_pred, num_classes), alpha, strict=True):
                weight *= math.exp(log_dirichlet_integral(counts, row))
        joint[y] = weight
    evidence = math.fsum(joint.values())
    return {y: w / evidence for y, w in joint.items()}, evidence


def beta_rows(a_d=1, b_d=1, a_f=1, b_f=1):
    """p_D ~ Beta(a_d, b_d) and p_FA ~ Beta(a_f, b_f) as Dirichlet rows of the binary K."""
    return [[b_f, a_f], [b_d, a_d]]


def enumerated_table(posterior, y_pred):
    """Binary (A, B) table from {y: probability}."""
    n1 = sum(y_pred)
    table = np.zeros((n1 + 1, len(y_pred) - n1 + 1))
    for y, p in posterior.items():
        counts = confusion_counts(y, y_pred, 2)
        table[counts[1][1], counts[1][0]] += p
    return table


# ---------------------------------------------------------------- Poisson-binomial tables (methods 3.1)


def poisson_binomial(probabilities):
    """PMF of a sum of independent Bernoullis by the recursion f_k <- f_k (1 - p) + f_{k-1} p."""
    pmf = [1.0]
    for p in probabilities:
        longer = [0.0] * (len(pmf) + 1)
        for count, mass in enumerate(pmf):
            longer[count] += mass * (1 - p)
            longer[count + 1] += mass * p
        pmf = longer
    return np.array(pmf)


def split_by_prediction(values, y_pred):
    """(values where y_pred = 1, values where y_pred = 0)."""
    chosen = [v for v, u in zip(values, y_pred, strict=True) if u == 1]
    return chosen, [v for v, u in zip(values, y_pred, strict=True) if u == 0]


# ---------------------------------------------------------------- metrics (Table 8) and their PMFs


def metric(name, a, b, n1, n0, beta=1):
    """Table 8 as an exact Fraction, or None where it is 0/0."""
    if name == "ACC":
        top, bottom = a + n0 - b, n1 + n0
    elif name == "PREC":
        top, bottom = a, n1
    elif name == "P_D":
        top, bottom = a, a + b
    elif name == "P_FA":
        top, bottom = n1 - a, n1 + n0 - a - b
    else:
        p, q = Fraction(beta).as_integer_ratio()  # F_beta with beta = p / q, multiplied through by q^2
        top, bottom = (q * q + p * p) * a, p * p * (a + b) + q * q * n1
    return Fraction(int(top), int(bottom)) if bottom else None


def empirical_metrics(y, y_pred, beta=1, names=METRICS):
    """{name: Fraction or None} of a classifier against labels y (all of them given)."""
    a = sum(u == 1 and c == 1 for u, c in zip(y_pred, y, strict=True))
    b = sum(u == 0 and c == 1 for u, c in zip(y_pred, y, strict=True))
    n1 = sum(y_pred)
    return {name: metric(name, a, b, n1, len(y_pred) - n1, beta) for name in names}


def joint_pmf(table, names, beta=1):
    """({tuple of values: probability given that all are defined}, probability that any is undefined)."""
    n1, n0 = table.shape[0] - 1, table.shape[1] - 1
    cells, undefined = {}, [0.0]
    for a in range(n1 + 1):
        for b in range(n0 + 1):
            values = tuple(metric(name, a, b, n1, n0, beta) for name in names)
            if None in values:
                undefined.append(table[a, b])
            else:
                cells.setdefault(values, []).append(table[a, b])
    total = math.fsum(p for masses in cells.values() for p in masses)
    pmf = {v: math.fsum(masses) / total for v, masses in sorted(cells.items())} if total else {}
    return pmf, math.fsum(undefined)


def metric_pmf(table, name, beta=1):
    """({value: probability given defined}, probability undefined) of one metric."""
    pmf, undefined = joint_pmf(table, (name,), beta)
    return {value[0]: p for value, p in pmf.items()}, undefined


# ---------------------------------------------------------------- normal theory: (12)-(18) and Appendix B


def moments(posterior1, y_pred):
    """(12), (13), (15), (16): dict of mu_U, var_U, mu_V, var_V and n1 = N1/N."""
    n = len(y_pred)
    on, off = split_by_prediction(posterior1, y_pred)
    return {
        "muU": math.fsum(on) / n,
        "varU": math.fsum(p * (1 - p) for p in on) / n**2,
        "muV": math.fsum(off) / n,
        "varV": math.fsum(q * (1 - q) for q in off) / n**2,
        "n1": len(on) / n,
    }


def normal_density(x, mean, variance):
    return np.exp(-0.5 * (x - mean) ** 2 / variance) / math.sqrt(2 * math.pi * variance)


def ratio_parameters(name, m, beta=1):
    """Table 16: muZ, sZ, muW, sW, cov of numerator and denominator of P_D, P_FA or F_beta."""
    mu_sum, var_sum, b2 = m["muU"] + m["muV"], m["varU"] + m["varV"], beta**2
    mu_z, var_z, mu_w, var_w, cov = {
        "P_D": (m["muU"], m["varU"], mu_sum, var_sum, m["varU"]),
        "P_FA": (m["n1"] - m["muU"], m["varU"], 1 - mu_sum, var_sum, m["varU"]),
        "F": (
            (1 + b2) * m["muU"],
            (1 + b2) ** 2 * m["varU"],
            b2 * mu_sum + m["n1"],
            b2**2 * var_sum,
            b2 * (1 + b2) * m["varU"],
        ),
    }[name]
    return {"muZ": mu_z, "sZ": math.sqrt(var_z), "muW": mu_w, "sW": math.sqrt(var_w), "cov": cov}


def marsaglia_parameters(p):
    """Appendix B, steps 1-2: a, b, r, s with sign(a) = sign(b).

    None when the denominator is a constant. When Z' = k + s W' exactly (var(U) = 0 or var(V) = 0), h is 0 and
    a, r are infinite: then `k` is set, a and r are None, and the formulas use a / r = k / sW, 1 / r = 0.
    """
    if p["sW"] == 0:
        return None
    s, b = p["cov"] / p["sW"] ** 2, p["muW"] / p["sW"]
    k = p["muZ"] - s * p["muW"]
    rest = p["sZ"] ** 2 - s * p["cov"]  # = sZ^2 (1 - rho^2)
    if rest <= 1e-14 * p["sZ"] ** 2:
        k = 0.0 if abs(k) < 1e-12 * p["muW"] else k
        return {"a": None, "b": b, "r": None, "s": s, "k": k, "sW": p["sW"]}
    h = math.sqrt(rest)
    if (k / h) * b < 0:
        h = -h
    return {"a": k / h, "b": b, "r": p["sW"] / h, "s": s, "k": None, "sW": p["sW"]}


def moment_condition(q):
    """The MAC: b > 4."""
    return q is not None and q["b"] > 4


def standard_ratio_density(t, a, b):
    """Appendix B, step 2: density of (a + X)/(b + Y).

    The bracket is multiplied out with q^2 - a^2 - b^2 = -(a - b t)^2 / (1 + t^2), so that nothing overflows.
    """
    q = (b + a * t) / np.sqrt(1 + t * t)
    gauss = math.sqrt(math.pi / 2) * erf(q / math.sqrt(2))
    first = math.exp(-(a * a + b * b) / 2)
    return (first + q * gauss * np.exp(-((a - b * t) ** 2) / (2 * (1 + t * t)))) / (math.pi * (1 + t * t))


def ratio_density(x, q):
    """Appendix B, step 3: density of Z'/W' at x; in the degenerate case that of s + k / W'."""
    if q["k"] is None:
        return abs(q["r"]) * standard_ratio_density(q["r"] * (x - q["s"]), q["a"], q["b"])
    away = np.where(x == q["s"], np.inf, x - q["s"])  # at s the density is 0
    w = q["k"] / away
    return abs(w / away) * normal_density(w, q["b"] * q["sW"], q["sW"] ** 2)


def over_r(q):
    """(a / r, 1 / r^2), finite also in the degenerate case."""
    return (q["a"] / q["r"], 1 / q["r"] ** 2) if q["k"] is None else (q["k"] / q["sW"], 0.0)


def closed_form_mean(q):
    """Marsaglia's mean, mu_T = a / (1.01 b - 0.2713), mapped to Z'/W'; trustworthy only if b > 4."""
    return over_r(q)[0] / (1.01 * q["b"] - 0.2713) + q["s"]


def second_order_mean(p):
    """Delta method: muZ/muW - cov/muW^2 + varW muZ/muW^3."""
    return p["muZ"] / p["muW"] - p["cov"] / p["muW"] ** 2 + p["sW"] ** 2 * p["muZ"] / p["muW"] ** 3


def integrate(f, low, high, panels=400, nodes=12):
    """Composite Gauss-Legendre of a function of arrays."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    step = (high - low) / panels
    points = low + step * (np.arange(panels)[:, None] + 0.5 * (x[None, :] + 1))
    return math.fsum((0.5 * step * w * f(points)).ravel())


def literal_mean(density):
    """(19) as printed: integral over [0, 1] of q p(q)."""
    return integrate(lambda x: x * density(x), 0.0, 1.0)


def renormalised_mean(density):
    """(19) for the density restricted to [0, 1] and renormalised."""
    return literal_mean(density) / integrate(density, 0.0, 1.0)


# ---------------------------------------------------------------- Algorithms 1, 2, 3 and their relatives


def clip(x, alpha):
    return min(max(x, alpha), 1 - alpha)


def exact_ratio_mean(pmf_top, pmf_rest):
    """(E[A / (A + R); A + R > 0], p(A + R = 0)) for independent counts A and R given their PMFs."""
    total = math.fsum(
        a / (a + r) * pa * pr for a, pa in enumerate(pmf_top) for r, pr in enumerate(pmf_rest) if a + r > 0
    )
    return total, pmf_top[0] * pmf_rest[0]


def ratio_mean(name, m, variant):
    """Mean of P_D or P_FA by one of the variants 'paper', 'quad', 'delta2', 'plugin' of Algorithm 1."""
    p = ratio_parameters(name, m)
    if variant == "plugin":
        return p["muZ"] / p["muW"]
    if variant == "delta2":
        return second_order_mean(p)
    q = marsaglia_parameters(p)
    if q is None:
        return p["muZ"] / p["muW"]
    if q["k"] == 0:
        return q["s"]
    if variant == "quad":
        return renormalised_mean(lambda x: ratio_density(x, q))
    return closed_form_mean(q) if moment_condition(q) else literal_mean(lambda x: ratio_density(x, q))


def operating_point_step(lik, prior, y_pred, p_d, p_fa, variant):
    """One unclipped update of Algorithm 1 (all variants)."""
    posterior1 = testing_posterior(lik, prior, y_pred, operating_matrix(p_d, p_fa))[:, 1]
    if variant != "exact":
        m = moments(posterior1, y_pred)
        return ratio_mean("P_D", m, variant), ratio_mean("P_FA", m, variant)
    on, off = split_by_prediction(posterior1, y_pred)
    out, pairs = [], ((on, off), ([1 - p for p in on], [1 - p for p in off]))
    for old, (top, rest) in zip((p_d, p_fa), pairs, strict=True):
        mean, undefined = exact_ratio_mean(poisson_binomial(top), poisson_binomial(rest))
        out.append(mean / (1 - undefined) if undefined < 1 else old)
    return tuple(out)


def iterate(step, start=(0.5, 0.5), tol=1e-3, max_steps=30, alpha=1e-3):
    """The while loop common to Algorithms 1-3: {p_d, p_fa, num_steps, converged, path}."""
    path, change = [tuple(start)], math.inf
    while len(path) - 1 < max_steps and change >= tol:
        path.append(tuple(clip(x, alpha) for x in step(*path[-1])))
        change = max(abs(new - old) for new, old in zip(path[-1], path[-2], strict=True))
    return {
        "p_d": path[-1][0],
        "p_fa": path[-1][1],
        "num_steps": len(path) - 1,
        "converged": change < tol,
        "path": path,
    }


def algorithm_1(lik, prior, y_pred, variant="paper", **options):
    """Algorithm 1; variant 'paper' (as printed), 'quad', 'delta2', 'plugin' (= EM) or 'exact'."""
    return iterate(lambda d, f: operating_point_step(lik, prior, y_pred, d, f, variant), **options)


def map_labels(lik, prior, y_pred, p_d, p_fa):
    """(22); a tie goes to class 0."""
    posterior = testing_posterior(lik, prior, y_pred, operating_matrix(p_d, p_fa))
    return [int(row[1] > row[0]) for row in posterior]


def algorithm_3(lik, prior, y_pred, **options):
    """Algorithm 3 plus its final labels and metrics; max_steps=0 is the fourth suboptimal approach.

    An undefined empirical rate keeps the value of the step before.
    """

    def step(p_d, p_fa):
        found = empirical_metrics(map_labels(lik, prior, y_pred, p_d, p_fa), y_pred)
        old = {"P_D": p_d, "P_FA": p_fa}
        return tuple(old[n] if found[n] is None else float(found[n]) for n in ("P_D", "P_FA"))

    out = iterate(step, **options)
    out["labels"] = map_labels(lik, prior, y_pred, out["p_d"], out["p_fa"])
    out["metrics"] = empirical_metrics(out["labels"], y_pred)
    return out


# ---------------------------------------------------------------- multi-class (Section 2.7)


def expected_confusion(posterior, y_pred):
    """(E[C], var[C]), rows = true class l, columns = predicted n; the printed p(y_pred_i | .) is p(l | .)."""
    num_classes = posterior.shape[1]
    mean, variance = np.zeros((num_classes,) * 2), np.zeros((num_classes,) * 2)
    for row, n in zip(posterior, y_pred, strict=True):
        for true in range(num_classes):
            mean[true, n] += row[true]
            variance[true, n] += row[true] * (1 - row[true])
    return mean, variance


def expected_conditional_confusion(posterior, y_pred):
    """E[K[l, n]] given that class l occurs; for a fixed l the counts over n are independent."""
    num_classes = posterior.shape[1]
    k = np.zeros((num_classes, num_classes))
    for true in range(num_classes):
        for n in range(num_classes):
            top = [row[true] for row, u in zip(posterior, y_pred, strict=True) if u == n]
            rest = [row[true] for row, u in zip(posterior, y_pred, strict=True) if u != n]
            mean, undefined = exact_ratio_mean(poisson_binomial(top), poisson_binomial(rest))
            k[true, n] = mean / (1 - undefined)
    return k


def plugin_conditional_confusion(posterior, y_pred):
    """E[C] with each row divided by its sum: the EM twin of the above."""
    expected = expected_confusion(posterior, y_pred)[0]
    return expected / expected.sum(axis=1, keepdims=True)


def algorithm_4(lik, prior, y_pred, variant="exact", tol=1e-3, max_steps=50, alpha=1e-3):
    """Algorithm 4 without sampling; variant 'exact' (the limit of many draws) or 'plugin' (EM).

    Rows are clipped to [alpha, 1 - alpha], then divided by their sum.
    """
    update = {"exact": expected_conditional_confusion, "plugin": plugin_conditional_confusion}[variant]
    num_classes = len(prior)
    path, change = [np.full((num_classes, num_classes), 1 / num_classes)], math.inf
    while len(path) - 1 < max_steps and change >= tol:
        posterior = testing_posterior(lik, prior, y_pred, path[-1])
        k = np.clip(update(posterior, y_pred), alpha, 1 - alpha)
        path.append(k / k.sum(axis=1, keepdims=True))
        change = np.abs(path[-1] - path[-2]).max()
    return {"k": path[-1], "num_steps": len(path) - 1, "converged": bool(change < tol), "path": path}


# ---------------------------------------------------------------- the TARS block of the binary golden files
