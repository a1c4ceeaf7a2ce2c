"""`jtruth plan`: what labels to buy for an interval of a given width."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

import typer

from jtruth.cli.options import Columns, Draws, MetricName, Positive, Prior
from jtruth.cli.output import Reported, progress


@dataclass(frozen=True)
class Wish:
    """What is wanted: a width or a budget, of which metric, of which classifier."""

    file: Annotated[
        Path | None, typer.Argument(metavar="[LABELS.csv]", help="Labels to learn the labelers from.")
    ] = None
    width: Annotated[float | None, typer.Option("--width", help="How wide the interval may be.")] = None
    budget: Annotated[float | None, typer.Option("--budget", help="Or: what may be spent.")] = None
    metric: MetricName = "accuracy"
    prior: Prior = None
    classifier: Annotated[
        str, typer.Option("--classifier", help="Guessed accuracy, .9; or detection and false alarms, .85,.1")
    ] = "0.9"
    rates: Annotated[
        str, typer.Option("--rates", help="learned (from the same labels, default) or known error rates.")
    ] = "learned"
    target: Annotated[str, typer.Option("--target", help="population, or in-sample (--samples).")] = (
        "population"
    )
    positive: Positive = None


@dataclass(frozen=True)
class Market:
    """Who labels, at what price, and how many samples there are."""

    labeler: Annotated[
        list[str] | None,
        typer.Option("--labeler", help="name:error:cost[:people]; again for every kind. File: name::cost."),
    ] = None
    cost_label: Annotated[float, typer.Option("--cost-label", help="Of a label by the file's people.")] = 1.0
    cost_sample: Annotated[float, typer.Option("--cost-sample", help="Of a sample without labels.")] = 0.0
    cost_gold: Annotated[float, typer.Option("--cost-gold", help="Of a gold answer; no gold if unset.")] = (
        float("inf")
    )
    samples: Annotated[int | None, typer.Option("--samples", help="Fix the number of samples.")] = None
    max_samples: Annotated[int, typer.Option("--max-samples", help="How many there are.")] = 100_000
    sets: Annotated[int | None, typer.Option("--sets", help="Data sets that a plan is simulated in.")] = None


def plan(wish: Wish, market: Market, draws: Draws, columns: Columns, output: Reported) -> None:
    """The cheapest number of samples, labels and gold answers for an interval of a given width."""
    from jtruth.cli.reading import class_code, labels_of, numbers
    from jtruth.planning import Costs, Limits, People, Question, plan_request
    from jtruth.planning.text import search_dict

    labels = None if wish.file is None else labels_of(wish.file, columns)
    with progress("sets") as advance:
        found = plan_request(
            People(
                market.labeler or (), labels, numbers(wish.prior), wish.classifier, market.cost_label
            ),
            key=draws.seed, width=wish.width, budget=wish.budget,
            question=Question(
                wish.metric, class_code(wish.positive, labels), wish.rates, wish.target, draws.level
            ),
            costs=Costs(market.cost_sample, market.cost_gold),
            limits=Limits(market.samples, market.max_samples, market.sets, advance),
        )  # fmt: skip
    output.give_page(str(found), search_dict(found), found.page, draws.seed)
