"""The commands, in the order in which a newcomer needs them.

The `--help` of commands: options in groups, commands in the order of their use, plain text for every pipe.

No colours and no boxes: the same words reach a terminal, a file and a screen reader. How tables are read is
the same in every command and seldom needed: `--help-reading` says it.
"""

from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from jtruth._version import __version__
from jtruth.cli.classifier import Compare, Evaluate, Sensitivity
from jtruth.cli.later import Ask, Clean, Plan
from jtruth.cli.options import READING, flat
from jtruth.cli.people import Agreement, Consensus, Inspect, Labelers, Models, Simulate
from jtruth.cli.shares import Calibrate, Correct, Prevalence

SECTIONS = {  # of `jtruth --help`
    "First": ("inspect", "agreement", "simulate"),
    "How good?": ("evaluate", "compare", "labelers", "consensus", "prevalence", "calibrate", "correct"),
    "What does it depend on?": ("sensitivity", "models"),
    "What next?": ("ask", "plan", "clean"),
}


class Sectioned(TyperCommand):
    """A command whose options stand in the groups of `jtruth.cli.options`."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then each group of options under its name, but for those of reading."""
        sections = self._sections(ctx)
        sections.pop(READING, None)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)

    def say_reading(self, ctx: Any) -> None:
        """Print the group that `format_options` leaves out."""
        formatter = ctx.make_formatter()
        with formatter.section(READING):
            formatter.write_dl(self._sections(ctx)[READING])
        typer.echo(formatter.getvalue().rstrip())

    def _sections(self, ctx: Any) -> dict[str, list[tuple[str, str]]]:
        """What is said of each option, by group."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is not None:
                sections.setdefault(_panel(param), []).append(record)
        return sections


def _panel(param: Any) -> str:
    """The group under which an option or argument stands."""
    if param.param_type_name == "argument":
        return "Arguments"
    return getattr(param, "rich_help_panel", None) or "Other"


class Ordered(TyperGroup):
    """The program: its commands by what they answer."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Every command under the question it belongs to."""
        for title, names in SECTIONS.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, one.get_short_help_str(90)) for name, one in found if one is not None]
            with formatter.section(title):
                formatter.write_dl(rows)


app = typer.Typer(
    cls=Ordered,
    add_completion=True,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="How good are your classifier, your labelers and your labels, when nobody knows the true labels?",
)
EXAMPLES = {  # in the order of `jtruth --help`
    Inspect: "LABELS.csv",
    Agreement: "LABELS.csv --weights quadratic --full",
    Evaluate: "LABELS.csv --predictions PRED.csv --report a.html",
    Compare: "LABELS.csv A.csv B.csv --metric recall",
    Labelers: "LABELS.csv --consensus consensus.csv",
    Consensus: "LABELS.csv --method dawid_skene --out consensus.csv",
    Prevalence: "LABELS.csv --gold GOLD.csv --positive pass",
    Sensitivity: "LABELS.csv --predictions PRED.csv --threshold 0.8",
    Ask: "LABELS.csv --predictions PRED.csv --metric precision",
    Clean: "LABELS.csv --features X.csv --noise psi.json --state queue.state",
    Plan: "--width 0.05 --labeler crowd:0.2:0.05:5 --prior .7,.3",
    Calibrate: "LABELS.csv --predictions PROBS.csv --out calibrated.csv",
    Models: "LABELS.csv",
    Correct: "--called 680/1000 --sensitivity 45/50 --specificity 40/50",
    Simulate: "FOLDER --samples 500 --labelers 5",
}
for command, example in EXAMPLES.items():
    run = flat(command)
    app.command(epilog=f"Example: jtruth {run.__name__} {example}", cls=Sectioned)(run)


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
