"""Answers written to files: every kind of table by its ending, and imports of annotation tools."""

import csv
import json

import numpy as np
import pandas as pd
import pytest

import jtruth as jt
from jtruth._files import ENDINGS, write_table
from jtruth.io.parsing import as_table
from jtruth.io.writing import FORMATS

HEADER = ("task", "n", "who")
ROWS = [("001", 0.5, "=x"), ("-n, é", 2, None), ('say "hi"', float("nan"), "a\tb")]
TEXTS = {"t1": "good", "t2": "bad <b>", "t3": "fine, \n really"}
VOTES = {"t1": "ppn", "t2": "nnn", "t3": "pnp"}  # of ann, bob and cid
AGREED = {"t1": ("p", 2 / 3), "t2": ("n", 1.0), "t3": ("p", 2 / 3)}
PEOPLE = ("ann", "bob", "cid")


@pytest.mark.parametrize("ending", [*ENDINGS, *(f"{one}.gz" for one in ENDINGS[:4]), ".CSV", ""])
def test_a_file_is_what_its_ending_says_and_is_read_back(tmp_path, ending):
    path = tmp_path / f"table{ending}"
    jt.write((HEADER, iter(ROWS)), path)
    kind, packed = ending.lower().removesuffix(".gz"), "gzip" if ending.endswith(".gz") else None
    if kind in (".json", ".jsonl", ".parquet"):  # by another library
        options = {"dtype": False, "lines": kind == ".jsonl", "compression": packed}
        frame = pd.read_parquet(path) if kind == ".parquet" else pd.read_json(path, **options)
        assert frame["task"].tolist() == [row[0] for row in ROWS] and frame["who"][0] == "=x"
        assert frame["n"].tolist()[:2] == [0.5, 2] and np.isnan(frame["n"][2])
    table = as_table(path)
    assert table.header == HEADER and list(table.columns[0]) == [row[0] for row in ROWS]
    assert list(table.columns[2])[:2] == ["=x", ""]
    assert float(table.columns[1][0]) == 0.5 and float(table.columns[1][1]) == 2


@pytest.mark.parametrize("name", ["a.xlsx", "a.txt", "a.parquet.gz", "a.csv.zip", "a.json.bz2", "a.pkl"])
def test_other_endings_are_refused_with_those_that_exist(tmp_path, name):
    with pytest.raises(ValueError, match=r"end it in \.csv, \.tsv, \.json, \.jsonl, \.parquet"):
        write_table(tmp_path / name, HEADER, ROWS)
    assert not list(tmp_path.iterdir())
    for format, (_, endings) in FORMATS.items():
        for other in {".csv", ".jsonl", ".json.gz", ".parquet", ""} - set(endings):
            with pytest.raises(ValueError, match=r"end it in \.json"):
                jt.write((HEADER, ROWS), tmp_path / f"a{other}", format=format)
    with pytest.raises(ValueError, match="must be one of 'label_studio', 'argilla', 'doccano'"):
        jt.write((HEADER, ROWS), tmp_path / "a.json", format="prodigy")
    with pytest.raises(ValueError, match="columns task, label and p_"):
        jt.write((HEADER, ROWS), tmp_path / "a.json", format="doccano")


WAYS = {  # Label Studio: a kind of control, and how it writes the classes p and n
    "choices": ("choices", {"p": ["pos"], "n": ["neg"]}, {"p": "pos", "n": "neg"}),
    "rating": ("rating", {"p": 4, "n": 1}, {"p": "4", "n": "1"}),
    "taxonomy": ("taxonomy", {"p": [["a", "pos"]], "n": [["neg"]]}, {"p": "a / pos", "n": "neg"}),
    "pairwise": ("selected", {"p": "left", "n": "right"}, {"p": "left", "n": "right"}),
}


def studio(kind, task, votes):
    key, values, _ = WAYS[kind]
    result = [{"from_name": "mood", "to_name": "it", "type": kind, "value": {key: values[v]}} for v in votes]
    listed = [{"completed_by": who, "result": [one]} for who, one in zip(PEOPLE, result, strict=True)]
    return {"id": int(task[1:]), "data": {"txt": TEXTS[task], "deep": {"a": [1]}}, "annotations": listed}


def consensus_of(path):
    labels = jt.read_labels(path)
    return jt.consensus(labels, "majority_vote"), labels


@pytest.mark.parametrize("kind", WAYS)
def test_label_studio_gets_predictions_of_its_own_project(tmp_path, kind):
    path, out = tmp_path / "export.json", tmp_path / "back.json"
    path.write_text(json.dumps([studio(kind, *one) for one in VOTES.items()]))
    agreed, labels = consensus_of(path)
    jt.write(agreed, out, format="label_studio", source=path)
    key, values, words = WAYS[kind]
    expected = [
        {"id": int(task[1:]), "data": {"txt": TEXTS[task], "deep": {"a": [1]}}, "predictions": [
            {"model_version": "jtruth majority_vote", "score": pytest.approx(p), "result": [
                {"from_name": "mood", "to_name": "it", "type": kind, "value": {key: values[best]}}]}]}
        for task, (best, p) in AGREED.items()
    ]  # fmt: skip
    assert json.loads(out.read_text()) == expected
    back = jt.read_labels(out)  # nobody labelled there: models are the labelers
    assert back.worker_names == ("jtruth majority_vote",) and "There are no human labels here" in "".join(
        back.notes
    )
    told = {name: back.class_names[c] for name, c in zip(back.task_names, back.label, strict=True)}
    assert told == {task[1:]: words[best] for task, (best, _) in AGREED.items()}
    np.testing.assert_array_equal(jt.read_predictions(out, labels).y_pred, agreed.label)


def argilla(task, votes):
    responses = [{"value": {"p": "pos", "n": "neg"}[v], "user_id": who, "status": "submitted"}
                 for who, v in zip(PEOPLE, votes, strict=True)]  # fmt: skip
    return {"id": task, "fields": {"txt": TEXTS[task]}, "metadata": {"year": 1}, "suggestions": {},
            "responses": {"mood": responses}, "vectors": {}}  # fmt: skip


def plain(task, votes):
    named = {who: {"p": "pos", "n": "neg"}[v] for who, v in zip(PEOPLE, votes, strict=True)}
    return {"item": task, "text": TEXTS[task], **named}


def test_argilla_and_doccano_get_their_records_with_scores(tmp_path):
    """From Argilla's own export, and from a wide table of no tool, whose other columns are data."""
    own, table = tmp_path / "records.json", tmp_path / "table.csv"
    own.write_text(json.dumps([argilla(*one) for one in VOTES.items()]))
    pd.DataFrame([plain(*one) for one in VOTES.items()]).to_csv(table, index=False)
    word = {"p": "pos", "n": "neg"}
    for path, question, name in ((own, "mood", None), (table, "quality", "quality")):
        labels = jt.read_labels(path, **({} if path == own else {"labelers": PEOPLE, "task": "item"}))
        agreed, out = jt.consensus(labels, "majority_vote"), tmp_path / "back.json"
        source = path if path == own else jt.io.reading.opened(path, jt.io.FilePlan.asked(
            labelers=PEOPLE, task="item"))  # fmt: skip
        jt.write(agreed, out, format="argilla", source=source, question=name)
        for record, (task, (best, p)) in zip(json.loads(out.read_text()), AGREED.items(), strict=True):
            fields = {"txt": TEXTS[task]} if path == own else {"item": task, "text": TEXTS[task]}
            guess = {"value": word[best], "score": pytest.approx(p), "agent": "jtruth majority_vote"}
            assert record["suggestions"] == {question: guess} and record["responses"] == {}
            assert (record["id"], record["fields"]) == (task, fields)
            assert record["metadata"] == ({"year": 1} if path == own else {})
        np.testing.assert_array_equal(jt.read_predictions(out, labels).y_pred, agreed.label)
        assert jt.read_labels(out).worker_names == ("jtruth majority_vote",)
        for ending in (".json", ".jsonl"):
            jt.write(agreed, document := tmp_path / f"d{ending}", format="doccano", source=source)
            text = document.read_text()
            found = json.loads(text) if ending == ".json" else list(map(json.loads, text.splitlines()))
            expected = [(task, [word[best]]) for task, (best, _) in AGREED.items()]
            assert [(one["id"], one["label"]) for one in found] == expected
            texts = [one["txt" if path == own else "text"] for one in found]
            assert texts == list(TEXTS.values()) and found[0]["score"] == pytest.approx(2 / 3)
            np.testing.assert_array_equal(jt.read_predictions(document, labels).y_pred, agreed.label)


def test_annotators_see_texts_and_never_what_is_true(tmp_path):
    """Gold (by name, or used as such) is no data; the text is the longest column, or else it is said."""
    rows = [{"case": f"c{k}", "prompt": f"what is {k} + {k}?", "kind": "sum", "n": str(10**20 + k),
             "truth": "p", "checked": "pn"[k % 2], **dict(zip(PEOPLE, "ppn"))} for k in range(6)]  # fmt: skip  # noqa: B905
    pd.DataFrame(rows).to_csv(tmp_path / "t.csv", index=False)
    long = [{**{n: row[n] for n in row if n not in PEOPLE}, "worker": who, "label": row[who]}
            for row in rows for who in PEOPLE]  # fmt: skip
    pd.DataFrame(long).to_csv(tmp_path / "long.csv", index=False)
    agreed = jt.consensus(jt.Labels.from_matrix([[0, 0, 1]] * 6, classes=["p", "n"]).with_names(
        tasks=[row["case"] for row in rows]), "majority_vote")  # fmt: skip
    for name, asked in (("t.csv", {"labelers": PEOPLE}), ("long.csv", {})):
        plan = jt.io.FilePlan.asked(task="case", **asked)
        source = jt.io.reading.opened(tmp_path / name, plan, leave_out=["checked"])
        own = {"case": "c0", "prompt": "what is 0 + 0?", "kind": "sum", "n": str(10**20)}
        assert jt.write(agreed, tmp_path / "s.json", format="label_studio", source=source) is None
        studio = json.loads((tmp_path / "s.json").read_text())[0]
        assert studio["data"] == own and studio["predictions"][0]["result"][0]["to_name"] == "prompt"
        jt.write(agreed, tmp_path / "d.json", format="doccano", source=source)
        first = json.loads((tmp_path / "d.json").read_text())[0]
        assert first == own | {
            "id": "c0",
            "text": own["prompt"],
            "label": ["p"],
            "score": pytest.approx(2 / 3),
        }
    pd.DataFrame(rows).drop(columns="prompt").to_csv(tmp_path / "t.csv", index=False)
    source = jt.io.reading.opened(tmp_path / "t.csv", jt.io.FilePlan.asked(task="case", labelers=PEOPLE))
    said = jt.write(agreed, tmp_path / "d.json", format="doccano", source=source)
    assert said == "The file has no column of texts, so annotators will see 'case'."
    flat = [{"id": f"c{k}", "status": "completed", "fields.q": "eh", "mood.responses": list("ppn"),
             "mood.responses.users": list(PEOPLE), "mood.suggestion": "p", "mood.suggestion.agent": "m"}
            for k in range(6)]  # fmt: skip
    (tmp_path / "flat.json").write_text(json.dumps(flat))
    jt.write(agreed, tmp_path / "a.json", format="argilla", source=tmp_path / "flat.json")
    assert json.loads((tmp_path / "a.json").read_text())[0]["fields"] == {"q": "eh"}
    by_user = [json.dumps({"id": k, "text": f"t{k}", "label": ["pn"[k % 2]], "username": who})
               for k in range(3) for who in PEOPLE]  # fmt: skip
    (tmp_path / "u.jsonl").write_text("\n".join(by_user))
    assert jt.read_labels(tmp_path / "u.jsonl").worker_names == PEOPLE


def test_an_answer_is_written_as_its_table_and_labels_as_theirs(tmp_path):
    labels = jt.Labels.from_matrix([["p", "p", "n"], ["n", "n", "n"], ["p", "n", "p"]], classes=["n", "p"])
    agreed = jt.consensus(labels, "majority_vote")
    jt.write(agreed, tmp_path / "c.parquet")
    assert pd.read_parquet(tmp_path / "c.parquet")["label"].tolist() == ["p", "n", "p"]
    told = jt.labeler_agreement(labels)
    jt.write(told, tmp_path / "a.jsonl")
    rows = [json.loads(line) for line in (tmp_path / "a.jsonl").read_text().splitlines()]
    shown = told.to_frame("pandas")
    assert [row["value"] for row in rows] == pytest.approx(shown["value"].tolist())
    jt.write(labels, tmp_path / "l.tsv")
    with open(tmp_path / "l.tsv", newline="") as file:
        assert len(list(csv.reader(file, delimiter="\t"))) == 10
    assert jt.read_labels(tmp_path / "l.tsv").counts().tolist() == labels.counts().tolist()
    with pytest.raises(ValueError, match="a float has no table to write"):
        jt.write(0.5, tmp_path / "x.csv")
