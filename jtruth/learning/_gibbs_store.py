"""What a running sampler remembers, and how it survives being killed.

`Store` holds the draws after burn-in, block by block. Large arrays (the matrices) are thinned: once they
outgrow `max_bytes` only every second, then every fourth, ... sweep is kept, while their mean is taken over
all sweeps. `save` writes store, counts and the state of the random stream into one npz file, first beside
it and then in its place, so a file is never half written; `load` refuses a file of other data.
"""

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
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


def save(
    path: Path,
    fingerprint: str,
    store: Store,
    chain: dict[str, np.ndarray],
    rng: np.random.Generator,
    numbers: dict[str, int],
) -> None:
    """Write everything that the next sweep depends on."""
    arrays: dict[str, Any] = {f"small/{k}": a for k, a in store.draws().items()}
    arrays |= {f"large/{k}": a for k, a in store.thinned().items()}
    arrays |= {f"sum/{k}": a for k, a in store.large_sum.items()}
    arrays |= {f"chain/{k}": a for k, a in chain.items()}
    about = {
        "fingerprint": fingerprint,
        "numbers": numbers | {"kept": store.kept, "thin": store.thin},
        "stream": rng.bit_generator.state,
    }
    beside = path.with_name(path.name + ".part")
    with open(beside, "wb") as file:
        np.savez(file, about=np.array(json.dumps(about)), state_sum=np.asarray(store.state_sum), **arrays)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)


def load(
    path: Path, fingerprint: str, store: Store, rng: np.random.Generator
) -> tuple[dict[str, np.ndarray], dict[str, int]]:
    """Fill the store and set the stream from a file; the counts and numbers that were saved with them."""
    try:
        with np.load(path) as file:
            found = {name: file[name] for name in file.files}
        about = json.loads(str(found["about"]))
    except (OSError, ValueError, KeyError, EOFError) as error:
        raise ValueError(f"{path} is not a checkpoint of a sampler ({error}); remove it to start") from error
    if about["fingerprint"] != fingerprint:
        raise ValueError(
            f"{path} belongs to another run (other data, priors, key or number of chains); "
            "remove it, or give another checkpoint path"
        )

    def named(kind: str) -> dict[str, np.ndarray]:
        return {name[len(kind) + 1 :]: a for name, a in found.items() if name.startswith(kind + "/")}

    numbers = about["numbers"]
    store.kept, store.thin = numbers.pop("kept"), numbers.pop("thin")
    store.small = {name: [a] for name, a in named("small").items()}
    store.large = {name: [a] for name, a in named("large").items()}
    store.large_sum, store.state_sum = named("sum"), found["state_sum"]
    rng.bit_generator.state = about["stream"]
    return named("chain"), numbers
