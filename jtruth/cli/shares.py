"""Shares and probabilities: `jtruth prevalence`, `jtruth calibrate`, `jtruth correct` from bare counts."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from jtruth._files import write_table
from jtruth.cli.options import (
    Beside,
    By,
    CommonOnly,
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
        from jtruth.cli.reading import Tables, class_code, with_notes
        from jtruth.evaluation.gold.shares import gold_for_share, prevalence

        tables = Tables(self, self.gold, by=self.by)
        labels, gold = tables.labels, tables.gold()
        code = class_code(self.positive, labels)
        how: dict[str, Any] = {"gold": gold, "level": self.level, "key": self.seed}
        with progress("answer") as advance:
            kind, by = self.labelers_are, tables.groups(code)
            found = prevalence(labels, assume=self.assume, labelers_are=kind, by=by, progress=advance, **how)
            num = min(self.ask, labels.num_samples - found.num_gold)
            asked = gold_for_share(labels, code, num, progress=advance, **how) if num else None
        tasks = [] if asked is None else [str(labels.task_names[i]) for i in asked.samples]
        found, name = with_notes(found, labels.notes), str(labels.class_names[code])
        named = ", ".join(filter(None, (self.task, self.by, self.label)))
        step = next_step(self, "--gold GOLD.csv", f"columns {named}")
        shown = found.blocks().more(
            sentence_notes("", "What to find out next", _advice(asked, tasks, name), "do"),
            facts(positive=name, gold_to_halve=None if asked is None else asked.to_halve,
                  ask=tasks),
        )  # fmt: skip
        if asked is not None and self.ask_out is not None:
            rows = zip(tasks, asked.inclusion[asked.samples].tolist(), strict=True)
            write_table(self.ask_out, ["task", "inclusion"], rows)
        self.give(shown, "" if self.gold is not None else step)


def _advice(asked: Any, tasks: list[str], name: str) -> list[str]:
    """Gold needed to halve the interval, and samples to ask for."""
    from jtruth._validation import quoted

    if asked is None:
        return []
    lines = []
    if asked.to_halve:
        lines.append(f"about {asked.to_halve} more gold answers would halve the interval of class {name!r}")
    lines.append(f"find out next the truth of: {quoted(tasks, 10)} (chosen at random, doubtful ones rather)")
    return lines


@dataclass(frozen=True, kw_only=True)
class Calibrate(LabelsFile, Draws, Output):
    """Losses of class probabilities where experts disagree, before and after calibration."""

    predictions: Annotated[
        Path, typer.Option("--predictions", help="Columns task, and a probability for each class.")
    ]
    fit_on: Path | None = option("--fit-on", "Column task: samples to fit on; the others are judged.")
    folds: int = option("--folds", "Without --fit-on: parts to cross-fit.", 5)
    method: str = option("--method", "alpha, temperature, vector, matrix, dirichlet.", "alpha")
    bins: int = option("--bins", "Bins of equal width for calibration losses.", 15)
    merge_bins: bool = option("--merge-bins", "Merge bins until each holds two samples, and say so.", False)
    drop: bool = option("--drop", "Leave samples with one label out of losses that need two.", False)
    common_only: CommonOnly = False
    out: Path | None = written("--out", "Write task, probabilities, disagreement, alpha0 to this file.")

    def run(self) -> None:
        """Calibrate and judge."""
        from jtruth.cli.reading import Tables, table_of, with_notes
        from jtruth.evaluation.calibration import evaluate_calibration
        from jtruth.histograms import MergedBins
        from jtruth.io import read_scores

        labels = Tables(self, self.predictions, self.fit_on).labels
        table = table_of(self.predictions, self)
        read = read_scores(table, labels, task=self.task, common_only=self.common_only)
        if read.probabilities is None:
            names = ", ".join(f"p_{name}" for name in labels.class_names)
            raise ValueError(f"{self.predictions.name} has no class probabilities; give the columns {names}")
        bins = MergedBins(self.bins) if self.merge_bins else self.bins
        labels = labels if read.samples.size == labels.num_samples else labels.restrict(read.samples)
        report = evaluate_calibration(
            read.probabilities, labels, method=self.method, split=self._split(labels), bins=bins,
            level=self.level, drop=self.drop, key=self.seed,
        )  # fmt: skip
        if self.out is not None:
            write_table(self.out, *report.rows())
        step = next_step(self, "--out calibrated.csv", "write the calibrated probabilities")
        self.give(with_notes(report, (*labels.notes, *read.notes)), "" if self.out is not None else step)

    def _split(self, labels: Any) -> Any:
        """Mask of the samples that a file names; without one the number of folds."""
        import numpy as np

        from jtruth._validation import quoted
        from jtruth._validation.text import read_table

        if self.fit_on is None:
            return self.folds
        (chosen,) = read_table(self.fit_on, self.sep).pick({"task": self.task})
        tasks = list(map(str, labels.task_names))
        unknown = sorted(set(chosen) - set(tasks))
        if unknown:
            name = self.fit_on.name
            raise ValueError(f"{name}: {len(unknown)} tasks have no labels here ({quoted(unknown)})")
        return np.isin(tasks, list(chosen))


_PAIR = "such as 68/1000"


@dataclass(frozen=True, kw_only=True)
class Correct(Draws, Output):
    """Error rate of a classifier (Lam and Stork) or share of positives (Rogan and Gladen) from counts."""

    differ: str | None = option("--differ", "Predictions that differ from labels / test samples: 68/1000.")
    mislabeling: str | None = option("--mislabeling", "Share of wrong labels: 0.01, or wrong/audited: 2/200.")
    called: str | None = option("--called", "Called positive / judged: 680/1000.")
    sensitivity: str | None = option("--sensitivity", "0.9, or called positive / gold positives: 45/50.")
    specificity: str | None = option("--specificity", "0.8, or called negative / gold negatives: 40/50.")
    method: str | None = option("--method", "delta, bootstrap, exact; adjusted (the default of --called).")

    def run(self) -> None:
        """Correct one or the other."""
        from jtruth.lam_stork import estimate_error_rate, rogan_gladen

        method = self.method or ("delta" if self.called is None else "adjusted")
        options: dict[str, Any] = {"method": method, "level": self.level, "key": self.seed}
        if (self.differ is None) == (self.called is None):
            raise ValueError("give --differ 68/1000 and --mislabeling, or --called 680/1000 and two rates")
        if self.differ is not None:
            if self.mislabeling is None:
                raise ValueError("--differ needs --mislabeling: the share of wrong labels, or wrong/audited")
            wrong = _known(self.mislabeling, "mislabeling")
            found = estimate_error_rate(_pair(self.differ, "differ"), mislabeling=wrong, **options)
        else:
            if self.sensitivity is None or self.specificity is None:
                raise ValueError("--called needs --sensitivity and --specificity of the judge")
            found = rogan_gladen(
                _pair(str(self.called), "called"), sensitivity=_known(self.sensitivity, "sensitivity"),
                specificity=_known(self.specificity, "specificity"), **options,
            )  # fmt: skip
        exact = next_step(self, "--method exact", "an interval that is never too short")
        self.give(found, exact if self.method is None else "")


def _pair(text: str, option: str) -> tuple[int, int]:
    """68/1000 as (68, 1000)."""
    some, slash, of = text.partition("/")
    if not (slash and some.strip().isdecimal() and of.strip().isdecimal()):
        raise ValueError(f"--{option} {text!r}: give two counts {_PAIR}")
    return int(some), int(of)


def _known(text: str, option: str) -> float | tuple[int, int]:
    """A rate, 0.01, or counts, 2/200."""
    if "/" in text:
        return _pair(text, option)
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"--{option} {text!r}: give a rate such as 0.01, or counts {_PAIR}") from None
