"""A table of known meaning, written in any usual way, is read correctly or refused.

A table is drawn by its seed. Tasks, workers, classes and labels are its meaning; layout, format, names and
order of columns, columns beside the labels and spellings of missing cells are its form. The result must be
the same set of (task, worker, class), or a ValueError; anything else is a misreading. The rules:

- columns beside the labels (ids, times, texts, numbers, groups, gold, a derived majority) are no labelers,
  nor is a worker called GOLD; a labeler whose column is left out is a misreading too;
- of a worker with repeated labels (epochs) one of the most frequent labels is right;
- with a second key (question) a task is any name that contains both; where no column name identifies the
  tasks, any names will do, if the same labels are of one task;
- text that differs in its Unicode form alone, equal numbers, and true and True are the same.

`python tests/io/test_read_back.py 0 5000 [plain]` prints how often each kind is read, refused and misread,
and the smallest tables that are misread.
"""

import csv
import gzip
import io
import json
import random
import string
import sys
import unicodedata
from collections import Counter, defaultdict
from datetime import datetime
from importlib.util import find_spec
from inspect import signature
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import pytest

import jtruth as jt

# fmt: off
LABELERS = "labelers" in signature(jt.read_labels).parameters  # can a reader be told who are labelers?
of = str.split
GAPS = ("", "NA", "N/A", "null", "None", "nan", "-", "--", ".", "*", "?")
PLAIN = [*map(of, (  # vocabularies
    "yes no", "true false", "True False", "pass fail", "ja nein", "Y N", "correct incorrect", "B M",
    "low medium high critical", "never rarely sometimes often always", "A B C D F", "poor fair good",
    "cat dog bird fish horse cow", "Complaint Question Praise", "bénin malin équivoque", "grün blau")),
    ["toxic", "not toxic"], ["strongly disagree", "disagree", "neutral", "agree", "strongly agree"],
    [1, 0], [True, False], [0, 1, 2], [1, 2, 3, 4, 5], [1, 2, 5, 10], [0, 10], [3, 4, 7], ["a,b", "b,c"],
    ["Pain, acute", "Pain, chronic", "None of these"], ['say "no"', "say, yes"],
    [f"{word} " * 60 + word for word in ("agree", "differ", "abstain")]]
SPECIAL = {
    "-1/1": [-1, 1], "decimals": [0.0, 0.5, 1.0],
    "named NA": of("NA ZA BW"), "named None": of("None Some All"),
    "two forms": ["bénin", "malin", *(unicodedata.normalize("NFD", c) for c in ("bénin", "malin"))]}
TASKS = (
    lambda i: f"t{i}", lambda i: f"{i:04d}", lambda i: i + 1, lambda i: f"img_{i:05d}.png",
    lambda i: f"é-{i}", lambda i: f"Why is {i} odd?", lambda i: f"https://x.org/{i}",
    lambda i: f"{i * 2654435761 % 2**32:08x}x")
NAMES = of("ann bob chén dora emil fay gus hal")
JUDGES = of("gpt-4o claude llama3 gemini mistral qwen phi o3")
WORKERS = (
    lambda j: NAMES[j], lambda j: f"w{j}", lambda j: f"annotator_{j + 1}", lambda j: JUDGES[j],
    lambda j: f"Reader {'ABCDEFGH'[j]}", lambda j: f"{NAMES[j]}@lab.org", lambda j: "abcdefgh"[j],
    lambda j: f"judge_{j}")
USUAL = {
    "task": of("task item item_id task_id sample_id example_id doc_id image id"),
    "worker": of("worker worker_id annotator annotator_id rater judge labeler coder"),
    "label": of("label answer rating verdict annotation category")}
OTHER = {
    "task": of("Aufgabe tâche tarea objeto c1"), "worker": of("Bewerter annotateur evaluador c2"),
    "label": of("Urteil étiquette etiqueta valor c3")}
BESIDE = {
    "row": of("row;Unnamed: 0;uid;index", ";"), "iso": of("created_at timestamp"),
    "epoch": of("ts submitted"), "local": of("Date when"), "text": of("text transcript comment"),
    "constant": of("split project language"), "number": of("age length seconds"), "count": of("n_votes"),
    "group": of("system site batch"), "prediction": of("prediction y_pred model_pred"),
    "gold": of("gold truth expert_final ground_truth"), "score": of("score confidence"),
    "majority": of("final_label consensus majority_vote adjudicated"), "small": of("n_images pages year"),
    "derived": of("result decision outcome"), "thousands": of("views likes")}
HARMLESS = ("iso", "text", "constant", "number")
TEXTS = ("csv", "tsv", "tab.txt", "semicolon.csv", "bom.csv", "utf16.csv", "latin.csv", "csv.gz",
         "pandas.csv")
TYPED = ("records.json", "jsonl", "data.json", "columns.json", "pandas.json", "parquet", "frame",
         *["xlsx"] * (find_spec("openpyxl") is not None))
LAYOUTS = of("long long long wide wide wide anonymous transposed by_item epochs questions gold_worker")
# fmt: on


class Drawn(NamedTuple):
    """A table as a file, how to read it, and what it means."""

    kind: tuple  # layout, format, names of columns, vocabulary, columns beside
    data: bytes
    options: dict
    meaning: dict  # (task, worker) -> the classes of which any is right
    renamed: bool = False  # nobody could know how tasks are called


class World:
    """Who gave which class to what, and the columns that a table of it may have beside."""

    def __init__(self, r: random.Random, layout: str, plain: bool):
        self.r, self.plain, self.options = r, plain, {}
        self.classes, self.vocabulary = self.vocabulary_of()
        name, who = r.choice(TASKS), r.choice(WORKERS)
        self.tasks = [name(i) for i in range(r.randint(10 if plain else 2, 60))]
        self.workers = [who(j) for j in range(r.randint(3 if plain else 2, 8))]
        self.truth, self.right = {t: r.choice(self.classes) for t in self.tasks}, r.uniform(0.5, 0.9)
        seen = r.choice((1, 0.9, 0.6))
        self.given = {(t, w): self.give(t) for t in self.tasks for w in self.workers if r.random() < seen}
        self.columns_are(layout)

    def vocabulary_of(self) -> tuple[list, str]:
        """Classes, and what kind they are; some need an option."""
        if self.plain or self.r.random() < 0.6:
            values = self.r.choice(PLAIN)
            kind = "numbers" if type(values[0]) is int else "words"
            return self.r.sample(values, self.r.randint(2, min(6, len(values)))), kind
        kind, values = self.r.choice(list(SPECIAL.items()))
        if kind.startswith("named") or (kind == "-1/1" and self.r.random() < 0.5):
            self.options["classes"] = tuple(map(str, values))
        return values, kind

    def columns_are(self, layout: str) -> None:
        """Usual names, or words that nobody could know; half of these are told to the reader."""
        known = ("transposed", "questions", "by_item", "anonymous")
        usual = self.plain or layout in known or self.r.random() < 0.6
        self.columns = {role: self.r.choice((USUAL if usual else OTHER)[role]) for role in USUAL}
        self.names = "usual" if usual else self.r.choice(("told", "foreign"))
        if self.names == "told":
            wide = {"task": self.columns["task"]} | ({"labelers": tuple(self.workers)} if LABELERS else {})
            self.options |= wide if layout == "wide" else self.columns

    def give(self, task: Any) -> Any:
        return self.truth[task] if self.r.random() < self.right else self.r.choice(self.classes)

    def beside(self, tasks: list, table: dict) -> tuple[list, dict[str, list]]:
        """Up to three kinds of columns, where the table has no column of such a name yet."""
        kinds = self.r.sample(HARMLESS if self.plain else tuple(BESIDE), self.r.choice((0, 0, 1, 2, 3)))
        few, words = len(self.tasks) < 20 or len(self.workers) < 3, self.vocabulary == "words"
        kinds = [k for k in kinds if not (k == "derived" and few) and not (k == "small" and not words)]
        column = lambda one: [self.cell(one, k, t) for k, t in enumerate(tasks)]  # noqa: E731
        found = {self.r.choice(BESIDE[one]): column(one) for one in kinds}
        known = set(self.r.sample(self.tasks, max(1, len(self.tasks) // self.r.choice((1, 3)))))
        for name in set(found) & set(BESIDE["gold"]):
            found[name] = [c if t in known else None for t, c in zip(tasks, found[name], strict=True)]
        return sorted(kinds), {name: values for name, values in found.items() if name not in table}

    def cell(self, kind: str, k: int, task: Any) -> Any:
        """The cell of row k."""
        i, truth = self.tasks.index(task), self.truth[task]
        majority = kind in ("majority", "derived")
        votes = Counter(c for (t, _), c in self.given.items() if majority and t == task)
        cells = {"row": k + 1, "iso": f"2026-03-{1 + k % 28:02d}T{k % 24:02d}:15:07Z", "gold": truth,
                 "epoch": 1_770_000_000 + 61 * k, "local": f"{1 + k % 28:02d}/03/2026 {k % 24:02d}:15",
                 "text": f"Message {i}: the parcel, again, was late; where is it?", "constant": "test",
                 "number": round(20 + 97 * (i * 0.618 % 1), 2), "count": 1 + k % 3, "prediction": truth,
                 "group": ("alpha", "beta", "gamma")[i % 3], "score": round(i * 0.618 % 1, 3),
                 "small": 1 + i % 4, "thousands": f"{1000 + 317 * i:,}"}  # fmt: skip
        most = max(votes, key=votes.__getitem__) if votes else truth
        wrong = kind == "prediction" and self.r.random() < 0.15
        return self.r.choice(self.classes) if wrong else cells.get(kind, most)

    def table(self, layout: str) -> tuple[list, dict[str, list], dict]:
        """Kinds of columns beside, the columns with None where nobody labelled, and the meaning."""
        task, worker, label = (self.columns[role] for role in USUAL)
        meaning: dict = {key: {c} for key, c in self.given.items()}
        if layout == "transposed":
            items = {str(t): [self.given.get((t, w)) for w in self.workers] for t in self.tasks}
            return [], {worker: self.workers} | items, meaning
        if layout in ("wide", "anonymous"):
            table = {w: [self.given.get((t, w)) for t in self.tasks] for w in self.workers}
            table = table if layout == "anonymous" else {task: self.tasks} | table
            kinds, more = self.beside(self.tasks, table)
            return kinds, table | more, meaning
        rows = [(t, w, c) for (t, w), c in self.given.items()]
        third: dict[str, list] = {}
        if layout == "epochs":
            rows = [row for row in rows for _ in range(3)]
            rows = [(t, w, self.give(t) if self.r.random() < 0.3 else c) for t, w, c in rows]
            third[self.r.choice(("epoch", "run", "attempt"))] = [k % 3 for k in range(len(rows))]
            given: dict = defaultdict(Counter)
            for t, w, c in rows:
                given[t, w][c] += 1
            meaning = {key: {c for c in had if had[c] == max(had.values())} for key, had in given.items()}
        elif layout == "questions":
            self.tasks = [f"i{i:03d}" for i in range(len(self.tasks))]
            self.truth = {t: self.r.choice(self.classes) for t in self.tasks}
            asked = self.r.sample(("fluency", "coherence", "faithful"), self.r.choice((2, 3)))
            keys = product(self.tasks, asked, self.workers)
            cells = [(t, w, self.r.choice(self.classes), q) for t, q, w in keys]
            rows, meaning = [one[:3] for one in cells], {((t, q), w): {c} for t, w, c, q in cells}
            third[self.r.choice(("question", "aspect", "criterion", "system"))] = [q for *_, q in cells]
        elif layout == "gold_worker":
            who = self.r.choice(("GOLD", "gold", "truth", "expert_final"))
            rows += [(t, who, self.truth[t]) for t in self.r.sample(self.tasks, (len(self.tasks) + 1) // 2)]
        elif not self.plain and self.r.random() < 0.1:
            rows += self.r.sample(rows, len(rows) // 5)  # whole rows again
        elif not self.plain and self.r.random() < 0.15:
            rows += [(t, w, None) for t in self.tasks for w in self.workers if (t, w) not in self.given]
        table = {name: [row[j] for row in rows] for j, name in enumerate((task, worker, label))} | third
        kinds, more = self.beside([row[0] for row in rows], table)
        return kinds, table | more, meaning


def drawn(seed: int, *, plain: bool = False) -> Drawn:
    """The table of a seed; `plain`: long or wide, usual names, nothing beside that could be a labeler."""
    r = random.Random(f"{seed} {plain}")
    layout = r.choice(("long", "wide") if plain else LAYOUTS)
    world = World(r, layout, plain)
    if layout == "by_item":
        tree: dict = defaultdict(dict)
        for (t, w), c in world.given.items():
            tree[str(t)][w] = c
        data = json.dumps(tree, ensure_ascii=r.random() < 0.5).encode()
        meaning = {key: {c} for key, c in world.given.items()}
        return Drawn((layout, "by_item.json", "usual", world.vocabulary), data, world.options, meaning)
    kinds, table, meaning = world.table(layout)
    form, gap = r.choice(TEXTS + TYPED), "" if "classes" in world.options else r.choice(GAPS)
    flaw = "" if plain or form not in TEXTS else r.choice((*[""] * 8, "blank rows", "header again"))
    data = written(r, shuffled(r, table, layout), form, gap, flaw)
    kind = (layout, form, world.names, world.vocabulary, *kinds, *[flaw] * bool(flaw))
    return Drawn(kind, data, world.options, meaning, layout == "anonymous" or world.names == "foreign")


def shuffled(r: random.Random, table: dict[str, list], layout: str) -> dict[str, list]:
    """The rows in any order, and the columns, unless their place says what they are."""
    size, names = len(next(iter(table.values()))), list(table)
    order = r.sample(range(size), size) if r.random() < 0.5 else range(size)
    names = r.sample(names, len(names)) if r.random() < 0.3 and layout != "transposed" else names
    return {name: [table[name][k] for k in order] for name in names}


def written(r: random.Random, table: dict[str, list], form: str, gap: str, flaw: str) -> bytes:
    """The file. Typed formats have nothing where a cell is missing, or its spelling, and numbers."""
    size = len(next(iter(table.values())))
    if form in TEXTS:
        floats = {name for name, column in table.items() if form == "pandas.csv" and None in column}
        text = lambda v, whole: gap if v is None else f"{v}.0" if whole and type(v) is int else f"{v}"  # noqa: E731
        cells = {name: [text(v, name in floats) for v in column] for name, column in table.items()}
        sep = "\t" if form in ("tsv", "tab.txt") else ";" if form == "semicolon.csv" else ","
        writer = csv.writer(out := io.StringIO(), delimiter=sep, lineterminator=r.choice(("\n", "\r\n")))
        rows = list(zip(*cells.values(), strict=True)) + [[""] * len(cells)] * 3 * (flaw == "blank rows")
        rows[size // 2 : size // 2] = [list(cells)] * (flaw == "header again" and size > 3)
        writer.writerows([list(cells), *rows])
        code = {"bom.csv": "utf-8-sig", "utf16.csv": "utf-16", "latin.csv": "cp1252"}.get(form, "utf-8")
        data = (nfc(out.getvalue()) if form == "latin.csv" else out.getvalue()).encode(code)
        return gzip.compress(data, mtime=0) if form == "csv.gz" else data
    spelled = None if r.random() < 0.7 else gap
    typed = {name: [spelled if v is None else v for v in column] for name, column in table.items()}
    if form in ("parquet", "frame"):
        import pyarrow as pa
        from pyarrow import parquet

        several = {name for name, c in typed.items() if len({type(v) for v in c if v is not None}) > 1}
        text = lambda v: None if v is None else str(v)  # noqa: E731
        one = {name: list(map(text, c)) if name in several else c for name, c in typed.items()}
        one |= {name: list(map(datetime.fromisoformat, one[name])) for name in {*one} & {*BESIDE["iso"]}}
        parquet.write_table(pa.table({name: pa.array(c) for name, c in one.items()}), packed := io.BytesIO())
        return packed.getvalue()
    if form == "xlsx":
        from openpyxl import Workbook

        book = Workbook()
        for row in [list(typed), *zip(*typed.values(), strict=True)]:
            book.active.append(row)
        book.save(packed := io.BytesIO())
        return packed.getvalue()
    rows = [{name: typed[name][k] for name in typed} for k in range(size)]
    if form == "jsonl":
        return "".join(json.dumps(row) + "\n" for row in rows).encode()
    by_column = {name: {str(k): v for k, v in enumerate(column)} for name, column in typed.items()}
    trees = {"records.json": rows, "data.json": {"data": rows}, "columns.json": typed}
    trees["pandas.json"] = by_column
    return json.dumps(trees[form], ensure_ascii=False).encode()


def nfc(value: Any) -> str:
    return unicodedata.normalize("NFC", str(value))


def plain_text(value: Any) -> str:
    """What two spellings of one class share: the Unicode form, the number, the case."""
    text = nfc(value).casefold()
    try:
        return f"{float(text):g}" if set(text) <= set(string.digits + ".-") else text
    except ValueError:
        return text


def tasks_of(case: Drawn, found: dict) -> tuple[dict, dict]:
    """What was found and what is meant by names of tasks that can be compared."""
    keys = {key for key, _ in case.meaning}
    if any(isinstance(key, tuple) for key in keys):
        fits = {name: [key for key in keys if all(part in name for part in key)] for name, _ in found}
        name = lambda t: fits[t][0] if len(fits[t]) == 1 else t  # noqa: E731
        return {(name(t), w): had for (t, w), had in found.items()}, case.meaning
    meant = {(nfc(t), nfc(w)): c for (t, w), c in case.meaning.items()}
    if not case.renamed:
        return found, meant
    return by_content(found), by_content(meant)


def by_content(given: dict) -> dict:
    """Labels whose tasks are called by what is said of them, and their number."""
    of: dict = defaultdict(list)
    for (t, w), classes in given.items():
        of[t].append((w, tuple(sorted(map(plain_text, classes)))))
    count = Counter(tuple(sorted(rows)) for rows in of.values())
    return {((rows, n), w): list(classes) for rows, n in count.items() for w, classes in rows}


def verdict(case: Drawn, labels: Any) -> str:
    """exact, or misread and what differs."""
    found: dict = defaultdict(list)
    task, worker, label = labels.task_names, labels.worker_names, tuple(map(plain_text, labels.class_names))
    for i, j, c in zip(*(one.tolist() for one in labels.entries()), strict=True):
        found[nfc(task[i]), nfc(worker[j])].append(label[c])
    found, meant = tasks_of(case, found)
    for one, other, what in ((found, meant, "no labels"), (meant, found, "lost")):
        if more := sorted(map(str, set(one) - set(other)))[:3]:
            return f"misread: {', '.join(more)} are {what}"
    for key, had in found.items():
        right = set(map(plain_text, meant[key]))
        if not set(had) <= right or (len(had) > 1 and len(right) == 1):
            return f"misread: {key} is {had}, not {right}"
    return "exact"


def read_back(case: Drawn, folder: Path) -> str:
    """exact, doubt, or misread or crash and why."""
    path = folder / f"labels.{case.kind[1]}"
    path.write_bytes(case.data)
    try:
        if case.kind[1] == "frame":
            import pandas as pd

            path = pd.read_parquet(path)
        return verdict(case, jt.read_labels(path, **case.options))
    except ValueError as why:
        return f"doubt: {why}"
    except Exception as why:
        return f"crash: {type(why).__name__}: {why}"


def all_read(seeds: Any, folder: Path, **how: Any) -> list[tuple[Drawn, str]]:
    return [(case, read_back(case, folder)) for case in (drawn(seed, **how) for seed in seeds)]


def wrong(cases: list[tuple[Drawn, str]]) -> list[str]:
    """What was misread or crashed, the smallest file first."""
    bad = [one for one in cases if one[1].startswith(("misread", "crash"))]
    bad.sort(key=lambda one: len(one[0].data))
    return [f"{case.kind} {case.options}: {said}\n{case.data[:600]!r}" for case, said in bad]


def rates(cases: list[tuple[Drawn, str]], part: int) -> dict[str, Counter]:
    """How often each kind (of the layout 0, format 1, names 2, vocabulary 3) is exact, doubted, misread."""
    table: dict[str, Counter] = defaultdict(Counter)
    for case, said in cases:
        table[case.kind[part]][said.split(":")[0]] += 1
    return table


def test_tables_are_read_back_or_refused(tmp_path):
    assert wrong(all_read(range(300), tmp_path)) == []


def test_the_plan_of_a_table_reads_it_again(tmp_path):
    """A plan that was made, and one that was written and read, give the labels that the table means."""
    for case in (drawn(seed) for seed in range(300, 400)):
        (path := tmp_path / f"labels.{case.kind[1]}").write_bytes(case.data)
        if case.kind[1] != "frame" and read_back(case, tmp_path) == "exact":
            data = jt.read(path, **case.options)
            assert (
                verdict(case, data.labels) == verdict(case, jt.read(path, plan=data.plan).labels) == "exact"
            )


@pytest.mark.slow
@pytest.mark.parametrize("start", range(1000, 7000, 1000))
def test_thousands_of_tables_are_read_back_or_refused(tmp_path, start):
    assert wrong(all_read(range(start, start + 1000), tmp_path)) == []


def test_plain_tables_are_read_and_not_refused(tmp_path):
    cases = all_read(range(240), tmp_path, plain=True)
    assert wrong(cases) == []
    for part in (0, 1):
        for kind, count in rates(cases, part).items():
            refused = [said for case, said in cases if case.kind[part] == kind and said != "exact"]
            assert count["exact"] >= 0.9 * count.total(), (kind, refused[:2])


def test_what_is_misread_is_seen(tmp_path):
    """Labels that were changed, lost, or moved to another task or worker are no longer the same."""
    case = Drawn(("long", "csv"), b"task,worker,label\na,u,x\na,v,y\nb,u,y\nb,v,x\n", {}, {
        ("a", "u"): {"x"}, ("a", "v"): {"y"}, ("b", "u"): {"y"}, ("b", "v"): {"x"}})  # fmt: skip
    assert read_back(case, tmp_path) == "exact"
    rows = [["a", "a", "b", "b"], ["u", "v", "u", "v"], ["x", "y", "y", "x"]]
    for k, other in ((0, ["a", "a", "b", "c"]), (1, ["v", "u", "u", "v"]), (2, ["x", "y", "x", "x"])):
        changed = jt.Labels.from_long(*[other if j == k else row for j, row in enumerate(rows)])
        assert verdict(case, changed).startswith("misread")
    assert verdict(case, jt.Labels.from_long(*(row[1:] for row in rows))).startswith("misread")


if __name__ == "__main__":
    import tempfile

    with tempfile.TemporaryDirectory() as place:
        read = all_read(range(*map(int, sys.argv[1:3])), Path(place), plain="plain" in sys.argv)
    for part in range(4):
        for kind, count in sorted(rates(read, part).items()):
            print(f"{kind:16} {dict(count)}")
    print(*wrong(read)[:20], sep="\n")
