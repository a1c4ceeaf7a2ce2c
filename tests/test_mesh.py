"""One device against four (forced on the host, in one other process): the same numbers, padded or not."""

import json
import os
import subprocess
import sys

import jax
import numpy as np
import pytest
from jax.sharding import AxisType

import jtruth as jt
from jtruth._mesh import even_rows, mesh_axis

SCRIPT = """
import json, sys
import jax, numpy as np
from jax.sharding import AxisType
import jtruth as jt
from jtruth.learning import fit_dawid_skene
from jtruth.learning.joint.batch import joint_batch
from jtruth.learning.joint.batch import weighted_batch
from jtruth.learning.joint.tempered_batch import tempered_batch
from jtruth.testing.binary.batch import exact_batch
from jtruth.training import Linear, Recipe, fit, linear_outputs, mmse

rng = np.random.default_rng(0)
y = rng.integers(0, 2, (5, 61))
z = np.where(rng.random((5, 61, 4)) < 0.25, 1 - y[:, :, None], y[:, :, None])
z[:, ::3, 2] = -1
y_pred = np.where(rng.random(y.shape) < 0.2, 1 - y, y)
x = rng.normal(size=y.shape) + 2 * y - 1
uneven = jt.Labels(np.r_[np.repeat(0, 60), np.arange(61)], np.r_[np.arange(60), np.zeros(61, int)],
                   np.r_[np.arange(60) % 2, y[0]], 61, 60, 2)
meshes = {"Explicit": jax.make_mesh((4,), ("x",), axis_types=(AxisType.Explicit,)),
          "Auto": jax.make_mesh((1, 4), ("a", "b"), axis_types=(AxisType.Auto,) * 2)}

def everything(mesh):
    fits = [fit_dawid_skene(labels, mesh=mesh, tol=0.0, max_steps=steps)  # jumps from 20
            for labels, steps in ((jt.Labels.from_matrix(z[0], 2), 25), (uneven, 10))]
    exact = exact_batch(x, y_pred, window=(64, 64), mesh=mesh)
    joint = joint_batch(0, z, y_pred, 2, sweeps=20, mesh=mesh)
    weighed = weighted_batch(0, z, y_pred, 2, mesh=mesh)
    tempered = tempered_batch(0, z, y_pred, 2, "copying", mesh=mesh)
    arrays = [leaf for fit in fits for leaf in (fit.prior, fit.matrices, fit.class_posterior, fit.path)]
    prior, K, eta = np.array([.7, .3]), np.eye(2) * .6 + .2, np.array([1., .5, .2])
    drawn = [jt.simulate(0, 64, prior, K, model, eta, mesh=mesh)
             for model in (jt.noise.Symmetric(.1, 2),
                           jt.noise.DifficultyFallibility(np.linspace(.1, 1, 64), np.full(3, .4), 2))]
    rho = np.stack([1 - y[0], y[0]], axis=1) * .8 + .1
    recipe = Recipe(mmse("logistic"), batch_size=14, num_epochs=5, mesh=mesh)  # 14 on four devices: filled up
    trained = fit(0, Linear(np.zeros(()), np.zeros(1)), linear_outputs, x[0][:, None], rho, recipe)
    arrays += [leaf for data in drawn for leaf in (data.y, data.y_pred, data.z)]
    arrays += [trained.model.weights, trained.path]
    return [np.asarray(leaf, float) for leaf in (*arrays, *exact, *joint[:4], *weighed[:4], *tempered[:4])]

one, out = everything(None), {"devices": jax.device_count()}
for name, mesh in meshes.items():
    out[name] = max(float(np.nanmax(np.abs(a - b))) for a, b in zip(one, everything(mesh), strict=True))
print(json.dumps(out))
"""


@pytest.mark.slow
def test_four_devices_agree_with_one_to_1e_12():
    flags = f"{os.environ.get('XLA_FLAGS', '')} --xla_force_host_platform_device_count=4"
    env = os.environ | {"XLA_FLAGS": flags, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-3000:]
    found = json.loads(done.stdout.splitlines()[-1])
    assert found.pop("devices") == 4 and len(found) == 2
    assert max(found.values()) < 1e-12, found


def test_what_is_no_mesh_over_one_axis_is_refused():
    with pytest.raises(ValueError, match="give a jax"):
        mesh_axis([0, 1])
    square = jax.sharding.AbstractMesh((2, 2), ("a", "b"))
    with pytest.raises(ValueError, match="of type AbstractMesh"):
        mesh_axis(square)
    one = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("s",), axis_types=(AxisType.Auto,))
    assert mesh_axis(one) == "s"


@pytest.mark.usefixtures("as_installed")
def test_the_simulator_takes_a_mesh():
    """Its sharding is that of the arrays (their values: the slow test above)."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1]), ("s",))
    model = jt.noise.DifficultyFallibility(np.linspace(0.1, 1, 8), np.full(3, 0.4), 2)
    ask = (0, 8, np.array([0.5, 0.5]), np.eye(2), model, np.array([1.0, 0.5, 0.2]))
    drawn = jt.simulate(*ask, mesh=mesh)
    assert drawn.z.sharding.mesh.axis_names == ("s",)
    np.testing.assert_array_equal(drawn.z, jt.simulate(*ask).z)
    with pytest.raises(ValueError, match="mesh is of type int"):
        jt.simulate(*ask, mesh=8)


def test_samples_that_devices_cannot_share_evenly_are_said():
    """With the number that they can."""
    mesh = jax.sharding.Mesh(np.array(jax.devices()[:1] * 4), ("s",), axis_types=(AxisType.Auto,))
    with pytest.raises(ValueError, match="ask for 64 and leave the last 3 out"):
        even_rows(mesh, 61)
