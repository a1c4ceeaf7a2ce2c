"""Laws and arrays as plain numbers, lists and strings, for `to_dict` of every answer."""

from typing import Any

import numpy as np

from jtruth.stats.estimates import Estimate


def estimate_dict(estimate: Estimate, level: float) -> dict[str, Any]:
    """Mean, mode, sd, shortest interval and the probability that the metric is defined."""
    interval = estimate.interval(level)
    row = {
        "mean": estimate.mean,
        "mode": estimate.mode,
        "sd": estimate.sd,
        "low": interval.low,
        "high": interval.high,
        "probability_defined": estimate.probability_defined,
    }
    return {name: plain_json(value) for name, value in row.items()}


def plain_json(value: Any) -> Any:
    """JSON-ready: NumPy to lists and numbers, NaN and infinities to None."""
    if isinstance(value, np.ndarray):
        return [plain_json(v) for v in value.tolist()]
    if isinstance(value, list | tuple):
        return [plain_json(v) for v in value]
    if isinstance(value, float | np.floating):
        return float(value) if np.isfinite(value) else None
    return int(value) if isinstance(value, np.integer) else value
