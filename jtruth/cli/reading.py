"""From what a person typed to labels, predictions, gold and noise models."""

import shlex
from collections.abc import Iterable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import reduce
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal

import numpy as np

from jtruth._validation import check_columns, positive_of, with_tasks
from jtruth._validation.text import TextTable
from jtruth._validation.words import LOOK, Read, column_called, duplicates, number_in, number_of, quoted
from jtruth.cli.options import COMMANDS, as_typed, next_step, refuse
from jtruth.io import FilePlan, Gold, apply, read_noise, read_predictions, read_scores
from jtruth.io.apply import found_beside
from jtruth.io.cells import says_nothing, typed_map, typed_names
from jtruth.io.columns import role_of
from jtruth.io.gold import INCLUSION, SIZE, STRATUM, read_gold_sample
from jtruth.io.parsing import as_table, large_table
from jtruth.io.plan import UNKNOWN
from jtruth.io.reading import Opened, labels_of_rows, opened
from jtruth.io.tables import one_column, probability_columns, usual_columns
from jtruth.labels import Labels
from jtruth.noise import ConfusionMatrices, DifficultyFallibility, DrawnMatrices, NoiseModel, Symmetric

_STDIN = Path("-")
_COLUMN, _EXPORT, _WORKER = "column:", "export:", "worker:"
IS_GOLD = LOOK + "the name of column {0!r} suggests gold, but it was graded. Did you mean --gold column:{0}?"
UNUSED = "Column {!r} of the gold table is not used in this answer."


def table_of(path: Any, columns: Any) -> TextTable:
    """A table beside the labels, read as was typed."""
    return as_table(path, columns.sep)._replace(decimal=columns.decimal)


def new_file(name: str) -> str:
    """This name, or one with a number where there is such a file."""
    stem, ending = Path(name).stem, Path(name).suffix
    names = (name, *(f"{stem}{k}{ending}" for k in range(2, 100)))
    return next(one for one in names if not Path(one).exists())


class Tables:
    """The tables of a command; its labels lose the samples that predictions do not have (--common-only)."""

    def __init__(self, args: Any, *others: Path | None, by: str | None = None, classes: Iterable[str] = ()):
        """Read the labels.

        `others` are read beside them; `by` is a column of groups, each of which has its samples; `classes`
        are those of a judge who always says the same, beside the words of the column of gold.
        """
        if [args.file, *others].count(_STDIN) > 1:
            raise ValueError("only one file can be '-', because standard input is read once")
        self.args, self.by, self.group_of = args, by, {}
        names = [name for path in others if (name := column_of(path)) is not None]
        given = by.rpartition(":")[0] if by is not None and by.rpartition(":")[2] in apply.UNITS else by
        names += [name for name in (given or by, getattr(args, "order", None)) if name is not None]
        self.opened = opened(args.file, asked_of(args), args.sep, names)
        gold, table, judged = getattr(args, "gold", None), self.opened.table, []
        if gold and self.plan.layout == UNKNOWN:  # nobody else labels: gold alone grades
            judged = [column_of(path) for path in others if str(path).startswith(_COLUMN) and path != gold]
            graded, asked = judged or [str(getattr(args, "rater", None))], asked_of(args)
            if column_of(gold) and {*graded} <= {*table.header}:  # options say which columns are what
                asked = replace(asked, labelers=tuple(graded))
            self.opened = opened(table, asked, args.sep, {*names} - {*graded})
        if by is not None:
            plan, self.group_of = apply.by_group(table, self.plan, by)
            self.opened = self.opened._replace(plan=replace(plan, doubts=()))
        self.rows, args.how_read = self.opened.rows(), self.plan.sentence()
        name = column_of(gold)
        cells = () if name is None or name not in table.header else table.pick({"gold": name})[0]
        words = {str(one) for one in cells if not says_nothing(str(one), self.plan)}
        self.labels = labels_of_rows(self.rows, self.plan, classes or words)
        if judged:
            kept = [t for t, name in enumerate(self.labels.worker_names) if name not in judged]
            self.labels = self.labels.select_labelers(kept)

    @property
    def plan(self) -> FilePlan:
        """How the file of labels is read."""
        return self.opened.plan

    @property
    def positive(self) -> int | None:
        """Code of the positive class, if one was named."""
        return None if self.args.positive is None else self.labels.class_code(self.args.positive)

    def groups(self, positive: int) -> Any:
        """The group and the item of each sample, as `Groups`; None without a column of groups."""
        if self.by is None:
            return None
        from jtruth.evaluation.groups import Groups

        tasks = list(map(str, self.labels.task_names))
        both = [self.group_of[task] for task in tasks]
        group, item = (with_tasks(np.array(one), self.labels.tasks) for one in zip(*both, strict=True))
        return Groups(group, item, positive, getattr(self.args, "smooth", None))

    def gold(self) -> np.ndarray | None:
        """Class codes known to be true, -1 elsewhere; None without a file. How gold was chosen has no say."""
        sample = self.gold_sample()
        if sample is None:
            return None
        ways = {INCLUSION: sample.inclusion, STRATUM: sample.strata}
        unused = tuple(UNUSED.format(name) for name, column in ways.items() if column is not None)
        return with_tasks(sample.classes, self.labels.tasks, (*getattr(sample.classes, "notes", ()), *unused))

    def gold_sample(self) -> Gold | None:
        """Gold, and how it was chosen if its table has a column inclusion or stratum; None without a file."""
        if self.args.gold is None:
            return None
        table, options = self._beside(self.args.gold, "gold")
        return read_gold_sample(table, self.labels, common_only=self.args.common_only, **options)

    def to_verify(self, request: Any, gold: Gold | None) -> tuple[list[str], list[list[Any]]]:
        """Header and rows of a table to fill in: the samples of a request, then those already verified."""
        labels, of = self.labels, request.strata
        known = np.full(labels.num_samples, -1) if gold is None else np.asarray(gold.classes)
        rows = []
        for i in (*request.samples, *np.flatnonzero(known >= 0)):
            name = str(labels.class_names[known[i]]) if known[i] >= 0 else ""
            rows.append([str(labels.task_names[i]), name, request.names[of[i]], int(request.sizes[of[i]])])
        return [*self.columns_to_verify(), STRATUM, SIZE], rows

    def columns_to_verify(self) -> list[str]:
        """Names of the columns of samples and classes in that table."""
        typed = vars(self.args)
        return [typed.get(f"gold_{what}") or typed.get(what) or what for what in ("task", "label")]

    def noise(self) -> tuple[NoiseModel | None, Any]:
        """(noise model, prior) of the file of error rates; the prior that was typed goes first."""
        noise, prior = noise_of(self.args.noise, self.labels)
        return noise, prior if self.args.prior is None else numbers(self.args.prior)

    def known(self, inclusion: Path | None = None) -> dict[str, Any]:
        """What a question takes beside labels and predictions; the command has options of these names."""
        (noise, prior), gold, args = self.noise(), self.gold_sample(), self.args
        if inclusion is not None:  # the chances of all tasks, where columns of the gold do not say them
            gold = gold or Gold(np.full(self.labels.num_samples, -1, np.int32))
            if gold.inclusion is not None:
                why = "probabilities are given twice: by --inclusion and by the column 'inclusion' of --gold"
                raise ValueError(why)
            gold = gold._replace(inclusion=inclusion_of(inclusion, self.labels))
        return {"noise": noise, "prior": prior, "gold": gold, "assume": args.assume,
                "labelers_are": args.labelers_are, "level": args.level, "key": args.seed}  # fmt: skip

    def predictions(self, path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
        """(y_pred, notes) of a file or column of predictions."""
        table, options = self._beside(path, "pred")
        read = read_predictions(table, self.labels, common_only=self.args.common_only, **options)
        self._keep(read.samples)
        name = column_of(path) or ""
        like = (IS_GOLD.format(name),) if name and role_of(name) == "gold" else ()
        return read.y_pred, (*like, *read.notes)

    def scores(self, path: Path) -> tuple[np.ndarray, tuple[str, ...]]:
        """(scores, notes): (samples,) of a column score, or (samples, classes) of probabilities."""
        table, options = self._scored(path)
        read = read_scores(table, self.labels, common_only=self.args.common_only, **options)
        either = (read.scores, read.probabilities)
        either = either[::-1] if self.labels.num_classes > 2 else either
        scores = next((s for s in either if s is not None), None)
        if scores is None:
            names = ", ".join(map(str, self.labels.class_names))
            raise ValueError(f"{path}: there is neither a column 'score' nor one for each class ({names})")
        self._keep(read.samples)
        return scores, read.notes

    def rivals(self, files: Sequence[Path]) -> tuple[dict[str, np.ndarray], tuple[str, ...]]:
        """(predictions by name of the file, notes) of several files of predictions."""
        names = [column_of(file) or file.name.removesuffix(".gz").rsplit(".", 1)[0] for file in files]
        if twice := duplicates(names):
            why = "the name of the file is the classifier's"
            raise ValueError(f"two classifiers are called {twice[0]!r}: {why}")
        tables, common_only = [self._beside(file, "pred") for file in files], self.args.common_only
        read = [read_predictions(one, self.labels, common_only=common_only, **how) for one, how in tables]
        common = reduce(np.intersect1d, [one.samples for one in read])
        if not common.size:
            raise ValueError("no task has a prediction of every classifier")
        self._keep(common)
        kept = [with_tasks(one.y_pred[np.isin(one.samples, common)], self.labels.tasks) for one in read]
        return dict(zip(names, kept, strict=True)), tuple(note for one in read for note in one.notes)

    def rater(self, worker: str) -> tuple[np.ndarray, tuple[str, ...]]:
        """(y_pred, notes) of one labeler, to be graded by the others."""
        split = self.labels.split_rater(worker, keep_alone=self.args.gold is not None)
        self.labels = split.labels
        if not len(split.alone) or self.args.gold is not None:
            return split.y_pred, ()
        was = f"that only {worker!r} labelled"
        note = f"{number_of(len(split.alone), f'sample {was} was', f'samples {was} were')} left out."
        return split.y_pred, (note,)

    def gold_step(self, given: str = "", known: int = 0, num: int | None = None) -> str:
        """The command worth running next where gold helps: with the file's own, else what to verify.

        `given`: what was typed without a name; `known`: how many samples are verified; `num`: how many to
        verify, or so many that the interval about halves.
        """
        from jtruth.asking.gold import gold_that_halves

        left = self.labels.num_samples - known
        if not left:
            return ""
        typed = vars(self.args)
        graded = (str(typed.get("predictions")), f"{_COLUMN}{typed.get('rater')}", *given.split())
        found = apply.found_beside(self.rows, self.plan).get("gold")
        if found and found not in graded and self.args.gold is None:
            option = f"{given} --gold {shlex.quote(found)}".strip()
            return next_step(self.args, option, "use the verified labels")
        path = new_file("to_verify.csv")
        if num is None:
            new = typed.get("target") != "in-sample"
            num = gold_that_halves(known, np.inf if new else self.labels.num_samples) if known else 30
        num = min(num, left)
        why = f"fill in column {self.columns_to_verify()[1]!r}"
        why += f"; the file keeps your {known} verified labels" if known else ""
        ask = next(one for one in COMMANDS if one.__name__ == "ask")
        same = {name: value for name, value in typed.items() if name in COMMANDS[ask][0] and name != "metric"}
        first = next_step(as_typed(ask, **same | {"truth": True, "num": num, "out": path}), "", why)
        again = SimpleNamespace(**typed | {"gold": path})
        return f"{first}\n{next_step(again, given)}"

    def columns(self) -> dict[str, np.ndarray]:
        """Columns of the file of labels that are no part of these, by name."""
        return apply.columns_beside(self.opened.table, self.plan, self.labels, [column_of(self.args.gold)])

    def alone(self, worker: str) -> tuple[np.ndarray, tuple[str, ...]]:
        """(y_pred, notes) of one labeler, whose error rates come from a calibration, of what he labelled."""
        self._keep(np.flatnonzero(np.asarray(self.labels.labels_of(worker)) >= 0))
        return with_tasks(self.labels.labels_of(worker), self.labels.tasks), ()

    def order(self) -> np.ndarray | None:
        """When each sample was labelled, from a column of times or numbers; None if none was named."""
        name, table = self.args.order, self.opened.table
        return None if name is None else apply.order_of(table, self.plan, name, self.labels)

    def keyed(self, path: Path, wanted: str | None = None) -> tuple[TextTable, str]:
        """A table beside the labels, and its column of tasks: as typed, as the labels have it, or by name."""
        table = table_of(path, self.args)
        key = tuple(typed_names([wanted])) if wanted else tuple(self.plan.task or ())
        if not wanted and not (key and set(key) <= set(table.header)):
            key = (column_called("task", table.header) or "task",)
        if len(key) == 1:
            return table, key[0]
        ids, name = apply.ids_of(table, FilePlan(task=key)), apply.BETWEEN.join(key)
        return table._replace(header=(name, *table.header), columns=(ids, *table.columns[:])), name

    def _keep(self, samples: np.ndarray) -> None:
        """Leave the labels of other samples out."""
        if samples.size < self.labels.num_samples:
            self.labels = self.labels.restrict(samples)

    def _beside(self, path: Path, kind: Literal["pred", "gold"]) -> tuple[Any, dict[str, Any]]:
        """A table with a row for each task, and how to read it."""
        if (table := self._inside(path)) is not None:
            return table, {"plan": self.plan, "task": table.header[0], "label": table.header[1]}
        typed = getattr(self.args, f"{kind}_label", None)
        table, task = self.keyed(path, getattr(self.args, f"{kind}_task", None))
        label = typed or self._label_in(table, task, "prediction" if kind == "pred" else kind)
        wanted = {"task": task, "label": label}
        if kind == "pred" and typed is None and label not in table.header:
            if probability_columns(table.header, self.labels) is not None:
                del wanted["label"]
            elif "score" in table.header:
                raise ValueError(
                    f"{path} has scores, but no column {label!r} of predicted classes. Add --scores to grade "
                    "the scores, or name the column of classes by --pred-label"
                )
        check_columns(table.header, wanted, table.source, option=f"--{kind}-")
        if typed is None and "label" in wanted:
            one_column(table, label, "gold" if kind == "gold" else "prediction", self.labels)
        return table, {"plan": self.plan, **wanted}

    def _label_in(self, table: TextTable, task: str, role: str) -> str:
        """The column of classes: as named for the labels, by its name, or the other one of two columns."""
        usual = self.args.label or "label"
        plain = usual == "label" or len(table.header) == 2
        return usual_columns(table, task, None, role)[1] if plain else usual

    def _scored(self, path: Path) -> tuple[Any, dict[str, Any]]:
        """A table of scores or probabilities, and how to read it: no column of classes is needed."""
        if (table := self._inside(path)) is not None:
            return table, {"task": table.header[0], "score": table.header[1]}
        table, task = self.keyed(path, self.args.pred_task)
        check_columns(table.header, {"task": task}, table.source, option="--pred-")
        return table, {"task": task}

    def _inside(self, path: Path) -> TextTable | None:
        """The table of column:NAME, export:NAME or worker:NAME, in the file of labels; None for a file."""
        name = column_of(path)
        if name is None and str(path) in self.opened.table.header and not Path(path).exists():
            text = f"there is no file {str(path)!r}; for the column of the labels say"
            raise ValueError(f"{text} {_COLUMN}{path}")
        if name is None or not str(path).startswith(_COLUMN):
            return None if name is None else apply.of_worker(self.rows, name)
        return apply.beside(self.opened.table, self.plan, name)


def with_calibration(args: Any) -> tuple[Any, Any]:
    """What was typed about the new items, and (labels, gold) of the file of --calibration; None without one.

    The truth of that file is where --gold says, or as `together` finds it. The new items are read with its
    judges and classes where nothing is typed.
    """
    if getattr(args, "calibration", None) is None:
        return args, None
    if args.calibration == _STDIN:
        raise ValueError("--calibration must be a file, because it is read twice")
    from jtruth.evaluation.calibrated import PERSON

    old = SimpleNamespace(**vars(args) | {"file": args.calibration, "order": None})
    file = opened(old.file, asked_of(old), old.sep)
    if old.gold is None and (found := found_beside(file.rows(), file.plan).get("gold")):
        old.gold = Path(found)
    by = args.by if args.by in file.table.header else None
    everybody = SimpleNamespace(**vars(old) | {"gold": None})  # whose words are classes too
    tables = Tables(old, old.gold, by=by, classes=_classes_of_all(everybody))
    new, labels = SimpleNamespace(**vars(args) | {"gold": None}), tables.labels
    who = str(old.gold).removeprefix(_WORKER)
    if who != str(old.gold) and who in map(str, labels.worker_names):  # a labeler like the others
        pair: Any = labels.without_labeler(who), labels.labels_of(who)
    else:
        pair = labels, tables.gold()
    judges = [name for name in map(str, labels.worker_names) if not PERSON.search(name)]
    if args.file == _STDIN:
        return new, pair
    header = opened(args.file, asked_of(new), args.sep).table.header
    common = [name for name in judges if name in header]
    if args.labelers is None:
        new.labelers = ",".join(common) or None
    try:
        same = Tables(new, by=args.by, classes=labels.class_names).labels
    except ValueError as why:
        if common or "no column" not in str(why):
            raise
        raise ValueError(
            f"{args.file.name} has no judge of the calibration ({quoted(judges, 4)}); its columns are "
            f"{quoted(header, 8)}. Use the same name of the judge in both files"
        ) from None
    if args.classes is None and np.count_nonzero(same.counts().sum(axis=0)) == 1:
        new.classes = list(map(str, same.class_names))
    return new, pair


def _classes_of_all(args: Any) -> tuple[str, ...]:
    """The classes of all labelers; none where all of them always say the same."""
    with suppress(ValueError):
        return Tables(args).labels.class_names
    return ()


def asked_of(args: Any) -> FilePlan:
    """What was typed about how the file of labels is read."""
    several, one = (
        ("task", "labelers", "abstain"),
        ("worker", "label", "scale", "repeats", "missing", "contains"),
    )
    lists = {what: typed_names([text]) for what in several if (text := getattr(args, what))}
    same = {what: getattr(args, what) for what in one}
    return FilePlan.asked(
        args.plan_file,
        layout="wide" if args.wide else None,
        classes=typed_names(args.classes or ()),
        map=typed_map(args.map) if args.map else None,
        pass_at=_cut(args.pass_at),
        **lists,
        **same,
    )


def _cut(text: str | None) -> float | str | None:
    """Where labels are cut: a number, or a word of a scale."""
    return text if text is None or number_in(text) != number_in(text) else number_in(text)


def open_labels(args: Any) -> Opened:
    """The file of labels and its plan."""
    file = opened(args.file, asked_of(args), args.sep)
    args.how_read = file.plan.sentence()
    return file


def labels_of(args: Any) -> Labels:
    """The labels of a file."""
    file = open_labels(args)
    return labels_of_rows(file.rows(), file.plan)


def counted(args: Any, **idle: Any) -> Any:
    """The stream of a Parquet file that is too large for memory, counted by an engine; None of any other.

    Options `idle` need tasks by name, which such an answer does not have.
    """
    table = None if args.file == _STDIN else large_table(args.file, asked_of(args))
    if table is None:
        return None
    from jtruth.cli.output import progress
    from jtruth.evaluation.by_one_model import the_prior
    from jtruth.learning import stream_of_table

    refuse(idle, "needs tasks by name, and a file of so many labels is counted without them; leave it out")
    frame, options = table
    with progress("counting labels") as advance:
        return stream_of_table(frame, **options, smoothing=the_prior, progress=advance)


def labels_in_time(args: Any, classes: Sequence[str] | None) -> tuple[Labels, np.ndarray | None]:
    """Labels, of which `--classes` must be the `classes` known; and when each sample was labelled first."""
    file = open_labels(args)
    if classes is not None:
        typed = file.plan.classes
        if typed is not None and list(classes) != list(typed):
            names = ", ".join(classes)
            raise ValueError(f"--classes {','.join(typed)}: the state has {names}, so leave --classes out")
        file = file._replace(plan=replace(file.plan, classes=tuple(classes)))
    labels = labels_of_rows(file.rows(), file.plan)
    when = None if args.order is None else apply.order_of(file.table, file.plan, args.order, labels)
    return labels, when if when is None or when.ndim == 1 else np.nanmin(when, axis=1)


def column_of(path: Path | None) -> str | None:
    """The name in column:NAME or export:NAME; None for a file."""
    begin, _, name = str(path).partition(":")
    return name if f"{begin}:" in (_COLUMN, _EXPORT, _WORKER) else None


def inclusion_of(path: Path, labels: Labels) -> np.ndarray:
    """Each sample's chance to be among the gold, from a table task, inclusion."""
    columns = as_table(path).pick({"task": "task", "inclusion": "inclusion"})
    texts, tasks = dict(zip(*columns, strict=True)), list(map(str, labels.task_names))
    chances = np.array([number_in(texts.get(task, "")) for task in tasks])
    if (bad := np.flatnonzero(np.isnan(chances))).size:
        task = tasks[bad[0]]
        what = f"task {task!r} has {repr(texts[task]) if task in texts else 'nothing'}"
        raise ValueError(f"--inclusion {path.name}: {what}; each task needs a number")
    return with_tasks(chances, labels.tasks)


def noise_of(file: Path | None, labels: Labels) -> tuple[NoiseModel | None, np.ndarray | None]:
    """(noise model, prior) of a JSON file of known error rates."""
    if file is None:
        return None, None
    data = read_noise(file, labels)
    prior = data.get("prior")
    if "model" in data:
        return NoiseModel.from_dict({k: v for k, v in data.items() if k != "prior"}), prior
    if "draws" in data:
        shares, matrices = data["draws"]
        return DrawnMatrices(matrices, shares), None
    if "confusion_matrices" in data:
        return ConfusionMatrices(data["confusion_matrices"]), prior
    if "symmetric" in data:
        return Symmetric(data["symmetric"], labels.num_classes), prior
    return DifficultyFallibility(data["difficulty"], data["fallibility"], labels.num_classes), prior


_SHARES = "one number for each class, such as .8,.2, or no=.8,yes=.2"


def numbers(text: str | None, option: str = "--prior", what: str = _SHARES, size: int = 0) -> Any:
    """Numbers as they are typed, .8,.2, or by class, no=.8,yes=.2; and `size` of them if it is not 0."""
    if text is None:
        return None
    with suppress(ValueError):
        named = [part.rpartition("=") for part in text.split(",")]
        typed = tuple(float(part) for *_, part in named)
        if all(sign for _, sign, _ in named) and len({name for name, *_ in named}) == len(typed) and not size:
            return {name.strip(): part for (name, *_), part in zip(named, typed, strict=True)}
        if len(typed) == (size or len(typed)) and not any(sign for _, sign, _ in named):
            return typed
    raise ValueError(f"{option} {text!r}: give {what}")


def with_notes(found: Any, notes: Sequence[str]) -> Any:
    """An answer with the notes of its tables before its own warnings."""
    return found.with_warnings(map(Read, notes))


def class_code(name: str | None, labels: Labels | None) -> int:
    """Code of the positive class: by name, by number without labels; chosen by `positive_of` if unsaid."""
    if labels is not None:
        return positive_of(labels)[0] if name is None else labels.class_code(name)
    if name is None:
        return 1
    if not (name.isascii() and name.isdigit()):
        raise ValueError(f"--positive {name!r}: without a file of labels, classes are numbers (0, 1)")
    return int(name)
