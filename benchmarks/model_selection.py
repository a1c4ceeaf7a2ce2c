"""Which of two real classifiers is better, by real noisy labels? `compare_classifiers` and `evaluate_scores`.

Run: python benchmarks/model_selection.py [restaurant 1 3 5]
Data: ../shared/data/cifar10h_a (human labels of CIFAR-10 images, two networks) and restaurant (three crowd
labels a pair of records, two logistic regressions).

Nobody vouches for anything: the default ranges, then the truth. Of cifar10h_a 800 images, with 1, 3 and 5
human labels each, drawn without replacement from all labels of the image.

Measured on 2 x86 cores, Python 3.11, JAX 0.10, under load; one subset of images a row, so these are cases and
not rates. 95 % intervals of the difference, first minus second, and the truth:
restaurant, F1, lr8 - lr_weak       +.182 [+.127, +.256]  truth +.165  held; P(best) .99 to 1; 21 s
cifar10h_a, accuracy, cleanlab_cv - resnet18_noisytrain
  one label                         refused: "not identified", one label a sample and no gold
  three                             -.007 [-.028, +.008]  truth -.003  held; .83 to .98; 49 s
  five                              -.011 [-.029, +.006]  truth -.003  held; .90 to 1.00; 38 s
The better one is named each time. Independence alone, with its narrow intervals, misses three of three (+.181
to +.184, -.010 to -.005, -.011 to -.009), so P(best) near 1 in one member is no more than that member's word.

Areas (restaurant, eight bins): lr8 .952 [.898, .968], lr_weak .928 [.871, .959]; of the scores .999 and .991.
Eight bins hide up to .038 and .041: with three labels a pair the classes are so well separated that what
remains is inside bins. The interval of the scores themselves (`auc_of_scores`), [.860, 1] and [.830, 1],
holds both.
"""

import sys
import time
from pathlib import Path

import numpy as np
from sklearn.metrics import f1_score, roc_auc_score

import jtruth as jt

DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


def table(path, *names):
    """Columns of a table of text as arrays."""
    return np.genfromtxt(path, delimiter=",", names=True, dtype=None, encoding="utf-8")[list(names)]


def predictions(name, tasks):
    """{model: classes of these tasks}."""
    rows = table(DATA / name / "predictions.csv", "model", "task", "label")
    found = {}
    for model in np.unique(rows["model"]):
        mine = rows[rows["model"] == model]
        by_task = dict(zip(mine["task"].tolist(), mine["label"].tolist(), strict=True))
        found[str(model)] = np.array([by_task[t] for t in tasks])
    return found


def tell(title, said, labels, y, metric, truth):
    """The comparison, the truth, and whether the default interval of the difference holds it."""
    start = time.perf_counter()
    try:
        found = jt.compare_classifiers(said, labels, metric=metric)
    except ValueError as error:
        print(f"{title}: refused: {error}", flush=True)
        return
    (names, law), actual = next(iter(found.differences.items())), {k: truth(v, y) for k, v in said.items()}
    low, high, _ = law.interval(0.95)
    difference = actual[names[0]] - actual[names[1]]
    first, verdict = found.ranking[0], "held" if low <= difference <= high else "MISSED"
    print(f"{title}: best {first} with probability {found.best[first]}; {time.perf_counter() - start:.0f} s")
    print(f"    {' - '.join(names)}: {law.mean:+.3f} [{low:+.3f}, {high:+.3f}], "
          f"truth {difference:+.3f}, {verdict}")  # fmt: skip
    for view in found.assumptions:
        law = view.differences[0, 1]
        low, high, _ = law.interval(0.95)
        print(
            f"      {view.name}: {law.mean:+.3f} [{low:+.3f}, {high:+.3f}]{'' if view.hull else ', no hull'}"
        )
    for name, one in found.values.items():
        low, high, _ = one.interval(0.95)
        print(f"    {name:<22} {one.mean:.3f} [{low:.3f}, {high:.3f}], truth {actual[name]:.3f}", flush=True)


def restaurant():
    """F1 and areas of two logistic regressions, three crowd labels a pair of records."""
    rows = table(DATA / "restaurant" / "labels.csv", "task", "worker", "label")
    tasks = sorted(set(rows["task"].tolist()))
    labels = jt.Labels.from_long(rows["task"], rows["worker"], rows["label"], tasks=tasks, classes=[0, 1])
    truth = table(DATA / "restaurant" / "truth.csv", "task", "label")
    y = np.array([dict(zip(truth["task"].tolist(), truth["label"].tolist(), strict=True))[t] for t in tasks])
    said = predictions("restaurant", tasks)
    tell("restaurant, F1", said, labels, y, "f1", lambda p, t: f1_score(t, p))
    with np.load(DATA / "restaurant" / "predictions.npz") as held:
        for model in said:
            order = {int(t): k for k, t in enumerate(held[f"{model}_task"])}
            scores = held[f"{model}_prob"][[order[t] for t in tasks]]
            scores = scores[:, 1] if scores.ndim == 2 else scores
            found = jt.evaluate_scores(scores, labels)
            low, high, _ = found.auc.interval(0.95)
            print(f"    AUC of {model:<14} {found.auc.mean:.3f} [{low:.3f}, {high:.3f}], truth "
                  f"{roc_auc_score(y, scores):.3f}, hidden {found.hidden:.4f}", flush=True)  # fmt: skip


def cifar(number):
    """Accuracy of two networks on 800 images with `number` human labels each."""
    with np.load(DATA / "cifar10h_a" / "histograms.npz") as held:
        counts = held["counts"]
    rng = np.random.default_rng(number)
    images = np.sort(np.random.default_rng(0).choice(len(counts), 800, replace=False))
    truth = table(DATA / "cifar10h_a" / "truth.csv.gz", "task", "label")
    y = truth["label"][np.argsort(truth["task"])][images]
    z = np.array([rng.choice(np.repeat(np.arange(10), counts[i]), number, replace=False) for i in images])
    title, said = f"cifar10h_a, {number} labels, accuracy", predictions("cifar10h_a", images.tolist())
    tell(title, said, jt.Labels.from_matrix(z, 10), y, "accuracy", lambda p, t: (p == t).mean())


def main():
    """All, or the pieces that are named."""
    for piece in sys.argv[1:] or ("restaurant", "1", "3", "5"):
        restaurant() if piece == "restaurant" else cifar(int(piece))


if __name__ == "__main__":
    main()
