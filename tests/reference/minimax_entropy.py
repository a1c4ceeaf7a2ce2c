"""Reference: Zhou et al. (2015), the dual of regularised minimax conditional entropy and its gradient.

Independent of the package under test. `labels` are (sample, labeler, label) triples.
"""

import math


def dist(sigma_t, tau_i, c):
    """p(label | class c) of one labeler on one sample: proportional to exp(sigma + tau)."""
    logits = [s + (tau_i[c][k] if tau_i is not None else 0.0) for k, s in enumerate(sigma_t[c])]
    total = sum(math.exp(v) for v in logits)
    return [math.exp(v) / total for v in logits]


def posteriors(labels, sigma, tau, prior, size):
    """Q(y_i = c) and the log-likelihood."""
    found, log_likelihood = [], 0.0
    for i in range(size):
        terms = []
        for c in range(len(prior)):
            value = prior[c]
            for j, t, k in labels:
                if j == i:
                    value *= dist(sigma[t], None if tau is None else tau[i], c)[k]
            terms.append(value)
        found.append([v / sum(terms) for v in terms])
        log_likelihood += math.log(sum(terms))
    return found, log_likelihood


def gradients(labels, sigma, tau, q, alpha, beta):
    """Of the dual: sum of Q (observed - expected) over the labels of a labeler, or of a sample, minus the
    penalty."""
    classes = len(sigma[0])
    by_t = [[[-alpha * v for v in row] for row in s] for s in sigma]
    by_i = None if tau is None else [[[-beta * v for v in row] for row in s] for s in tau]
    for i, t, k in labels:
        for c in range(classes):
            p = dist(sigma[t], None if tau is None else tau[i], c)
            for other in range(classes):
                change = q[i][c] * ((other == k) - p[other])
                by_t[t][c][other] += change
                if by_i is not None:
                    by_i[i][c][other] += change
    return by_t, by_i
