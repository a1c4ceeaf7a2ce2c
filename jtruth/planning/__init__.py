"""How many samples, labels and gold answers, and by whom? (Su 6.3.2, Lam & Stork 4.1)."""

from jtruth.planning.requests import People, plan_request
from jtruth.planning.search import Limits, cheapest_plan, narrowest_plan
from jtruth.planning.settings import (
    Labeler,
    Plan,
    Question,
    Setting,
    labeler,
    regular_assignment,
    setting,
)

__all__ = [
    "Labeler", "Limits", "People", "Plan", "Question", "Setting", "cheapest_plan", "labeler",
    "narrowest_plan", "plan_request", "regular_assignment", "setting",
]  # fmt: skip
