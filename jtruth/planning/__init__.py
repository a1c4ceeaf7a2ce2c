"""Plan data collection: samples, labels and gold answers (Su 6.3.2, Lam & Stork 4.1)."""

from jtruth.planning.more import Offer, more_data
from jtruth.planning.search import best_plan
from jtruth.planning.settings import Labeler, Plan, Setting, read_setting, regular_assignment
from jtruth.planning.widths import approximate_width, simulated_width

__all__ = [
    "Labeler", "Offer", "Plan", "Setting", "approximate_width", "best_plan", "more_data", "read_setting",
    "regular_assignment", "simulated_width",
]  # fmt: skip
