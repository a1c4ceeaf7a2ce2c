"""Keep compiled programs on disk, so that the second run of a script does not compile again.

The models of `jtruth.latent` switch it on where nobody has said otherwise: JAX's own settings go first, then
the environment variable JTRUTH_CACHE, a folder or "off"; else it is a folder in the user's cache. Where that
cannot be written nothing is kept.
"""

import functools
import os
from contextlib import suppress
from os import PathLike, fspath
from pathlib import Path

import jax

_OFF = ("0", "off", "no", "false")


def use_compilation_cache(folder: str | PathLike | None) -> None:
    """Keep compiled programs in `folder`, of any size and compile time; None: keep nothing.

    It changes JAX's configuration for the whole process.
    """
    _keep_in(None if folder is None else fspath(folder))
    _CHOSEN.append(folder)


_CHOSEN: list = []  # folders that were asked for in this process


def _keep_in(folder: str | None) -> None:
    jax.config.update("jax_compilation_cache_dir", folder)
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@functools.cache
def keep_programs() -> None:
    """Keep compiled programs in the user's cache, unless something else was said."""
    wish = os.environ.get("JTRUTH_CACHE", "").strip()
    if _CHOSEN or getattr(jax.config, "jax_compilation_cache_dir", None) is not None or wish.lower() in _OFF:
        return
    user = (
        os.environ.get("LOCALAPPDATA") if os.name == "nt" else None
    )  # where programs keep what they can spare
    user = user or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(wish) if wish else Path(user) / "jtruth" / "programs"
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
        if os.access(folder, os.W_OK | os.X_OK):
            _keep_in(str(folder))
