"""SQUAREM (Varadhan and Roland 2008, scheme S3): further along the curve of three successive iterates of EM.

The one formula of every EM that jumps: in XLA (`learning`) and in NumPy (the bootstrap of the checks). It
asks arrays for nothing but arithmetic, so it takes those of either. What is done with a jump that does not
pay is the business of who asked.
"""

from collections.abc import Sequence
from typing import Any


def squarem(
    before: Sequence[Any], now: Sequence[Any], after: Sequence[Any], longest: Any, *, batch: int = 0
) -> tuple[list[Any], Any]:
    """The point that a jump would reach, and the length of the jump: 1 is `after`, where EM goes.

    Args:
        before, now, after: float arrays, the parameters at three successive iterates.
        longest: jump allowed.
        batch: this many leading axes, the same in all arrays, number independent problems, each with its own
            length.
    """
    speed = [b - a for a, b in zip(before, now, strict=True)]
    bend = [(c - b) - s for b, c, s in zip(now, after, speed, strict=True)]
    fast, bent = (sum((d**2).sum(tuple(range(batch, d.ndim))) for d in part) ** 0.5 for part in (speed, bend))
    length = (fast / (bent + 1e-30)).clip(1, longest)  # at a fixed point both are 0, and the length is 1
    wide = [length.reshape(*length.shape, *[1] * (a.ndim - batch)) for a in before]
    curve = zip(before, speed, bend, wide, strict=True)
    return [a + 2 * step * s + step**2 * d for a, s, d, step in curve], length


def inside_simplex(far: Any, plain: Any) -> Any:
    """A distribution after a jump, above a tenth of where EM would go: EM never leaves an exact 0 again."""
    far = far.clip(0.1 * plain)
    return far / far.sum(-1, keepdims=True)
