"""The commands, in the order in which a newcomer needs them."""

from typing import Annotated

import typer

from jtruth._version import __version__
from jtruth.cli.ask import ask
from jtruth.cli.calibrate import calibrate
from jtruth.cli.compare import compare
from jtruth.cli.correct import correct
from jtruth.cli.evaluate import evaluate
from jtruth.cli.inspect import inspect
from jtruth.cli.labelers import labelers
from jtruth.cli.models import models
from jtruth.cli.options import flat
from jtruth.cli.plan import plan
from jtruth.cli.prevalence import prevalence
from jtruth.cli.sensitivity import sensitivity
from jtruth.cli.simulate import simulate

app = typer.Typer(
    add_completion=True,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="How good are your classifier, your labelers and your labels, when nobody knows the true labels?",
)
for command in (
    inspect, evaluate, compare, labelers, prevalence, sensitivity, ask, plan, calibrate, models, correct,
    simulate,
):  # fmt: skip
    app.command()(flat(command))


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
