"""`jtruth simulate`: labels, predictions and truth to try the other commands on."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jtruth.cli.options import Draws, Prior, option
from jtruth.cli.output import Output


@dataclass(frozen=True)
class World:
    """What is simulated."""

    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="Where the three tables are written.")]
    samples: int = option("--samples", "How many samples.", 500)
    labelers: int = option("--labelers", "How many labelers.", 5)
    error: float = option("--error", "Share of wrong labels of every labeler.", 0.2)
    looks: float = option("--looks", "Share of samples that a labeler looks at.", 1.0)
    classes: str = option("--classes", "Names of the classes.", "no,yes")
    prior: Prior = None
    accuracy: float = option("--accuracy", "Of the classifier, in every class.", 0.9)


def simulate(world: World, draws: Draws, output: Output) -> None:
    """Write labels.csv, predictions.csv and truth.csv, whose errors are independent given the class."""
    import numpy as np

    from jtruth._files import write_table
    from jtruth._validation.in_range import check_probabilities
    from jtruth.answers import Shown, facts
    from jtruth.cli.reading import numbers
    from jtruth.io import write_labels
    from jtruth.noise import Symmetric
    from jtruth.simulation import simulate as draw

    names = [name.strip() for name in world.classes.split(",")]
    size = len(names)
    if min(world.samples, world.labelers) < 1:
        raise ValueError(f"--samples {world.samples}, --labelers {world.labelers}: give 1 or more of both")
    check_probabilities(np.array([world.error, world.accuracy, world.looks]), "error, accuracy, looks")
    given = numbers(world.prior)
    prior = np.full(size, 1 / size) if given is None else np.array(given)
    off = (1 - world.accuracy) / max(size - 1, 1)
    confusion = np.where(np.eye(size, dtype=bool), world.accuracy, off)
    data = draw(draws.seed, world.samples, prior, confusion, Symmetric(world.error, size),
                np.full(world.labelers, world.looks))  # fmt: skip
    labels = data.to_labels().with_names(
        tasks=[f"t{i}" for i in range(world.samples)],
        workers=[f"w{t}" for t in range(world.labelers)],
        classes=names,
    )
    world.folder.mkdir(parents=True, exist_ok=True)
    write_labels(world.folder / "labels.csv", labels)
    for name, codes in (("predictions", data.y_pred), ("truth", data.y)):
        rows = [[f"t{i}", names[c]] for i, c in enumerate(np.asarray(codes))]
        write_table(world.folder / f"{name}.csv", ["task", "label"], rows)
    right = float((np.asarray(data.y) == np.asarray(data.y_pred)).mean())
    named = {name: shlex.quote(str(world.folder / f"{name}.csv")) for name in ("labels", "predictions")}
    sentence = (
        f"{labels.num_samples} samples, {labels.num_labels} labels by {world.labelers} labelers; the "
        f"classifier is right on {right:.3f}. Written to {world.folder}: labels.csv, "
        "predictions.csv, truth.csv"
    )
    values = facts(num_samples=labels.num_samples, num_labels=labels.num_labels, accuracy=right, prior=prior)
    step = f"jtruth evaluate {named['labels']} --predictions {named['predictions']}"
    output.give(Shown("What was simulated?", "", sentence, (values,)), draws.seed, step)
