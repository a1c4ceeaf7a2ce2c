"""Reference: EM for sets of classes and for ratings, by loops, from the formulas of each channel."""

import math


def sets_em(entries, sizes, *, steps):
    """(matrices, prior, posterior) after steps; `entries` are (sample, labeler, classes of the set).

    What a labeler has in mind is one of the classes of the set: its share is expected, like the class.
    """
    samples, labelers, classes = sizes
    own = [[2.0 if k == c else 1 / (classes - 1) for k in range(classes)] for c in range(classes)]
    psi = [[[x / sum(row) for x in row] for row in own] for _ in range(labelers)]
    rho = [[0.0] * classes for _ in range(samples)]
    for i, _, inside in entries:
        for c in inside:
            rho[i][c] += 1 / len(inside)
    rho = [[x / sum(row) for x in row] for row in rho]
    pi = []
    for _ in range(steps):
        counts = [[list(row) for row in own] for _ in range(labelers)]
        for i, t, inside in entries:
            for c in range(classes):
                total = sum(psi[t][c][k] for k in inside)
                for k in inside:
                    counts[t][c][k] += rho[i][c] * psi[t][c][k] / total
        psi = [[[x / sum(row) for x in row] for row in matrix] for matrix in counts]
        pi = [(sum(row[c] for row in rho) + 1) / (samples + classes) for c in range(classes)]
        joint = [list(pi) for _ in range(samples)]
        for i, t, inside in entries:
            for c in range(classes):
                joint[i][c] *= sum(psi[t][c][k] for k in inside)
        rho = [[x / sum(row) for x in row] for row in joint]
    return psi, pi, rho


def ratings_em(entries, sizes, *, steps, worth=2.0, least=1e-3):
    """(mean, sd, prior, posterior) after steps; `entries` are (sample, labeler, rating)."""
    samples, labelers, classes = sizes
    of = [[x for _, s, x in entries if s == t] for t in range(labelers)]
    centre = [sum(xs) / len(xs) for xs in of]
    square = [sum((x - m) ** 2 for x in xs) for xs, m in zip(of, centre, strict=True)]
    pooled = sum(square) / len(entries)
    scale = [math.sqrt((q + worth * pooled) / (len(xs) + worth)) for q, xs in zip(square, of, strict=True)]
    z = [(x - centre[t]) / scale[t] for _, t, x in entries]
    mean_of = []
    for i in range(samples):
        mine = [a for a, (j, _, _) in zip(z, entries, strict=True) if j == i]
        mean_of.append(sum(mine) / len(mine))
    order = sorted(range(samples), key=lambda i: mean_of[i])
    rho = [[0.25 / (classes - 1)] * classes for _ in range(samples)]
    for rank, i in enumerate(order):
        rho[i][rank * classes // samples] = 0.75
    mean, sd, pi = [], [], []
    for _ in range(steps):
        mean = [[0.0] * classes for _ in range(labelers)]
        sd = [[0.0] * classes for _ in range(labelers)]
        for c in range(classes):
            w = [rho[i][c] for i, _, _ in entries]
            middle = sum(a * b for a, b in zip(w, z, strict=True)) / sum(w)
            wide = sum(a * (b - middle) ** 2 for a, b in zip(w, z, strict=True)) / sum(w)
            for t in range(labelers):
                mine = [(a, b) for a, b, (_, s, _) in zip(w, z, entries, strict=True) if s == t]
                number = sum(a for a, _ in mine) + worth
                m = (sum(a * b for a, b in mine) + worth * middle) / number
                spread = sum(a * (b - m) ** 2 for a, b in mine) + worth * (wide + (m - middle) ** 2)
                mean[t][c] = centre[t] + scale[t] * m
                sd[t][c] = scale[t] * math.sqrt(max(spread / number, least**2))
        pi = [(sum(row[c] for row in rho) + 1) / (samples + classes) for c in range(classes)]
        joint = [[math.log(p) for p in pi] for _ in range(samples)]
        for i, t, x in entries:
            for c in range(classes):
                off = (x - mean[t][c]) / sd[t][c]
                joint[i][c] += -0.5 * off**2 - math.log(sd[t][c]) - 0.5 * math.log(2 * math.pi)
        rho = [[math.exp(x - max(row)) for x in row] for row in joint]
        rho = [[x / sum(row) for x in row] for row in rho]
    return mean, sd, pi, rho
