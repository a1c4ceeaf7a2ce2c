"""Compare systems by pairwise preferences: win rates, position bias, strengths of several systems."""

from jtruth.pairwise.answer import Preferences, preferences
from jtruth.pairwise.reading import Comparisons, read_preferences

__all__ = ["Comparisons", "Preferences", "preferences", "read_preferences"]
