"""Options of commands, each written once, and how a function of what was typed becomes a command.

A command is a function of one argument, `args`, whose attributes are the options: those that its decorator
`command` names, and groups that commands share. An option says its help, default and type in one place; it is
typed as its name is written, --pred-task for `pred_task`. `flat` makes of a command the function of single
options that Typer reads.
"""

import inspect
import os
import shlex
from collections.abc import Callable, Container
from pathlib import Path
from types import SimpleNamespace
from typing import Annotated, Any

import typer
from typer.core import TyperOption
from typer.models import OptionInfo

from jtruth._files import ending_of

QUESTION, WRITTEN = "Input and options", "Output and help"  # parts of `--help`
READING = "How tables are read"  # what `--help` leaves to `--help-reading`

TABLE_OF_LABELS = "Table of labels, long or wide; - for stdin."
_TAKES = {
    "metric": "METRIC", "positive": "CLASS", "rater": "LABELER", "by": "COLUMN", "order": "COLUMN",
    "method": "METHOD", "require": "CONDITION", "cost": "FP,FN", "model": "MODEL", "strategy": "STRATEGY",
    "labelers_are": "KIND", "target": "TARGET", "assume": "ASSUMPTION", "prior": "SHARES",
}  # fmt: skip

Option = tuple[Any, Any]  # what Typer reads, a type with its help; and the default
COMMANDS: dict[Callable[[Any], None], tuple[dict[str, Option], str]] = {}  # options, and an example


def option(text: str, default: Any = None, kind: Any = None, *, name: Any = ..., **more: Any) -> Option:
    """Help, default (`...`: required), type (that of the default), and how it is typed if otherwise."""
    kind = kind or (str if default is None else type(default))
    more = {"rich_help_panel": QUESTION} | more
    hint = kind | None if default is None else kind
    return Annotated[hint, typer.Option(name, help=text, **more)], default


def argument(metavar: str, text: str, default: Any = ..., kind: Any = Path) -> Option:
    """What is typed without a name."""
    hint = kind | None if default is None else kind
    return Annotated[hint, typer.Argument(metavar=metavar, help=text)], default


def written(text: str, table: bool = False, **more: Any) -> Option:
    """An option that names a file to write; a place that cannot be written is found before any work.

    So is a name that says no kind of `table` that there is.
    """
    return option(text, kind=Path, callback=_writable_table if table else _writable, **more)


def _writable_table(param: TyperOption, path: Path | None) -> Path | None:
    if path is not None:
        ending_of(path)
    return _writable(param, path)


def _writable(param: TyperOption, path: Path | None) -> Path | None:
    """Refuse a place that cannot be written; a file is replaced, so its folder must let us."""
    if path is None:
        return None
    place, plain = f"{param.opts[0]} {str(path)!r}", not path.exists() or path.is_file()
    if path.is_dir() or not path.parent.is_dir():
        what = "this is a folder" if path.is_dir() else f"there is no folder {str(path.parent)!r}"
        raise ValueError(f"{place}: {what}; give the name of a file")
    if not os.access(path.resolve().parent if plain else path, os.W_OK):
        raise ValueError(f"{place}: no permission to write there")
    return path


def refuse(values: dict[str, Any], why: str) -> None:
    """Refuse options, by name, that were typed where they have no say; `why` follows the name."""
    for name, value in values.items():
        if value is not None and value is not False:
            raise ValueError(f"{name} {why}")


def _separator(sep: str | None) -> str | None:
    if sep is not None and len(sep) != 1:
        hint = "; for a tab type $'\\t'" if sep == "\\t" else ""
        raise ValueError(f"--sep {sep!r}: a separator is one character{hint}")
    return sep


def _decimal(mark: str | None) -> str | None:
    if mark not in (None, ".", ","):
        raise ValueError(f"--decimal {mark!r}: the decimal mark is . or a comma; write --decimal ,")
    return mark


def _reader(who: str | None) -> str | None:
    refuse({f"--for {who!r}": who not in (None, "paper")}, "is not known; write --for paper")
    return who


def _cache(folder: Path | None) -> None:
    if folder is not None:
        from jtruth._cache import use_compilation_cache

        use_compilation_cache(folder)


def requirement(example: str) -> Option:
    """The option --require, with an example of a condition."""
    text = f"'{example}': exit code 0 yes, 3 no, 4 undecided."
    return option(text, metavar="CONDITION", kind=list[str])


_SHARED: dict[str, Option] = {  # single options of several commands
    "metric": option("Metric whose interval to narrow: accuracy, precision, recall, f1, kappa.", "accuracy"),
    "positive": option("Name of the positive class."),
    "common_only": option("Use only samples with labels and a prediction.", False, rich_help_panel=READING),
    "predictions": option("Predictions: task, label; or column:NAME of LABELS.", kind=Path),
    "gold": option("Verified labels: task, label; or column:NAME of LABELS.", kind=Path),
    "noise": option("Known error rates, as `labelers --save` writes them.", kind=Path),
    "prior": option("Class shares in class order, .8,.2, or no=.8,yes=.2"),
    "assume": option("independent, shared_difficulty or partly_shared errors.  [default: none of these]"),
    "labelers_are": option("people (narrower intervals), experts or llm_judges."),
    "target": option("population (new samples, default) or in-sample."),
    "calibration": option("Labels of other, verified samples (truth: --gold).", kind=Path),
    "by": option("Column of groups, or hour|day|week|month|quarter|year."),
    "order": option("Column of labeling times, to find drift."),
    "require": requirement("accuracy >= .8"),
    "confidence": option("Probability that --require needs.", 0.95),
}  # fmt: skip


def shared(*names: str) -> dict[str, Option]:
    """Options that several commands have."""
    return {name: _SHARED[name] for name in names}


KNOWN_GOLD: dict[str, Option] = {
    "gold": _SHARED["gold"],
    "common_only": option("Leave out gold of samples without labels.", False, rich_help_panel=READING),
}
DRAWS: dict[str, Option] = {
    "level": option("Level of the intervals.", 0.95),
    "seed": option("Random seed.", 0),
}


def reading(text: str, default: Any = None, kind: Any = None, **more: Any) -> Option:
    """An option of how tables are read."""
    return option(text, default, kind, rich_help_panel=READING, **more)


LABELS: dict[str, Option] = {  # a table of labels, and how it is read
    "file": argument("LABELS.csv", TABLE_OF_LABELS),
    "task": reading("Column of samples; a,b if two columns identify one."),
    "worker": reading("Column of labelers."),
    "label": reading("Column of labels."),
    "labelers": reading("Columns of a wide table that are labelers: a,b,c."),
    "sep": reading("Separator of all tables (default: comma; tab in .tsv).", callback=_separator),
    "classes": reading("Class names in order: a,b; may be repeated.", kind=list[str]),
    "scale": reading("nominal, ordinal (in the order of --classes) or interval."),
    "repeats": reading("Repeated labels of a sample: majority, first, last, keep, error."),
    "missing": reading("Rows without a label: error or drop."),
    "wide": reading("Wide table: one row per sample, every other column a labeler.", False),
    "map": reading("Translate labels: yes=pass,true=pass,no=fail", kind=list[str]),
    "contains": reading("Labels are sets of classes; yes if the set contains this class."),
    "plan_file": reading("How to read the file, from inspect --save-plan.", kind=Path, name="--plan"),
    "decimal": reading("Decimal mark: . or a comma.", callback=_decimal),
    "abstain": reading("Labels to leave out as no answer: unsure,skip"),
    "pass_at": reading("Grades of at least this count as pass, all others as fail."),
}
BESIDE: dict[str, Option] = {  # columns of predictions and gold, where they have names of their own
    "pred_task": reading("Column of samples in the predictions."),
    "pred_label": reading("Column of classes in the predictions."),
    "gold_task": reading("Column of samples in the gold table."),
    "gold_label": reading("Column of classes in the gold table."),
}
OUTPUT: dict[str, Option] = {  # how much is printed, and where the answer goes
    "full": option("Print all tables and notes.", False, rich_help_panel=WRITTEN),
    "json_file": written("Also write JSON; - for standard output.", name="--json", rich_help_panel=WRITTEN),
    "report_file": written("Write an HTML report; --full: all of it; --for paper: a supplement.",
                           name="--report", rich_help_panel=WRITTEN),
    "page_for": option("", name="--for", hidden=True, callback=_reader),  # the help of --report names it
    # Nobody needs it who has a cache folder of his own, so `--help` leaves it to docs/large_data.md.
    "cache": option("", kind=Path, name="--compilation-cache", hidden=True, callback=_cache),
}  # fmt: skip
SMOOTH = option(
    "With --by: smooth over time [default: on days with little gold].", kind=bool, name="--smooth/--no-smooth"
)
TABLE, EVERY = DRAWS | LABELS | OUTPUT, DRAWS | LABELS | BESIDE | OUTPUT


def _say_reading(ctx: Any, wanted: bool) -> None:
    if wanted and not ctx.resilient_parsing:
        ctx.command.say_reading(ctx)  # a `Sectioned`
        ctx.exit()


_HELP_READING = option(
    "Show how tables are read: columns, separators, labels.", False, name="--help-reading", is_eager=True,
    callback=_say_reading, rich_help_panel=None,
)  # fmt: skip


def command(example: str, *groups: dict[str, Option], **single: Option) -> Callable[[Any], Any]:
    """Make a function of `args` a command: what to type after its name, shared options, and its own."""
    options = single | {name: one for group in groups for name, one in group.items() if name not in single}
    for name, (hint, _) in options.items():
        info = hint.__metadata__[0]
        if isinstance(info, OptionInfo) and info.default is ...:
            info.default = f"--{name.replace('_', '-')}"
        if isinstance(info, OptionInfo) and info.metavar is None and "bool" not in str(hint):
            info.metavar = _TAKES.get(name) or (
                "FILE"
                if "Path" in str(hint)
                else ("NUMBER" if "int" in str(hint) or "float" in str(hint) else "TEXT")
            )

    def registered(function: Callable[[Any], None]) -> Callable[[Any], None]:
        COMMANDS[function] = options, example
        return function

    return registered


def as_typed(command: Callable[[Any], None], **values: Any) -> SimpleNamespace:
    """What a command is called with: its options, at their defaults but for those given."""
    defaults = {name: default for name, (_, default) in COMMANDS[command][0].items()}
    return SimpleNamespace(command=command, **defaults | values)


def flat(command: Callable[[Any], None]) -> Callable[..., None]:
    """A command as a function with one parameter for each option, for Typer."""
    options = sorted(COMMANDS[command][0].items(), key=lambda item: item[0] != "file")  # the file comes first
    options += [("help_reading", _HELP_READING)] if "sep" in COMMANDS[command][0] else []

    def run(**values: Any) -> None:
        command(as_typed(command, **values))

    parameters = [
        inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
        for name, (hint, default) in options
    ]
    run.__name__, run.__doc__ = command.__name__, command.__doc__
    run.__annotations__ = {one.name: one.annotation for one in parameters}
    run.__dict__["__signature__"] = inspect.Signature(parameters)
    return run


def typed(args: Any, names: Container[str] | None = None) -> str:
    """Options that are not at their defaults, as they are typed, all or those of `names`; none of output."""
    words: list[str] = []
    for name, (hint, default) in COMMANDS[args.command][0].items():
        info, value = hint.__metadata__[0], getattr(args, name)
        meant = name not in OUTPUT and (names is None or name in names)
        if meant and isinstance(info, OptionInfo) and value != default:
            yes, _, no = str(info.default).partition("/")  # Typer keeps the first name there
            if isinstance(value, bool):
                words.append(yes if value else no)
            else:
                several = value if isinstance(value, list) else [value]
                words += [word for one in several for word in (yes, str(one))]
    return shlex.join(words)


def next_step(args: Any, more: str, why: str = "", name: str = "") -> str:
    """A command worth running next: the same with more options, or (`name`) another for these labels."""
    file = getattr(args, "file", None)
    path = "" if file is None else shlex.quote(str(file))
    other = next((COMMANDS[one][0] for one in COMMANDS if one.__name__ == name), {})
    kept = (
        {*LABELS, *(one for one in other if one in KNOWN_GOLD or one.startswith("gold_"))} if name else None
    )
    words = ("jtruth", name or args.command.__name__, path, typed(args, kept), more)
    return f"{' '.join(filter(None, words))}{why and f'  # {why}'}"
