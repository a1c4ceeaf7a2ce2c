"""EM over devices of several processes: each brings the samples of its shard, counts are added up each step.

The program is the one for a single process. What is added here makes its input one array: shards are filled
up to the largest (samples of weight 0), and lie on the mesh in the order of the processes. Parameters come
back to every process, the class posterior only where its samples are.
"""

from collections.abc import Callable
from functools import partial
from typing import Any

import jax
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec

from jtruth import _processes
from jtruth._mesh import as_auto, mesh_axis
from jtruth.labels import Labels
from jtruth.learning.em._steps import EMResult
from jtruth.learning.em.columns import LabelColumns, longer


def is_shared(mesh: Any) -> bool:
    """Whether a mesh has devices of several processes."""
    return isinstance(mesh, jax.sharding.Mesh) and len({d.process_index for d in mesh.devices.flat}) > 1


def agree(labels: Labels, mesh: Any) -> None:
    """Refuse shards whose codes mean different things, and a mesh that not all processes share evenly.

    Raises:
        ValueError: in every process, showing what two of them have.
    """
    _processes.same_everywhere("class names", labels.class_names)
    workers = labels.workers or range(labels.num_labelers)
    _processes.same_everywhere("labelers", [str(name) for name in workers])
    owners = [device.process_index for device in mesh.devices.flat]
    even = np.repeat(np.arange(jax.process_count()), len(owners) // jax.process_count())
    if owners != even.tolist():
        raise ValueError(
            f"devices of the mesh belong to processes {owners}; give all of them, as many of each: "
            "jax.make_mesh((jax.device_count(),), ('samples',))"
        )


def in_common(columns: LabelColumns, mesh: Any, nothing: int) -> LabelColumns:
    """Columns whose sizes the devices divide; on several processes, of one size and numbered through."""
    axis = mesh_axis(mesh, hosts=True)  # refuses what is no mesh
    devices = mesh.shape[axis]
    (width, rows), samples = columns.code.shape, columns.weight.size
    if not is_shared(mesh):
        return longer(columns, -rows % devices, -samples % devices, nothing)
    every = _processes.told([width, rows, samples, columns.sample is not None])
    most = np.max(np.array(every, int), axis=0).tolist()
    local = devices // jax.process_count()
    rows_each, samples_each = (
        size + -size % local for size in (most[1], max(most[2], most[1] * (not most[3])))
    )
    code = np.pad(columns.code, ((0, most[0] - width), (0, 0)), constant_values=nothing)
    if most[3] and columns.sample is None:  # the sample of each row
        columns = columns._replace(sample=np.arange(rows, dtype=np.int32))
    return longer(columns._replace(code=code), rows_each - rows, samples_each - samples, nothing)


def place(mesh: Any, array: np.ndarray, dimension: int) -> jax.Array:
    """An array with one of its dimensions shared over the mesh; each process hands over its part."""
    spec: list[str | None] = [None] * array.ndim
    spec[dimension] = mesh_axis(mesh, hosts=True)
    sharding = NamedSharding(as_auto(mesh), PartitionSpec(*spec))
    if is_shared(mesh):
        return jax.make_array_from_process_local_data(sharding, array)
    return jax.device_put(array, sharding)


def place_owners(mesh: Any, sample: np.ndarray, samples: int) -> jax.Array:
    """The sample of each row; of several processes, numbered through, each of which has so many samples."""
    first = jax.process_index() * samples if is_shared(mesh) else 0
    return place(mesh, sample + np.asarray(first, sample.dtype), 0)


def em_on(mesh: Any, em: Callable[..., EMResult]) -> Callable[..., EMResult]:
    """`dawid_skene_em` whose parameters every process gets."""
    if not is_shared(mesh):
        return em
    mesh = as_auto(mesh)
    whole = NamedSharding(mesh, PartitionSpec())
    rows = NamedSharding(mesh, PartitionSpec(mesh_axis(mesh, hosts=True)))
    placed: Any = EMResult  # of shardings here, one for each result
    shardings = placed(*(rows if name == "class_posterior" else whole for name in EMResult._fields))

    def run(*arrays: Any, **options: Any) -> EMResult:
        return jax.jit(partial(em, **options), out_shardings=shardings)(*arrays)

    return run


def here(array: jax.Array) -> np.ndarray:
    """The rows of an array that this process has, in order."""
    if array.is_fully_addressable:
        return np.asarray(array)
    parts = sorted(array.addressable_shards, key=lambda part: part.index[0].start or 0)
    return np.concatenate([np.asarray(part.data) for part in parts])
