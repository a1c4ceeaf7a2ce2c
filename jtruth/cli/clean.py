"""`jtruth clean`: which label an expert should check next; answers come back as a gold file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth.cli.options import Beside, Columns, Draws, GoldCommonOnly, LabelsFile, Noise, Prior
from jtruth.cli.output import Reported, check_writable


@dataclass(frozen=True)
class Queue:
    """What is cleaned, how, and how far it went."""

    features: Annotated[
        Path | None,
        typer.Option(
            "--features", help="Table with a column task and numbers: which label helps a model most."
        ),
    ] = None
    predictions: Annotated[
        Path | None,
        typer.Option("--predictions", help="Table task and a probability column for each class, of a "
                     "model that did not see these labels; beside --features: which answers to expect."),
    ] = None  # fmt: skip
    budget: Annotated[int, typer.Option("--budget", help="How many labels to ask about.")] = 50
    strategy: Annotated[str, typer.Option("--strategy", help="risk (default), masked_tars, ...")] = "risk"
    costs: Annotated[Path | None, typer.Option("--costs", help="Table with columns task, cost.")] = None
    state: Annotated[Path | None, typer.Option("--state", help="File that remembers what was asked.")] = None
    gold: Annotated[
        Path | None,
        typer.Option(
            "--gold",
            help="Table task, label: the expert's answers; without --features true classes of tasks chosen "
            "at random (or a column inclusion or stratum), which say how many labels are wrong.",
        ),
    ] = None
    common_only: GoldCommonOnly = False
    noise: Noise = None
    prior: Prior = None

    def __post_init__(self) -> None:
        check_writable("--state", self.state)
        if self.gold is not None and self.features is not None and self.state is None:
            raise ValueError("--gold continues a queue: give the --state file it was asked with")


def clean(
    source: LabelsFile, queue: Queue, draws: Draws, columns: Columns, beside: Beside, output: Reported
) -> None:
    """Which labels should an expert check? With features those that help a model, else label issues."""
    from jtruth._validation.text import read_bytes
    from jtruth.cleaning.page import clean_page
    from jtruth.cleaning.request import Wanted, clean_request
    from jtruth.cli import reading
    from jtruth.io import read_features, read_scores

    reading.one_stdin(source.file, queue.features, queue.predictions, queue.costs, queue.gold, queue.noise)
    given = reading.Given(read_bytes(source.file), columns, beside)
    labels = reading.labels_of(given.file, columns, (queue.gold,))
    noise, prior = reading.noise_of(queue.noise, labels)
    how: dict[str, Any] = {"task": columns.task, "sep": columns.sep}
    features, costs = (
        None if file is None else read_features(file, labels, **how) for file in (queue.features, queue.costs)
    )
    probabilities: Any = None
    if queue.predictions is not None:
        probabilities = read_scores(queue.predictions, labels, common_only=None, **how).probabilities
        if probabilities is None:
            raise ValueError(f"{queue.predictions} has no column of probabilities for each class")
    prior = prior if queue.prior is None else reading.numbers(queue.prior)
    # Answers to a queue are no random sample, so how they were chosen has a say only without one.
    known = reading.gold_of if queue.features is not None else reading.gold_sample_of
    text, answer = clean_request(
        labels, noise, prior, features=features,
        probabilities=probabilities, gold=known(queue.gold, labels, given, queue.common_only), costs=costs,
        wanted=Wanted(queue.budget, queue.strategy, queue.state, draws.seed, draws.level),
    )  # fmt: skip
    text = "\n".join([text, *(f"! {note}" for note in labels.notes if note not in text)])
    output.give_page(text, answer, lambda: clean_page(answer), draws.seed)
