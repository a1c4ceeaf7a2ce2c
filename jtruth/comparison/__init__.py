"""Which annotation model predicts labels best (PSIS-LOO), and fits as ArviZ wants them."""

from jtruth.comparison.compare import STANDARD_MODELS, compare_models, leave_one_out
from jtruth.comparison.datatree import to_datatree, to_inference_data

__all__ = [
    "STANDARD_MODELS",
    "compare_models",
    "leave_one_out",
    "to_datatree",
    "to_inference_data",
]
