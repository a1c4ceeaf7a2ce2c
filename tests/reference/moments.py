"""Reference: the label model's moments by loops: covariances, triplets and third moments of {-1, 0, 1}.

Independent of the package under test. `x[i][t]` is +1, -1, or 0 for an abstention; `seen[i][t]` whether t saw
i.
"""

import itertools
import math


def covariance(f, g, on):
    """Weighted covariance over the samples where `on`; the weights are all 1."""
    use = [i for i in range(len(f)) if on[i]]
    if not use:
        return 0.0
    mean_f, mean_g = sum(f[i] for i in use) / len(use), sum(g[i] for i in use) / len(use)
    return sum(f[i] * g[i] for i in use) / len(use) - mean_f * mean_g


def squares(x, seen, apart):
    """v_t^2 = sum over pairs u, w of weight C(t, u) C(t, w) C(u, w), divided by that of weight C(u, w)^2."""
    size, labelers = len(x), len(x[0])
    column = [[x[i][t] for i in range(size)] for t in range(labelers)]
    both = [
        [[seen[i][t] and seen[i][u] for i in range(size)] for u in range(labelers)] for t in range(labelers)
    ]
    c = [[covariance(column[t], column[u], both[t][u]) for u in range(labelers)] for t in range(labelers)]
    found = []
    for t in range(labelers):
        above = below = 0.0
        for u, w in itertools.product(range(labelers), repeat=2):
            if apart[t][u] and apart[t][w] and apart[u][w]:
                weight = sum(both[t][u]) * sum(both[t][w]) * sum(both[u][w])
                above += weight * c[t][u] * c[t][w] * c[u][w]
                below += weight * c[u][w] ** 2
        found.append(above / below)
    return found


def prior_of_class_1(x, seen, apart, v):
    """p from the third central moments of all triples of labelers who are apart."""
    size, labelers = len(x), len(x[0])
    mean = []
    for t in range(labelers):
        own = [x[i][t] for i in range(size) if seen[i][t]]
        mean.append(sum(own) / len(own))
    above = below = 0.0
    for t, u, w in itertools.combinations(range(labelers), 3):
        if apart[t][u] and apart[t][w] and apart[u][w]:
            for i in range(size):
                if seen[i][t] and seen[i][u] and seen[i][w]:
                    product = v[t] * v[u] * v[w]
                    above += math.prod(x[i][k] - mean[k] for k in (t, u, w)) * product
                    below += product**2
    ratio = above / below
    return (1 - ratio / math.sqrt(4 + ratio**2)) / 2
