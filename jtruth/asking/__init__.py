"""Who is asked next about what, and what would the answer be worth?

`ask_next`          the truth of which samples: a random sample in strata of prediction and vote
`next_labels`       whose label of which sample, so that a metric becomes known soonest
`expected_gain_of_labels`  the same, so that the classes become known soonest
"""

from jtruth.asking.gold import ask_next
from jtruth.asking.labels import Aim, expected_gain_of_labels, next_labels

__all__ = ["Aim", "ask_next", "expected_gain_of_labels", "next_labels"]
