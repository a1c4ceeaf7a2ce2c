"""`jtruth plan`: what labels to buy for an interval of a given width."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jtruth.cli.options import Columns, Draws, MetricName, Positive, Prior, next_step, option
from jtruth.cli.output import Output, progress


@dataclass(frozen=True, kw_only=True)
class Plan(Columns, Draws, Output):
    """The cheapest number of samples, labels and gold answers for an interval of a given width."""

    file: Annotated[
        Path | None, typer.Argument(metavar="[LABELS.csv]", help="Labels to learn the labelers from.")
    ] = None
    width: float | None = option("--width", "How wide the interval may be.")
    budget: float | None = option("--budget", "Or: what may be spent.")
    metric: MetricName = "accuracy"
    prior: Prior = None
    classifier: str = option(
        "--classifier", "Guessed accuracy, .9; or detection and false alarms, .85,.1", "0.9"
    )
    rates: str = option("--rates", "learned (from the same labels, default) or known error rates.", "learned")
    target: str = option("--target", "population, or in-sample (--samples).", "population")
    positive: Positive = None
    labeler: list[str] | None = option(
        "--labeler", "name:error:cost[:people]; again for every kind. File: name::cost."
    )
    cost_label: float = option("--cost-label", "Of a label by the file's people.", 1.0)
    cost_sample: float = option("--cost-sample", "Of a sample without labels.", 0.0)
    cost_gold: float = option("--cost-gold", "Of a gold answer; no gold if unset.", float("inf"))
    samples: int | None = option("--samples", "Fix the number of samples.")
    max_samples: int = option("--max-samples", "How many there are.", 100_000)
    sets: int | None = option("--sets", "Data sets that a plan is simulated in.")

    def run(self) -> None:
        """Search for it."""
        from jtruth.cli.reading import class_code, labels_of, numbers
        from jtruth.planning import Costs, Limits, People, Question, plan_request

        labels = None if self.file is None else labels_of(self.file, self)
        with progress("sets") as advance:
            found = plan_request(
                People(self.labeler or (), labels, numbers(self.prior), self.classifier, self.cost_label),
                key=self.seed, width=self.width, budget=self.budget,
                question=Question(
                    self.metric, class_code(self.positive, labels), self.rates, self.target, self.level
                ),
                costs=Costs(self.cost_sample, self.cost_gold),
                limits=Limits(self.samples, self.max_samples, self.sets, advance),
            )  # fmt: skip
        step = next_step(self, "--cost-gold 1", "what answers of an expert at that price would save")
        self.give(found, step if self.cost_gold == float("inf") else "")
