"""Work shared by several devices, sets or samples over one axis of a mesh, and by several processes.

Whole data sets are distributed by `over_sets`, without communication (`jax.shard_map`). For the samples of
one set the arrays are placed and the compiler reduces (`learning.em.dawid_skene`); that needs Auto axes, so
an Explicit mesh (of `jax.make_mesh`) is converted. Remainders are padded: sets by copies of the last one,
samples with weight 0.

Several processes of one job (`jax.distributed`) must call these functions in the same order; an error in one
is raised by all (`together`).
"""

import json
from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec

from jtruth._validation.words import quoted


def mesh_axis(mesh: Any, *, hosts: bool = False) -> str:
    """The only axis longer than 1, or the first; devices of several processes are for `hosts`."""
    if not isinstance(mesh, Mesh):
        raise ValueError(
            f"mesh is of type {type(mesh).__name__}; give a jax.sharding.Mesh, such as "
            "jax.make_mesh((jax.device_count(),), ('sets',))"
        )
    if not hosts and len({device.process_index for device in mesh.devices.flat}) > 1:
        raise ValueError(
            "the mesh has devices of several processes; give each process a mesh of its jax.local_devices() "
            "and its own sets (docs/many_devices.md)"
        )
    long = [name for name, size in mesh.shape.items() if size > 1] or list(mesh.axis_names[:1])
    if len(long) != 1:
        raise ValueError(
            f"the mesh has {len(long)} axes longer than 1 ({dict(mesh.shape)}); work is shared over one: "
            f"give jax.make_mesh(({mesh.size},), ('samples',))"
        )
    return long[0]


def over_sets(run: Callable[..., Any], mesh: Any, *arrays: Any) -> Any:
    """`run(*arrays)`, pure, the leading axis of arrays and results shared by the mesh (None: not shared)."""
    if mesh is None:
        return run(*arrays)
    axis, sets = mesh_axis(mesh), arrays[0].shape[0]
    where = np.minimum(np.arange(-(-sets // mesh.shape[axis]) * mesh.shape[axis]), sets - 1)
    spec = PartitionSpec(axis)
    shared = jax.shard_map(run, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    placed = [jax.device_put(jnp.asarray(a)[where], NamedSharding(mesh, spec)) for a in arrays]
    result = jax.jit(shared)(*placed)
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:sets], result)


def as_auto(mesh: Mesh) -> Mesh:
    """The same devices with axes whose shardings the compiler chooses."""
    return Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))


def even_rows(mesh: Any, size: int) -> NamedSharding:
    """Sharding of a leading axis of this size, which the devices of the mesh must divide."""
    axis = mesh_axis(mesh)
    devices = mesh.shape[axis]
    if size % devices:
        raise ValueError(
            f"{size} samples cannot be divided evenly among the {devices} devices of the mesh: ask for "
            f"{size + -size % devices} and leave the last {-size % devices} out"
        )
    return NamedSharding(as_auto(mesh), PartitionSpec(axis))


def gathered(thing: Any) -> list[Any]:
    """The values of all processes in order: plain values, as JSON has them."""
    if jax.process_count() == 1:
        return [thing]
    text = np.frombuffer(json.dumps(thing).encode(), np.uint8)
    sizes = _gathered(np.array([text.size], np.int32))[:, 0]
    rows = _gathered(np.pad(text, (0, int(sizes.max()) - text.size)))
    return [json.loads(row[:size].tobytes()) for row, size in zip(rows, sizes, strict=True)]


def together(work: Callable[[], Any]) -> Any:
    """The result of `work`; the first ValueError of any process is raised by all."""
    result, problem = None, None
    try:
        result = work()
    except ValueError as fault:
        problem = str(fault)
    faults = gathered(problem)
    first = next((k for k, one in enumerate(faults) if one is not None), None)
    if first is not None:
        where = f"process {first}: " if len(faults) > 1 else ""
        raise ValueError(f"{where}{faults[first]}")
    return result


def same_everywhere(what: str, names: Sequence | None) -> None:
    """Refuse names that differ between processes, showing those of process 0 and another."""
    tables = gathered(None if names is None else list(names))
    other = next((k for k, one in enumerate(tables) if one != tables[0]), None)
    if other is not None:
        of = [(k, tables[k]) for k in (0, other)]
        text = [f"process {k} has {f'{len(t)}: {quoted(t, 8)}' if t is not None else 'none'}" for k, t in of]
        raise ValueError(
            f"the {what} differ: {' and '.join(text)}. All processes need the same table of names"
        )


def no_common(what: str, names: Sequence[str]) -> None:
    """Refuse names that two processes have."""
    if jax.process_count() == 1:
        return
    marks = [int.from_bytes(blake2b(name.encode(), digest_size=8).digest(), "little") for name in names]
    sizes = [int(size) for size in gathered(len(marks))]
    pairs = np.zeros((max(sizes), 2), np.uint32)  # 64 bits in two halves: JAX would cut them
    pairs[: len(marks)] = np.array(marks, np.uint64).view(np.uint32).reshape(-1, 2)
    every = np.ascontiguousarray(_gathered(pairs)).view(np.uint64)[:, :, 0]
    others = [every[k, :size] for k, size in enumerate(sizes) if k != jax.process_index()]
    twice = np.flatnonzero(np.isin(np.array(marks, np.uint64), np.concatenate(others)))
    repeated = gathered([str(names[k]) for k in twice[:5].tolist()])
    who = [k for k, some in enumerate(repeated) if some]
    if who:
        raise ValueError(
            f"processes {' and '.join(map(str, who))} have {what} in common: {quoted(repeated[who[0]])}. "
            "All labels of one must be in one shard"
        )


def _gathered(array: np.ndarray) -> np.ndarray:
    """(processes, ...) the arrays of all processes, which have one shape."""
    from jax.experimental.multihost_utils import process_allgather

    return np.asarray(process_allgather(array)).reshape(jax.process_count(), *array.shape)
