"""How many of what an answer rests on, in words."""

from typing import Any

from jtruth._validation.words import number_of


def counts_text(d: dict[str, Any]) -> str:
    """How many samples, labels and labelers."""
    labels = f"{number_of(d['num_samples'], 'sample')}, {number_of(d['num_labels'], 'label')}"
    return f"{labels} by {number_of(d['num_labelers'], 'labeler')}"


def taken_as_true(num_gold: int) -> str:
    """How many labels were taken as true."""
    if not num_gold:
        return "no label was taken as true"
    return f"{number_of(num_gold, 'gold label')} {'was' if num_gold == 1 else 'were'} taken as true"
