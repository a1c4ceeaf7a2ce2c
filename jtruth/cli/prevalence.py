"""`jtruth prevalence`: how many of the samples are of a class; the pass rate."""

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth.cli.options import Beside, Columns, Draws, GoldCommonOnly, KnownGold, LabelsFile, typed
from jtruth.cli.output import Reported, check_writable, progress, write_table


@dataclass(frozen=True)
class Share:
    """Of which class, by what, and what to ask next."""

    gold: KnownGold = None
    common_only: GoldCommonOnly = False
    assume: Annotated[
        str | None, typer.Option("--assume", help="independent, if you can vouch that labelers err so.")
    ] = None
    positive: Annotated[str | None, typer.Option("--positive", help="The class whose rate is meant.")] = None
    ask: Annotated[int, typer.Option("--ask", help="How many samples to name for more gold.")] = 10
    ask_out: Annotated[
        Path | None, typer.Option("--ask-out", help="Write task, inclusion of the samples to ask for.")
    ] = None

    def __post_init__(self) -> None:
        check_writable("--ask-out", self.ask_out)


def prevalence(
    source: LabelsFile, share: Share, draws: Draws, columns: Columns, beside: Beside, output: Reported
) -> None:
    """Share of each class (a pass rate) with its interval; which gold would make it narrower."""
    from jtruth._validation.text import read_bytes
    from jtruth.cli.reading import Given, class_code, gold_of, labels_of, one_stdin, with_notes
    from jtruth.evaluation.gold.next_gold import gold_for_share
    from jtruth.evaluation.gold.shares import prevalence as shares_of

    one_stdin(source.file, share.gold)
    given = Given(read_bytes(source.file), columns, beside)
    labels = labels_of(given.file, columns, (share.gold,))
    gold = gold_of(share.gold, labels, given, share.common_only)
    code = class_code(share.positive, labels)
    how: dict[str, Any] = {"gold": gold, "level": draws.level, "key": draws.seed}
    with progress("sweeps") as advance:
        found = shares_of(labels, assume=share.assume, progress=advance, **how)
        num = min(share.ask, labels.num_samples - found.num_gold)
        asked = gold_for_share(labels, code, num, progress=advance, **how) if num else None
    found, name = with_notes(found, labels.notes), str(labels.class_names[code])
    lines = [str(found), "", *_advice(asked, labels, name)]
    command = f"jtruth prevalence {shlex.quote(str(source.file))} {typed(share, draws, columns, beside)}"
    if share.gold is None:
        lines.append(f"next: {command.strip()} --gold GOLD.csv  # columns {columns.task}, {columns.label}")
    answer = found.to_dict() | {
        "positive": name,
        "gold_to_halve": None if asked is None else asked.to_halve,
        "ask": [] if asked is None else _tasks(asked.samples, labels),
    }
    if asked is not None and share.ask_out is not None:
        _write(share.ask_out, asked, labels)
    output.give_page("\n".join(lines), answer, lambda: found.page(), draws.seed)


def _advice(asked: Any, labels: Any, name: str) -> list[str]:
    """Gold needed to halve the interval, and samples to ask for."""
    from jtruth._validation import quoted

    if asked is None:
        return []
    lines = []
    if asked.to_halve:
        lines.append(f"about {asked.to_halve} more gold answers would halve the interval of class {name!r}")
    tasks = _tasks(asked.samples, labels)
    return [
        *lines,
        f"find out next the truth of: {quoted(tasks, 10)} (chosen at random, doubtful ones rather)",
    ]


def _tasks(samples: Any, labels: Any) -> list[str]:
    tasks = labels.tasks or range(labels.num_samples)
    return [str(tasks[i]) for i in samples]


def _write(path: Path, asked: Any, labels: Any) -> None:
    rows = [
        [task, float(asked.inclusion[i])]
        for task, i in zip(_tasks(asked.samples, labels), asked.samples, strict=True)
    ]
    write_table(path, ["task", "inclusion"], rows)
