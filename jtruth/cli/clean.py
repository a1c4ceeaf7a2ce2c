"""`jtruth clean`: which label an expert should check next; answers come back as a gold file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jtruth.cli.options import (
    Beside,
    Columns,
    Draws,
    GoldCommonOnly,
    LabelsFile,
    Noise,
    Prior,
    option,
    written,
)
from jtruth.cli.output import Output


@dataclass(frozen=True)
class Queue:
    """What is cleaned, how, and how far it went."""

    features: Path | None = option(
        "--features", "Table with a column task and numbers: which label helps a model most."
    )
    predictions: Path | None = option(
        "--predictions",
        "Table task and a probability column for each class, of a "
        "model that did not see these labels; beside --features: which answers to expect.",
    )
    budget: int = option("--budget", "How many labels to ask about.", 50)
    strategy: str | None = option("--strategy", "risk, masked_tars, ...; of one label a task: wrong_label.")
    costs: Path | None = option("--costs", "Table with columns task, cost.")
    state: Path | None = written("--state", "File that remembers what was asked.")
    gold: Path | None = option(
        "--gold",
        "Table task, label: the expert's answers; without --features true classes of tasks chosen "
        "at random (or a column inclusion or stratum), which say how many labels are wrong.",
    )
    common_only: GoldCommonOnly = False
    noise: Noise = None
    prior: Prior = None

    def __post_init__(self) -> None:
        if self.gold is not None and self.features is not None and self.state is None:
            raise ValueError("--gold continues a queue: give the --state file it was asked with")


def clean(
    source: LabelsFile, queue: Queue, draws: Draws, columns: Columns, beside: Beside, output: Output
) -> None:
    """Which labels should an expert check? With features those that help a model, else label issues."""
    from jtruth.answers import Note, Notes
    from jtruth.cleaning.request import Wanted, clean_request
    from jtruth.cli import reading
    from jtruth.io import read_features, read_scores

    files = queue.gold, queue.features, queue.predictions, queue.costs, queue.noise
    given, labels = reading.begin(source.file, columns, beside, *files)
    noise, prior = reading.noise_of(queue.noise, labels)
    features, costs = (
        None if one is None else read_features(reading.table_of(one, columns), labels, task=columns.task)
        for one in (queue.features, queue.costs)
    )
    probabilities: Any = None
    if queue.predictions is not None:
        table = reading.table_of(queue.predictions, columns)
        probabilities = read_scores(table, labels, task=columns.task, common_only=None).probabilities
        if probabilities is None:
            raise ValueError(f"{queue.predictions} has no column of probabilities for each class")
    prior = prior if queue.prior is None else reading.numbers(queue.prior)
    # Answers to a queue are no random sample, so how they were chosen has a say only without one.
    known = reading.gold_of if queue.features is not None else reading.gold_sample_of
    shown = clean_request(
        labels, noise, prior, features=features,
        probabilities=probabilities, gold=known(queue.gold, labels, given, queue.common_only), costs=costs,
        wanted=Wanted(queue.budget, queue.strategy, queue.state, draws.seed, draws.level),
    )  # fmt: skip
    notes = [Note("read", text) for text in labels.notes]
    output.give(shown.more(Notes("notes", "How it was read", notes)), draws.seed)
