"""Reference: Karger, Oh and Shah (2014), Algorithm 1, with messages in dictionaries."""

import math


def messages(labels, start, steps, known=None):
    """Scores of samples and weights of labelers after some steps.

    Args:
        labels: {(sample, labeler): +1 or -1}.
        start: {(sample, labeler): first message of labeler to sample}.
        steps: number of rounds; messages are divided by their root mean square in each.
        known: {sample: +1 or -1}.
    """
    y, known = dict(start), known or {}
    for _ in range(steps):
        x = {}
        for i, t in labels:
            x[i, t] = sum(labels[j, s] * y[j, s] for j, s in labels if j == i and s != t)
        x = scaled(x, [e for e in x if e[0] not in known])
        x.update({e: float(known[e[0]]) for e in x if e[0] in known})
        y = {}
        for i, t in labels:
            y[i, t] = sum(labels[j, s] * x[j, s] for j, s in labels if s == t and j != i)
        y = scaled(y, list(y))
    score, weight = {}, {}
    for (i, t), a in labels.items():
        score[i] = score.get(i, 0.0) + a * y[i, t]
        weight[t] = weight.get(t, 0.0) + a * x[i, t]
    return score, weight


def scaled(message, on):
    """All messages, divided by the root mean square of those named."""
    size = math.sqrt(sum(message[e] ** 2 for e in on) / max(len(on), 1))
    return {e: m / (size if size > 0 else 1) for e, m in message.items()}
