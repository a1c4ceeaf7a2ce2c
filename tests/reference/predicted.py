"""Reference: confident learning (Northcutt et al. 2021) and the noise layer by plain loops.

Independent of the package under test. `q[i][c]` = p(y_i = c | x_i), `z[i]` the label, rows of matrices are
true classes.
"""

import math

import numpy as np


def thresholds(q, z):
    """(2): t_c = mean of q[i][c] over the samples labelled c; infinite where there is none."""
    found = []
    for c in range(len(q[0])):
        own = [q[i][c] for i in range(len(q)) if z[i] == c]
        found.append(sum(own) / len(own) if own else math.inf)
    return found


def confident_joint(q, z):
    """(1): counts[c][k] of samples labelled k whose best class above its threshold is c; and each one's
    class."""
    t, classes = thresholds(q, z), len(q[0])
    counts, of_sample = np.zeros((classes, classes)), []
    for i in range(len(q)):
        above = [c for c in range(classes) if q[i][c] >= t[c] * (1 - 1e-13)]
        best = max(above, key=lambda c: q[i][c]) if above else -1
        of_sample.append(best)
        if best >= 0:
            counts[best][z[i]] += 1
    return counts, of_sample


def calibrated(counts, z):
    """(3): the counts of each label scaled to how often it was given, divided by all."""
    joint = np.zeros_like(counts)
    for k in range(len(counts)):
        total = sum(counts[c][k] for c in range(len(counts)))
        for c in range(len(counts)):
            if total > 0:
                joint[c][k] = counts[c][k] / total * sum(1 for label in z if label == k) / len(z)
    return joint


def noise_layer_step(q, z, psi, pseudo):
    """One step of EM from psi: the new psi, and the log-likelihood of the old one."""
    classes, log_likelihood = len(psi), 0.0
    counts = [[float(pseudo[c][k]) for k in range(classes)] for c in range(classes)]
    for i in range(len(z)):
        joint = [q[i][c] * psi[c][z[i]] for c in range(classes)]
        log_likelihood += math.log(sum(joint))
        for c in range(classes):
            counts[c][z[i]] += joint[c] / sum(joint)
    return [[n / sum(row) for n in row] for row in counts], log_likelihood
