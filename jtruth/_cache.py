"""Keep compiled programs on disk, so that the second run of a script does not compile again."""

from os import PathLike, fspath

import jax


def use_compilation_cache(folder: str | PathLike) -> None:
    """Turn on JAX's persistent compilation cache in `folder`, for programs of any size and compile time.

    Opt-in: it changes JAX's configuration for the whole process.
    """
    jax.config.update("jax_compilation_cache_dir", fspath(folder))
    jax.config.update("jax_persistent_cache_min_compile_time_secs", 0.0)
    jax.config.update("jax_persistent_cache_min_entry_size_bytes", -1)
