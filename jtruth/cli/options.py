"""Options that commands share, each written once, and how a class of options becomes a command.

A command is a dataclass whose fields are what a person types (name, type, help and default in one place) and
whose `run` does it; what commands share are its bases. A class may have `check`, which sees the options
before any work. `flat` makes of a command the function of single options that Typer reads.
"""

import inspect
import os
import shlex
from collections.abc import Callable
from copy import copy
from dataclasses import MISSING, Field, dataclass, field, fields
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer
from typer.models import OptionInfo

READING = "How tables are read"  # what `--help` leaves to `--help-reading`


def option(name: str, text: str, default: Any = None, callback: Any = None) -> Any:
    """A field of a command that is typed as `name`."""
    return field(default=default, metadata={"option": typer.Option(name, help=text, callback=callback)})


def written(name: str, text: str) -> Any:
    """An option that names a file to write; a place that cannot be written is found before any work."""
    return option(name, text, callback=lambda path: _writable(name, path))


def _writable(option: str, path: Path | None) -> Path | None:
    """Refuse a place that cannot be written; a file is replaced, so its folder must let us."""
    if path is None:
        return None
    plain = not path.exists() or path.is_file()
    if path.is_dir() or not path.parent.is_dir():
        what = "this is a folder" if path.is_dir() else f"there is no folder {str(path.parent)!r}"
        raise ValueError(f"{option} {str(path)!r}: {what}; name a file to write")
    if not os.access(path.resolve().parent if plain else path, os.W_OK):
        raise ValueError(f"{option} {str(path)!r}: no permission to write there")
    return path


def refuse(given: dict[str, Any], why: str) -> None:
    """Refuse options, by name, that were typed where they have no say; `why` follows the name."""
    for name, value in given.items():
        if value is not None and value is not False:
            raise ValueError(f"{name} {why}")


# Options of several commands.
MetricName = Annotated[str, typer.Option("--metric", help="accuracy, precision, recall, f1, ...")]
Positive = Annotated[str | None, typer.Option("--positive", help="Name of the positive class.")]
CommonOnly = Annotated[
    bool,
    typer.Option(
        "--common-only", help="Use only tasks with labels and a prediction.", rich_help_panel=READING
    ),
]
GoldCommonOnly = Annotated[
    bool,
    typer.Option(
        "--common-only", help="Leave out gold of tasks that have no labels.", rich_help_panel=READING
    ),
]
Noise = Annotated[Path | None, typer.Option("--noise", help="JSON file with known error rates.")]
Prior = Annotated[str | None, typer.Option("--prior", help="Class prior, for example .8,.2")]
Assume = Annotated[
    str | None, typer.Option("--assume", help="independent, ...; a wrong word lists all of them.")
]
LabelersAre = Annotated[
    str | None, typer.Option("--labelers-are", help="Who labels: people, experts, or llm_judges (metrics).")
]
KnownGold = Annotated[
    Path | None, typer.Option("--gold", help="Labels known to be true: a table task, label; or column:NAME.")
]
By = Annotated[
    str | None, typer.Option("--by", help="Column of groups (systems, prompts, sites) to compare.")
]
Order = Annotated[str | None, typer.Option("--order", help="Column of times of labelling, to find drift.")]
Repeats = Annotated[
    str, typer.Option("--repeats", help="A worker labels a task again: error, keep, first, last.")
]
Missing = Annotated[str, typer.Option("--missing", help="Rows without a label: error or drop.")]


@dataclass(frozen=True, kw_only=True)
class LabelsFile:
    """A table of labels, and how it is read."""

    file: Annotated[
        Path, typer.Argument(metavar="LABELS.csv", help="Columns task, worker, label; - reads a pipe.")
    ]
    task: str = option("--task", "Name of the column of task ids.", "task")
    worker: str = option("--worker", "Name of the column of worker ids.", "worker")
    label: str = option("--label", "Name of the column of labels.", "label")
    sep: str | None = option("--sep", "Separator of all tables; a comma (in .tsv a tab) if unset.")
    classes: str | None = option("--classes", "Class names in order, comma separated.")
    repeats: Repeats = "error"
    missing: Missing = "error"

    wide: bool = option("--wide", "One row per task, every other column is a labeler.", False)
    map: str | None = option("--map", "What labels mean: yes=pass,true=pass,no=fail,...")
    decimal: str | None = option("--decimal", "What stands before decimals: . or a comma.")
    abstain: str | None = option("--abstain", "Labels that say nothing, left out: unsure,skip,...")
    pass_at: float | None = option("--pass-at", "Numbers of at least this are pass, others fail.")

    def check(self) -> None:
        """Refuse what cannot stand between columns, or before decimals."""
        if self.sep is not None and len(self.sep) != 1:
            hint = "; for a tab type $'\\t'" if self.sep == "\\t" else ""
            raise ValueError(f"--sep {self.sep!r}: a separator is one character{hint}")
        if self.decimal not in (None, ".", ","):
            raise ValueError(f"--decimal {self.decimal!r}: decimals follow . or a comma; write --decimal ,")


@dataclass(frozen=True, kw_only=True)
class Beside:
    """Columns of tables of predictions and gold, where they have names of their own."""

    pred_task: str | None = option("--pred-task", "Tasks in predictions.")
    pred_label: str | None = option("--pred-label", "Column of predictions.")
    gold_task: str | None = option("--gold-task", "Tasks in gold.")
    gold_label: str | None = option("--gold-label", "Column of gold labels.")


@dataclass(frozen=True, kw_only=True)
class Draws:
    """Level of the intervals, and the seed of whatever is drawn at random."""

    level: float = option("--level", "Probability of the intervals.", 0.95)
    seed: int = option("--seed", "Seed of whatever is drawn at random.", 0)


_SHARED = {  # the part of `--help` in which options stand, in the order in which they are said
    "": "Question",  # a command's own
    "Draws": "Question",
    "LabelsFile": READING,
    "Beside": READING,
    "Output": "What is written",
}


def _say_reading(ctx: Any, wanted: bool) -> None:
    """Print how tables are read, and stop."""
    if wanted and not ctx.resilient_parsing:
        ctx.command.say_reading(ctx)  # a `Sectioned`
        ctx.exit()


HelpReading = Annotated[
    bool,
    typer.Option(
        "--help-reading", is_eager=True, callback=_say_reading,
        help="Columns, separators, wide tables, meaning of labels.",
    ),
]  # fmt: skip


def _under(panel: str, hint: Any) -> Any:
    """An annotation whose option says to which part of `--help` it belongs, this one if it does not say."""
    option = copy(hint.__metadata__[0])
    option.rich_help_panel = option.rich_help_panel or panel
    return Annotated[hint.__origin__, option]


def _options(command: type) -> dict[str, tuple[Field, Any, str]]:
    """Field, annotation and part of `--help` of each option."""
    known = {one.name: one for one in fields(command)}
    hints, found = get_type_hints(command, include_extras=True), {}
    for kind in sorted(reversed(command.__mro__), key=lambda kind: list(_SHARED).index(_shared(kind))):
        for name in (name for name in vars(kind).get("__annotations__", ()) if name in known):
            own = known[name].metadata.get("option")
            hint = hints[name] if own is None else Annotated[hints[name], own]
            found[name] = known[name], hint, _SHARED[_shared(kind)]
    return {name: found[name] for name in sorted(found, key=lambda name: name != "file")}  # typed first


def _shared(kind: type) -> str:
    """The name of a class that commands share; nothing for others."""
    return kind.__name__ if kind.__name__ in _SHARED else ""


def flat(command: Any) -> Callable[..., None]:
    """A command as a function with one parameter for each option, for Typer."""
    options, keyword = _options(command), inspect.Parameter.KEYWORD_ONLY

    def run(**given: Any) -> None:
        given.pop("help_reading", None)
        asked = command(**given)
        for kind in command.__mro__:
            if "check" in vars(kind):
                kind.check(asked)
        asked.run()

    parameters = []
    for name, (one, hint, panel) in options.items():
        default = inspect.Parameter.empty if one.default is MISSING else one.default
        parameters.append(inspect.Parameter(name, keyword, default=default, annotation=_under(panel, hint)))
    if any(panel == READING for *_, panel in options.values()):
        parameters.append(inspect.Parameter("help_reading", keyword, default=False, annotation=HelpReading))
    run.__name__, run.__doc__ = command.__name__.lower(), command.__doc__
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    return run


def typed(command: Any, *kinds: Any) -> str:
    """Options that differ from their defaults, as they would be typed; none of the output.

    Args:
        command: what was typed.
        kinds: bases of it whose options are meant; all if none is given.
    """
    words, meant = [], {one.name for kind in kinds or (type(command),) for one in fields(kind)}
    for key, (one, hint, panel) in _options(type(command)).items():
        value, typed_as = getattr(command, key), hint.__metadata__[0]
        known = key in meant and isinstance(typed_as, OptionInfo) and panel != _SHARED["Output"]
        if known and value != one.default:
            yes, _, no = str(typed_as.default).partition("/")  # Typer keeps the first name there
            several = value if isinstance(value, list) else [value]
            words += [yes if value else no] if isinstance(value, bool) else [
                word for each in several for word in (yes, str(each))
            ]  # fmt: skip
    return shlex.join(words)


def next_step(command: Any, more: str, why: str, name: str = "", *kinds: Any) -> str:
    """A command worth running next: the same with more options, or (`name`) another with those of `kinds`."""
    file = getattr(command, "file", None)
    name, given = name or type(command).__name__.lower(), "" if file is None else shlex.quote(str(file))
    words = filter(None, ("jtruth", name, given, typed(command, *kinds), more))
    return f"{' '.join(words)}  # {why}"
