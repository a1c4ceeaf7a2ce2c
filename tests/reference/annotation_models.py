"""Reference: annotation models beside Dawid and Skene's as plain loops in NumPy float64.

Independent of the package under test. `labels` are (sample, labeler, class). One-coin EM by its formulas; the
difficulty-fallibility likelihood of Su 5.1.2 by numerical integration over the difficulty; GLAD's EM
(Whitehill et al. 2009) with an M step that SciPy maximises to its end; the joint posterior of Welinder et al.
(2010).
"""

import math

import numpy as np
from scipy import integrate, optimize, stats


def one_coin_em(labels, sizes, *, steps, gold=None):
    """`steps` rounds of M then E from vote shares: prior, accuracy of each labeler, T."""
    samples, labelers, classes = sizes
    T = np.zeros((samples, classes))
    for i, _, k in labels:
        T[i, k] += 1
    T = T / T.sum(axis=1, keepdims=True)
    for i, g in enumerate(gold if gold is not None else []):
        if g >= 0:
            T[i] = [float(c == g) for c in range(classes)]
    for _ in range(steps):
        q = np.zeros(labelers)
        for t in range(labelers):
            own = [(i, k) for i, s, k in labels if s == t]
            q[t] = sum(T[i, k] for i, k in own) / len(own)
        p = T.sum(axis=0) / samples
        for i in range(samples):
            joint = [p[c] * math.prod(right(q[t], k == c, classes) for j, t, k in labels if j == i)
                     for c in range(classes)]  # fmt: skip
            if gold is not None and gold[i] >= 0:
                joint = [x if c == gold[i] else 0.0 for c, x in enumerate(joint)]
            T[i] = np.array(joint) / sum(joint)
    return p, q, T


def right(chance, is_right, classes):
    """Probability of a label that is right with this chance, wrong ones alike."""
    return chance if is_right else (1 - chance) / (classes - 1)


def difficulty_terms(own, p, phi, dist, classes):
    """Of one sample's labels [(t, k)]: integrals of p[c] Beta(delta) prod p(label) delta^m, m = 0, 1, 2."""
    found = np.zeros((classes, 3))
    for c in range(classes):

        def density(delta, power, c=c):
            value = p[c] * stats.beta.pdf(delta, *dist) * delta**power
            for t, k in own:
                error = (delta + phi[t] - delta * phi[t]) * (classes - 1) / classes
                value *= right(1 - error, k == c, classes)
            return value

        for power in range(3):
            found[c, power] = integrate.quad(density, 0, 1, args=(power,), epsabs=1e-14, epsrel=1e-12)[0]
    return found


def difficulty_log_likelihood(labels, sizes, p, phi, dist):
    """log p(labels), class posterior, mean and standard deviation of each difficulty."""
    samples, _, classes = sizes
    total, posterior, mean, sd = 0.0, [], [], []
    for i in range(samples):
        terms = difficulty_terms([(t, k) for j, t, k in labels if j == i], p, phi, dist, classes)
        evidence, first, second = terms.sum(axis=0)
        total += math.log(evidence)
        posterior.append(terms[:, 0] / evidence)
        mean.append(first / evidence)
        sd.append(math.sqrt(second / evidence - (first / evidence) ** 2))
    return total, np.array(posterior), np.array(mean), np.array(sd)


def glad_em(labels, sizes, *, steps):
    """Whitehill et al.'s EM from alpha = b = 1: prior, alpha, b and T. N(1, 1) distributions, prior
    learned."""
    samples, labelers, classes = sizes
    alpha, b, p = np.ones(labelers), np.ones(samples), np.zeros(classes)
    for _, _, k in labels:
        p[k] += 1 / len(labels)

    def chance(alpha, b, i, t):
        return 1 / (1 + math.exp(-alpha[t] * math.exp(b[i])))

    for _ in range(steps):
        T = np.zeros((samples, classes))
        for i in range(samples):
            for c in range(classes):
                T[i, c] = p[c]
                for j, t, k in labels:
                    if j == i:
                        T[i, c] *= right(chance(alpha, b, i, t), k == c, classes)
            T[i] /= T[i].sum()

        def bound(x, T=T):
            value, slope = 0.0, np.zeros(labelers + samples)
            for i, t, k in labels:
                logit = x[t] * math.exp(x[labelers + i])
                r = 1 / (1 + math.exp(-logit))
                value += T[i, k] * math.log(r) + (1 - T[i, k]) * math.log(1 - r)
                slope[t] += (T[i, k] - r) * math.exp(x[labelers + i])
                slope[labelers + i] += (T[i, k] - r) * logit
            return -(value - 0.5 * ((x - 1) ** 2).sum()), -(slope - (x - 1))

        x = np.concatenate([alpha, b])
        x = optimize.minimize(bound, x, jac=True, method="BFGS", options={"gtol": 1e-11}).x
        alpha, b, p = x[:labelers], x[labelers:], T.sum(axis=0) / samples
    return p, alpha, b, T


def welinder_log_posterior(labels, position, direction, threshold, p, sds):
    """log of the joint density of everything, classes summed out, without constants."""
    sample_sd, direction_sd, threshold_sd = sds
    value = 0.0
    for i, t, k in labels:
        far = float(direction[t] @ position[i]) - threshold[t]
        value += stats.norm.logcdf(far if k == 1 else -far)
    first = np.eye(position.shape[1])[0]
    for x in position:
        apart = [0.5 * ((x - m * first) ** 2).sum() / sample_sd**2 for m in (-1.0, 1.0)]
        value += math.log(p[0] * math.exp(-apart[0]) + p[1] * math.exp(-apart[1]))
    value -= 0.5 * sum(((w - first) ** 2).sum() for w in direction) / direction_sd**2
    return value - 0.5 * (threshold**2).sum() / threshold_sd**2
