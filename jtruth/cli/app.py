"""The commands, in the order in which a newcomer needs them."""

from typing import Annotated

import typer

from jtruth._version import __version__
from jtruth.cli.ask import ask
from jtruth.cli.calibrate import calibrate
from jtruth.cli.clean import clean
from jtruth.cli.compare import compare
from jtruth.cli.consensus import consensus
from jtruth.cli.correct import correct
from jtruth.cli.evaluate import evaluate
from jtruth.cli.help import Ordered, Sectioned
from jtruth.cli.inspect import inspect
from jtruth.cli.labelers import labelers
from jtruth.cli.models import models
from jtruth.cli.options import flat
from jtruth.cli.plan import plan
from jtruth.cli.prevalence import prevalence
from jtruth.cli.sensitivity import sensitivity
from jtruth.cli.simulate import simulate

app = typer.Typer(
    cls=Ordered,
    add_completion=True,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="How good are your classifier, your labelers and your labels, when nobody knows the true labels?",
)
EXAMPLES = {  # in the order of `jtruth --help`
    inspect: "LABELS.csv",
    evaluate: "LABELS.csv --predictions PRED.csv --report answer.html",
    compare: "LABELS.csv A.csv B.csv --metric recall",
    labelers: "LABELS.csv --consensus consensus.csv",
    consensus: "LABELS.csv --method dawid_skene --out consensus.csv",
    prevalence: "LABELS.csv --gold GOLD.csv --positive pass",
    sensitivity: "LABELS.csv --predictions PRED.csv --threshold 0.8",
    ask: "LABELS.csv --predictions PRED.csv --metric precision",
    clean: "LABELS.csv --features X.csv --noise psi.json --state queue.json",
    plan: "--width 0.05 --labeler crowd:0.2:0.05:5 --prior .7,.3",
    calibrate: "LABELS.csv --predictions PROBS.csv --out calibrated.csv",
    models: "LABELS.csv",
    correct: "--called 680/1000 --sensitivity 45/50 --specificity 40/50",
    simulate: "FOLDER --samples 500 --labelers 5",
}
for command, example in EXAMPLES.items():
    example = f"Example: jtruth {command.__name__} {example}"
    app.command(epilog=example, cls=Sectioned)(flat(command))


def _version(wanted: bool) -> bool:
    """Say the version where it is wanted; Typer takes what this returns for the option."""
    if wanted:
        typer.echo(f"jtruth {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Say the version, and stop.")
    ] = False,
) -> None:
    """How good are your classifier, your labelers and your labels, when nobody knows the true labels?"""
