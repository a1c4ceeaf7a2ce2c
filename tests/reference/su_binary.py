"""Reference: Su (2023), Sections 2.1-2.3 and 2.7, as plain NumPy float64 loops.

Independent of the package under test. One formula is one function with its equation number. Notation:
`lik[i][c]` = p(z_i | y_i = c); `prior[c]` = pi(c); `y_pred[i]`; rows of a confusion matrix K are true
classes, columns predicted classes, so the binary K is [[1 - p_FA, p_FA], [1 - p_D, p_D]]. A missing label is
-1. A table is an array T[a, b] = p(A = a, B = b | y_pred, z) with A = #(y_pred = 1, y = 1) and
B = #(y_pred = 0, y = 1). Values of metrics are exact `Fraction`s, so equal atoms merge exactly; an undefined
(0/0) metric is None.
"""

import itertools
import math
from fractions import Fraction

import numpy as np

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


def confusion_counts(y, y_pred, num_classes, num_symbols=None):
    """n[l][n] = #(y = l, y_pred = n) as plain integers; as many symbols as classes if not said."""
    counts = [[0] * (num_symbols or num_classes) for _ in range(num_classes)]
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

    Give `k` (product of (10)), or `alpha` (classes, symbols): row c of K ~ Dirichlet(alpha[c]), marginalised.
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
            table = confusion_counts(y, y_pred, num_classes, len(alpha[0]))
            for counts, row in zip(table, alpha, strict=True):
                weight *= math.exp(log_dirichlet_integral(counts, row))
        joint[y] = weight
    evidence = math.fsum(joint.values())
    return {y: w / evidence for y, w in joint.items()}, evidence


def beta_rows(a_d=1, b_d=1, a_f=1, b_f=1):
    """p_D ~ Beta(a_d, b_d) and p_FA ~ Beta(a_f, b_f) as Dirichlet rows of the binary K."""
    return [[b_f, a_f], [b_d, a_d]]


def count_tables(posterior, y_pred, num_classes, num_symbols):
    """Every possible table (tables, classes, symbols) and its probability, from {y: probability}."""
    cells = {}
    for y, p in posterior.items():
        table = tuple(map(tuple, confusion_counts(y, y_pred, num_classes, num_symbols)))
        cells[table] = cells.get(table, 0.0) + p
    return np.array(list(cells)), np.array(list(cells.values()))


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


# ---------------------------------------------------------------- metrics (Table 8) and their PMFs


def metric(name, a, b, n1, n0):
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
        top, bottom = 2 * a, a + b + n1
    return Fraction(int(top), int(bottom)) if bottom else None


def metric_pmf(table, name):
    """({value: probability given defined}, probability undefined) of one metric."""
    n1, n0 = table.shape[0] - 1, table.shape[1] - 1
    cells, undefined = {}, [0.0]
    for a in range(n1 + 1):
        for b in range(n0 + 1):
            value = metric(name, a, b, n1, n0)
            if value is None:
                undefined.append(table[a, b])
            else:
                cells.setdefault(value, []).append(table[a, b])
    total = math.fsum(p for masses in cells.values() for p in masses)
    pmf = {v: math.fsum(masses) / total for v, masses in sorted(cells.items())} if total else {}
    return pmf, math.fsum(undefined)


def exact_ratio_mean(pmf_top, pmf_rest):
    """(E[A / (A + R); A + R > 0], p(A + R = 0)) for independent counts A and R given their PMFs."""
    total = math.fsum(
        a / (a + r) * pa * pr for a, pa in enumerate(pmf_top) for r, pr in enumerate(pmf_rest) if a + r > 0
    )
    return total, pmf_top[0] * pmf_rest[0]
