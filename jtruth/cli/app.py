"""The commands, in the order in which a newcomer needs them."""

import typer

from jtruth.cli.calibrate import calibrate
from jtruth.cli.compare import compare
from jtruth.cli.evaluate import evaluate
from jtruth.cli.inspect import inspect
from jtruth.cli.labelers import labelers
from jtruth.cli.options import flat
from jtruth.cli.plan import plan

app = typer.Typer(
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="How good are your classifier, your labelers and your labels, when nobody knows the true labels?",
)
for command in (inspect, evaluate, compare, labelers, calibrate, plan):
    app.command()(flat(command))
