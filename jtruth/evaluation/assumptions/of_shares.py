"""Which share of the samples is of each class, under every assumption that has an answer.

A share is a row of the count table with one symbol (`registry.nobody_judged`), so every assumption of the
table gives its law, and without gold all of them are inside the range: with labels alone nothing says which
one holds. Measured on six public sets and simulated families: `benchmarks/labelers.py`.
"""

from collections.abc import Sequence

import numpy as np

from jtruth.evaluation.assumptions.missed import LABELS, opinions
from jtruth.evaluation.assumptions.ranges import Member
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.predictive import opinion, predictive
from jtruth.tables.several import RangeEstimate


def share_laws(member: Member) -> list[DrawsEstimate]:
    """The law of each class's share under one assumption."""
    counts = member.posterior.counts.sum(axis=2)
    shares = counts / counts.sum(axis=1, keepdims=True)
    return [DrawsEstimate(np.array(one)) for one in shares.T]


def share_ranges(found: Sequence[Member]) -> list[RangeEstimate]:
    """Mean and hull of what the assumptions say of each class."""
    laws = zip(*(share_laws(member) for member in found), strict=True)
    return [RangeEstimate(each, each) for each in laws]


def expected_shares(found: Sequence[Member], num_samples: int) -> list[DrawsEstimate]:
    """Each class's law if models of labels err as they did on public data sets (`missed`)."""
    laws, size = [], float(num_samples)
    for each in zip(*(share_laws(member) for member in found), strict=True):
        said = {member.name: opinion(law.draws, size) for member, law in zip(found, each, strict=True)}
        laws.append(predictive(*opinions(said, LABELS), None, (0.0, 1.0), size).law)
    return laws
