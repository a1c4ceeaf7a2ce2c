"""How many samples, labels and gold answers, and by whom? (Su 6.3.2, Lam & Stork 4.1)."""

from jtruth.planning.search import best_plan
from jtruth.planning.settings import Labeler, Plan, Setting, read_setting, regular_assignment

__all__ = ["Labeler", "Plan", "Setting", "best_plan", "read_setting", "regular_assignment"]
