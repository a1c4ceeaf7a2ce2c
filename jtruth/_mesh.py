"""Work shared by several devices: sets, or samples, over one axis of a mesh.

Both kinds of mesh are taken, with Auto and with Explicit axes (what `jax.make_mesh` of jax 0.10 makes). Where
whole data sets are shared, `over_sets` hands each device its part and no device ever waits for another
(`jax.shard_map`). Where the samples of one set are shared, the arrays are placed and the compiler adds up
(`learning/em/hosts.py`); that needs Auto axes, so an Explicit mesh is read as an Auto one of its devices.

What does not divide evenly is filled up: sets by copies of the last one, which are cut off again, samples by
such of weight 0. A device may end up with filling alone.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import AxisType, Mesh, NamedSharding, PartitionSpec


def mesh_axis(mesh: Any, *, hosts: bool = False) -> str:
    """The axis over which work is shared: the only one that is longer than 1, or the first.

    Raises:
        ValueError: no mesh, several long axes, or (unless `hosts`) devices of several processes.
    """
    if not isinstance(mesh, Mesh):
        raise ValueError(
            f"mesh is of type {type(mesh).__name__}; give a jax.sharding.Mesh, such as "
            "jax.make_mesh((jax.device_count(),), ('sets',))"
        )
    if not hosts and len({device.process_index for device in mesh.devices.flat}) > 1:
        raise ValueError(
            "the mesh has devices of several processes; give each process a mesh of its jax.local_devices() "
            "and sets of its own (docs/many_devices.md)"
        )
    long = [name for name, size in mesh.shape.items() if size > 1] or list(mesh.axis_names[:1])
    if len(long) != 1:
        raise ValueError(
            f"the mesh has {len(long)} axes longer than 1 ({dict(mesh.shape)}); work is shared over one: "
            f"give jax.make_mesh(({mesh.size},), ('samples',))"
        )
    return long[0]


def over_sets(run: Callable[..., Any], mesh: Any, *arrays: Any) -> Any:
    """`run(*arrays)` with the leading axis of every array and result shared by the devices of the mesh.

    Args:
        run: pure; sets must not depend on one another.
        mesh: None for no sharing.
        arrays: of the same leading size.
    """
    if mesh is None:
        return run(*arrays)
    axis, sets = mesh_axis(mesh), arrays[0].shape[0]
    where = np.minimum(np.arange(-(-sets // mesh.shape[axis]) * mesh.shape[axis]), sets - 1)
    spec = PartitionSpec(axis)
    shared = jax.shard_map(run, mesh=mesh, in_specs=spec, out_specs=spec, check_vma=False)
    placed = [jax.device_put(jnp.asarray(a)[where], NamedSharding(mesh, spec)) for a in arrays]
    found = jax.jit(shared)(*placed)
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:sets], found)


def as_auto(mesh: Mesh) -> Mesh:
    """The same devices with axes whose shardings the compiler chooses."""
    return Mesh(mesh.devices, mesh.axis_names, axis_types=(AxisType.Auto,) * len(mesh.axis_names))


def even_rows(mesh: Any, size: int) -> NamedSharding:
    """How a leading axis of this size lies on the devices of the mesh.

    Raises:
        ValueError: no mesh over one axis, or one that does not divide the size.
    """
    axis = mesh_axis(mesh)
    devices = mesh.shape[axis]
    if size % devices:
        raise ValueError(
            f"{size} samples cannot be shared evenly by the {devices} devices of the mesh: ask for "
            f"{size + -size % devices} and leave the last {-size % devices} out"
        )
    return NamedSharding(as_auto(mesh), PartitionSpec(axis))
