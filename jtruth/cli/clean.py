"""`jtruth clean`: which label an expert should check next; answers come back as a gold file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jtruth.cli.options import (
    Beside,
    Draws,
    GoldCommonOnly,
    LabelsFile,
    Noise,
    Prior,
    next_step,
    option,
    written,
)
from jtruth.cli.output import Output


@dataclass(frozen=True, kw_only=True)
class Clean(LabelsFile, Draws, Beside, Output):
    """Which labels should an expert check? With features those that help a model, else label issues."""

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

    def check(self) -> None:
        """Answers belong to a queue."""
        if self.gold is not None and self.features is not None and self.state is None:
            raise ValueError("--gold continues a queue: give the --state file it was asked with")

    def run(self) -> None:
        """Make the queue, or go on with it."""
        from jtruth.answers import Note, Notes
        from jtruth.cleaning.request import Wanted, clean_request
        from jtruth.cli import reading
        from jtruth.io import read_features, read_scores

        files = self.gold, self.features, self.predictions, self.costs, self.noise
        given, labels = reading.begin(self, *files)
        noise, prior = reading.noise_of(self.noise, labels)
        features, costs = (
            None if one is None else read_features(reading.table_of(one, self), labels, task=self.task)
            for one in (self.features, self.costs)
        )
        probabilities: Any = None
        if self.predictions is not None:
            table = reading.table_of(self.predictions, self)
            probabilities = read_scores(table, labels, task=self.task, common_only=None).probabilities
            if probabilities is None:
                raise ValueError(f"{self.predictions} has no column of probabilities for each class")
        prior = prior if self.prior is None else reading.numbers(self.prior)
        # Answers to a queue are no random sample, so how they were chosen has a say only without one.
        known = reading.gold_of if self.features is not None else reading.gold_sample_of
        shown = clean_request(
            labels, noise, prior, features=features, probabilities=probabilities,
            gold=known(self.gold, labels, given, self.common_only), costs=costs,
            wanted=Wanted(self.budget, self.strategy, self.state, self.seed, self.level),
        )  # fmt: skip
        notes = [Note("read", text) for text in labels.notes]
        if self.features is None:
            more, why = "--gold GOLD.csv", f"columns {self.task}, {self.label}: how many are wrong"
            step = "" if self.gold is not None else next_step(self, more, why)
        else:
            why = "remember what was asked; answers come as --gold"
            step = "" if self.state is not None else next_step(self, "--state cleaning.state", why)
        self.give(shown.more(Notes("notes", "How it was read", notes)), step)
