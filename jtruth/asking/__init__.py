"""Choose what to ask next.

`ask_next`                 samples to verify: a random sample, stratified by prediction and vote
`next_labels`              labels that narrow the posterior of a metric most
`expected_gain_of_labels`  expected information of labels about the classes
"""

from jtruth.asking.gold import ask_next
from jtruth.asking.labels import Aim, expected_gain_of_labels, next_labels

__all__ = ["Aim", "ask_next", "expected_gain_of_labels", "next_labels"]
