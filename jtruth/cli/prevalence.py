"""`jtruth prevalence`: how many of the samples are of a class; the pass rate."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jtruth._files import write_table
from jtruth.cli.options import (
    Beside,
    By,
    Draws,
    GoldCommonOnly,
    KnownGold,
    LabelersAre,
    LabelsFile,
    next_step,
    option,
    written,
)
from jtruth.cli.output import Output, progress


@dataclass(frozen=True, kw_only=True)
class Prevalence(LabelsFile, Draws, Beside, Output):
    """Share of each class (a pass rate) with its interval; which gold would make it narrower."""

    gold: KnownGold = None
    common_only: GoldCommonOnly = False
    assume: str | None = option("--assume", "independent, if you can vouch that labelers err so.")
    labelers_are: LabelersAre = None
    positive: str | None = option("--positive", "The class whose rate is meant.")
    by: By = None
    ask: int = option("--ask", "How many samples to name for more gold.", 10)
    ask_out: Path | None = written("--ask-out", "Write task, inclusion of the samples to ask for.")

    def run(self) -> None:
        """Say the shares, and what to find out next."""
        from jtruth.answers import facts, sentence_notes
        from jtruth.cli.reading import begin, class_code, gold_of, groups_of, with_notes
        from jtruth.evaluation.gold.shares import gold_for_share, prevalence

        given, labels = begin(self, self.gold, by=self.by)
        gold = gold_of(self.gold, labels, given, self.common_only)
        code = class_code(self.positive, labels)
        how: dict[str, Any] = {"gold": gold, "level": self.level, "key": self.seed}
        with progress("answer") as advance:
            kind, by = self.labelers_are, groups_of(given, labels, code)
            found = prevalence(labels, assume=self.assume, labelers_are=kind, by=by, progress=advance, **how)
            num = min(self.ask, labels.num_samples - found.num_gold)
            asked = gold_for_share(labels, code, num, progress=advance, **how) if num else None
        found, name = with_notes(found, labels.notes), str(labels.class_names[code])
        named = ", ".join(filter(None, (self.task, self.by, self.label)))
        step = next_step(self, "--gold GOLD.csv", f"columns {named}")
        shown = found.blocks().more(
            sentence_notes("", "What to find out next", _advice(asked, labels, name), "do"),
            facts(positive=name, gold_to_halve=None if asked is None else asked.to_halve,
                  ask=[] if asked is None else _tasks(asked.samples, labels)),
        )  # fmt: skip
        if asked is not None and self.ask_out is not None:
            rows = zip(_tasks(asked.samples, labels), asked.inclusion[asked.samples].tolist(), strict=True)
            write_table(self.ask_out, ["task", "inclusion"], rows)
        self.give(shown, "" if self.gold is not None else step)


def _advice(asked: Any, labels: Any, name: str) -> list[str]:
    """Gold needed to halve the interval, and samples to ask for."""
    from jtruth._validation import quoted

    if asked is None:
        return []
    lines = []
    if asked.to_halve:
        lines.append(f"about {asked.to_halve} more gold answers would halve the interval of class {name!r}")
    tasks = _tasks(asked.samples, labels)
    lines.append(f"find out next the truth of: {quoted(tasks, 10)} (chosen at random, doubtful ones rather)")
    return lines


def _tasks(samples: Any, labels: Any) -> list[str]:
    tasks = labels.tasks or range(labels.num_samples)
    return [str(tasks[i]) for i in samples]
