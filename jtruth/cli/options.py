"""Options that commands share, each written once, and how groups of options become a command.

A group is a dataclass whose fields are what a person types: name, type, help and default in one place. A
command is a function of groups; `flat` makes of it the function of single options that Typer reads.
"""

import inspect
import shlex
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, dataclass, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

# Options of several groups.
MetricName = Annotated[str, typer.Option("--metric", help="accuracy, precision, recall, f1, ...")]
Positive = Annotated[str | None, typer.Option("--positive", help="Name of the positive class.")]
CommonOnly = Annotated[
    bool, typer.Option("--common-only", help="Use only tasks with labels and a prediction.")
]
GoldCommonOnly = Annotated[
    bool, typer.Option("--common-only", help="Leave out gold of tasks that have no labels, and say so.")
]
Noise = Annotated[Path | None, typer.Option("--noise", help="JSON file with known error rates.")]
Prior = Annotated[str | None, typer.Option("--prior", help="Class prior, for example .8,.2")]
Assume = Annotated[
    str | None,
    typer.Option(
        "--assume", help="unknown (default), independent, shared_difficulty, ...; a wrong word lists all."
    ),
]
KnownGold = Annotated[
    Path | None, typer.Option("--gold", help="Labels known to be true: a table task, label; or column:NAME.")
]
Order = Annotated[
    str | None, typer.Option("--order", help="Column that says when a task was labelled: finds drift.")
]
Repeats = Annotated[
    str, typer.Option("--repeats", help="A worker labels a task again: error, keep, first, last.")
]
Missing = Annotated[str, typer.Option("--missing", help="Rows without a label: error or drop.")]


@dataclass(frozen=True)
class Columns:
    """How to read a table of labels."""

    task: Annotated[str, typer.Option("--task", help="Name of the column of task ids.")] = "task"
    worker: Annotated[str, typer.Option("--worker", help="Name of the column of worker ids.")] = "worker"
    label: Annotated[str, typer.Option("--label", help="Name of the column of labels.")] = "label"
    sep: Annotated[
        str | None, typer.Option("--sep", help="Separator of all tables; a comma (in .tsv a tab) if unset.")
    ] = None
    classes: Annotated[
        str | None, typer.Option("--classes", help="Class names in order, comma separated.")
    ] = None
    repeats: Repeats = "error"
    missing: Missing = "error"

    wide: Annotated[
        bool, typer.Option("--wide", help="One row per task, every other column is a labeler.")
    ] = False
    map: Annotated[
        str | None, typer.Option("--map", help="What labels mean: yes=pass,true=pass,no=fail,...")
    ] = None
    pass_at: Annotated[
        float | None, typer.Option("--pass-at", help="Numbers of at least this are pass, others fail.")
    ] = None

    def __post_init__(self) -> None:
        if self.sep is not None and len(self.sep) != 1:
            hint = "; for a tab type $'\\t'" if self.sep == "\\t" else ""
            raise ValueError(f"--sep {self.sep!r}: a separator is one character{hint}")


@dataclass(frozen=True)
class Beside:
    """Columns of tables of predictions and gold, where they have names of their own."""

    pred_task: Annotated[str | None, typer.Option("--pred-task", help="Column of tasks there.")] = None
    pred_label: Annotated[str | None, typer.Option("--pred-label", help="Column of predictions.")] = None
    gold_task: Annotated[str | None, typer.Option("--gold-task", help="Column of tasks in gold.")] = None
    gold_label: Annotated[str | None, typer.Option("--gold-label", help="Column of gold labels.")] = None


@dataclass(frozen=True)
class LabelsFile:
    """A table of labels that must be given."""

    file: Annotated[
        Path,
        typer.Argument(metavar="LABELS.csv", help="Columns task, worker, label; - reads a pipe."),
    ]


@dataclass(frozen=True)
class Draws:
    """Level of the intervals, and the seed of whatever is drawn at random."""

    level: Annotated[float, typer.Option("--level", help="Probability of the intervals.")] = 0.95
    seed: Annotated[int, typer.Option("--seed", help="Seed of whatever is drawn at random.")] = 0


_PANELS = {  # what `--help` calls a group of options; those of one command alone are its question
    "Columns": "How the table of labels is read",
    "LooseColumns": "How the table of labels is read",
    "Beside": "How tables beside it are read",
    "Draws": "Intervals and chance",
    "Output": "What is written",
    "Reported": "What is written",
    "Cache": "What is written",
}


def _under(panel: str, hint: Any) -> Any:
    """An annotation whose option says to which part of `--help` it belongs."""
    option = copy(hint.__metadata__[0])
    option.rich_help_panel = panel
    return Annotated[hint.__origin__, option]


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """A command of groups as a function with one parameter for each option, for Typer."""
    groups = {name: kind for name, kind in get_type_hints(command).items() if name != "return"}
    options = [(group, field) for group, kind in groups.items() for field in fields(kind)]
    hints = {group: get_type_hints(kind, include_extras=True) for group, kind in groups.items()}

    def run(**given: Any) -> None:
        parts: dict[str, dict[str, Any]] = {group: {} for group in groups}
        for group, field in options:
            parts[group][field.name] = given[field.name]
        command(**{group: groups[group](**values) for group, values in parts.items()})

    parameters = [
        inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is MISSING else field.default,
            annotation=_under(_PANELS.get(groups[group].__name__, "Question"), hints[group][field.name]),
        )
        for group, field in options
    ]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    return run


def typed(*groups: Any, without: tuple[str, ...] = ()) -> str:
    """The options of these groups that differ from their defaults, as they would be typed."""
    words = []
    for group in groups:
        hints = get_type_hints(type(group), include_extras=True)
        for field in fields(group):
            value = getattr(group, field.name)
            if value == field.default or field.default is MISSING or field.name in without:
                continue
            option = hints[field.name].__metadata__[0].default  # Typer keeps the first name there
            words += [option] if value is True else [option, str(value)]
    return shlex.join(words)
