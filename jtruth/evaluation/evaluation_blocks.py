"""What `evaluate` answers, as blocks: metrics, assumptions, counts, labelers, checks, advice."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from jtruth._validation.terminal import plain
from jtruth._validation.words import number_of
from jtruth.answers import (
    Column,
    Facts,
    Matrix,
    Shown,
    Table,
    check_notes,
    facts,
    finding_notes,
    how,
    law_row,
    sentence_notes,
    warning_notes,
)
from jtruth.answers.blocks import Block, Row, cell_text
from jtruth.evaluation.labeler_rows import labeler_table
from jtruth.evaluation.parts import Assumption, first_lines
from jtruth.evaluation.text import (
    OF_LABELERS,
    assumption_table,
    counts_text,
    interval_title,
    listed,
    loudest,
    metric_title,
    taken_as_true,
    undetermined,
)
from jtruth.tables.metrics import of_one_class

Evaluation = Any  # `result.Evaluation`, which imports this file
_TAKEN = {  # methods that know no uncertainty
    "labels": "the most probable class of each sample was taken as true",
    "majority_vote": "the majority vote was taken as true",
    "smyth": "the most probable classes by EM were taken as true",
}
_ENDS = ("low", "high")


def evaluation_blocks(
    found: Evaluation, assumptions: Sequence[Assumption] = (), doubts: Sequence[str] = ()
) -> Shown:
    """The answer, for all faces.

    Args:
        found: the answer.
        assumptions: what each of them says.
        doubts: of models behind these rows.
    """
    rows = {name: law_row(law, found.level) for name, law in found.metrics.items()}
    truth = f"{number_of(found.num_gold, 'true label')} known" if found.num_gold else "no true label known"
    about = f"{counts_text(found)}; key {found.key}"
    warnings = tuple(dict.fromkeys((*found.warnings, *doubts)))
    blocks: list[Block] = [
        *_metrics(found, rows), *_assumptions(found, assumptions), _confusion(found),
        labeler_table([asdict(one) for one in found.labelers], found.level, OF_LABELERS[found.target]),
        check_notes(found.checks), finding_notes(found.suspicious), warning_notes(warnings),
        sentence_notes("advice", "What would help", found.advice, "do"), *_facts(found, assumptions),
    ]  # fmt: skip
    alarms = tuple(first_lines(found.checks, found.warnings))
    question = f"How good is the classifier, with {truth}?"
    return Shown(question, about, headline(found, rows), tuple(blocks), alarms, loudest(found.checks))


def headline(found: Evaluation, rows: Mapping[str, Row]) -> str:
    """One sentence with the answer."""
    if all(row["mean"] is None for row in rows.values()):
        return "Not identified: these labels do not determine how good the classifier is."
    ends = _ends(found)
    parts, open_ = [], []
    for name in (name for name in found.headline if name in rows):
        row = rows[name]
        text = cell_text([row["mean"], *(row[end] for end in ends or ())], missing="undefined")
        if undetermined(row["low"], row["high"]):
            open_.append(metric_title(name))
        else:
            parts.append(f"{metric_title(name)} {text}")
    hardly = [f"hardly determined: {', '.join(open_)}"] if open_ else []
    kind, truth = f"{interval_title(found.level, found.interval_kind)}s", taken_as_true(found.num_gold)
    of = f" of class {found.positive!r}" if "recall" in found.headline else ""
    if found.method in _TAKEN:
        kind, truth = "no intervals", _TAKEN[found.method]
    text = f"{'; '.join([', '.join(parts), *hardly]).removeprefix('; ')} ({kind}{of}; {truth})."
    return text[0].upper() + text[1:]


def _ends(found: Evaluation) -> tuple[str, str] | None:
    return None if found.method in _TAKEN else _ENDS


def _metrics(found: Evaluation, rows: Mapping[str, Row]) -> list[Block]:
    """Metrics of the whole table; those of every class; in the JSON also those that nobody asked for."""
    naive, size = found.baselines.get("majority_vote", {}), len(found.classes)
    classes = [c for c in found.classes if size > 2 and any(name.endswith(f"[{c}]") for name in rows)]
    of = {c: {n.removesuffix(f"[{c}]"): n for n in rows if n.endswith(f"[{c}]")} for c in classes}
    single = {name for names in of.values() for name in names.values()}
    unasked = {name for name in rows if of_one_class(name) and "recall" not in found.headline}
    main = [
        {"metric": name, **row, "majority_vote": naive.get(name)}
        for name, row in rows.items() if name not in single | unasked
    ]  # fmt: skip
    ends = _ends(found)
    columns = [Column("mean", "mean [interval]" if ends else "mean", ends), Column("sd", "sd")]
    columns += [Column("majority_vote", "majority vote")] if naive else []
    title = f"Metrics, with {interval_title(found.level, found.interval_kind)}s" if ends else "Metrics"
    notes = [f"They rest on this: {found.rests_on}."] if found.rests_on else []
    never = {n: row["probability_defined"] or 0.0 for n, row in rows.items() if n in found.metrics}
    some = [f"{metric_title(n)} ({1 - p:.2g})" for n, p in never.items() if 0 < p < 1 - 1e-6]
    notes += [f"Undefined with some probability: {', '.join(some[:10])}."] if some else []
    nothing = all(row["mean"] is None for row in rows.values())
    parts: list[Block] = [
        Table("metrics", title, "metric", tuple(columns), main, " ".join(notes), "majority_vote",
              missing="not identified" if nothing else "undefined", by_name=True, aside=("majority_vote",),
              say=metric_title)
    ]  # fmt: skip
    if classes:
        heads = [
            Column((m, "mean"), metric_title(m), ((m, "low"), (m, "high")), ".2f") for m in of[classes[0]]
        ]
        each = [{"class": c, **{m: rows[n] for m, n in of[c].items()}} for c in classes]
        parts.append(Table("by_class", "Every class", "class", tuple(heads), each, missing="undefined",
                           by_name=True))  # fmt: skip
    return [*parts, facts(metrics={name: rows[name] for name in rows if name in single | unasked})]


def _assumptions(found: Evaluation, assumptions: Sequence[Assumption]) -> list[Block]:
    rows = [
        {
            "name": a.name,
            "sentence": a.sentence,
            "metrics": {name: law_row(law, found.level) for name, law in a.metrics.items()},
            "loo": None if a.loo is None else a.loo._asdict(),
        }
        for a in assumptions
    ]
    if len(rows) < 2:
        return [facts(assumptions=rows)]
    names = [name for name in found.headline if name in found.metrics]
    columns = [Column(("metrics", name, "mean"), metric_title(name)) for name in names]
    notes = ["Nobody can choose between these from the labels alone."] if found.rests_on else []
    if any(a.loo is not None for a in assumptions):
        parts = (
            ("elpd", "elpd", ".0f"),
            ("difference", "to the first", "+.0f"),
            ("difference_se", "+-", ".0f"),
        )
        columns += [Column(("loo", name), text, form=form) for name, text, form in parts]
        notes.append("elpd: how well a model predicts the labels, not who is right.")
        bad = sum(a.loo.num_bad for a in assumptions if a.loo is not None)
        notes += [f"{number_of(bad, 'bad term')} in these."] if bad else []
    return [assumption_table("assumptions", rows, columns, " ".join(notes))]


def _confusion(found: Evaluation) -> Block:
    """Expected counts by true and predicted class."""
    parts = found.confusion_matrix, found.confusion_low, found.confusion_high
    cells = {name: part.tolist() for name, part in zip(("mean", "low", "high"), parts, strict=True)}
    if not parts[0].size or np.isnan(parts[0]).any():
        return facts(confusion_matrix=cells)
    symbols = found.classes if parts[0].shape[1] == len(found.classes) else range(parts[0].shape[1])
    title = "Samples by true (rows) and predicted class (columns), expected"
    names = tuple(map(plain, found.classes)), tuple(plain(one) for one in symbols)
    return Matrix("confusion_matrix", title, *names, cells)


def _facts(found: Evaluation, assumptions: Sequence[Assumption]) -> list[Facts]:
    some = [a.sentence for a in assumptions] if len(assumptions) == 1 else []
    prior = listed(found.classes, [f"{p:.3f}" for p in found.prior])
    return [
        how(("method", found.method), ("target", found.target),
            ("interval", interval_title(found.level, found.interval_kind)), ("rests on", found.rests_on),
            *(("assumed", text) for text in (*some, *found.assumed)), ("class prior", prior)),
        facts(
            method=found.method, target=found.target, level=found.level, key=found.key,
            num_samples=found.num_samples, num_labelers=found.num_labelers, num_labels=found.num_labels,
            num_gold=found.num_gold, log_evidence=found.log_evidence, classes=found.classes,
            positive=found.positive, headline=found.headline, prior=found.prior, rests_on=found.rests_on,
            baselines=found.baselines, interval_kind=found.interval_kind, assumed=found.assumed,
        ),
    ]  # fmt: skip
