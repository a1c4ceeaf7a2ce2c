"""Reference: Dawid and Skene (1979), Section 2, as plain loops in NumPy float64.

Independent of the package under test. Their indices: patients i, classes j and l, clinicians k. `n[i, k, l]`
is how often clinician k gave response l to patient i. `T[i, j]` is the probability that the true class of
patient i is j, `pi[k, j, l]` that clinician k then responds l, and `p[j]` that of class j.
"""

import math

import numpy as np


def counts_from_entries(entries, num_patients, num_clinicians, num_classes):
    """n[i, k, l] from (patient, clinician, response) triples; a response of -1 is none."""
    n = np.zeros((num_patients, num_clinicians, num_classes), int)
    for i, k, response in entries:
        if response >= 0:
            n[i, k, response] += 1
    return n


def initial_T(n, gold=None):
    """(3.1): T_ij = sum_k n_ij^(k) / sum_k sum_l n_il^(k); the shares of all responses where i has none."""
    patients, _, classes = n.shape
    T = np.zeros((patients, classes))
    for i in range(patients):
        for j in range(classes):
            own = n[i] if n[i].sum() > 0 else n.sum(axis=0)
            T[i, j] = own[:, j].sum() / own.sum()
        if gold is not None and gold[i] >= 0:
            T[i] = [float(j == gold[i]) for j in range(classes)]
    return T


def error_rates(n, T, pseudo=None):
    """(2.3): pi_jl^(k) = sum_i T_ij n_il^(k) / sum_l sum_i T_ij n_il^(k); pseudo[j, l] joins the sums."""
    patients, clinicians, classes = n.shape
    pi = np.zeros((clinicians, classes, classes))
    for k in range(clinicians):
        for j in range(classes):
            for response in range(classes):
                pi[k, j, response] = 0 if pseudo is None else pseudo[j][response]
                for i in range(patients):
                    pi[k, j, response] += T[i, j] * n[i, k, response]
            total = pi[k, j].sum()
            pi[k, j] = pi[k, j] / total if total > 0 else 1 / classes
    return pi


def class_shares(T, pseudo=0.0):
    """(2.4): p_j = sum_i T_ij / I."""
    p = [sum(T[i, j] for i in range(len(T))) + pseudo for j in range(T.shape[1])]
    return np.array(p) / sum(p)


def joint(n_i, p, pi, j):
    """p_j prod_k prod_l (pi_jl^(k))^(n_il^(k)): one term of (2.5) and (2.7)."""
    value = p[j]
    for k in range(pi.shape[0]):
        for response in range(pi.shape[2]):
            value *= pi[k, j, response] ** n_i[k, response]
    return value


def e_step(n, p, pi, gold=None):
    """(2.5), and the log of (2.7); a known class keeps its patient's other terms out."""
    T, log_likelihood = np.zeros((len(n), len(p))), 0.0
    for i in range(len(n)):
        known = gold is not None and gold[i] >= 0
        terms = [joint(n[i], p, pi, j) if not known or j == gold[i] else 0.0 for j in range(len(p))]
        T[i] = np.array(terms) / sum(terms)
        log_likelihood += math.log(sum(terms))
    return T, log_likelihood


def em(n, *, steps, gold=None, pseudo=None, pseudo_prior=0.0, prior=None):
    """`steps` rounds of M then E from (3.1): p, pi, T and the log-likelihood after every round."""
    T, path = initial_T(n, gold), []
    for _ in range(steps):
        pi = error_rates(n, T, pseudo)
        p = class_shares(T, pseudo_prior) if prior is None else np.array(prior)
        T, log_likelihood = e_step(n, p, pi, gold)
        path.append(log_likelihood)
    return p, pi, T, np.array(path)
