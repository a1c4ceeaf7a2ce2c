"""Label histograms: debiasing (Figure 2), tables in the form of Mimori et al. (2021), and speed.

Run: python benchmarks/histograms.py [figure] [mixed] [cifar] [speed]

First: a perfect predictor of two classes with uniform probability, 15 bins of equal width, 200 sets (50 of
10^4): the losses are 0, the plugin forms say 1/6 (n = 2) and 1/15 (n = 5) for EL.

Then: L, EL, calibration error CE (both debiased, "exact"), loss and calibration error of predicted
disagreement, and EL after one label; raw predictions, with alpha-calibration, temperature scaling, both. In
brackets the standard deviation over 10 predictors or splits, which is the standard error of one; that of the
mean is between it and a third of it, because the images are the same ten times. m1m0r1/lh_calib's Mix-MNIST
and Mix-CIFAR-10 (true probabilities known; the images are not there, so the predictor is simulated: the
truth, too sure and with noise of 2 on its logits). CIFAR-10H with two real classifiers of cleanlab, 5000
images in halves: fit on 2 or 5 labels drawn without replacement, judged by the other half's 51. Both in
../shared/data; left out where that is absent.

Intel Xeon, one thread, busy shared machine: Python 3.11.7, numpy 2.4.6, jax 0.10.2, float64; 4 minutes

  Figure 2      N  n   EL plugin   EL debiased       CL plugin   CL (14)          CL exact
              100  2   0.16823   +0.00308 +- 0.00261   0.02628   +0.00133 +- 0.00082   +0.00144 +- 0.00082
             1000  2   0.16777   +0.00190 +- 0.00080   0.00247   -0.00006 +- 0.00007   -0.00005 +- 0.00007
            10000  2   0.16639   -0.00076 +- 0.00051   0.00025   -0.00000 +- 0.00001   +0.00000 +- 0.00001
              100  5   0.06832   +0.00143 +- 0.00085   0.00998   -0.00038 +- 0.00031   -0.00023 +- 0.00031
             1000  5   0.06698   +0.00029 +- 0.00027   0.00096   -0.00005 +- 0.00003   -0.00004 +- 0.00003
            10000  5   0.06697   +0.00026 +- 0.00017   0.00009   -0.00001 +- 0.00001   -0.00001 +- 0.00001

                 L              EL             CE             L_phi          CE_phi         EL after a label
  mixed_mnist (2 labels to fit on, 10 to judge); EL less the true EL: -0.00036, s.e. of one 0.00114
    raw          .2017 (.0016)  .1015 (.0016)  .0426 (.0028)  .1116 (.0013)  .1605 (.0037)
    raw+alpha    .2017 (.0016)  .1015 (.0016)  .0426 (.0028)  .0859 (.0003)  .0316 (.0013)  .0477 (.0005)
    raw+ts       .2017 (.0016)  .1016 (.0016)  .0409 (.0040)  .1173 (.0015)  .1771 (.0038)
    raw+ts+alpha .2017 (.0016)  .1016 (.0016)  .0409 (.0040)  .0853 (.0003)  .0244 (.0017)  .0474 (.0005)
  mixed_mnist (5 labels to fit on, 10 to judge); EL less the true EL: -0.00036, s.e. of one 0.00114
    raw          .2017 (.0016)  .1015 (.0016)  .0426 (.0028)  .1116 (.0013)  .1605 (.0037)
    raw+alpha    .2017 (.0016)  .1015 (.0016)  .0426 (.0028)  .0857 (.0003)  .0315 (.0010)  .0475 (.0005)
    raw+ts       .2017 (.0016)  .1016 (.0016)  .0410 (.0042)  .1172 (.0013)  .1767 (.0035)
    raw+ts+alpha .2017 (.0016)  .1016 (.0016)  .0410 (.0042)  .0851 (.0003)  .0250 (.0013)  .0473 (.0005)
  mixed_cifar10 (2 labels to fit on, 10 to judge); EL less the true EL: -0.00046, s.e. of one 0.00115
    raw          .2039 (.0027)  .1019 (.0027)  .0449 (.0042)  .1118 (.0006)  .1570 (.0015)
    raw+alpha    .2039 (.0027)  .1019 (.0027)  .0449 (.0042)  .0873 (.0002)  .0350 (.0011)  .0484 (.0007)
    raw+ts       .2038 (.0026)  .1017 (.0026)  .0416 (.0042)  .1172 (.0006)  .1730 (.0016)
    raw+ts+alpha .2038 (.0026)  .1017 (.0026)  .0416 (.0042)  .0866 (.0003)  .0288 (.0018)  .0482 (.0007)
  mixed_cifar10 (5 labels to fit on, 10 to judge); EL less the true EL: -0.00046, s.e. of one 0.00115
    raw          .2039 (.0027)  .1019 (.0027)  .0449 (.0042)  .1118 (.0006)  .1570 (.0015)
    raw+alpha    .2039 (.0027)  .1019 (.0027)  .0449 (.0042)  .0872 (.0003)  .0331 (.0009)  .0481 (.0008)
    raw+ts       .2038 (.0026)  .1018 (.0026)  .0413 (.0044)  .1176 (.0008)  .1740 (.0021)
    raw+ts+alpha .2038 (.0026)  .1018 (.0026)  .0413 (.0044)  .0865 (.0003)  .0260 (.0013)  .0478 (.0007)
  cifar10h, cleanlab_cv, 2 labels to fit on, 10 splits
    raw          .1710 (.0042)  .0950 (.0040)  .0920 (.0069)  .0781 (.0018)  .0997 (.0026)
    raw+alpha    .1710 (.0042)  .0950 (.0040)  .0920 (.0069)  .0715 (.0018)  .0566 (.0016)  .0387 (.0018)
    raw+ts       .1600 (.0033)  .0840 (.0029)  .0311 (.0131)  .0921 (.0020)  .1558 (.0047)
    raw+ts+alpha .1600 (.0033)  .0840 (.0029)  .0311 (.0131)  .0683 (.0014)  .0256 (.0090)  .0369 (.0014)
  cifar10h, cleanlab_cv, 5 labels to fit on, 10 splits
    raw          .1720 (.0060)  .0956 (.0050)  .0904 (.0087)  .0787 (.0018)  .1003 (.0036)
    raw+alpha    .1720 (.0060)  .0956 (.0050)  .0904 (.0087)  .0720 (.0015)  .0566 (.0014)  .0391 (.0021)
    raw+ts       .1607 (.0050)  .0842 (.0040)  .0364 (.0156)  .0932 (.0017)  .1581 (.0048)
    raw+ts+alpha .1607 (.0050)  .0842 (.0040)  .0364 (.0156)  .0686 (.0014)  .0256 (.0058)  .0354 (.0013)
  cifar10h, resnet18_noisytrain, 2 labels to fit on, 10 splits
    raw          .1487 (.0015)  .0726 (.0016)  .1273 (.0050)  .1267 (.0019)  .2402 (.0038)
    raw+alpha    .1487 (.0015)  .0726 (.0016)  .1273 (.0050)  .0701 (.0008)  .0412 (.0044)  .0370 (.0008)
    raw+ts       .1385 (.0017)  .0623 (.0018)  .0823 (.0084)  .0827 (.0015)  .1175 (.0058)
    raw+ts+alpha .1385 (.0017)  .0623 (.0018)  .0823 (.0084)  .0692 (.0010)  .0234 (.0038)  .0328 (.0009)
  cifar10h, resnet18_noisytrain, 5 labels to fit on, 10 splits
    raw          .1490 (.0044)  .0729 (.0024)  .1298 (.0039)  .1267 (.0017)  .2404 (.0025)
    raw+alpha    .1490 (.0044)  .0729 (.0024)  .1298 (.0039)  .0704 (.0017)  .0495 (.0056)  .0359 (.0012)
    raw+ts       .1388 (.0052)  .0627 (.0033)  .0838 (.0068)  .0828 (.0020)  .1183 (.0046)
    raw+ts+alpha .1388 (.0052)  .0627 (.0033)  .0838 (.0068)  .0687 (.0022)  .0198 (.0049)  .0324 (.0012)

  10^6 histograms of 5 labels, 10 classes, 15 bins, one jitted pass with all seven losses and their standard
  errors:
      float32 0.95 s, peak of the process 1.6 GiB; float64 2.4 s, 2.0 GiB
      NumPy, three losses without errors: 1.3 s; largest difference 1.7e-8 (float32), 1.9e-16 (float64)
  1000 bootstrap resamples of the calibration loss of 5000 histograms: 4.2 s
  (2.8 s and 10 s before: bins by comparing all edges at once, 1.03 to 0.10 s; pairs of classes counted once)

What the paper reports holds here. Class probabilities alone overrate disagreement, temperature scaling makes
that worse where it softens an overconfident classifier (not for resnet18, which is underconfident), and
alpha-calibration divides the calibration error of disagreement by 2 to 8; the loss after one label falls to
half. With a simulated predictor that is nearly right (noise of 1 instead of 2, Mix-MNIST, 2 labels)
alpha-calibration hurts: CE_phi .066 instead of .035. There alpha_0 should be large, and the penalty draws it
to 1.
"""

import os

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"
os.environ["JAX_PLATFORMS"] = "cpu"

import platform  # noqa: E402
import resource  # noqa: E402
import sys  # noqa: E402
import time  # noqa: E402
from pathlib import Path  # noqa: E402

import jax  # noqa: E402
import jax.numpy as jnp  # noqa: E402
import numpy as np  # noqa: E402

from jtruth import histograms as hist  # noqa: E402
from jtruth.histograms import Calibrated, Histograms  # noqa: E402

SHARED = Path(__file__).resolve().parents[2] / "shared" / "data"


def figure_2() -> None:
    """A perfect predictor of two classes, its probability uniform; 15 bins; 200 sets of each size."""
    edges = hist.equal_width_edges(15)
    print(f"{'Figure 2':>8} {'N':>6} {'n':>2}   EL plugin   EL debiased       CL plugin   ", end="")
    print("CL (14)          CL exact")
    for n in (2, 5):
        for samples in (100, 1000, 10_000):

            def one(key, n=n, samples=samples):
                first, second = jax.random.split(key)
                q = jax.random.uniform(first, (samples,))
                y = (jax.random.uniform(second, (samples, n)) < q[:, None]).sum(axis=1, dtype=jnp.int32)
                h = Histograms(jnp.stack([y, n - y], 1), jnp.full(samples, n, jnp.int32), n)
                z = jnp.stack([q, 1 - q], 1)
                el = [hist.epistemic_loss(h, z, debias=d).sum(1).mean() for d in (False, True)]
                rules, mu = ("none", "paper", "exact"), h.shares()
                cl = [hist.calibration_loss(mu, z, edges, debias=d).total for d in rules]
                return jnp.stack([*el, *cl])

            sets = 200 if samples < 10_000 else 50
            draws = np.asarray(jax.jit(jax.vmap(one))(jax.random.split(jax.random.key(0), sets)))
            m, e = draws.mean(0), draws.std(0) / np.sqrt(sets)
            print(f"{'':8} {samples:6} {n:2}   {m[0]:.5f}   {m[1]:+.5f} +- {e[1]:.5f}   {m[2]:.5f}   "
                  f"{m[3]:+.5f} +- {e[3]:.5f}   {m[4]:+.5f} +- {e[4]:.5f}")  # fmt: skip


def scores(h: Histograms, f: np.ndarray, alpha: np.ndarray | None) -> dict[str, float]:
    """The columns of the paper's tables 1, 2 and 4."""
    found = hist.loss_estimates(h, f, concentration=alpha)
    get = {name: law.mean for name, law in found.estimates.items()}
    later = np.nan
    if alpha is not None:
        later = float(np.nanmean(np.asarray(hist.epistemic_after_one_label(h, Calibrated(f, alpha)))))
    root = np.sqrt(max(get["disagreement_calibration_loss"], 0.0))
    return {"L": get["squared_loss"], "EL": get["epistemic_loss"], "CE": np.sqrt(max(get["calibration_loss"],
    0.0)),
            "L_phi": get["disagreement_loss"], "CE_phi": root, "EL after a label": later}  # fmt: skip


def four_ways(key, fit: Histograms, f_fit: np.ndarray, test: Histograms, f: np.ndarray) -> dict[str, dict]:
    """Raw, alpha, temperature and both."""
    alpha = hist.fit_calibrator(key, fit, f_fit, method="alpha")(f)
    both = hist.fit_calibrator(key, fit, f_fit, method="temperature")(f)
    both = Calibrated(np.asarray(both.probabilities), np.asarray(both.concentration))
    return {
        "raw": scores(test, f, None),
        "raw+alpha": scores(test, f, np.asarray(alpha.concentration)),
        "raw+ts": scores(test, both.probabilities, None),
        "raw+ts+alpha": scores(test, both.probabilities, both.concentration),
    }


def show(title: str, runs: list[dict[str, dict]]) -> None:
    """Means over runs, with the standard deviation of a run."""
    print(title)
    for name in runs[0]:
        cells = []
        for column in runs[0][name]:
            values = np.array([run[name][column] for run in runs])
            text = f"{values.mean():.4f} ({values.std(ddof=1):.4f})".replace("0.", ".")
            cells.append("" if np.isnan(values).all() else text)
        print(f"    {name:12} " + "  ".join(cells), flush=True)


def mixed(name: str, labels: int, rng: np.random.Generator) -> None:
    """True class probabilities known; the predictor is off by noise, and too sure of itself."""
    data = np.load(SHARED / name / "histograms.npz")
    q, part = data[f"t1_v{labels}_prob"].astype(np.float64), data[f"t1_v{labels}_partition"]
    counts = data[f"t1_v{labels}_hist"].astype(np.int64)
    q = np.maximum(q, 1e-4)
    q = q / q.sum(axis=1, keepdims=True)
    runs, truth = [], []
    fit, test = part == 1, part == 2
    for split in range(10):
        logits = 1.3 * np.log(0.97 * q + 0.003) + 2 * rng.normal(size=q.shape)
        f = np.exp(logits - logits.max(1, keepdims=True))
        f = f / f.sum(axis=1, keepdims=True)
        h_fit, h = hist.from_counts(counts[fit]), hist.from_counts(counts[test])
        runs.append(four_ways(jax.random.key(split), h_fit, f[fit], h, f[test]))
        true = data[f"t1_v{labels}_prob"][test].astype(np.float64)
        terms = np.asarray(hist.epistemic_loss(h, f[test])).sum(1) - ((true - f[test]) ** 2).sum(1)
        truth.append((terms.mean(), terms.std() / np.sqrt(terms.size)))
    off = np.array(truth)
    show(f"{name} ({labels} labels to fit on, 10 to judge, {len(runs)} predictors); EL less the true "
         f"EL: {off[:, 0].mean():+.5f}, standard error of one draw {off[:, 1].mean():.5f}", runs)  # fmt: skip


def cifar10h(rng: np.random.Generator, splits: int = 10) -> None:
    """Two real classifiers; fit on one half of the images with 2 or 5 labels, judge on the other with all."""
    folder = SHARED / "cifar10h_a"
    counts = np.load(folder / "histograms.npz")["counts"].astype(np.int64)
    given = np.load(folder / "predictions.npz")
    for model in ("cleanlab_cv", "resnet18_noisytrain"):
        f = given[f"{model}_prob"].astype(np.float64)
        f = f / f.sum(axis=1, keepdims=True)
        for few in (2, 5):
            runs = []
            for split in range(splits):
                order = rng.permutation(len(f))
                fit, test = order[: len(f) // 2], order[len(f) // 2 :]
                chosen = rng.multivariate_hypergeometric
                part = np.stack([chosen(row, few) for row in counts[fit]])
                key = jax.random.key(split)
                runs.append(
                    four_ways(key, hist.from_counts(part), f[fit], hist.from_counts(counts[test]), f[test])
                )
            show(f"cifar10h, {model}, {few} labels to fit on, {splits} splits", runs)


def in_numpy(counts: np.ndarray, z: np.ndarray, bins: int) -> tuple[float, float, float]:
    """L, EL and CL (14), the straightforward way."""
    n = counts.sum(1, keepdims=True)
    mu = counts / n
    spread = mu * (1 - mu)
    loss = ((mu - z) ** 2 + spread).sum(1).mean()
    el = ((mu - z) ** 2 - spread / (n - 1)).sum(1).mean()
    cl = 0.0
    for k in range(z.shape[1]):
        b = np.minimum((z[:, k] * bins).astype(int), bins - 1)
        m = np.bincount(b, minlength=bins)
        c, p, s = (np.bincount(b, v, bins) / np.maximum(m, 1) for v in (mu[:, k], z[:, k], mu[:, k] ** 2))
        cl += (m / len(z) * ((c - p) ** 2 - (s - c**2) / np.maximum(m - 1, 1)))[m > 1].sum()
    return float(loss), float(el), float(cl)


def speed(samples: int = 10**6, classes: int = 10, resampled: int = 5000) -> None:
    """One pass over a million histograms of five labels, and 1000 resamples of 5000."""
    rng = np.random.default_rng(0)
    z = rng.dirichlet(np.ones(classes), samples)
    y = (rng.random((samples, 5, 1)) > z.cumsum(1)[:, None]).sum(2)
    counts = (y[:, :, None] == np.arange(classes)).sum(1).astype(np.int32)
    start = time.perf_counter()
    reference = in_numpy(counts, z, 15)
    by_numpy = time.perf_counter() - start
    edges, h = hist.equal_width_edges(15), Histograms(jnp.asarray(counts), jnp.full(samples, 5, jnp.int32), 5)
    for dtype in (jnp.float32, jnp.float64):
        p = jnp.asarray(z, dtype)
        run = jax.jit(lambda h, p: hist.loss_values(h, p, edges, hist.disagreement_probability(p)))
        jax.block_until_ready(run(h, p))
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        start = time.perf_counter()
        values = jax.block_until_ready(run(h, p))[0]
        seconds = time.perf_counter() - start
        found = [float(values[f"{name}_loss"].value) for name in ("squared", "epistemic", "calibration")]
        off = max(abs(a - b) for a, b in zip(found, reference, strict=True))
        print(f"10^6 histograms of 10 classes, {jnp.dtype(dtype).name}: {seconds:.2f} s with all errors, "
              f"peak of the process {before / 2**20:.1f} GiB; NumPy {by_numpy:.2f} s without; "
              f"largest difference {off:.1e}")  # fmt: skip
    part = h.take(slice(0, resampled)), jnp.asarray(z[:resampled])
    pick = jax.jit(lambda key: hist.bootstrap_draws(key, lambda d: hist.calibration_loss(
        d[0].shares(), d[1], edges, debias="exact").total, part))  # fmt: skip
    jax.block_until_ready(pick(jax.random.key(0)))
    start = time.perf_counter()
    jax.block_until_ready(pick(jax.random.key(1)))
    print(f"1000 resamples of {resampled}: {time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    versions = f"Python {platform.python_version()}, numpy {np.__version__}, jax {jax.__version__}"
    print(versions, flush=True)
    start = time.perf_counter()
    jax.config.update("jax_enable_x64", True)
    which = sys.argv[1:] or ["figure", "mixed", "cifar", "speed"]
    if "figure" in which:
        figure_2()
    if SHARED.is_dir():
        if "mixed" in which:
            for data in ("mixed_mnist", "mixed_cifar10"):
                for labels in (2, 5):
                    mixed(data, labels, np.random.default_rng(0))
        if "cifar" in which:
            cifar10h(np.random.default_rng(1))
    if "speed" in which:
        speed()
    print(f"{time.perf_counter() - start:.0f} s")
