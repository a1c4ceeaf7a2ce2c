"""What a running sampler remembers.

`Store` holds the draws after burn-in, block by block. Large arrays (the matrices) are thinned: once they
outgrow `max_bytes` only every second, then every fourth, ... sweep is kept, while their mean is taken over
all sweeps.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass
class Store:
    """Draws so far. Arrays are (chains, sweeps, ...)."""

    max_bytes: int
    kept: int = 0  # sweeps per chain after burn-in
    thin: int = 1
    small: dict[str, list[np.ndarray]] = field(default_factory=dict)  # block by block
    large: dict[str, list[np.ndarray]] = field(default_factory=dict)  # sweeps 0, thin, 2 thin, ...
    large_sum: dict[str, np.ndarray] = field(default_factory=dict)
    state_sum: np.ndarray = field(default_factory=lambda: np.zeros(()))  # (states, rows) of probabilities

    def add(self, small: dict[str, np.ndarray], large: dict[str, np.ndarray], states: np.ndarray) -> None:
        """Append one block of sweeps."""
        sweeps = next(iter(small.values())).shape[1]
        for name, values in small.items():
            self.small.setdefault(name, []).append(values)
        first = -self.kept % self.thin
        for name, values in large.items():
            self.large.setdefault(name, []).append(values[:, first :: self.thin].astype(np.float32))
            self.large_sum[name] = self.large_sum.get(name, 0.0) + values.sum(axis=(0, 1), dtype=np.float64)
        self.state_sum = self.state_sum + states
        self.kept += sweeps
        while sum(a.nbytes for parts in self.large.values() for a in parts) > self.max_bytes:
            if self.thin >= self.kept:
                break
            self.thin *= 2
            self.large = {name: [a[:, ::2].copy()] for name, a in self._joined(self.large).items()}

    def draws(self) -> dict[str, np.ndarray]:
        """All draws of the small arrays."""
        return self._joined(self.small)

    def thinned(self) -> dict[str, np.ndarray]:
        """Every `thin`-th draw of the large arrays."""
        return self._joined(self.large)

    @staticmethod
    def _joined(blocks: dict[str, list[np.ndarray]]) -> dict[str, np.ndarray]:
        """Blocks as one array each; the lists are shortened on the way, so it is not done twice."""
        for parts in blocks.values():
            if len(parts) > 1:
                parts[:] = [np.concatenate(parts, axis=1)]
        return {name: parts[0] for name, parts in blocks.items()}

    def pack(self) -> tuple[dict[str, np.ndarray], dict[str, Any]]:
        """Everything as named arrays and words."""
        kinds = {"small": self.draws(), "large": self.thinned(), "sum": self.large_sum}
        arrays = {f"{kind}/{name}": a for kind, some in kinds.items() for name, a in some.items()}
        return arrays | {"state_sum": np.asarray(self.state_sum)}, {"kept": self.kept, "thin": self.thin}

    def unpack(self, arrays: dict[str, np.ndarray], words: dict[str, Any]) -> None:
        """Take over what `pack` gave."""

        def named(kind: str) -> dict[str, np.ndarray]:
            return {name[len(kind) + 1 :]: a for name, a in arrays.items() if name.startswith(kind + "/")}

        self.kept, self.thin = words["kept"], words["thin"]
        self.small = {name: [a] for name, a in named("small").items()}
        self.large = {name: [a] for name, a in named("large").items()}
        self.large_sum, self.state_sum = named("sum"), arrays["state_sum"]
