"""Simulation-based calibration: is the truth equally likely to rank anywhere among the posterior's draws?

Run: python benchmarks/sbc.py [sets, 160] [processes, 2] [names of rows, or their beginnings: all]
(environment SECONDS: of CPU a row, at most; a row that ends so has fewer sets)
Talts et al. (2018). Parameters and classes are drawn from the prior, labels from them, by the NumPy in this
file, written from the definitions; the posterior is sampled by jtruth; if model and sampler are right, the
rank of the truth among draws is uniform. Draws are thinned to about 60 nearly independent ones, ties are
broken at random, and 0/0 counts as a value of its own. Two Kolmogorov-Smirnov tests for every number: of the
ranks u (is the posterior in the right place?) and of |2u - 1| (is it too narrow, too wide?); p is twice the
smaller p-value, at most 1. A p below 1e-4 is an alarm; the chance of any false one is at most 1e-4 times how
many numbers are looked at.

Sets: 60 samples, labeled by all of 5 labelers (3 classes: 4). Priors are diagonal-heavy, rows 8 on the
diagonal and 2 in all off it, so that the mirror image in which classes have exchanged names has no mass to
speak of: at 2 to 1 a chain from majority vote stays where it starts and ranks tell of that, not of errors.

    nuts      every model of jtruth.learning.annotation.bayes: one chain a set, 16 sets in step in one
              compiled program, 400 transitions of warm-up and 1000 kept, starts near majority vote as in
              `fit_nuts`
    testing   the operating point (matrix) given the true log-odds: `binary_nuts`, `multiclass_nuts`
    joint     `fit_joint` under its four dependence models, with a classifier
    random effect   `fit_random_effect` with its own priors: a labeler is worse than chance on the typical
              sample of a class with probability 1/6

prior: share of class 0. accuracy, recall, precision: of labeler 0, last labeler or classifier in the
population; in-sample: of the count table. share: of easy samples in class 0, or of predictions not copied.

Measured: AMD EPYC, 4 cores (busy), Python 3.11.7, jax 0.10.2, numpy 2.4.6, numpyro 0.22.0, two processes.
p-values (1: the doubled one reached 1):

                                     sets prior  acc.  rec. prec. in-sample:  acc.  rec. prec. share
    nuts dawid_skene C=2              160   .98   .95     1   .36               -     -     -     -
    nuts dawid_skene C=3              160     1   .63     1   .22               -     -     -     -
    nuts pooled C=2                   160   .89   .73   .20     1               -     -     -     -
    nuts pooled C=3                   160   .36   .15   .18     1               -     -     -     -
    nuts one_coin C=2                 160     1   .64  4e-4   .33               -     -     -     -
    nuts one_coin C=3                 160   .70   .79   .30     1               -     -     -     -
    nuts hierarchical_dawid_skene C=2 160   .07     1   .35   .63               -     -     -     -
    nuts hierarchical_dawid_skene C=3 160   .19   .58     1   .84               -     -     -     -
    nuts difficulty_fallibility C=2   160   .95   .12   .82   .87               -     -     -     -
    nuts difficulty_fallibility C=3   160   .89   .60   .15   .64               -     -     -     -
    nuts item_difficulty C=2          160   .87     1   .49   .44               -     -     -     -
    nuts item_difficulty C=3          160   .10     1   .64   .10               -     -     -     -
    nuts mace C=2                     160   .32   .35     1   .72               -     -     -     -
    nuts mace C=3                     160   .98   .01   .35     1               -     -     -     -
    testing C=2                       128     -     -     -     -             .15     1   .52     -
    testing C=3                       128     -     -     -     -               1   .05     1     -
    joint independent C=2             128   .97     1  .065     -               1   .55   .42     -
    joint independent C=3             128   .88   .73   .71     -             .79     1   .03     -
    joint shared_strata C=2           128   .30   .14     1     -             .39     1   .16   .95
    joint shared_strata C=3           128   .89   .23   .27     -             .30     1   .03     1
    joint labeler_strata C=2          128  .004     1   .08     -             .17     1   .37     1
    joint labeler_strata C=3          128   .26     1     1     -             .93   .76   .17     1
    joint copying C=2                 128   .52   .61   .21     -             .99     1     1   .46
    joint copying C=3                 128   .12   .14   .12     -             .80   .61   .90   .63
    random effect                     128     1   .80   .38     -             .67     1     1     -
    random effect, learned            128   .13   .09   .59     -               1   .32   .59     -

    testing C=2: K[0,0] 1, K[1,1] .54; C=3: K[0,0] .17, K[1,1] .27, K[2,2] .80

The smallest of 133 p-values is 4e-4 (one_coin, the last labeler), the next .004; the smallest of so many
uniform ones lies below 4e-4 with probability 5 %. 320 new sets of that row give .36.
What it can see (128 sets each, smallest p): copying judged by the independent model 7e-15; rows 4 : 2 in the
posterior where the truth was drawn from 8 : 2, joint 6e-7, nuts dawid_skene 3e-4.

alike: models where nothing about rows is fixed (mean, spread and pattern of errors drawn), log_share given;
with the sampler as it is now, which burns in for 50 sweeps (250 where half of the chains start elsewhere) and
looks every 50; so were the rows of "joint" and "random effect" above. `table`: `count_posterior`, labels
right in .7. With n sets a test at 5 % sees ranks that are off by 1.36 / sqrt(n), .12 of 128.

                                     sets prior  acc.  rec. in-sample:  acc.  rec. prec.
    alike independent C=2             128   .48     1   .81                1   .37   .56
    alike independent C=3             128   .26   .42  .007              .66   .41   .69
    alike shared_strata C=2            98     1   .18   .32              .59   .63     1
    alike labeler_strata C=2          128   .54   .68     1              .15   .29   .15
    alike labeler_strata C=3          128   .10   .92   .79              .20   .76   .05
    alike partly_shared C=2           128   .88     1   .90              .12   .68   .53
    alike partly_shared C=3           128     1     1     1              .15   .78   .03
    table C=3                         128     -     -     1              .13   .67   .76
    table C=4                         128     -     -   .11                1   .44   .74
    nuts alike C=2                     32     1     1   .76              precision 1

No set switched; 2 of the first row and 6 of partly_shared C=3 did not converge. The smallest of these 54
p-values is .007: that any is as small has probability .32. nuts alike diverged in 12 of 32 chains
(target_accept .9), in at most 1.2 % of a chain's transitions; the smallest ESS is 36. Rows by their log odds
over standard deviations of their own, the same law, were tried on the same 32 sets and not taken: 14 % of
transitions diverged on average (76 % of one chain), in 31 of 32 chains. Where any diverges, target_accept .99
is what the warning advises. Rows in strata mix slowly (C = 3 takes up to 4 s a set): they are sampled until
what people ask for has an ESS of 200. "alike shared_strata C=3" was not finished. shared_strata and
labeler_strata equal enumeration (`tests/sampling/test_alike.py`), and so does `count_posterior`.

No transition of NUTS diverged; the smallest ESS of a number in any set is 17 (pooled C=3), in most rows over
100. joint: no set switched; 7 of shared_strata C=3 and 4 of labeler_strata C=3 did not converge (the sampler
said so). random effect: 2 of 128 switched and 3 did not converge, with a learned spread 0 and 7. All count
like the others. Of the 66 p-values of joint and random effect the smallest is .004, which has probability
.23. They are of NumPy's sweep; XLA's was compared with it (`tests/sampling/test_device.py`), not by ranks.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"
os.environ["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false intra_op_parallelism_threads=1"

import platform  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
import zlib  # noqa: E402
from concurrent.futures import ProcessPoolExecutor  # noqa: E402
from functools import partial  # noqa: E402
from multiprocessing import get_context  # noqa: E402
from unittest.mock import patch  # noqa: E402

import jax  # noqa: E402
import numpy as np  # noqa: E402
from scipy.special import expit, softmax  # noqa: E402
from scipy.stats import kstest, truncnorm  # noqa: E402

from jtruth.labels import Labels  # noqa: E402
from jtruth.learning import Beliefs  # noqa: E402
from jtruth.learning.annotation import bayes  # noqa: E402
from jtruth.learning.annotation._fit import start_values  # noqa: E402
from jtruth.learning.annotation.rows import merged_rows  # noqa: E402
from jtruth.learning.annotation.spec import SPECS, prepare  # noqa: E402
from jtruth.learning.joint.models import MODELS  # noqa: E402
from jtruth.learning.joint.partly_shared import partly_shared  # noqa: E402
from jtruth.learning.joint.posterior import fit_joint  # noqa: E402
from jtruth.learning.joint.random_effect import EffectModel, fit_random_effect  # noqa: E402
from jtruth.sampling import Effort, NutsSettings, nuts  # noqa: E402
from jtruth.sampling.alike import alike_classes, alike_raters  # noqa: E402
from jtruth.stats.chains import effective_sample_size  # noqa: E402
from jtruth.testing.bayes import binary_nuts, multiclass_nuts  # noqa: E402
from jtruth.testing.multiclass import count_draws  # noqa: E402

SAMPLES, KEPT, IN_STEP = 60, 60, 16
EFFORT = Effort(min_ess=200, max_rhat=1.02, max_work=2e9)
ASKED = EFFORT._replace(nuisance=False)  # what people ask of a classifier; hyperparameters mix slowly
SECONDS = float(os.environ.get("SECONDS", "inf"))


def numbered(sets, step=1):
    """0, step, ... below `sets`, for as long as there is time."""
    begin = time.process_time()
    for number in range(0, sets, step):
        if time.process_time() - begin > SECONDS:
            return
        yield number


def labelers_of(classes):
    """5 for two classes (32 patterns), 4 for three."""
    return 5 if classes == 2 else 4


def rows(classes, diagonal=8.0, off_total=2.0):
    """Dirichlet concentrations of a matrix."""
    return np.where(np.eye(classes) > 0, diagonal, off_total / (classes - 1))


def dirichlets(rng, concentration, *size):
    """One draw of every row: (*size, rows, symbols)."""
    gamma = rng.standard_gamma(np.broadcast_to(concentration, (*size, *concentration.shape)))
    return gamma / gamma.sum(axis=-1, keepdims=True)


def categories(rng, law):
    """One draw from each law (..., symbols)."""
    cumulative = np.cumsum(law, axis=-1)
    return (rng.random(law.shape[:-1])[..., None] * cumulative[..., -1:] > cumulative).sum(axis=-1)


def ratio(top, bottom):
    """Quotient; 0/0 is -1."""
    return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), -1.0)


def place(rng, truth, draws):
    """Where the truth stands among draws, in (0, 1)."""
    draws = draws[:: max(1, len(draws) // KEPT)]
    tie = np.abs(draws - truth) <= 1e-9 * max(1.0, abs(truth))
    below = ((draws < truth) & ~tie).sum()
    return (below + rng.random() * (tie.sum() + 1)) / (len(draws) + 1)


# ---- Models of jtruth.learning.annotation.bayes

PRIORS = {
    "dawid_skene": lambda c: {"row_concentration": rows(c)},
    "pooled": lambda c: {"row_concentration": rows(c)},
    "one_coin": lambda c: {"accuracy": (8.0, 2.0)},
    "hierarchical_dawid_skene": lambda c: {
        "logit_mean": np.full((c, c - 1), -1.5 - np.log(c - 1)),
        "logit_sd": np.full((c, c - 1), 0.7),
        "spread": 0.5,
    },
    "difficulty_fallibility": lambda c: {"fallibility": (1.0, 1.0, 0.6), "difficulty_prior": (1.0, 5.0)},
    "item_difficulty": lambda c: {"ability": (1.5, 0.7), "easiness_prior": (0.5, 0.7, 15.0)},
    "alike": lambda c: {"mean_prior": (8.0, 2.0), "log_share": np.log([1.0, 0.6, 0.4][:c])},
    "mace": lambda c: {"competence": (6.0, 3.0), "spam": np.full(c, 3.0)},
}


def draw_labels(name, rng, classes):
    """Parameters, and labels (samples, labelers) by the definition of the model."""
    h, labelers = PRIORS[name](classes), labelers_of(classes)
    prior = rng.dirichlet(np.ones(classes))
    y = rng.choice(classes, SAMPLES, p=prior)
    right = np.eye(classes)[y][:, None, :]  # (samples, 1, classes)
    p = {"prior": prior}
    if name == "dawid_skene":
        p["matrices"] = dirichlets(rng, h["row_concentration"], labelers)
        law = p["matrices"][:, y].swapaxes(0, 1)
    elif name == "pooled":
        p["matrix"] = dirichlets(rng, h["row_concentration"])
        law = np.repeat(p["matrix"][y][:, None], labelers, axis=1)
    elif name == "hierarchical_dawid_skene":
        shape = (classes, classes - 1)
        p["population"] = rng.normal(h["logit_mean"], h["logit_sd"])
        p["spread"] = np.abs(rng.normal(0, h["spread"], shape))
        p["own"] = rng.normal(size=(labelers, *shape))
        wrong = p["population"] + p["spread"] * p["own"]
        logits = np.zeros((labelers, classes, classes))
        logits[:, ~np.eye(classes, dtype=bool)] = wrong.reshape(labelers, -1)
        law = softmax(logits, axis=-1)[:, y].swapaxes(0, 1)
    elif name == "alike":
        draw_alike(p, rng, h, classes, labelers)
        wrong = p.get("wrong", np.ones((labelers, classes, 1)))
        law = np.zeros((labelers, classes, classes))
        law[:, ~np.eye(classes, dtype=bool)] = ((1 - p["right"])[..., None] * wrong).reshape(labelers, -1)
        law[:, range(classes), range(classes)] = p["right"]
        law = law[:, y].swapaxes(0, 1)
    elif name == "mace":
        p["competence"] = rng.beta(*h["competence"], labelers)
        p["spam"] = rng.dirichlet(h["spam"], labelers)
        law = np.where(
            rng.random((SAMPLES, labelers, 1)) < p["competence"][:, None], right, p["spam"][None, :, :]
        )
    else:
        if name == "one_coin":
            p["accuracy"] = rng.beta(*h["accuracy"], labelers)
            error = np.repeat(1 - p["accuracy"][None], SAMPLES, axis=0)
        elif name == "difficulty_fallibility":
            a, b, high = h["fallibility"]
            p["fallibility"] = high * rng.beta(a, b, labelers)
            delta = rng.beta(*h["difficulty_prior"], SAMPLES)[:, None]
            # Su (59): the label is a uniform guess unless neither difficulty nor fallibility strikes.
            guess = 1 - (1 - delta) * (1 - p["fallibility"])
            error = guess * (classes - 1) / classes
        else:
            p["ability"] = rng.normal(*h["ability"], labelers)
            easiness = np.exp(rng.normal(*h["easiness_prior"][:2], SAMPLES))[:, None]
            error = 1 - expit(p["ability"] * easiness - np.log(classes - 1))
        law = right * (1 - error[..., None]) + (1 - right) * error[..., None] / (classes - 1)
    return p, categories(rng, law)


def draw_alike(p, rng, h, classes, labelers):
    """Parameters of `bayes.alike` by its docstring, into `p`."""
    p["mean"], p["log_kappa"] = rng.beta(*h["mean_prior"], classes), rng.normal(np.log(10), 1.5, classes)
    kappa = np.exp(p["log_kappa"])
    p["right"] = np.clip(
        rng.beta(p["mean"] * kappa, (1 - p["mean"]) * kappa, (labelers, classes)), 1e-9, 1 - 1e-9
    )
    if classes > 2:
        p["log_alpha"], p["pull"] = rng.normal(np.log(classes - 1), 1.5, classes), rng.random(classes)
        share, p["wrong"] = np.exp(h["log_share"]), np.zeros((labelers, classes, classes - 1))
        for c in range(classes):
            q = np.delete(share, c) ** p["pull"][c]
            wrong = (
                rng.standard_gamma(np.exp(p["log_alpha"][c]) * q / q.sum(), (labelers, classes - 1)) + 1e-12
            )
            p["wrong"][:, c] = wrong / wrong.sum(axis=1, keepdims=True)


def channel_numbers(name, p, settings, labelers):
    """What is ranked, from parameters with any leading axis of draws."""

    def one(draw):
        channel = SPECS[name].channel(draw, settings, labelers)
        matrices, prior = channel.matrices(), draw["prior"]
        first = (prior * matrices[0].diagonal()).sum()
        last = matrices[-1]
        found = {"prior": prior[0], "accuracy": first, "recall": last[1, 1]}
        return found | {"precision": prior[1] * last[1, 1] / (prior * last[:, 1]).sum()}

    return jax.tree.map(np.asarray, jax.jit(jax.vmap(one))(p))


def nuts_sets(name, classes, sets):
    """Ranks (per number), smallest ESS, and the share of chains with divergences; sets run in step."""
    labelers, spec = labelers_of(classes), SPECS[name]
    settings = prepare(spec, classes, labelers, PRIORS[name](classes))
    most = min(classes**labelers, SAMPLES)
    ranks, least, diverged = [], np.inf, 0
    for first in numbered(sets, IN_STEP):
        truths, data, starts, rngs = [], [], [], []
        for number in range(first, first + IN_STEP):
            rng = np.random.default_rng([number, classes, zlib.crc32(name.encode())])
            truth, z = draw_labels(name, rng, classes)
            labels = Labels.from_matrix(z, classes)
            found = merged_rows(labels).rows
            pad = most - found.weight.size  # the same size for every set; more rows than `most` are padding
            cut = [a[:most] for a in found]
            fill = [((0, max(pad, 0)), (0, 0)), ((0, max(pad, 0)), (0, 0)), (0, max(pad, 0))]
            data.append([np.pad(a, w, constant_values=-1 if a.ndim == 2 else 0) for a, w in
                         zip(cut, fill, strict=True)])  # fmt: skip
            truths.append(truth)
            starts.append(start_values(spec, labels, settings, "majority"))
            rngs.append(rng)
        batch = type(found)(*(np.stack(a) for a in zip(*data, strict=True)))
        many = jax.tree.map(lambda a: np.repeat(np.asarray(a)[None], IN_STEP, axis=0), settings)
        run = nuts.run_nuts(
            bayes.MODELS[name], batch, many, key=jax.random.key(first), batched=True,
            static={"num_labelers": labelers}, settings=NutsSettings(num_warmup=400, target_accept=0.9),
            init={k: np.stack([s[k] for s in starts]) for k in starts[0]},
        )  # fmt: skip
        diverged += int((run.statistics["diverging"].sum(axis=1) > 0).sum())
        flat = {k: v.reshape(-1, *v.shape[2:]) for k, v in run.samples.items()}
        drawn = channel_numbers(name, {k: flat[k] for k in truths[0]}, settings, labelers)
        true = channel_numbers(
            name, {k: np.stack([t[k] for t in truths]) for k in truths[0]}, settings, labelers
        )
        for k, rng in enumerate(rngs):
            mine = {q: v.reshape(IN_STEP, -1)[k] for q, v in drawn.items()}
            ranks.append({q: place(rng, float(true[q][k]), v) for q, v in mine.items()})
            least = min(least, *(float(effective_sample_size(v[None])) for v in mine.values()))
    note = f"smallest ESS {least:.0f}, divergences in {diverged} chains"
    return ranks, note


# ---- Testing models


def testing_sets(classes, sets):
    """Operating point (matrix) with p(y | z) of every sample known."""
    ranks, bad = [], 0
    for number in numbered(sets):
        rng = np.random.default_rng([number, classes, 1])
        rho = rng.dirichlet(np.full(classes, 0.5), SAMPLES)
        confusion = dirichlets(rng, np.ones((classes, classes)))
        y = categories(rng, rho)
        y_pred = categories(rng, confusion[y])
        options = {"settings": NutsSettings(num_warmup=300, num_samples=250), "key": jax.random.key(number)}
        if classes == 2:
            fit = binary_nuts(np.log(rho[:, 1]) - np.log(rho[:, 0]), y_pred, **options)
        else:
            prior = np.array([0.5, 0.3, 0.2])
            fit = multiclass_nuts(np.log(rho) - np.log(prior), prior, y_pred, **options)
        bad += bool(fit.run.divergences)
        drawn, table = fit.draws.counts.astype(float), np.zeros((classes, classes))
        np.add.at(table, (y, y_pred), 1)
        numbers = table_numbers(table[None]), table_numbers(drawn)
        row = {q: place(rng, float(numbers[0][q][0]), numbers[1][q]) for q in numbers[0]}
        for c in range(classes):
            row[f"K[{c},{c}]"] = place(rng, confusion[c, c], fit.draws.confusion[:, c, c])
        ranks.append(row)
    return ranks, f"divergences in {bad} sets"


def table_numbers(n):
    """In-sample metrics from count tables (draws, true, predicted)."""
    accuracy = n[:, range(n.shape[1]), range(n.shape[1])].sum(axis=1) / n.sum(axis=(1, 2))
    right = n[:, 1, 1]
    recall, precision = ratio(right, n[:, 1].sum(axis=1)), ratio(right, n[:, :, 1].sum(axis=1))
    names = ("in-sample accuracy", "in-sample recall", "in-sample precision")
    return dict(zip(names, (accuracy, recall, precision), strict=True))


# ---- The joint posterior


def draw_joint(dependence, rng, classes):
    """Labels, predictions, count table and the numbers that are ranked, by the definitions in `fit_joint`."""
    labelers, every = labelers_of(classes), np.arange(classes)
    prior = rng.dirichlet(np.ones(classes))
    y = rng.choice(classes, SAMPLES, p=prior)
    if dependence in ("independent", "copying"):
        matrices, k = dirichlets(rng, rows(classes), labelers), dirichlets(rng, rows(classes))
        z = categories(rng, matrices[:, y]).T
        y_pred, share = categories(rng, k[y]), None
        right = matrices[0, every, every]
        if dependence == "copying":
            share = rng.beta(1, 1)
            whose = rng.integers(0, labelers, SAMPLES)
            y_pred = np.where(rng.random(SAMPLES) < share, y_pred, z[np.arange(SAMPLES), whose])
            k = share * k + (1 - share) * matrices.mean(axis=0)
    else:
        a, b = (10, 1) if classes == 2 else (2, 1)
        easy = rng.beta(a, b, classes)
        hard = (rng.random(SAMPLES) >= easy[y]).astype(int)
        common = np.stack([dirichlets(rng, rows(classes, 9, 1)), dirichlets(rng, rows(classes, 3, 3))], 1)
        theta = dirichlets(rng, 6 * common.reshape(-1, classes), labelers)
        theta = theta.reshape(labelers, classes, 2, classes)
        z = categories(rng, theta[:, y, hard]).T
        weight = np.stack([easy, 1 - easy], axis=1)
        right = (weight * theta[0, every, :, every]).sum(axis=1)
        if dependence == "shared_strata":
            own = np.stack(
                [dirichlets(rng, rows(classes, 3, 1)), dirichlets(rng, rows(classes, 1.5, 1.5))], 1
            )
        else:
            own = np.repeat(dirichlets(rng, rows(classes))[:, None], 2, axis=1)
        y_pred, share = categories(rng, own[y, hard]), easy[0]
        k = np.einsum("ch,chu->cu", weight, own)
    table = np.zeros((classes, classes))
    np.add.at(table, (y, y_pred), 1)
    truth = {"prior": prior[0], "accuracy": prior @ right, "recall": k[1, 1]}
    truth |= {name: v[0] for name, v in table_numbers(table[None]).items()}
    return z, y_pred, truth | ({} if share is None else {"share": share})


def joint_sets(dependence, classes, sets):
    """`fit_joint` under one of its dependence models."""
    ranks, switched, lost = [], 0, 0
    for number in numbered(sets):
        rng = np.random.default_rng([number, classes, zlib.crc32(dependence.encode())])
        z, y_pred, truth = draw_joint(dependence, rng, classes)
        fit = fit_joint(
            Labels.from_matrix(z, classes), y_pred=y_pred, key=jax.random.key(number), effort=EFFORT,
            dependence=dependence, beliefs=Beliefs(diagonal=8.0, off_diagonal_total=2.0),
        )  # fmt: skip
        drawn = {"prior": fit.prior[:, 0], "accuracy": fit.labeler_accuracy[:, 0]}
        drawn |= {"recall": fit.classifier[:, 1, 1]} | table_numbers(fit.tables("in-sample"))
        if fit.weights is not None:
            drawn["share"] = fit.weights[:, 0, 0]
        ranks.append({q: place(rng, truth[q], drawn[q]) for q in truth})
        switched, lost = switched + fit.switching.switched, lost + (not fit.converged)
    return ranks, f"{switched} switched, {lost} did not converge"


# ---- Rows that are alike

LOG_SHARE = np.log([1.0, 0.6, 0.4, 0.3])
STRATA = [(9.0, 1.0), (3.0, 3.0)]
# Beta laws of the means of families; of the classifier in the kinds of samples that it can tell apart.
FAMILIES = {"independent": [(8.0, 2.0)], "shared_strata": STRATA, "labeler_strata": STRATA,
            "partly_shared": STRATA}  # fmt: skip
OF_CLASSIFIER = {"independent": [(8.0, 2.0)], "shared_strata": [(3.0, 1.0), (1.5, 1.5)],
                 "labeler_strata": [(8.0, 2.0)], "partly_shared": [(3.0, 1.0), (1.5, 1.5)]}  # fmt: skip
BUILD = MODELS | {"partly_shared": partly_shared}


def alike_rows(rng, right, mean, classes, members):
    """(members, rows, classes) of one family, rows that are right with symbols `right`."""
    share = np.exp(LOG_SHARE[:classes])
    mu, g, kappa = rng.beta(*mean), rng.random(), np.exp(rng.normal(np.log(10), 1.5))
    alpha = np.exp(rng.normal(np.log(max(classes - 1, 1)), 1.5))
    out = np.zeros((members, len(right), classes))
    for m, r in np.ndindex(members, len(right)):
        others = [u for u in range(classes) if u != right[r]]
        d = rng.beta(max(mu * kappa, 1e-9), max((1 - mu) * kappa, 1e-9))
        wrong = rng.standard_gamma(np.maximum(alpha * share[others] ** g / (share[others] ** g).sum(), 1e-9))
        out[m, r, right[r]], out[m, r, others] = d, (1 - d) * (wrong + 1e-300) / (wrong + 1e-300).sum()
    return out


def alike_sets(dependence, classes, sets):
    """`fit_joint` with rows that are alike; shares and means are given: the prior does not see the data."""
    labelers, every, ranks, switched, lost = labelers_of(classes), np.arange(classes), [], 0, 0

    def told(priors, merged):
        share = LOG_SHARE[:classes]
        of_labelers = alike_raters(np.ones(classes), labelers)._replace(
            log_share=share, mean_prior=(8.0, 2.0)
        )
        own = alike_classes(np.ones(classes))._replace(log_share=share, mean_prior=(8.0, 2.0))
        return BUILD[dependence](priors._replace(labelers_alike=of_labelers, classifier_alike=own), merged)

    for number in numbered(sets):
        rng = np.random.default_rng([number, classes, zlib.crc32(dependence.encode()), 5])
        prior, strata = rng.dirichlet(np.ones(classes)), len(FAMILIES[dependence])
        y = rng.choice(classes, SAMPLES, p=prior)
        easy = rng.beta(10 if classes == 2 else 2, 1, classes) if strata > 1 else np.ones(classes)
        hard = (rng.random(SAMPLES) >= easy[y]).astype(int)
        families = [
            [alike_rows(rng, [c], mean, classes, labelers) for c in every] for mean in FAMILIES[dependence]
        ]
        theta = np.stack([np.concatenate(rows, axis=1) for rows in families], axis=2)
        k = [alike_rows(rng, every, mean, classes, 1)[0] for mean in OF_CLASSIFIER[dependence]]
        felt = rng.beta(0.5, 0.5, classes) if dependence == "partly_shared" else np.ones(classes)
        k = np.stack([k[0], felt[:, None] * k[-1] + (1 - felt[:, None]) * k[0]], axis=1)[:, :strata]
        z, y_pred = categories(rng, theta[:, y, hard]).T, categories(rng, k[y, hard])
        weight = np.stack([easy, 1 - easy], axis=1)[:, :strata]
        table = np.zeros((1, classes, classes))
        np.add.at(table[0], (y, y_pred), 1)
        truth = {"prior": prior[0], "accuracy": prior @ (weight * theta[0, every, :, every]).sum(axis=1)}
        truth |= {"recall": (weight * k[:, :, 1])[1].sum()} | {
            n: v[0] for n, v in table_numbers(table).items()
        }
        fit = fit_joint(
            Labels.from_matrix(z, classes), y_pred=y_pred, key=number, effort=ASKED, dependence=told
        )
        drawn = {"prior": fit.prior[:, 0], "accuracy": fit.labeler_accuracy[:, 0]}
        drawn |= {"recall": fit.classifier[:, 1, 1]} | table_numbers(fit.tables("in-sample"))
        ranks.append({q: place(rng, truth[q], drawn[q]) for q in truth})
        switched, lost = switched + fit.switching.switched, lost + (not fit.converged)
    return ranks, f"{switched} switched, {lost} did not converge"


def table_sets(classes, sets):
    """`count_posterior` where nothing about rows is fixed and labels have known noise, class prior even."""
    ranks, bad = [], 0

    def told(counts):
        return alike_classes(counts)._replace(log_share=LOG_SHARE[:classes], mean_prior=(8.0, 2.0))

    for number in numbered(sets):
        rng = np.random.default_rng([number, classes, 7])
        k = alike_rows(rng, np.arange(classes), (8.0, 2.0), classes, 1)[0]
        y = rng.integers(0, classes, SAMPLES)
        y_pred, law = categories(rng, k[y]), np.full((classes, classes), 0.3 / (classes - 1))
        np.fill_diagonal(law, 0.7)
        z = categories(rng, np.repeat(law[y][None], 3, axis=0))
        log_likelihood = np.log(law)[:, z].sum(axis=1).T
        with patch.object(count_draws, "alike_classes", told):
            found = count_draws.count_posterior(
                log_likelihood, np.full(classes, 1 / classes), y_pred, key=number, effort=EFFORT
            )
        table = np.zeros((1, classes, classes))
        np.add.at(table[0], (y, y_pred), 1)
        numbers = table_numbers(table), table_numbers(found.counts.astype(float))
        row = {q: place(rng, float(numbers[0][q][0]), numbers[1][q]) for q in numbers[0]}
        ranks.append(row | {"recall": place(rng, k[1, 1], found.confusion[:, 1, 1])})
        bad += not found.converged
    return ranks, f"{bad} did not converge"


def random_effect_sets(sets, learned=False):
    """`fit_random_effect`, the spread of labelers fixed or learned."""
    ranks, switched, lost = [], 0, 0
    nodes, weights = np.polynomial.hermite_e.hermegauss(61)
    weights = weights / weights.sum()
    for number in numbered(sets):
        rng = np.random.default_rng([number, 3, *[1] * learned])
        share, m, k = rng.random(), rng.normal(1.2, 1, 2), rng.normal(1.2, 1.2, 2)
        spread = np.exp(rng.normal(np.log(0.8), 0.75, 2)) if learned else 0.8
        lam, a = np.abs(rng.normal(0, 1, 2)), spread * rng.normal(0, 1, (5, 2))
        kap = truncnorm.rvs(-lam / 0.5, np.inf, lam, 0.5, random_state=rng)
        y, ease = (rng.random(SAMPLES) < share).astype(int), rng.standard_normal(SAMPLES)
        hit = rng.random((SAMPLES, 5)) < expit(a[:, y].T + m[y][:, None] + (lam[y] * ease)[:, None])
        z = np.where(hit, y[:, None], 1 - y[:, None])
        y_pred = np.where(rng.random(SAMPLES) < expit(k[y] + kap[y] * ease), y, 1 - y)
        fit = fit_random_effect(
            Labels.from_matrix(z, 2), y_pred=y_pred, key=jax.random.key(number), effort=EFFORT,
            model=EffectModel("learned" if learned else "fixed"),
        )  # fmt: skip
        table = np.zeros((2, 2))
        np.add.at(table, (y, y_pred), 1)
        right = expit((a[0] + m)[:, None] + lam[:, None] * nodes) @ weights
        truth = {"prior": 1 - share, "accuracy": np.array([1 - share, share]) @ right}
        truth["recall"] = expit(k[1] + kap[1] * nodes) @ weights
        truth |= {name: v[0] for name, v in table_numbers(table[None]).items()}
        drawn = {"prior": fit.prior[:, 0], "accuracy": fit.labeler_accuracy[:, 0]}
        drawn |= {"recall": fit.classifier[:, 1, 1]} | table_numbers(fit.tables("in-sample"))
        ranks.append({q: place(rng, truth[q], drawn[q]) for q in truth})
        switched, lost = switched + fit.switching.switched, lost + (not fit.converged)
    return ranks, f"{switched} switched, {lost} did not converge"


ROWS = {f"nuts {name} C={c}": partial(nuts_sets, name, c) for name in bayes.MODELS for c in (2, 3)}
ROWS |= {f"testing C={c}": partial(testing_sets, c) for c in (2, 3)}
ROWS |= {
    f"joint {name} C={c}": partial(joint_sets, name, c)
    for name in ("independent", "shared_strata", "labeler_strata", "copying")
    for c in (2, 3)
}
ROWS |= {f"alike {name} C={c}": partial(alike_sets, name, c) for name in FAMILIES for c in (2, 3)}
ROWS |= {f"table C={c}": partial(table_sets, c) for c in (3, 4)}
ROWS |= {
    "random effect": random_effect_sets,
    "random effect, learned": partial(random_effect_sets, learned=True),
}


def p_value(u):
    """Twice the smaller p-value of two Kolmogorov-Smirnov tests: of u, and of |2u - 1|."""
    return min(1.0, 2 * min(kstest(u, "uniform").pvalue, kstest(np.abs(2 * u - 1), "uniform").pvalue))


def one_row(name, sets):
    """Ranks, note and seconds of one row of the table."""
    jax.config.update("jax_enable_x64", True)
    began = time.monotonic()
    ranks, note = ROWS[name](sets)
    return name, {q: np.array([row[q] for row in ranks]) for q in ranks[0]}, note, time.monotonic() - began


def main(sets="160", processes="2", *chosen):
    """Print the table."""
    print(f"{platform.machine()}, Python {platform.python_version()}, jax {jax.__version__}, ", end="")
    print(f"numpy {np.__version__}, {processes} processes, {sets} sets a row")
    names = [n for n in ROWS if not chosen or n.startswith(chosen)]
    least, count = 1.0, 0
    with ProcessPoolExecutor(int(processes), mp_context=get_context("spawn")) as pool:
        for name, ranks, note, seconds in pool.map(one_row, names, [int(sets)] * len(names)):
            p = {q: p_value(u) for q, u in ranks.items()}
            least, count = min(least, *p.values()), count + len(p)
            print(
                f"{name:33} {len(next(iter(ranks.values())))} sets, "
                + ", ".join(f"{q} {v:.2g}" for q, v in p.items()),
                flush=True,
            )
            print(f"{'':33} ({note}; {seconds:.0f} s)", flush=True)
    print(f"smallest of {count} p-values: {least:.2g}")


if __name__ == "__main__":
    main(*sys.argv[1:])
