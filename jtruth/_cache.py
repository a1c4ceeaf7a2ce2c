"""Compiled programs on disk, so that the second run of a script does not compile again.

The models of `jtruth.latent` enable it by default: JAX's own settings go first, then the environment variable
JTRUTH_CACHE, a folder or "off"; else it is a folder in the user's cache, if that is writable. Stored programs
are executed, so a folder that another user owns or may write to is refused.
"""

import functools
import os
import warnings
from contextlib import suppress
from os import PathLike
from pathlib import Path

import jax

_OFF = ("0", "off", "no", "false")


def use_compilation_cache(folder: str | PathLike | None) -> None:
    """Keep compiled programs in `folder`, of any size and compile time; None: keep nothing.

    This changes JAX's configuration of the whole process. A folder that another user owns or may write to is
    not used, with a warning.
    """
    _keep_in(None if folder is None else Path(folder))
    _CHOSEN.append(folder)


_CHOSEN: list = []  # folders chosen in this process


def _keep_in(folder: Path | None) -> None:
    others = ""
    if folder is not None:
        folder.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.mkdir(mode=0o700, exist_ok=True)
        others = _others(folder)
    if others:
        warnings.warn(f"Compiled programs are not kept: {others}.", stacklevel=4)
    # A damaged entry is compiled again.
    warnings.filterwarnings("ignore", "Error (reading|writing) persistent compilation cache")
    folder = None if others else folder
    jax.config.update("jax_compilation_cache_dir", None if folder is None else str(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)


@functools.cache
def keep_programs() -> None:
    """Keep compiled programs in the user's cache, unless configured otherwise."""
    wish = os.environ.get("JTRUTH_CACHE", "").strip()
    if _CHOSEN or getattr(jax.config, "jax_compilation_cache_dir", None) is not None or wish.lower() in _OFF:
        return
    user = os.environ.get("LOCALAPPDATA") if os.name == "nt" else None
    user = user or os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    folder = Path(wish) if wish else Path(user) / "jtruth" / "programs"
    with suppress(OSError):
        if not folder.exists() or os.access(folder, os.W_OK | os.X_OK):
            _keep_in(folder)


def _others(folder: Path) -> str:
    """Why others could place programs in a folder: "" if they cannot."""
    about = folder.stat()
    if os.name == "nt":  # a user's folders are private there
        return ""
    if about.st_uid != os.getuid():
        return f"{folder} belongs to another user. Set JTRUTH_CACHE to a folder of your own"
    if about.st_mode & 0o022:
        return f"others may write to {folder}. Run chmod 700 on it, or set JTRUTH_CACHE to another folder"
    return ""
