"""`jtruth simulate`: labels, predictions and truth to try the other commands on."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth.cli.options import Draws, Prior, option
from jtruth.cli.output import Output


@dataclass(frozen=True, kw_only=True)
class Simulate(Draws, Output):
    """Write labels.csv, predictions.csv and truth.csv, whose errors are independent given the class."""

    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the three tables are written.")]
    samples: int = option("--samples", "How many samples.", 500)
    labelers: int = option("--labelers", "How many labelers.", 5)
    error: float = option("--error", "Share of wrong labels of every labeler.", 0.2)
    looks: float = option("--looks", "Share of samples that a labeler looks at.", 1.0)
    classes: str = option("--classes", "Names of the classes.", "no,yes")
    prior: Prior = None
    accuracy: float = option("--accuracy", "Of the classifier, in every class.", 0.9)

    def run(self) -> None:
        """Draw and write them."""
        from jtruth._files import write_table
        from jtruth.answers import Shown, facts
        from jtruth.io import write_labels

        data, names, prior = self._drawn()
        labels = data.to_labels().with_names(
            tasks=[f"t{i}" for i in range(self.samples)],
            workers=[f"w{t}" for t in range(self.labelers)],
            classes=names,
        )
        self.folder.mkdir(parents=True, exist_ok=True)
        write_labels(self.folder / "labels.csv", labels)
        for name, codes in (("predictions", data.y_pred), ("truth", data.y)):
            rows = [[f"t{i}", names[c]] for i, c in enumerate(codes.tolist())]
            write_table(self.folder / f"{name}.csv", ["task", "label"], rows)
        right = float((data.y == data.y_pred).mean())
        named = {name: shlex.quote(str(self.folder / f"{name}.csv")) for name in ("labels", "predictions")}
        sentence = (
            f"{labels.num_samples} samples, {labels.num_labels} labels by {self.labelers} labelers; the "
            f"classifier is right on {right:.3f}. Written to {self.folder}: labels.csv, "
            "predictions.csv, truth.csv"
        )
        size = {"num_samples": labels.num_samples, "num_labels": labels.num_labels}
        step = f"jtruth evaluate {named['labels']} --predictions {named['predictions']}"
        values = facts(**size, accuracy=right, prior=prior)
        self.give(Shown("What was simulated?", "", sentence, (values,)), step)

    def _drawn(self) -> tuple[Any, list[str], Any]:
        """The data, names of the classes, and their prior."""
        import numpy as np

        from jtruth._validation.in_range import check_probabilities
        from jtruth.cli.reading import numbers
        from jtruth.noise import Symmetric
        from jtruth.simulation import simulate

        names = [name.strip() for name in self.classes.split(",")]
        size = len(names)
        if min(self.samples, self.labelers) < 1:
            raise ValueError(f"--samples {self.samples}, --labelers {self.labelers}: give 1 or more of both")
        check_probabilities(np.array([self.error, self.accuracy, self.looks]), "error, accuracy, looks")
        given = numbers(self.prior)
        prior = np.full(size, 1 / size) if given is None else np.array(given)
        off = (1 - self.accuracy) / max(size - 1, 1)
        confusion = np.where(np.eye(size, dtype=bool), self.accuracy, off)
        data = simulate(self.seed, self.samples, prior, confusion, Symmetric(self.error, size),
                        np.full(self.labelers, self.looks))  # fmt: skip
        return data._replace(y=np.asarray(data.y), y_pred=np.asarray(data.y_pred)), names, prior
