"""The `--help` of commands: options in groups, commands in the order of their use, plain text for every pipe.

No colours and no boxes: the same words reach a terminal, a file and a screen reader.
"""

from typing import Any

from typer.core import TyperCommand, TyperGroup

SECTIONS = {  # of `jtruth --help`
    "First": ("inspect", "simulate"),
    "How good?": ("evaluate", "compare", "labelers", "consensus", "prevalence", "calibrate", "correct"),
    "What does it depend on?": ("sensitivity", "models"),
    "What next?": ("ask", "plan", "clean"),
}


class Sectioned(TyperCommand):
    """A command whose options stand in the groups of `jtruth.cli.options`."""

    def format_options(self, ctx: Any, formatter: Any) -> None:
        """Arguments, then each group of options under its name."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx)
            if record is None:
                continue
            argument = param.param_type_name == "argument"
            named = "Arguments" if argument else getattr(param, "rich_help_panel", None) or "Other"
            sections.setdefault(named, []).append(record)
        for name, records in sections.items():
            with formatter.section(name):
                formatter.write_dl(records)


class Ordered(TyperGroup):
    """The program: its commands by what they answer."""

    def format_commands(self, ctx: Any, formatter: Any) -> None:
        """Every command under the question it belongs to."""
        for title, names in SECTIONS.items():
            found = [(name, self.get_command(ctx, name)) for name in names]
            rows = [(name, one.get_short_help_str(90)) for name, one in found if one is not None]
            with formatter.section(title):
                formatter.write_dl(rows)
