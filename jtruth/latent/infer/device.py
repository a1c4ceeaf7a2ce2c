"""Gibbs sweeps as one XLA program, for accelerators and for samples that several devices share.

A block of sweeps is one loop of a compiled program. It has the distribution of the host's (`kernel.sweep`,
which both run), with other random numbers. On a CPU, NumPy is quicker.

A row that stands for m samples is m rows here, because binomial numbers compile for seconds. With a mesh each
device draws the samples of its shard by a key of its own, and counts are added up once a sweep. Arrays of
samples have a leading axis of shards, filled up with samples on which nothing was seen.
"""

import pickle
from functools import partial
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import NamedSharding, PartitionSpec
from scipy import sparse

from jtruth._arrays import JaxGenerator, log_gamma_draws
from jtruth._mesh import mesh_axis
from jtruth._random import stream
from jtruth.latent.infer import kernel

_PADDING = 3.0  # times as many places as things seen, at most; else rows are parted by how much was seen
_KEYS = 128  # of a sweep: the next one's, the samples', and one for each draw of rows


def shapes_of(problem: kernel.Problem) -> bytes:
    """What a program is compiled for, besides the shapes of its arrays; equal ones share a program."""
    alike = [_structure(group, np.zeros(group[1].prior.shape[-1])) for group in problem.alike]
    return pickle.dumps((tuple(problem.blocks.values()), problem.pooled, tuple(alike)))


def _structure(group: Any, log_share: Any) -> kernel.Group:
    """The group with other shares, which follow the labels: they are arguments of the program."""
    here, raters = group
    return here, raters._replace(alike=raters.alike._replace(log_share=log_share))


# Samples in S shards: columns (S, seen, samples), what was seen on a sample, padded with the number of
# columns; and offset (S, states, samples), the log weight of each state.
Part = tuple[Any, Any]


class Data(NamedTuple):
    """The arrays of a program; inside it, without the axis of shards, the engine of `kernel.sweep`."""

    parts: tuple[Part, ...]
    place: Any  # (columns, states) which probability a column uses in a state; P for none
    concentration: Any  # (P,)
    alike: Any  # of each family: log share of the symbols; in an engine: the groups
    # of an engine only
    blocks: tuple = ()
    pooled: tuple = ()
    key: Any = None  # of this shard's samples in this sweep
    axis: str | None = None  # of the mesh

    def count_probabilities(self, symbols: Any) -> Any:
        """Counts of each probability, (chains, P), of one shard."""
        place, size = self.place.ravel(), self.concentration.size
        flat = symbols.reshape(place.size, -1)
        return jnp.zeros((size + 1, flat.shape[1]), flat.dtype).at[place].add(flat)[:size].T

    def draw_dirichlet_logs(self, concentration: Any, rng: JaxGenerator) -> Any:
        """Log of one draw of every Dirichlet row, (chains, P)."""
        logs, blocks = log_gamma_draws(concentration, rng), []
        for first, shape in self.blocks:
            rows = logs[:, first : first + int(np.prod(shape))].reshape(len(logs), -1, shape[-1])
            blocks.append(jax.nn.log_softmax(rows, axis=2).reshape(len(logs), -1))
        return jnp.concatenate(blocks, axis=1)

    def draw_samples(self, log_theta: Any, rng: Any) -> tuple[Any, tuple[Any, ...]]:
        """Samples behind every column, (columns, states, chains), and p(state) of each part's rows."""
        nothing = jnp.zeros((1, len(log_theta)))  # of a column that uses no probability in a state
        table = jnp.concatenate([log_theta.T, nothing])[self.place]
        table = jnp.concatenate([table, jnp.zeros((1, *table.shape[1:]))]).transpose(2, 1, 0)
        symbols, p = jnp.zeros((*self.place.shape, len(log_theta))), []
        for k, part in enumerate(self.parts):
            more, mean = draw_part(part, table, stream(self.key, "part", k) if k else self.key)
            symbols = symbols + more
            p.append(mean)
        return symbols if self.axis is None else jax.lax.psum(symbols, self.axis), tuple(p)


class Program(NamedTuple):
    """A problem whose sweeps XLA makes."""

    shapes: bytes  # of `shapes_of`
    data: Data
    mesh: Any  # devices that share the samples, or None
    row: tuple[np.ndarray, ...]  # of each part: the row of the problem at each place, -1 for filling
    num_rows: int


def draw_part(part: Part, table: Any, key: Any) -> tuple[Any, Any]:
    """States of the samples of one shard, from log p(column | state), (chains, states, columns and none).

    Returns samples by (column, state, chain), and p(state) of each summed over the chains.
    """
    (chains, states, width), (columns, offset) = table.shape, part
    bits = jax.random.bits(key, (chains, columns.shape[1]), jnp.uint32)
    u = (bits.astype(table.dtype) + 0.5) * 2.0**-32  # chances are right to 2.3e-10, at half the time

    def chain(p_sum: Any, inputs: tuple[Any, Any]) -> tuple[Any, Any]:
        table, u = inputs
        logs, _ = jax.lax.scan(lambda logs, seen: (logs + table[:, seen], None), offset, columns)
        p = jax.nn.softmax(logs, axis=0)
        height = u * p.sum(axis=0)
        # The total is added up in another order than `below`; so no state after the last one that may be.
        last = states - 1 - jnp.argmax(jnp.flip(p > 0, axis=0), axis=0)

        def pass_by(so_far: tuple[Any, Any], p: Any) -> tuple[tuple[Any, Any], None]:
            below, state = so_far
            below = below + p
            return (below, state + (below < height).astype(state.dtype)), None

        def count(counts: Any, seen: Any) -> tuple[Any, None]:
            return counts.at[seen, state].add(1.0), None

        first = jnp.zeros_like(height), jnp.zeros(height.shape, last.dtype)
        state = jnp.minimum(jax.lax.scan(pass_by, first, p[:-1])[0][1], last)
        counts, _ = jax.lax.scan(count, jnp.zeros((width, states)), columns)
        return p_sum + p, counts[:-1]

    p, counts = jax.lax.scan(chain, jnp.zeros_like(offset), (table, u))
    return counts.transpose(1, 2, 0), p


def program_of(problem: kernel.Problem, wanted: bool | None = None, mesh: Any = None) -> Program | None:
    """The program, or None where NumPy sweeps; `wanted` None: on an accelerator, or with a mesh.

    Raises:
        ValueError: a mesh over no or several axes, or one for NumPy.
    """
    axis = "" if mesh is None else mesh_axis(mesh)
    if mesh is not None and wanted is False:
        raise ValueError("device=False asks for NumPy, which has no mesh; leave one of them out")
    if wanted is None:
        wanted = jax.default_backend() != "cpu"
    if mesh is None and not wanted:
        return None
    parts, row = laid_out(problem, 1 if mesh is None else mesh.shape[axis])
    families: list[Any] = [raters.alike for _, raters in problem.alike]
    alike = tuple(family.log_share for family in families)
    data = Data(parts, problem.place.astype(np.int32), problem.concentration, alike)
    with jax.enable_x64(True):
        where = None if mesh is None else jax.tree.map(lambda s: NamedSharding(mesh, s), _specs(data, axis))
        data = jax.device_put(data, where)
    return Program(shapes_of(problem), data, mesh, row, problem.multiplicity.size)


def laid_out(problem: kernel.Problem, shards: int) -> tuple[tuple[Part, ...], tuple[np.ndarray, ...]]:
    """All samples in parts, and the row of the problem at each place (S * samples) of a part; -1: filling."""
    rows = np.repeat(np.arange(problem.multiplicity.size), problem.multiplicity.astype(np.int64))
    seen = np.asarray(problem.design.sum(axis=1)).ravel()[rows]
    kind = np.zeros(rows.size, np.int64)
    if seen.max(initial=0) * rows.size > _PADDING * seen.sum():
        kind = np.ceil(np.log2(np.maximum(seen, 1)) / 2).astype(np.int64)
    groups = [rows[kind == k] for k in np.unique(kind)]
    groups = [np.pad(group, (0, -group.size % shards), constant_values=-1) for group in groups]
    return tuple(_part(problem, group, shards) for group in groups), tuple(groups)


def _part(problem: kernel.Problem, rows: np.ndarray, shards: int) -> Part:
    """These rows of the problem as samples; -1 is one on which nothing was seen."""
    design = sparse.csr_array(problem.design[rows[rows >= 0]])
    often = design.data.astype(np.int64)
    seen = np.add.reduceat(np.append(often, 0), design.indptr[:-1]) * (np.diff(design.indptr) > 0)
    row, width = np.repeat(np.arange(seen.size), seen), problem.place.shape[0]
    columns = np.full((int(seen.max(initial=0)), rows.size), width, np.int32)
    places = np.arange(row.size) - np.repeat(np.cumsum(seen) - seen, seen)
    columns[places, row] = np.repeat(design.indices, often)
    offset = np.where(rows >= 0, problem.offset[:, rows], 0.0)

    def shared(values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(np.moveaxis(values.reshape(len(values), shards, -1), 1, 0))

    return shared(columns), shared(offset)


def run(program: Program, chain: dict, sweeps: int, most: int) -> tuple[dict, dict, np.ndarray]:
    """Some sweeps of all chains, at most `most`, for which the program is compiled.

    Returns the chain; "log_theta", "symbols", "alike0", ... of every sweep; and p(state | the rest) (states,
    rows), summed over sweeps and chains.
    """
    with jax.enable_x64(True):
        mesh = program.mesh
        result = _compiled(program.shapes, program.data, chain, np.int32(sweeps), most=most, mesh=mesh)
        chain, kept, p = jax.device_get(result)
    summed = np.zeros((program.data.place.shape[1], program.num_rows))
    for row, mean in zip(program.row, p, strict=True):
        flat = np.moveaxis(mean, 0, 1).reshape(len(summed), -1)
        summed[:, row[row >= 0]] = flat[:, row >= 0]
    return chain, {name: a[:sweeps] for name, a in kept.items()}, summed


def _specs(data: Data, axis: str) -> Data:
    parts = jax.tree.map(lambda _: PartitionSpec(axis), data.parts)
    return jax.tree.map(lambda _: PartitionSpec(), data)._replace(parts=parts)


@partial(jax.jit, static_argnames=("shapes", "most", "mesh"))
def _compiled(shapes: bytes, data: Data, chain: dict, sweeps: Any, *, most: int, mesh: Any) -> Any:
    axis = None if mesh is None else mesh_axis(mesh)
    everywhere = PartitionSpec()

    def of_shard(data: Data, chain: dict, sweeps: Any) -> Any:
        data = data._replace(parts=jax.tree.map(lambda a: a[0], data.parts))
        chain, kept, p = block(shapes, data, chain, sweeps, most, axis)
        return chain, kept, jax.tree.map(lambda a: a[None], p)

    if axis is None:
        return of_shard(data, chain, sweeps)
    shared = jax.shard_map(
        of_shard, mesh=mesh, in_specs=(_specs(data, axis), everywhere, everywhere),
        out_specs=(everywhere, everywhere, PartitionSpec(axis)), check_vma=False,
    )  # fmt: skip
    return shared(data, chain, sweeps)


def block(shapes: bytes, data: Data, chain: dict, sweeps: Any, most: int, axis: str | None) -> Any:
    """Some sweeps of one shard, without its leading axis; traced once for all numbers of sweeps.

    Counts are added up over the axis. Returns the chain, what is kept of every sweep (most, ...), and sums of
    p, (states, rows) of each part.
    """
    blocks, pooled, families = pickle.loads(shapes)
    alike = tuple(map(_structure, families, data.alike))

    def one(step: Any, carry: Any) -> Any:
        chain, kept, p = carry
        keys = jax.random.split(jax.random.wrap_key_data(chain["key"], impl="threefry2x32"), _KEYS)
        words, key, samples = jax.random.key_data(keys), keys[0], keys[1]
        rows = jax.random.wrap_key_data(jnp.tile(words[2:], 2), impl="rbg")  # less to compile than threefry
        samples = samples if axis is None else stream(samples, "shard", jax.lax.axis_index(axis))
        engine = data._replace(alike=alike, blocks=blocks, pooled=pooled, key=samples, axis=axis)
        new, log_theta, more = kernel.sweep(engine, chain, JaxGenerator(rows))
        seen = new | {"log_theta": log_theta}
        kept = {name: a.at[step].set(seen[name]) for name, a in kept.items()}
        new["key"] = jax.random.key_data(key)
        return new, kept, jax.tree.map(jnp.add, p, more)

    shape = (chain["symbols"].shape[2], data.concentration.size)
    shapes_of = {k: a.shape for k, a in chain.items() if k.startswith(("symbols", "alike", "common"))}
    kept = {name: jnp.zeros((most, *size)) for name, size in (shapes_of | {"log_theta": shape}).items()}
    p = tuple(jnp.zeros_like(offset) for _, offset in data.parts)
    return jax.lax.fori_loop(0, sweeps, one, (jax.tree.map(jnp.asarray, chain), kept, p))
