"""The pictures of README.md ("metrics") and of the gallery. Run: python docs/make_pictures.py [NAMES]

They are small PNG files in docs/pictures.
"""

import runpy
import sys
from collections.abc import Callable
from pathlib import Path

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np

import jtruth as jt
from jtruth import plots
from jtruth.planning import Labeler, Setting, best_plan

FOLDER = Path(__file__).parent
EXAMPLES = FOLDER.parent / "examples"
RNG = np.random.default_rng(0)


def judges() -> tuple:
    """Labels of the shipped judges, and gold by item."""
    import pandas as pd

    path = EXAMPLES / "judges.csv"
    return jt.read_labels(path), pd.read_csv(path).set_index("item")["gold"].dropna()


def graded() -> jt.Evaluation:
    """Judge c by the two others and 30 gold answers."""
    labels, gold = judges()
    split = labels.split_rater("judge_c")
    return jt.evaluate(split.y_pred, split.labels, gold=gold, key=0)


def truth_of_c() -> dict[str, float]:
    """The true metrics of judge c, which the script that made the file knows."""
    rows, passes = runpy.run_path(str(EXAMPLES / "make_examples.py"))["judges"]()
    y, said = np.array(passes, bool), np.array([row[3] == "pass" for row in rows])
    right, recall, precision = (y == said).mean(), said[y].mean(), y[said].mean()
    called, share = said.mean(), y.mean()
    agree = called * share + (1 - called) * (1 - share)  # at random
    return {
        "accuracy": right,
        "precision": precision,
        "recall": recall,
        "f1": 2 * recall * precision / (recall + precision),
        "false_alarm_rate": said[~y].mean(),
        "specificity": 1 - said[~y].mean(),
        "kappa": (right - agree) / (1 - agree),
    }


def known(scores: bool = False) -> tuple:
    """A simulated classifier of 600 samples, and labels with known error rates."""
    y = RNG.integers(0, 2, 600)
    z = np.where(RNG.random((600, 3)) < 0.85, y[:, None], 1 - y[:, None])
    score = 1 / (1 + np.exp(-(2.4 * y - 1.2 + RNG.normal(size=600))))
    return (score if scores else (score > 0.5).astype(int)), jt.Labels.from_matrix(z, 2), y


def compared() -> object:
    """Three classifiers that grow better."""
    _, labels, y = known()
    said = {
        f"model {n}": np.where(RNG.random(600) < a, y, 1 - y)
        for n, a in zip("abc", (0.8, 0.85, 0.9), strict=True)
    }
    return jt.compare_classifiers(said, labels, noise=jt.noise.Symmetric(0.15, 2), prior=[0.5, 0.5], key=0)


def progress() -> object:
    """The pass rate with 10, 20 and 30 gold answers."""
    labels, gold = judges()
    found = [jt.prevalence(labels, gold=gold.iloc[:k], key=0) for k in (10, 20, 30)]
    return plots.plot_gold_progress(found, "pass", ideal=0.69).figure


def planned() -> object:
    """Cheap judges, or a person."""
    labelers = Labeler("judge", 0.15, 0.01, people=3), Labeler("person", 0.03)
    return best_plan(Setting((0.3, 0.7), 0.9, labelers, rates="known"), width=0.06, num_sets=20, key=0).plot()


def scored() -> object:
    """ROC and precision-recall curves with bands."""
    score, labels, y = known(scores=True)
    found = jt.evaluate_scores(score, labels, noise=jt.noise.Symmetric(0.15, 2), prior=[0.5, 0.5], key=0)
    return plots.plot_curves(found, y=y, scores=score)


def joint() -> object:
    """The ROC plane: the joint posterior of both rates."""
    y_pred, labels, y = known()
    found = jt.evaluate(y_pred, labels, noise=jt.noise.Symmetric(0.15, 2), prior=[0.5, 0.5])
    truth = y_pred[y == 1].mean(), y_pred[y == 0].mean()
    return plots.plot_joint(found.joint(), ideal=truth).figure


def doubtful() -> object:
    """Which of the judges' answers are wrong, if their errors are independent."""
    labels, _ = judges()
    fit = jt.consensus(labels, "dawid_skene", key=0)
    return jt.cleaning.suspicious_labels(labels, fit.class_posterior, key=0).plot()


GALLERY: dict[str, Callable[[], object]] = {
    "metrics": lambda: plots.plot_metrics(graded(), ideal=truth_of_c()).figure,
    "evaluation": lambda: graded().plot(full=True),
    "assumptions": lambda: plots.plot_joints(graded()).figure,
    "labelers": lambda: jt.evaluate_labelers(judges()[0], key=0).plot(),
    "prevalence": lambda: jt.prevalence(judges()[0], gold=judges()[1], key=0).plot(),
    "gold_progress": progress,
    "classifiers": lambda: compared().plot(),
    "plan": planned,
    "curves": scored,
    "joint": joint,
    "consensus": lambda: jt.consensus(judges()[0], "dawid_skene", key=0).plot(),
    "issues": doubtful,
    "agreement": lambda: jt.labeler_agreement(judges()[0], key=0).plot(),
}


def gallery(names: list[str]) -> None:
    """Write docs/pictures/NAME.png."""
    (FOLDER / "pictures").mkdir(exist_ok=True)
    for name in names or list(GALLERY):
        with plt.style.context("default"):
            figure = GALLERY[name]()
            figure.savefig(
                FOLDER / "pictures" / f"{name}.png", dpi=100, bbox_inches="tight", metadata={"Software": ""}
            )
            plt.close(figure)


if __name__ == "__main__":
    mpl.use("agg")
    gallery(sys.argv[1:])
