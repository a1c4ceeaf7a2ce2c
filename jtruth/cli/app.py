"""The commands, in the order in which a newcomer needs them.

The `--help` of commands: options in groups, commands in the order of their use, plain text for every pipe.

No colours and no boxes: the same words reach a terminal, a file and a screen reader. How tables are read is
the same in every command and seldom needed: `--help-reading` says it.
"""

import re
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from jtruth._version import __version__
from jtruth.cli.classifier import compare, evaluate, sensitivity
from jtruth.cli.later import ask, clean, plan
from jtruth.cli.options import COMMANDS, QUESTION, READING, WRITTEN, flat
from jtruth.cli.people import agreement, consensus, inspect, labelers, models, simulate
from jtruth.cli.shares import calibrate, correct, preferences, prevalence

SECTIONS = {  # of `jtruth --help`
    "Look at labels": (inspect, agreement, simulate),
    "Estimate quality": (evaluate, compare, labelers, consensus, prevalence, preferences, calibrate, correct),
    "Check assumptions": (sensitivity, models),
    "Collect and correct labels": (ask, plan, clean),
}


class Sectioned(TyperCommand):
    """A command whose options stand in the groups of `jtruth.cli.options`."""

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        """What is typed, without braces, which would mean a choice."""
        pieces = super().collect_usage_pieces(ctx)
        return [re.sub(r"[{}]", "", piece).replace("[[", "[").replace("]]", "]") for piece in pieces]

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
                name = re.sub(" <.*>$", "", record[0])  # the type of what is typed without a name
                sections.setdefault(_panel(param), []).append((name, record[1].replace("  [required]", "")))
        return sections


def _panel(param: Any) -> str:
    """The group under which an option stands; what is typed without a name comes first."""
    if param.param_type_name == "argument":
        return QUESTION
    return getattr(param, "rich_help_panel", None) or WRITTEN


class Ordered(TyperGroup):
    """The program: its commands by what they answer."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Every command under the question it belongs to."""
        for title, functions in SECTIONS.items():
            commands = [(one.__name__, self.get_command(ctx, one.__name__)) for one in functions]
            rows = [(name, one.get_short_help_str(200)) for name, one in commands if one is not None]
            with formatter.section(title):
                formatter.write_dl(rows)


app = typer.Typer(
    cls=Ordered,
    add_completion=True,
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    help="How good are your classifier, your labelers and your labels when the true labels are unknown?",
    epilog="Start with `jtruth inspect LABELS.csv`. `jtruth COMMAND --help` has options and an example.",
)
for function in (one for functions in SECTIONS.values() for one in functions):
    example = f"Example: jtruth {function.__name__} {COMMANDS[function][1]}"
    app.command(epilog=example, cls=Sectioned)(flat(function))


def _version(wanted: bool) -> bool:
    """Say the version where it is wanted; Typer takes what this returns for the option."""
    if wanted:
        typer.echo(f"jtruth {__version__}")
        raise typer.Exit
    return wanted


@app.callback()
def main(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version and exit.")
    ] = False,
) -> None:
    """How good are your classifier, your labelers and your labels when the true labels are unknown?"""
