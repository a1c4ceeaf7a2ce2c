"""Every consensus method on six public crowds: accuracy, calibration and cost.

Run: python -m benchmarks learners FOLDER [METHOD ...]
     FOLDER holds bluebirds, rte, dogs, faces, restaurant and cifar10h_a (labels.csv, truth.csv).

Each method of `jtruth.learning.METHODS` runs in a process of its own, over the sets from few labels to many,
with its defaults. Columns: share of samples right (tied classes share a sample); mean log p(true class),
"-inf" where a method gave it probability 0, and Brier score; mean probability of the consensus less the share
right (above 0: too sure); distance (total variation) of the labelers' matrices from those that count labels
by true class, rows weighted by their labels; CPU seconds with compilation, and of a second fit; peak memory
of the process until then. Known: majority vote bluebirds 75.9, rte 89.7, dogs 82.2; Dawid-Skene 89.8, 92.75,
84.3 (with pseudo-counts of .01: tests/learning/em/test_dawid_skene.py).

Measured: AMD EPYC, 2 shared cores under load, Python 3.11, jax 0.10.2, numpy 2.4. hierarchical on cifar10h_a
(2571 labelers, ten classes) was stopped after 1000 sweeps of all chains (`max_sweeps`): it had not
converged (split R-hat 1.5), and reports it. KOS, Welinder and the label model refuse more than two classes.
                method         set   right      log  Brier    sure    psi
         majority_vote   bluebirds   75.93   -0.505  0.328    -6.2    nan    0.00   0.00 s    218 MB
         majority_vote       faces   63.67     -inf  0.513   +12.8    nan    0.00   0.00 s    219 MB
         majority_vote  restaurant   99.20     -inf  0.023    -1.1    nan    0.00   0.00 s    219 MB
         majority_vote         rte   89.69   -0.353  0.208   -14.7    nan    0.00   0.00 s    219 MB
         majority_vote        dogs   82.22     -inf  0.284    -5.9    nan    0.00   0.00 s    220 MB
         majority_vote  cifar10h_a   98.25   -0.070  0.027    -3.6    nan    0.00   0.00 s    221 MB
           dawid_skene   bluebirds   89.81   -7.279  0.199    +9.9  0.041    0.17   0.00 s    254 MB
           dawid_skene       faces   64.04     -inf  0.690   +34.2  0.191    1.26   0.01 s    362 MB
           dawid_skene  restaurant   99.15     -inf  0.015    +0.7  0.007    1.42   0.00 s    376 MB
           dawid_skene         rte   92.75     -inf  0.137    +6.4  0.030    0.13   0.00 s    377 MB
           dawid_skene        dogs   84.26     -inf  0.306   +14.9  0.085    0.11   0.01 s    378 MB
           dawid_skene  cifar10h_a   81.58     -inf  0.292   +12.2  0.047    2.53   1.21 s    427 MB
                   kos   bluebirds   72.22     -inf  0.556   +27.8    nan    0.09   0.00 s    243 MB
                   kos  restaurant   99.00     -inf  0.020    +1.0    nan    0.45   0.00 s    299 MB
                   kos         rte   49.75     -inf  1.005   +50.2    nan    0.05   0.00 s    301 MB
          hierarchical   bluebirds   88.89   -1.361  0.195    +9.8  0.043    1.90   1.90 s    264 MB
          hierarchical       faces   65.58   -3.176  0.645   +30.7  0.175    3.93   3.93 s    292 MB
          hierarchical  restaurant   99.15   -0.074  0.016    +0.6  0.009    1.27   1.27 s    292 MB
          hierarchical         rte   92.50   -0.295  0.119    +5.5  0.036    5.05   5.05 s    320 MB
          hierarchical        dogs   83.77   -1.457  0.307   +14.2  0.094   47.38  47.38 s    807 MB
          hierarchical  cifar10h_a   98.68   -0.887  0.027    +1.2  0.093   71.39  71.39 s    862 MB  not
          converged
              one_coin   bluebirds   58.33   -9.259  0.833   +41.6  0.250    1.45   0.00 s    371 MB
              one_coin       faces   61.13   -4.702  0.735   +36.1  0.271    1.39   0.00 s    388 MB
              one_coin  restaurant   99.00   -0.121  0.018    +0.8  0.014    1.33   0.00 s    398 MB
              one_coin         rte   92.50     -inf  0.136    +6.2  0.142    1.43   0.00 s    400 MB
              one_coin        dogs   83.02   -2.931  0.332   +15.9  0.259    1.37   0.01 s    406 MB
              one_coin  cifar10h_a   98.25     -inf  0.035    +1.8  0.088    1.58   0.09 s    450 MB
difficulty_fallibility   bluebirds   74.07   -2.493  0.494   +23.4  0.212    2.94   0.56 s    371 MB
difficulty_fallibility       faces   61.13   -3.593  0.724   +34.9  0.275    2.20   0.30 s    387 MB
difficulty_fallibility  restaurant   98.05   -0.045  0.028    +1.3  0.062    1.91   0.08 s    401 MB
difficulty_fallibility         rte   92.75   -0.256  0.120    +4.7  0.143    2.75   0.80 s    444 MB
difficulty_fallibility        dogs   83.15   -1.400  0.318   +14.6  0.258    2.23   0.15 s    474 MB
difficulty_fallibility  cifar10h_a   98.25   -0.476  0.035    +1.8  0.106    6.57   4.21 s    955 MB
                  glad   bluebirds   57.41   -6.658  0.766   +40.1  0.214    2.75   0.02 s    390 MB
                  glad       faces   61.47   -5.465  0.720   +34.6  0.285    2.13   0.01 s    400 MB
                  glad  restaurant   98.05   -0.097  0.033    +1.8  0.017    2.17   0.01 s    415 MB
                  glad         rte   92.50   -0.343  0.121    +4.4  0.145    2.36   0.02 s    425 MB
                  glad        dogs   83.15   -2.533  0.318   +14.9  0.259    2.37   0.01 s    435 MB
                  glad  cifar10h_a   98.25   -0.832  0.035    +1.8  0.085    2.68   0.05 s    457 MB
              welinder   bluebirds   88.89   -0.308  0.180    -2.4  0.058    2.87   0.07 s    409 MB
              welinder  restaurant   96.61   -0.119  0.050    -3.0  0.041    2.76   0.09 s    430 MB
              welinder         rte   93.12   -0.191  0.109    -3.6  0.045    2.69   0.08 s    444 MB
           label_model   bluebirds   89.81   -1.952  0.200    +9.6  0.059    1.94   0.00 s    328 MB
           label_model  restaurant   98.60   -0.056  0.023    +0.9  0.025    2.00   0.02 s    358 MB
           label_model         rte   92.62   -0.409  0.138    +5.4  0.051    2.36   0.05 s    371 MB
       minimax_entropy   bluebirds   89.81   -1.206  0.198   +10.0  0.030    4.18   0.04 s    444 MB
       minimax_entropy       faces   65.24   -2.434  0.624   +30.1  0.153    3.42   0.10 s    458 MB
       minimax_entropy  restaurant   96.51   -0.581  0.362   -34.5  0.052    3.42   0.10 s    464 MB
       minimax_entropy         rte   92.38   -0.322  0.134    +6.3  0.052    3.94   0.13 s    501 MB
       minimax_entropy        dogs   83.77   -1.112  0.304   +14.4  0.192    4.04   0.11 s    514 MB
       minimax_entropy  cifar10h_a   98.25   -1.131  0.035    +1.8  0.895    6.15   2.16 s    656 MB

Other packages with their defaults, by `learners_elsewhere.py` on the same machine (numpy 2.4.6, pandas
3.1.1, torch 2.15.0), judged in the same way. Columns as above up to "sure", then CPU seconds of one fit;
the first set of a package has the seconds of its import. The same method has the same numbers, up to
its prior and its stopping rule: crowd-kit's Dawid-Skene (by its seconds, few
steps) is about as right and has better log scores, and on cifar10h_a it is right in 95.2 instead of 81.6 %,
where going on deserts classes: 11 743 labels for 230 670 free numbers, said in a warning. With pseudo-counts
of .01 it is right in 97.8 %, with 1 and .1 in 98.7. snorkel's label model is behind where labelers saw few
samples, and ahead of
Dawid-Skene on faces. Not measured: snorkel on cifar10h_a (a square matrix of 25 710 rows, above 13 GB),
peerannot's Dawid-Skene there (4 s a step, not done after 100 s), MMSR, GLAD and MACE there. Wawa and
ZeroBasedSkill do not run with scikit-learn 1.9.1, peerannot's GLAD and WDS end in a TypeError of a path and a
ValidationError of their own call of Dawid-Skene. cleanlab needs a classifier's probabilities; three sets
have none. For the rows of MACE, GLAD and IWMV torch and transformers, which they do not use, were empty.
     crowd-kit MajorityVote 1.4.2   bluebirds   75.93   -0.505  0.328    -6.2    1.35 s
     crowd-kit MajorityVote 1.4.2       faces   63.67     -inf  0.513   +12.8    0.01 s
     crowd-kit MajorityVote 1.4.2  restaurant   99.20     -inf  0.023    -1.1    0.01 s
     crowd-kit MajorityVote 1.4.2         rte   89.69   -0.353  0.208   -14.7    0.01 s
     crowd-kit MajorityVote 1.4.2        dogs   82.22     -inf  0.284    -5.9    0.01 s
     crowd-kit MajorityVote 1.4.2  cifar10h_a   98.25   -0.070  0.027    -3.6    0.01 s
       crowd-kit DawidSkene 1.4.2   bluebirds   88.89   -1.462  0.208    +9.7    0.05 s
       crowd-kit DawidSkene 1.4.2       faces   64.04   -5.125  0.690   +34.2    0.73 s
       crowd-kit DawidSkene 1.4.2  restaurant   99.15   -0.106  0.015    +0.7    0.51 s
       crowd-kit DawidSkene 1.4.2         rte   92.75   -0.878  0.137    +6.4    0.19 s
       crowd-kit DawidSkene 1.4.2        dogs   84.26   -2.563  0.306   +14.9    0.24 s
       crowd-kit DawidSkene 1.4.2  cifar10h_a   95.18   -0.499  0.097    +3.3    0.07 s
        snorkel LabelModel 0.10.0   bluebirds   88.89   -2.075  0.210   +10.6    3.65 s
        snorkel LabelModel 0.10.0       faces   65.58   -3.315  0.640   +30.6    0.10 s
        snorkel LabelModel 0.10.0  restaurant   79.39   -0.721  0.349    -2.4    0.08 s
        snorkel LabelModel 0.10.0         rte   76.62   -1.283  0.407   +18.9    0.43 s
        snorkel LabelModel 0.10.0        dogs   83.15   -1.276  0.300   +14.3    0.67 s
crowd-kit OneCoinDawidSkene 1.4.2   bluebirds   58.33   -7.764  0.833   +41.6    1.89 s
crowd-kit OneCoinDawidSkene 1.4.2       faces   61.13   -4.570  0.735   +36.1    0.37 s
crowd-kit OneCoinDawidSkene 1.4.2  restaurant   99.00   -0.073  0.018    +0.8    0.13 s
crowd-kit OneCoinDawidSkene 1.4.2         rte   92.50   -0.638  0.136    +6.2    0.54 s
crowd-kit OneCoinDawidSkene 1.4.2        dogs   83.02   -1.976  0.331   +15.9    0.86 s
crowd-kit OneCoinDawidSkene 1.4.2  cifar10h_a   98.25   -0.404  0.035    +1.8    5.12 s
              crowd-kit KOS 1.4.2   bluebirds   72.22     -inf  0.556   +27.8    0.36 s
              crowd-kit KOS 1.4.2  restaurant   99.00     -inf  0.020    +1.0    0.47 s
              crowd-kit KOS 1.4.2         rte   49.75     -inf  1.005   +50.2    0.56 s
             crowd-kit MMSR 1.4.2   bluebirds   71.30     -inf  0.574   +28.7    0.40 s
             crowd-kit MMSR 1.4.2       faces   63.01     -inf  0.740   +37.0    0.15 s
             crowd-kit MMSR 1.4.2  restaurant   98.70     -inf  0.026    +1.3    0.17 s
             crowd-kit MMSR 1.4.2         rte   85.75     -inf  0.285   +14.2    1.03 s
             crowd-kit MMSR 1.4.2        dogs   82.78     -inf  0.344   +17.2    1.31 s
peerannot DawidSkene 0.0.1.post43   bluebirds   89.81   -6.294  0.199    +9.9    2.36 s
peerannot DawidSkene 0.0.1.post43       faces   64.04     -inf  0.690   +34.2    0.69 s
peerannot DawidSkene 0.0.1.post43  restaurant   99.15     -inf  0.015    +0.7    0.31 s
peerannot DawidSkene 0.0.1.post43         rte   92.75     -inf  0.137    +6.4    0.26 s
peerannot DawidSkene 0.0.1.post43        dogs   84.26     -inf  0.306   +14.9    0.80 s
      peerannot IWMV 0.0.1.post43   bluebirds   75.93     -inf  0.481   +24.1    0.05 s
      peerannot IWMV 0.0.1.post43       faces   63.01     -inf  0.740   +37.0    0.11 s
      peerannot IWMV 0.0.1.post43  restaurant   99.20     -inf  0.016    +0.8    0.27 s
      peerannot IWMV 0.0.1.post43         rte   92.25     -inf  0.155    +7.8    0.16 s
      peerannot IWMV 0.0.1.post43        dogs   83.27     -inf  0.335   +16.7    0.16 s
             crowd-kit MACE 1.4.2   bluebirds   72.22   -5.027  0.546   +26.9    5.20 s
             crowd-kit MACE 1.4.2       faces   63.53   -4.004  0.693   +33.5    6.21 s
             crowd-kit MACE 1.4.2  restaurant   99.20   -0.074  0.015    +0.7    4.73 s
             crowd-kit MACE 1.4.2         rte   92.50   -0.420  0.132    +5.9    4.64 s
             crowd-kit MACE 1.4.2        dogs   83.52   -1.860  0.316   +15.0    6.06 s
             crowd-kit GLAD 1.4.2   bluebirds   72.22   -4.543  0.482   +24.1    2.60 s
             crowd-kit GLAD 1.4.2       faces   63.01   -4.737  0.678   +33.0    1.83 s
             crowd-kit GLAD 1.4.2  restaurant   99.20   -0.076  0.014    +0.3    8.12 s
             crowd-kit GLAD 1.4.2         rte   92.50   -0.341  0.119    +4.4   10.09 s
             crowd-kit GLAD 1.4.2        dogs   83.40   -2.498  0.313   +14.6    5.63 s
"""

import gzip
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

SETS = ("bluebirds", "faces", "restaurant", "rte", "dogs", "cifar10h_a")  # from few labels to many


def read(folder):
    """Labels, and the true class of each sample."""
    import jtruth as jt

    classes = json.loads((folder / "classes.json").read_text())["classes"]
    codes = [str(c) for c in range(len(classes))]
    labels = jt.read_labels(folder / "labels.csv", classes=codes)
    path = folder / "truth.csv"
    raw = path.read_bytes() if path.exists() else gzip.decompress((folder / "truth.csv.gz").read_bytes())
    truth = dict(line.split(",")[:2] for line in raw.decode().split()[1:])
    return labels, np.array([int(truth[str(task)]) for task in labels.tasks])


def matrix_error(fit, labels, y):
    """Mean total variation from counted rows over the labels given."""
    strata = fit.noise_model().strata(labels.num_labelers)
    found = np.einsum("hc,htck->tck", np.asarray(strata.weights), np.asarray(strata.rows))
    sample, labeler, label = labels.entries()
    counts = np.zeros(found.shape)
    np.add.at(counts, (labeler, y[sample], label), 1)
    number = counts.sum(axis=2)
    own = counts / np.maximum(number, 1)[:, :, None]
    return (number * np.abs(found - own).sum(axis=2)).sum() / number.sum() / 2


def scores(p, y):
    """Share right, log score, Brier score, too sure by."""
    at, best = np.arange(y.size), p.max(axis=1)
    tied = p > best[:, None] - 1e-9
    right = (tied[at, y] / tied.sum(axis=1)).mean()
    with np.errstate(divide="ignore"):
        log_score = np.log(p[at, y]).mean()
    brier = ((p - np.eye(p.shape[1])[y]) ** 2).sum(axis=1).mean()
    return right, log_score, brier, best.mean() - right


def one(folder, name):
    """A line for each set by one method, in this process."""
    from jtruth.learning import METHODS

    for place in SETS:
        labels, y = read(folder / place)
        reason = METHODS[name].refuses(labels)
        if reason:
            print(f"{name:>22} {place:>11}  {reason}", flush=True)
            continue
        seconds = []
        for _ in range(1 if METHODS[name].draws else 2):
            start = time.process_time()
            fit = METHODS[name].fit(labels, key=0)
            seconds.append(time.process_time() - start)
        right, log_score, brier, sure = scores(fit.class_posterior, y)
        error = matrix_error(fit, labels, y) if METHODS[name].estimates_noise else np.nan
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name:>22} {place:>11}  {100 * right:6.2f}  {log_score:7.3f}  {brier:5.3f}  "
            f"{100 * sure:+6.1f}  {error:5.3f}  {seconds[0]:6.2f} {seconds[-1]:6.2f} s  {peak:5.0f} MB"
            + ("" if fit.converged else "  not converged"),
            flush=True,
        )


def elsewhere(folder, file):
    """Lines of what other packages found (`learners_elsewhere.py`), judged in the same way."""
    found = np.load(file)
    for name, place in dict.fromkeys(tuple(key.split("|")[:2]) for key in found):
        labels, y = read(folder / place)
        parts = (found[f"{name}|{place}|{part}"] for part in ("tasks", "p", "seconds"))
        tasks, p, seconds = parts
        at = {task: i for i, task in enumerate(tasks.tolist())}
        p = p[[at[str(task)] for task in labels.tasks]]
        right, log_score, brier, sure = scores(p, y)
        numbers = f"{100 * right:6.2f}  {log_score:7.3f}  {brier:5.3f}  {100 * sure:+6.1f}"
        print(f"{name:>33} {place:>11}  {numbers}  {seconds:6.2f} s")


def main(folder, names):
    """All methods, or these, each in its own process."""
    from jtruth.learning import METHODS

    print(
        f"{'method':>22} {'set':>11}  {'right':>6}  {'log':>7}  {'Brier':>5}  {'sure':>6}  {'psi':>5}",
        flush=True,
    )
    for name in names or METHODS:
        subprocess.run([sys.executable, __file__, "--one", str(folder), name], check=True)


if __name__ == "__main__":
    if sys.argv[1] == "--one":
        one(Path(sys.argv[2]), sys.argv[3])
    elif sys.argv[2:3] and sys.argv[2].startswith("elsewhere:"):
        elsewhere(Path(sys.argv[1]), sys.argv[2].partition(":")[2])
    else:
        main(Path(sys.argv[1]), sys.argv[2:])
