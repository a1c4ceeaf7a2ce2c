"""Compiled programs on disk, so that the second run of a script does not compile again.

XLA's cache holds machine code, but finds it by a program that has to be traced first, which takes longer than
many of our programs run. So programs of `kept_jit` functions are stored too, as StableHLO of `jax.export`.

The models of `jtruth.latent` enable it by default: JAX's own settings go first, then the environment variable
JTRUTH_CACHE, a folder or "off"; else it is a folder in the user's cache, if that is writable. Stored programs
are executed, so a folder that another user owns or may write to is refused.
"""

import functools
import hashlib
import inspect
import os
import pickle
import time
import warnings
from collections.abc import Callable, Hashable
from contextlib import suppress
from dataclasses import fields, is_dataclass
from os import PathLike
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.core import ShapedArray, Tracer

from jtruth._files import replacing

_BEGAN = time.time()
_SETTINGS = ("jax_enable_x64", "jax_default_matmul_precision", "jax_default_prng_impl",
             "jax_threefry_partitionable", "jax_debug_nans", "jax_debug_infs", "jax_disable_jit")  # fmt: skip
_OFF = ("0", "off", "no", "false")


def use_compilation_cache(folder: str | PathLike | None) -> None:
    """Keep compiled programs in `folder`, of any size and compile time; None: keep nothing.

    This changes JAX's configuration of the whole process. A folder that another user owns or may write to is
    not used, with a warning.
    """
    _keep_in(None if folder is None else Path(folder))
    _CHOSEN.append(folder)


_CHOSEN: list = []  # folders chosen in this process
_FOLDER: list[Path] = []  # where programs are kept, if anywhere


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
    _FOLDER[:] = [] if folder is None else [folder]
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


def kept_jit(*static: str) -> Callable[[Callable], Callable]:
    """`jax.jit` with static arguments of these names, whose programs later processes need not trace.

    Under transformations, with arrays on several devices or with static arguments without a name it is just
    `jax.jit`. A program is found by the source of jtruth and by versions and settings of JAX.
    """
    return functools.partial(_kept_jit, static)


def _kept_jit(static: tuple[str, ...], function: Callable) -> Callable:
    jitted, signature = jax.jit(function, static_argnames=static), inspect.signature(function)
    programs: dict[Hashable, tuple[Callable, Any] | None] = {}

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        given = signature.bind(*args, **options).arguments
        fixed = {name: given.pop(name) for name in static if name in given}
        leaves, tree = jax.tree.flatten(given)
        if not _FOLDER or not all(map(_on_one_device, leaves)):
            return jitted(*args, **options)
        settings = tuple(str(getattr(jax.config, name)) for name in _SETTINGS)
        key = tuple(fixed.items()), tree, tuple(map(jax.typeof, leaves)), settings, _FOLDER[0]
        if key not in programs:
            programs[key] = None
            with suppress(Exception):  # of what cannot be stored or read; it is traced as always
                traced = functools.partial(_with_leaves, jitted, tree, fixed)
                programs[key] = _stored(_FOLDER[0], _named((function, *key[:-1])), traced, leaves)
        found = programs[key]
        return jitted(*args, **options) if found is None else found[1].unflatten(found[0](*leaves))

    return call


def _with_leaves(function: Callable, tree: Any, fixed: dict[str, Any], *leaves: Any) -> Any:
    return function(**tree.unflatten(leaves), **fixed)


def _on_one_device(leaf: Any) -> bool:
    if isinstance(leaf, Tracer):
        return False
    return not isinstance(leaf, jax.Array) or len(leaf.devices()) == 1


def _named(value: Any) -> str:
    """A text that is the same in every process, of a key of `kept_jit`."""
    if isinstance(value, tuple):
        return f"{type(value).__name__}({', '.join(map(_named, value))})"
    if inspect.isfunction(value) and value.__closure__ is None and "<locals>" not in value.__qualname__:
        return f"{value.__module__}.{value.__qualname__}:{value.__code__.co_firstlineno}"
    if is_dataclass(value) and not isinstance(value, type):
        return _named((type(value), *(getattr(value, field.name) for field in fields(value))))
    text = repr(value)
    if " at 0x" in text:
        raise TypeError(f"{text} has no name that later processes know")
    return text


def _stored(folder: Path, name: str, function: Callable, leaves: list) -> tuple[Callable, Any]:
    """A function of `leaves` to leaves, and the tree that these are of; it is read, or traced and written."""
    from jax import export

    versions = jax.__version__, np.__version__, jax.default_backend(), _source()
    mark = hashlib.sha256("\n".join((*versions, name)).encode()).hexdigest()
    path = folder / f"jtruth-{mark}"
    with suppress(Exception):  # where there is none yet, or half of one
        parts, tree = pickle.loads(path.read_bytes())
        for side in ("in_avals", "out_avals"):
            parts[side] = tuple(ShapedArray(*aval) for aval in parts[side])
        return jax.jit(export.Exported(**parts, _get_vjp=None).call), tree
    trees = []

    def flat(*values: Any) -> list:
        result, tree = jax.tree.flatten(function(*values))
        trees.append(tree)
        return result

    made = export.export(jax.jit(flat))(*leaves)
    parts = {field.name: getattr(made, field.name) for field in fields(made) if field.name != "_get_vjp"}
    for side in ("in_avals", "out_avals"):
        parts[side] = [(aval.shape, aval.dtype, aval.weak_type) for aval in parts[side]]
    with replacing(path, "wb") as file:
        file.write(pickle.dumps((parts, trees[0])))
    return jax.jit(made.call), trees[0]


@functools.cache
def _source() -> str:
    """What is different for every version of the source of jtruth."""
    files = sorted(Path(__file__).parent.rglob("*.py"))
    about = [(str(file), found.st_mtime_ns, found.st_size) for file in files for found in [file.stat()]]
    if max(found[1] for found in about) > 1e9 * _BEGAN:
        raise RuntimeError("the source was changed while it runs: nothing that it makes is stored")
    return repr(about)
