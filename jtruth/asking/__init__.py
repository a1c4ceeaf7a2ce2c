"""Who is asked next about what, and what would the answer be worth?

`ask_next`          the truth of which samples, so that gold stays a probability sample
`ask_strata`        the same, at once and in strata of what is predicted and how sure the labels are
`next_labels`       whose label of which sample, so that a metric becomes known soonest
`expected_gain_of_labels`  the same, so that the classes become known soonest
"""

from jtruth.asking.gold import ask_next, ask_strata, gold_to_halve
from jtruth.asking.labels import Aim, expected_gain_of_labels, next_labels

__all__ = ["Aim", "ask_next", "ask_strata", "expected_gain_of_labels", "gold_to_halve", "next_labels"]
