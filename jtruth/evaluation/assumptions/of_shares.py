"""Which share of the samples is of each class, by labels alone.

A share is a row of the count table with one symbol (`registry.nobody_judged`), so every assumption of the
table says something of it; the answer is the predictive law of the readings (`predictive`).
"""

from collections.abc import Sequence

import numpy as np

from jtruth.evaluation.assumptions.model_error import SHARE
from jtruth.evaluation.assumptions.predictive import law_of
from jtruth.evaluation.assumptions.ranges import Member
from jtruth.stats.draws import DrawsEstimate


def share_laws(member: Member) -> list[DrawsEstimate]:
    """The law of each class's share under one assumption."""
    counts = member.posterior.counts.sum(axis=2)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return [DrawsEstimate(np.array(one)) for one in shares.T]


def predictive_shares(found: Sequence[Member], num_samples: int, labelers_are: str) -> list[DrawsEstimate]:
    """Each class's law, given how far readings of labels were off elsewhere."""
    each = {member.name: share_laws(member) for member in found if member.entry.reading}
    number = len(next(iter(each.values())))
    return [
        law_of({name: laws[c].draws for name, laws in each.items()}, SHARE, labelers_are, float(num_samples))
        for c in range(number)
    ]
