"""The posterior of Dawid and Skene's model by three samplers: seconds to 400 effective draws.

Run: python -m benchmarks samplers FOLDER [seconds a run may sample, 240] [data sets or samplers by name: all]
FOLDER holds labels.csv of RTE (Snow et al. 2008; columns task, worker, label): 8000 labels, 164 labelers.

    rte        800 samples, 10 labels each
    few        simulated: 10^5 samples, all labeled by 5 labelers, so that there are 32 distinct rows
    many       simulated: 10^5 samples, 5 labels each by some of 100 labelers: hardly any two rows are equal

    gibbs      `fit_joint`: NumPy, nothing is compiled, chains as it chooses (4 to 32)
    nuts       `fit_nuts("dawid_skene")`: classes summed out, equal rows merged, float64, 4 chains in step
    numpyro    the model as one writes it in NumPyro, classes summed out by `infer={"enumerate": "parallel"}`,
               its NUTS kernel with 4 chains in step in its default float32; needs `pip install funsor`

One process each, one after the other, one thread (OMP, BLAS and XLA). All have the same prior: pi ~
Dirichlet(1), rows ~ Dirichlet(2 on the diagonal, 1 off it), and start near majority vote. Steps of NUTS:
500 of warm-up and 1000 kept (10^5 samples: 150 and 250), in chunks of 50 (10) so that it can be stopped.
Seconds are CPU seconds of the process, as on an idle core. `compile`: tracing and
compiling (for `nuts` the first chunk of a run less its second); it is not part of the others.
ESS: the smallest bulk effective sample size of the class prior and of every labeler's accuracy.
`to 400`: warm-up (burn-in), plus sampling time times 400 / ESS. `ESS/s`: of sampling time alone.

Measured: AMD EPYC, 4 cores (busy, load 11 to 14), Python 3.11.7, jax 0.10.2, numpyro 0.22.0, funsor 0.4.8,
numpy 2.4.6; with a limit of 120 s.

                     compile  warm-up sampling      draws      ESS   to 400    ESS/s
    rte    gibbs         0.0      0.5      0.4   32 x 200     2569      0.5     6576
    rte    nuts          7.0      9.8      7.1   4 x 1000     3955     10.5      559
    rte    numpyro       9.7     12.9      9.8   4 x 1000     3132     14.1      320
    few    gibbs         0.0      0.1      0.1   32 x 200      953      0.1    10964
    few    nuts          7.3      0.1      0.1    4 x 250      859      0.1     7580
    few    numpyro      10.1    127.8        -  110 of 150 transitions of warm-up, 1.2 s each
    many   gibbs         0.0      4.2     21.0   4 x 1245      415     24.5     19.7
    many   nuts          7.9    131.9        -   60 of 150 transitions of warm-up, 2.2 s each
    many   numpyro      11.2    149.8        -   40 of 150 transitions of warm-up, 3.7 s each

`many` with four classes (1604 probabilities) by the weighted normal distribution, CPU seconds of one core
beside other
work: EM .2, information and root 1.2, 500 draws .4, their weights 4.3. The logs of the weights have variance
4.4 and Pareto's k is 1.0; the effective number of 500 draws is 12, so 400 would take minutes: Gibbs is used,
which takes 8.2 s there from labels to a converged fit whose smallest ESS is 560.

Runs that the limit ended in warm-up left no draws. If each of their draws were independent (on `rte` and
`few` .8 to 1.0), 400 would take 250 transitions: some 290 s (few, numpyro), 550 s (many, nuts) and 940 s
(many, numpyro); these three are estimates, from the transitions of an early warm-up.
"""

import contextlib
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import numpyro
import numpyro.distributions as dist
from numpyro.infer import NUTS, init_to_value

import jtruth as jt
from jtruth.latent import (
    Effort,
    NutsSettings,
    Progress,
)
from jtruth.learning.annotation.bayes import fit_nuts
from jtruth.learning.joint.posterior import fit_joint
from jtruth.stats.chains import effective_sample_size

CHAINS = 4


class Plan(NamedTuple):
    """Transitions of NUTS, each chain."""

    warm_up: int
    samples: int
    chunk: int


PLANS = {"rte": Plan(500, 1000, 50), "few": Plan(150, 250, 10), "many": Plan(150, 250, 10)}


class Found(NamedTuple):
    """Draws (chains, draws, ...) of class prior and labelers' accuracy (None: none), and seconds."""

    prior: np.ndarray | None
    accuracy: np.ndarray | None
    compiling: float
    warm_up: float
    sampling: float
    transitions: int  # of each chain, or of the warm-up if it was not finished


class TimeIsUpError(Exception):
    """Raised in a progress callback to stop a run."""


def rte(folder):
    """The labels of RTE."""
    return jt.read_labels(Path(folder) / "labels.csv")


def simulated(labelers, folder):
    """10^5 samples with 5 labels each; right with a probability from U(.6, .9) per labeler and class."""
    rng, size = np.random.default_rng(labelers), 100_000
    y = (rng.random(size) < 0.3).astype(int)
    who = np.argsort(rng.random((size, labelers)), axis=1)[:, :5]
    right = rng.random((size, 5)) < rng.uniform(0.6, 0.9, (labelers, 2))[who, y[:, None]]
    z = np.full((size, labelers), -1)
    np.put_along_axis(z, who, np.where(right, y[:, None], 1 - y[:, None]), axis=1)
    return jt.Labels.from_matrix(z, 2)


DATA = {"rte": rte, "few": partial(simulated, 5), "many": partial(simulated, 100)}


def gibbs(labels, limit, plan):
    """`fit_joint`."""
    began = time.process_time()
    fit = fit_joint(labels, key=jax.random.key(0), effort=Effort(max_work=limit * 2e8))
    seconds = time.process_time() - began
    chains = int(fit.chain[-1]) + 1
    about = fit.convergence
    each = about.num_sweeps // chains
    warm = seconds * about.burn_in / (about.burn_in + each)
    prior = fit.prior.reshape(chains, each, -1)
    return Found(prior, fit.labeler_accuracy.reshape(chains, each, -1), 0.0, warm, seconds - warm, each)


def accuracies(prior, matrices):
    """sum_c pi[c] psi_t[c, c] of every draw."""
    return np.einsum("mdtcc,mdc->mdt", matrices, prior)


def nuts(labels, limit, plan):
    """`fit_nuts`, once up to its second chunk, to compile, and once more against the clock."""
    times = []

    def watch(most, done, total):
        times.append((time.process_time(), done))
        if done >= most or times[-1][0] - times[0][0] > limit:
            raise TimeIsUpError

    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "draws.npz"
        settings = NutsSettings(plan.warm_up, plan.samples, CHAINS, chunk=plan.chunk)

        def run(meanwhile):
            given = settings._replace(progress=meanwhile)
            return fit_nuts("dawid_skene", labels, key=jax.random.key(0), settings=given)

        began = time.process_time()
        try:
            run(Progress(partial(watch, 2 * plan.chunk)))
        except TimeIsUpError:
            compiling = (times[1][0] - began) - (times[2][0] - times[1][0]) if len(times) > 2 else np.nan
        times.clear()
        with contextlib.suppress(TimeIsUpError):
            run(Progress(partial(watch, plan.warm_up + plan.samples), file, seconds=0))
        with np.load(file) as saved:
            draws = {k[7:]: saved[k] for k in saved.files if k.startswith("sample/")}
    return found(draws, times, compiling, plan)


def found(draws, times, compiling, plan):
    """`Found` from draws by name and the times at which so many transitions were done."""
    (begin, _), (end, done) = times[0], times[-1]
    warm = next((t for t, k in times if k >= plan.warm_up), end)
    if done <= plan.warm_up:
        return Found(None, None, compiling, warm - begin, 0.0, done)
    accuracy = accuracies(draws["prior"], draws["confusion"])
    return Found(draws["prior"], accuracy, compiling, warm - begin, end - warm, done - plan.warm_up)


def plain_model(labeler, label, labelers):
    """Dawid and Skene as one writes it: labeler and label (positions, samples), two classes."""
    prior = numpyro.sample("prior", dist.Dirichlet(jnp.ones(2)))
    rows = jnp.array([[2.0, 1.0], [1.0, 2.0]])
    with numpyro.plate("labelers", labelers):
        matrices = numpyro.sample("confusion", dist.Dirichlet(rows).to_event(1))
    with numpyro.plate("samples", labeler.shape[1]):
        y = numpyro.sample("y", dist.Categorical(prior), infer={"enumerate": "parallel"})
        with numpyro.plate("positions", labeler.shape[0]):
            numpyro.sample("label", dist.Categorical(matrices[labeler, y]), obs=label)


def majority_matrices(labels):
    """Class prior and matrices if vote shares were class probabilities; each row has a prior worth 3."""
    share = labels.counts() / labels.counts().sum(axis=1, keepdims=True)
    sample, labeler, label = labels.entries()
    classes = labels.num_classes
    off = 1 / (classes - 1)
    rows = np.tile(off + (2 - off) * np.eye(classes), (labels.num_labelers, 1, 1))
    np.add.at(rows.transpose(0, 2, 1), (labeler, label), share[sample])
    prior = share.sum(axis=0) + 1
    return prior / prior.sum(), rows / rows.sum(axis=2, keepdims=True)


def numpyro_enumerated(labels, limit, plan):
    """NumPyro's own kernel on `plain_model`."""
    labeler, label = (jnp.asarray(a.T) for a in labels.padded())
    prior, matrices = majority_matrices(labels)
    start = {"prior": jnp.asarray(prior, jnp.float32), "confusion": jnp.asarray(matrices, jnp.float32)}
    kernel = NUTS(plain_model, init_strategy=init_to_value(values=start))
    args = (labeler, label, labels.num_labelers)
    keys = jax.random.split(jax.random.key(0), CHAINS)
    began = time.process_time()
    state = kernel.init(jax.random.key_data(keys), plan.warm_up, None, args, {})

    @jax.jit
    def chunk(state):
        def one(state, _):
            state = kernel.sample(state, args, {})
            return state, state.z

        return jax.lax.scan(one, state, length=plan.chunk)

    compiled = chunk.lower(state).compile()
    compiling, times, parts = time.process_time() - began, [(time.process_time(), 0)], []
    constrain = jax.vmap(jax.vmap(kernel.postprocess_fn(args, {})))
    while (done := times[-1][1]) < plan.warm_up + plan.samples and times[-1][0] - times[0][0] < limit:
        state, z = jax.block_until_ready(compiled(state))
        if done >= plan.warm_up:
            parts.append(z)
        times.append((time.process_time(), done + plan.chunk))
    draws = {}
    if parts:
        joined = jax.tree.map(lambda *a: jnp.concatenate(a).swapaxes(0, 1), *parts)
        draws = {k: np.asarray(v, np.float64) for k, v in constrain(joined).items()}
    return found(draws, times, compiling, plan)


SAMPLERS = {"gibbs": gibbs, "nuts": nuts, "numpyro": numpyro_enumerated}


def one_run(data, sampler, folder, limit):
    """One line of the table."""
    labels = DATA[data](folder)
    try:
        run = SAMPLERS[sampler](labels, limit, PLANS[data])
    except ImportError as error:
        return f"{data:6} {sampler:8} not run: {error}"
    text = f"{data:6} {sampler:8} {run.compiling:8.1f} {run.warm_up:8.1f} {run.sampling:8.1f} "
    if run.prior is None:
        return (
            text + f"{run.transitions:6} of {PLANS[data].warm_up} transitions of warm-up when the time was up"
        )
    every = np.concatenate([run.prior[..., :-1], run.accuracy], axis=2)
    ess = float(np.nanmin(effective_sample_size(every)))
    to_400 = run.warm_up + run.sampling * 400 / ess
    chains = f"{run.prior.shape[0]} x {run.transitions}"
    return text + f"{chains:>10} {ess:8.0f} {to_400:8.1f} {ess / run.sampling:8.2f}"


def main(folder, limit="240", *chosen):
    """Print the table."""
    heads = ("compile", "warm-up", "sampling", "draws", "ESS", "to 400", "ESS/s")
    print(" " * 16 + " ".join(f"{h:>{10 if h == 'draws' else 8}}" for h in heads))
    for data in [d for d in DATA if not set(chosen) & set(DATA) or d in chosen]:
        for sampler in [s for s in SAMPLERS if not set(chosen) & set(SAMPLERS) or s in chosen]:
            with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
                print(pool.submit(one_run, data, sampler, folder, float(limit)).result(), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
