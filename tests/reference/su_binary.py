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


def error_probability(delta, phi, num_classes):
    """(60): probability that a labeler of fallibility phi errs on a sample of difficulty delta."""
    return (delta - delta * phi + phi) * (num_classes - 1) / num_classes


def label_likelihood(z, num_classes, delta=None, phi=None, theta=None):
    """(58)-(61): lik[i, c], a product over the given labels; theta[t][c][k] replaces delta and phi."""
    lik = np.ones((len(z), num_classes))
    for i, row in enumerate(z):
        for c in range(num_classes):
            for t, label in enumerate(row):
                if label == -1:
                    continue
                if theta is not None:
                    lik[i, c] *= theta[t][c][label]
                else:
                    eps = error_probability(delta[i], phi[t], num_classes)
                    lik[i, c] *= 1 - eps if label == c else eps / (num_classes - 1)
    return lik


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


def collapsed_log_likelihood(lik, prior, y_pred, k):
    """log p(y_pred | z; K) = sum_i log sum_c p(c | z_i) K[c, y_pred_i]; the labels are conditioned on."""
    rho = class_posterior(lik, prior)
    return sum(
        math.log(sum(rho[i, c] * k[c][y_pred[i]] for c in range(len(prior)))) for i in range(len(y_pred))
    )


def log_label_evidence(lik, prior):
    """log p(z) = sum_i log sum_c pi(c) lik[i, c]; add it to the above to get log p(y_pred, z; K)."""
    return sum(math.log(sum(prior[c] * row[c] for c in range(len(prior)))) for row in lik)


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


def enumerated_accuracy_pmf(posterior, y_pred):
    """{accuracy: probability}, any number of classes."""
    pmf = {}
    for y, p in posterior.items():
        value = Fraction(sum(a == b for a, b in zip(y, y_pred, strict=True)), len(y_pred))
        pmf[value] = pmf.get(value, 0.0) + p
    return pmf


def enumerated_expected_confusion(posterior, y_pred, num_classes):
    """E[C[l, n]] with l the true and n the predicted class."""
    out = np.zeros((num_classes, num_classes))
    for y, p in posterior.items():
        out += p * np.array(confusion_counts(y, y_pred, num_classes))
    return out


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


def split_counts(y_pred):
    """(N1, N0): how many samples are predicted 1 and 0."""
    return sum(y_pred), len(y_pred) - sum(y_pred)


def table_at_operating_point(lik, prior, y_pred, p_d, p_fa):
    """p(A, B | y_pred, z; p_D, p_FA): product of two Poisson-binomials of (10), by (8), (9), (11), (14)."""
    p = testing_posterior(lik, prior, y_pred, operating_matrix(p_d, p_fa))[:, 1]
    on, off = split_by_prediction(p, y_pred)
    return np.outer(poisson_binomial(on), poisson_binomial(off))


def table_beta(lik, prior, y_pred, a_d=1, b_d=1, a_f=1, b_f=1):
    """(table, log p(y_pred, z)) with p_D ~ Beta(a_d, b_d) and p_FA ~ Beta(a_f, b_f) integrated out."""
    on, off = split_by_prediction(class_posterior(lik, prior)[:, 1], y_pred)
    pb_on, pb_off = poisson_binomial(on), poisson_binomial(off)
    n1, n0 = len(on), len(off)
    table = np.zeros((n1 + 1, n0 + 1))
    for a in range(n1 + 1):
        for b in range(n0 + 1):
            log_beta = log_dirichlet_integral([a, b], [a_d, b_d])
            log_beta += log_dirichlet_integral([n1 - a, n0 - b], [a_f, b_f])
            if pb_on[a] > 0 and pb_off[b] > 0:
                table[a, b] = math.exp(math.log(pb_on[a]) + math.log(pb_off[b]) + log_beta)
    total = math.fsum(table.ravel())
    return table / total, math.log(total) + log_label_evidence(lik, prior)


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


def pmf_mean(pmf):
    return math.fsum(float(v) * p for v, p in pmf.items())


def pmf_sd(pmf):
    mean = pmf_mean(pmf)
    return math.sqrt(math.fsum((float(v) - mean) ** 2 * p for v, p in pmf.items()))


def shortest_interval(pmf, level):
    """(low, high, mass): least high - low over pairs of atoms with mass >= level.

    Ties in length (compared exactly, as Fractions) go to the largest mass, then (masses within 1e-12) to the
    lowest interval. A mass 1e-12 below the level counts as reached: rounding must not decide.
    """
    atoms = sorted(pmf)
    below = np.concatenate([[0.0], np.cumsum([pmf[v] for v in atoms])])
    best, j = None, 0
    for i, low in enumerate(atoms):
        j = max(j, i)
        while j < len(atoms) and below[j + 1] - below[i] < level - 1e-12:
            j += 1
        if j == len(atoms):
            break
        found = (low, atoms[j], float(below[j + 1] - below[i]))
        if best is None or found[1] - low < best[1] - best[0]:
            best = found
        elif found[1] - low == best[1] - best[0] and found[2] > best[2] + 1e-12:
            best = found
    return best


def highest_density_set(pmf, level):
    """(sorted atoms, mass): atoms taken by decreasing probability (ties: lower value first) until level."""
    chosen, mass = [], 0.0
    for value in sorted(pmf, key=lambda v: (-pmf[v], v)):
        chosen.append(value)
        mass += pmf[value]
        if mass >= level - 1e-12:
            break
    return sorted(chosen), mass


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


def normal_parameters(name, m):
    """Section 2.3.1: (mean, variance) of the normal posterior of ACC or PREC."""
    if name == "ACC":
        return m["muU"] - m["muV"] - m["n1"] + 1, m["varU"] + m["varV"]
    return m["muU"] / m["n1"], m["varU"] / m["n1"] ** 2


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


def closed_form_variance(q):
    """Marsaglia's variance, (a^2 + 1)/(b^2 + 0.108 b - 3.795) - mu_T^2, mapped to Z'/W'; can be negative."""
    a_r, one_r2 = over_r(q)
    return (a_r**2 + one_r2) / (q["b"] ** 2 + 0.108 * q["b"] - 3.795) - (a_r / (1.01 * q["b"] - 0.2713)) ** 2


def second_order_mean(p):
    """Delta method: muZ/muW - cov/muW^2 + varW muZ/muW^3."""
    return p["muZ"] / p["muW"] - p["cov"] / p["muW"] ** 2 + p["sW"] ** 2 * p["muZ"] / p["muW"] ** 3


def integrate(f, low, high, panels=400, nodes=12):
    """Composite Gauss-Legendre of a function of arrays."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    step = (high - low) / panels
    points = low + step * (np.arange(panels)[:, None] + 0.5 * (x[None, :] + 1))
    return math.fsum((0.5 * step * w * f(points)).ravel())


def mean_given_denominator(q):
    """E[Z'/W' | Y' > -4] by integration: what Marsaglia's mean approximates; defined for b > 4."""

    def over(y):
        return np.exp(-0.5 * y * y) / (q["b"] + y)

    mass = math.sqrt(2 * math.pi) * 0.5 * math.erfc(-4 / math.sqrt(2))
    return over_r(q)[0] * integrate(over, -4.0, 12.0) / mass + q["s"]


def literal_mean(density):
    """(19) as printed: integral over [0, 1] of q p(q)."""
    return integrate(lambda x: x * density(x), 0.0, 1.0)


def renormalised_mean(density):
    """(19) for the density restricted to [0, 1] and renormalised."""
    return literal_mean(density) / integrate(density, 0.0, 1.0)


def metric_density(name, m, beta=1):
    """x -> p(x) of Section 2.3.1, or None when the posterior is a point mass."""
    if name in ("ACC", "PREC"):
        mean, variance = normal_parameters(name, m)
        return None if variance == 0 else (lambda x: normal_density(x, mean, variance))
    q = marsaglia_parameters(ratio_parameters(name, m, beta))
    return None if q is None or q["k"] == 0 else (lambda x: ratio_density(x, q))


def normal_interval(mean, variance, level):
    """mean -+ z sd, NOT clipped to [0, 1]; z by bisection of the normal CDF."""
    low, high = 0.0, 40.0
    for _ in range(200):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if math.erf(middle / math.sqrt(2)) < level else (low, middle)
    return mean - low * math.sqrt(variance), mean + low * math.sqrt(variance)


def density_mode(density, low=1e-12, high=1 - 1e-12, grid=2000):
    """Argmax on [0, 1]: best of a grid, then bisection on the sign of a central difference."""
    points = low + (high - low) * np.arange(grid + 1) / grid
    k = int(np.argmax(density(points)))
    left, right = points[max(k - 1, 0)], points[min(k + 1, grid)]
    for _ in range(60):
        middle = 0.5 * (left + right)
        rising = density(middle + 1e-6) > density(middle - 1e-6)
        left, right = (middle, right) if rising else (left, middle)
    return 0.5 * (left + right)


def density_interval(density, level, low=1e-12, high=1 - 1e-12):
    """Highest-density interval of a unimodal density restricted to [0, 1] and renormalised there."""
    total, mode = integrate(density, low, high), density_mode(density, low, high)

    def crossing(inside, outside, height):
        if density(outside) >= height:
            return outside
        for _ in range(10):  # each to a 64th, so 2^-60 of the way
            points = np.linspace(inside, outside, 65)
            k = int(np.argmin(density(points) >= height))  # the first below
            inside, outside = points[k - 1], points[k]
        return 0.5 * (inside + outside)

    below, above = 0.0, density(mode)
    for _ in range(45):
        height = 0.5 * (below + above)
        ends = crossing(mode, low, height), crossing(mode, high, height)
        if integrate(density, *ends, panels=40) / total >= level:
            below = height
        else:
            above = height
    return ends


def joint_roc_density(p_d, p_fa, m):
    """(17)."""
    u = (m["n1"] - p_fa) / (p_d - p_fa) * p_d
    v = (m["n1"] - p_fa) / (p_d - p_fa) * (1 - p_d)
    jacobian = abs((m["n1"] - p_fa) * (m["n1"] - p_d) / (p_d - p_fa) ** 3)
    return jacobian * normal_density(u, m["muU"], m["varU"]) * normal_density(v, m["muV"], m["varV"])


def joint_pr_density(prec, rec, m):
    """(18)."""
    u = m["n1"] * prec
    v = m["n1"] * prec * (1 - rec) / rec
    jacobian = m["n1"] ** 2 * prec / rec**2
    return jacobian * normal_density(u, m["muU"], m["varU"]) * normal_density(v, m["muV"], m["varV"])


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


def algorithm_2(rng, lik, prior, y_pred, num_draws=5000, **options):
    """Algorithm 2 with a NumPy Generator; draws with an undefined metric are left out of its mean."""

    def step(p_d, p_fa):
        posterior1 = testing_posterior(lik, prior, y_pred, operating_matrix(p_d, p_fa))[:, 1]
        drawn = (rng.random((num_draws, len(y_pred))) < posterior1).tolist()
        draws = [empirical_metrics(y, y_pred, names=("P_D", "P_FA")) for y in drawn]
        return tuple(
            np.mean([float(d[name]) for d in draws if d[name] is not None]) for name in ("P_D", "P_FA")
        )

    return iterate(step, **options)


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


def labeler_metrics(z, y_pred):
    """Second suboptimal approach: for each labeler {metric: value} on the samples that labeler labelled."""
    out = []
    for t in range(len(z[0])):
        given = [i for i in range(len(z)) if z[i][t] != -1]
        out.append(empirical_metrics([z[i][t] for i in given], [y_pred[i] for i in given]))
    return out


def mean_over_labelers(rows):
    """Mean of each metric over the labelers for whom it is defined."""
    out = {}
    for name in METRICS:
        values = [float(row[name]) for row in rows if row[name] is not None]
        out[name] = math.fsum(values) / len(values) if values else math.nan
    return out


def median_over_labelers(rows):
    """Geometric median over the labelers all of whose metrics are defined."""
    complete = [[float(row[n]) for n in METRICS] for row in rows if None not in row.values()]
    return dict(zip(METRICS, geometric_median(complete), strict=True))


def geometric_median(points, tol=1e-14, max_steps=100_000):
    """Vardi and Zhang (2000): Weiszfeld's step, kept from sticking to a data point; starts at the mean."""
    points = [np.asarray(p, float) for p in points]
    x = sum(points) / len(points)
    for _ in range(max_steps):
        far = [p for p in points if np.linalg.norm(p - x) > 1e-12]
        if not far:
            return x
        weights = [1 / np.linalg.norm(p - x) for p in far]
        target = sum(w * p for w, p in zip(weights, far, strict=True)) / sum(weights)
        pull = np.linalg.norm(sum(w * (p - x) for w, p in zip(weights, far, strict=True)))
        here = len(points) - len(far)
        share = min(1.0, here / pull) if pull > 0 else 1.0
        new = (1 - share) * target + share * x if here else target
        if np.linalg.norm(new - x) <= tol:
            return new
        x = new
    return x


def prior_marginal_table(lik, prior, y_pred, nodes=32):
    """2.6.2 as printed: (A, B) tables given (p_D, p_FA), averaged over the uniform PRIOR; not Bayes' rule."""
    x, w = np.polynomial.legendre.leggauss(nodes)
    table = 0.0
    for i in range(nodes):
        for j in range(nodes):
            weight = 0.25 * w[i] * w[j]
            table = table + weight * table_at_operating_point(
                lik, prior, y_pred, 0.5 * (x[i] + 1), 0.5 * (x[j] + 1)
            )
    return table


# ---------------------------------------------------------------- multi-class (Section 2.7)


def accuracy_pmf(posterior, y_pred):
    """Section 2.7.2 without the CLT: {accuracy: probability}; also binary."""
    pmf = poisson_binomial([row[u] for row, u in zip(posterior, y_pred, strict=True)])
    return {Fraction(count, len(y_pred)): p for count, p in enumerate(pmf)}


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


def consolidate(z, delta, phi, theta, prior):
    """(MAP label of each sample, r[i][true][MAP label] over all label patterns of the labelers it has)."""
    labels, r = [], []
    for i, row in enumerate(z):
        given = [t for t, label in enumerate(row) if label != -1]
        law = np.zeros((2, 2))
        for pattern in itertools.product((0, 1), repeat=len(given)):
            full = [-1] * len(row)
            for t, label in zip(given, pattern, strict=True):
                full[t] = label
            lik = label_likelihood([full], 2, None if delta is None else [delta[i]], phi, theta)[0]
            # Compared in the log domain with a tolerance, because exact ties leave rounding noise.
            choice = int(math.log(max(prior[1] * lik[1], 1e-300) / max(prior[0] * lik[0], 1e-300)) > 1e-12)
            law[:, choice] += lik
            if full == list(row):
                labels.append(choice)
        r.append(law)
    return labels, r


def unbiased_metrics(labels, r, y_pred):
    """TARS (7)-(8): each sample's truth is replaced by its unbiased estimate (label - a) / (1 - a - b)."""
    true = [(label - law[0][1]) / (1 - law[0][1] - law[1][0]) for label, law in zip(labels, r, strict=True)]
    on, off = (math.fsum(part) for part in split_by_prediction(true, y_pred))
    n1, n = sum(y_pred), len(y_pred)
    return {
        "ACC": (on + n - n1 - off) / n,
        "PREC": on / n1,
        "P_D": on / (on + off),
        "P_FA": (n1 - on) / (n - on - off),
        "F": 2 * on / (on + off + n1),
    }
