"""Logs of evaluations, crowd platforms, surveys: what is written in every format is read back, or refused."""

import json
import zipfile

import numpy as np
import pytest

from jtruth._validation.text import TextTable
from jtruth._validation.words import Source
from jtruth.io.exports import GOLD, of_records, of_table
from jtruth.io.parsing import as_table, parsed
from tests.io import formats
from tests.io.formats import FORMATS, csv, lines

ROWS = [("t1", "ann", "pos"), ("t1", "bob", "pos"), ("t2", "ann", "pos"), ("t2", "bob", "neg"),
        ("t3", "ann", "neg"), ("t3", "bob", "neg"), ("t4", "ann", "neg")]  # fmt: skip
FIRST = {"pairs": "{} | m1 | m2", "preferences": "{} | m1 | m2"}  # how a task is called there


@pytest.fixture
def read(tmp_path):
    """Reads a file with this name and content as a known format."""

    def of(name, content, label=None):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        file = parsed(path)
        rows = None if isinstance(file, TextTable) else of_records(*file, label)
        return of_table(as_table(file), label) if rows is None else rows

    return of


def told(rows, words=formats.WORDS, task="{}", whose=lambda who: who):
    """Labels as (task, labeler, "pos" or "neg"), once each."""
    name = dict(zip(words, formats.WORDS, strict=True))
    found = zip(rows.task, map(whose, rows.worker), (name[label] for label in rows.label), strict=True)
    return sorted(set(found))


def written(rows, name):
    """The labels as this format calls tasks and labelers."""
    people = {who: who for _, who, _ in rows}
    if name == "ragas":
        people = {"ann": "faithfulness", "bob": "context_recall", "cid": "answer_relevancy"}
    if name == "ratings":
        people = {who: f"expert {k}" for k, who in enumerate(sorted(people), 1)}
    return sorted((FIRST.get(name, "{}").format(task), people[who], label) for task, who, label in rows)


@pytest.mark.parametrize("name", FORMATS)
def test_the_same_labels_in_every_format(read, name):
    file, content, words = FORMATS[name](ROWS)
    rows = read(file, content, "coherence" if name == "ratings" else None)
    assert told(rows, words) == written(ROWS, name)
    assert all(len(column) == len(rows.task) for column in (rows.worker, rows.label, *rows.more.values()))
    assert not rows.beside


@pytest.mark.parametrize("name", FORMATS)
def test_any_labels_are_read_back(read, name):
    """Thirty random tables with gaps, of three labelers and up to seven tasks; the first has one task."""
    rng = np.random.default_rng(46)
    for trial in range(30):
        rows = [
            (f"t{task}", who, formats.WORDS[int(rng.random() < 0.4)])
            for task in range(1, 8 if trial else 2)
            for who in ("ann", "bob", "cid")
            if rng.random() < 0.8
        ]
        if name == "nested" and (len(formats.by_task(rows)) < 4 or trial == 0):
            continue  # tasks and workers cannot be known apart
        file, content, words = FORMATS[name](rows)
        found = read(file, content, "coherence" if name == "ratings" else None)
        assert told(found, words) == written(rows, name), trial


def changed(name, change):
    """A JSON format after a change of what it holds."""
    file, content, _ = FORMATS[name](ROWS)
    if file.endswith("jsonl"):
        records = [json.loads(line) for line in content.splitlines()]
        change(records)
        return file, lines(records)
    found = json.loads(content)
    change(found)
    return file, json.dumps(found)


def sample(k, scores, epoch=1, **more):
    return {"id": k, "epoch": epoch, "scores": scores, **more}


def log(*samples, model="m/one"):
    return {"version": 2, "eval": {"task": "toy", "model": model}, "samples": list(samples)}


def values(**scores):
    return {who: {"value": value} for who, value in scores.items()}


def test_inspect_epochs_errors_and_metadata(read):
    """Two epochs of two samples by hand: one sample failed, one score is null, one is NaN."""
    found = log(
        sample(
            "a", values(s="C", t="I"), 1, metadata={"topic": "law", "epoch": "x", "long": "y" * 99, "o": {}}
        ),
        sample("a", values(s="C", t=None), 2, error=None),
        sample("b", values(s="N", t="P"), 1, metadata={"topic": 7}),
        sample("b", None, 2, error={"message": "rate limit"}),
        sample("c", {}, 1),
        sample("c", values(s=float("nan")), 2),
    )
    rows = read("log.json", json.dumps(found))
    verdicts = list(zip(rows.task, rows.worker, rows.label, rows.more["epoch"], strict=True))
    assert verdicts == [("a", "s", "C", "1"), ("a", "t", "I", "1"), ("a", "s", "C", "2"),
                        ("b", "s", "N", "1"), ("b", "t", "P", "1")]  # fmt: skip
    assert rows.more["topic"] == ["law", "law", "", "7", "7"] and "long" not in rows.more
    assert rows.more["metadata.epoch"][0] == "x" and set(rows.more["model"]) == {"m/one"}
    assert rows.skipped == {
        "samples with an error": 1,
        "samples without a score": 1,
        "verdicts without a value": 2,
    }
    assert rows.form == "inspect_ai log, 2 scorers"


def test_inspect_numbers_letters_and_one_score_of_old(read):
    """1 and 0 beside letters are C and I, as the tool itself has it; other mixed scales are refused."""
    rows = read(
        "a.json", json.dumps(log(sample(1, values(s="C", t=1, u=False)), sample(2, values(s="I", t=0.5))))
    )
    assert rows.label == ["C", "C", "I", "I", "P"]
    numbers = log(sample(1, values(s=1.0, t=True)), sample(2, values(s=0, t=False)))
    assert read("b.json", json.dumps(numbers)).label == ["1", "1", "0", "0"]
    old = log({"id": 1, "epoch": 1, "score": {"value": "C"}}, {"id": 2, "epoch": 1, "score": None})
    assert (read("c.json", json.dumps(old)).worker, read("c.json", json.dumps(old)).label) == (
        ["score"],
        ["C"],
    )
    for other in (0.7, 8):
        mixed = json.dumps(log(sample(1, values(s="C", t=other)), sample(2, values(s="I", t=other))))
        with pytest.raises(
            ValueError, match=r"d.json: the scorers have different scales \(s: 'C', 'I'; t: .*--label 's'"
        ):
            read("d.json", mixed)
        assert read("d.json", mixed, "t").label == [str(other)] * 2
    with pytest.raises(ValueError, match="different scales"):
        read("e.json", json.dumps(log(sample(1, values(s=0.25, t=4)), sample(2, values(s=1, t=5)))))


def test_inspect_scores_with_several_values(read):
    found = json.dumps(
        log(sample(1, values(s={"fair": "C", "kind": "I"})), sample(2, values(s={"fair": "I"})))
    )
    with pytest.raises(
        ValueError, match=r"several scores could be the label: 'fair', 'kind'. Choose one, .*--label fair"
    ):
        read("a.json", found)
    assert read("a.json", found, "fair").label == ["C", "I"]
    assert read("a.json", found, "kind").label == ["I"]
    both = json.dumps(log(sample(1, values(s={"fair": "C"}, t="I"))))
    assert (read("a.json", both, "t").worker, read("a.json", both, "fair").worker) == (["t"], ["s"])


def test_a_human_scorer_is_gold_and_never_alone(read):
    """Of two epochs that contradict one another no truth is taken."""
    scores = [("a", "C", "C"), ("a", "I", "C"), ("b", "I", "I"), ("b", "I", "I"), ("c", "C", None)]
    found = log(*(sample(k, values(judge=j, human_check=h), n % 2) for n, (k, j, h) in enumerate(scores)))
    found["samples"][1]["scores"]["human_check"]["value"] = "I"
    rows = read("a.json", json.dumps(found))
    assert set(rows.worker) == {"judge"} and rows.beside == {GOLD: {"b": "I"}}
    assert any("'human_check' seems to be a person" in note for note in rows.notes)
    assert any("verified labels of 1 task (--gold export:ground_truth)" in note for note in rows.notes)
    alone = read("b.json", json.dumps(log(sample("a", values(human="C")))))
    assert alone.worker == ["human"] and not alone.beside
    two = read("c.json", json.dumps(log(sample("a", values(human_1="C", human_2="I", judge="C")))))
    assert len(two.worker) == 3 and not two.beside
    assert read("a.json", json.dumps(found), "human_check").worker == ["human_check"] * 4


def test_models_under_test_are_a_column_and_a_part_of_the_task(read, tmp_path):
    logs = [log(sample("q", values(s="C")), model="x"), log(sample("q", values(s="I")), model="y")]
    for rows in (read("a.json", json.dumps(logs)), read("a.jsonl", lines(logs))):
        assert rows.task == ["q | x", "q | y"] and rows.more["model"] == ["x", "y"]
    path = tmp_path / "logs.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for k, one in enumerate(logs):
            archive.writestr(f"{k}.json", json.dumps(one))
    assert read("logs.zip", path.read_bytes()).task == ["q | x", "q | y"]
    assert read("b.json", json.dumps(logs[0])).task == ["q"]


def test_an_archive_of_inspect_in_all_its_versions(read, tmp_path, monkeypatch):
    _, content, words = formats.inspect_archive(ROWS)
    expected = told(read("a.eval", content), words)

    def rewritten(name, keep, rename):
        with zipfile.ZipFile(tmp_path / "old.zip", "w") as new:
            (tmp_path / "all.zip").write_bytes(content)
            with zipfile.ZipFile(tmp_path / "all.zip") as old:
                for one in filter(keep, old.namelist()):
                    new.writestr(rename.get(one, one), old.read(one))
        return read(name, (tmp_path / "old.zip").read_bytes())

    first = rewritten("b.eval", lambda n: n != "header.json", {"_journal/start.json": "start.json"})
    running = rewritten("c.eval", lambda n: n.startswith(("samples/", "_journal")), {})
    assert told(first, words) == told(running, words) == expected
    with pytest.raises(ValueError, match=r"c.eval: this is an inspect_ai log, and it has no samples"):
        rewritten("c.eval", lambda n: n.startswith("_journal"), {})
    bad = content.replace(
        b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x08\x00", b"PK\x01\x02\x14\x03\x14\x00\x00\x00\x5d\x00"
    )
    assert bad != content
    with pytest.raises(
        ValueError, match=r"d.eval: this inspect_ai log is packed by a newer method .*inspect log convert"
    ):
        read("d.eval", bad)
    monkeypatch.setenv("JTRUTH_UNPACK_GB", "0.0000002")
    with pytest.raises(ValueError, match=r"e.eval: unpacked this is more than"):
        read("e.eval", content)


def result(test, provider, ok=True, parts=(), **more):
    grading = {"pass": ok, "componentResults": [{"pass": p, "assertion": a} for p, a in parts]}
    return {"testIdx": test, "promptIdx": 0, "provider": provider, "vars": {"q": f"q{test}"}, "success": ok,
            "gradingResult": grading, **more}  # fmt: skip


def promptfoo(*results, **top):
    return json.dumps({"evalId": "e", "results": {"results": list(results)}, **top})


def test_promptfoo_providers_repeats_and_errors(read):
    """Repeats have numbers of their own in real files: the same variables are the same test."""
    results = [result(0, "x"), result(0, {"id": "y", "label": "why"}, False, error="reason", failureReason=1),
               result(1, "x", False, vars={"q": "q0"}), result(2, "x", False, failureReason=2, error="429"),
               result(2, "why", False, error="429", gradingResult=None), result(3, "x", vars={}),
               result(4, "x", vars={})]  # fmt: skip
    for rows in (
        read("a.json", promptfoo(*results)),
        read("b.json", json.dumps({"version": 2, "results": results, "stats": {}})),
        read("c.jsonl", lines(results)),
    ):
        assert rows.task == ["0 | x", "0 | why", "0 | x", "3 | x", "4 | x"]
        assert rows.label == ["pass", "fail", "fail", "pass", "pass"] and set(rows.worker) == {"promptfoo"}
        assert rows.more["model"] == ["x", "why", "x", "x", "x"] and rows.more["repeat"] == [
            "1",
            "1",
            "2",
            "1",
            "1",
        ]
        assert rows.skipped == {"results with an error": 2}


def test_promptfoo_assertions_prompts_and_people(read):
    """Different assertions together are one verdict; by --label each is one; what a person said is gold."""
    parts = [(True, {"type": "contains", "value": "a"}), (False, {"type": "llm-rubric", "value": "b"}),
             (True, {"type": "llm-rubric", "value": "c"})]  # fmt: skip
    person = [(True, {"type": "human"}), *parts]
    found = promptfoo(result(0, "x", False, parts), result(1, "x", True, person))
    rows = read("a.json", found)
    assert (rows.label, rows.worker, rows.beside) == (
        ["fail", "fail"],
        ["promptfoo"] * 2,
        {GOLD: {"1": "pass"}},
    )
    rows = read("a.json", found, "assertions")
    assert rows.worker == ["contains", "llm-rubric", "llm-rubric 2"] * 2
    assert rows.label == ["pass", "fail", "pass"] * 2
    assert read("a.json", found, "contains").label == ["pass", "pass"]
    assert read("a.json", found, "success").label == ["fail", "fail"]
    with pytest.raises(ValueError, match="there is no scorer 'tone'; there are 'contains'"):
        read("a.json", found, "tone")
    two = promptfoo(
        result(0, "x", prompt={"label": "short"}), result(0, "x", False, prompt={"label": "long"})
    )
    assert read("b.json", two).task == ["0 | x | prompt 1", "0 | x | prompt 2"]


def test_promptfoo_tables_of_both_versions(read):
    old = [{"q": "a", "[x] Say {{q}}": "[PASS] yes", "[y] Say {{q}}": "[FAIL] no\n---\nyes"},
           {"q": "b", "[x] Say {{q}}": "[ERROR] 429", "[y] Say {{q}}": "[PASS] a [FAIL] word"}]  # fmt: skip
    rows = read("a.csv", csv(old))
    assert rows.task == ["0 | x", "0 | y", "1 | y"] and rows.label == ["pass", "fail", "pass"]
    assert rows.skipped == {"results with an error": 1} and rows.more["model"] == ["x", "y", "y"]
    new = [{"q": q, "[x] p": "[FAIL] said the model", "Status": status, "Score": 1} for q, status in
           (("a", "PASS"), ("b", "FAIL"), ("a", "FAIL"))]  # fmt: skip
    rows = read("b.csv", csv(new))
    assert (rows.task, rows.label, rows.more["repeat"]) == (
        ["0", "1", "0"],
        ["pass", "fail", "fail"],
        ["1", "1", "2"],
    )


def test_promptfoo_tables_repeat_a_header_for_each_output(read):
    several = (
        "q,[x] p,Status,Score,[y] p,Status,Score\na,out,PASS,1,[PASS],FAIL,0\nb,out,ERROR,0,out,PASS,1\n"
    )
    rows = read("c.csv", several)
    assert (rows.task, rows.label) == (["0 | x", "0 | y", "1 | y"], ["pass", "fail", "pass"])
    with pytest.raises(ValueError, match="the header has 'Status' more than once"):
        read("d.csv", "q,Status,Status\na,b,c\n")


def test_deepeval_in_its_versions(read):
    """No score or error is no verdict; without `success` the threshold decides, equal names have inputs."""
    metrics = [{"name": "m", "score": None, "success": True}, {"name": "n", "score": 0.6, "threshold": 0.7},
               {"name": "o", "success": False, "error": "timeout"}, {"name": "p", "score": 0.5}]  # fmt: skip
    cases = [{"name": "c", "input": "i", "metrics_data": metrics, "metadata": {"topic": "law"}},
             {"name": "c", "input": "j", "metrics_data": metrics[1:2]}, {"metrics_data": None}]  # fmt: skip
    for top in ({"test_results": cases}, {"testRunData": {"testCases": cases}, "hyperparameters": {}}):
        rows = read("a.json", json.dumps(top))
        assert list(zip(rows.task, rows.worker, rows.label, strict=True)) == [
            ("c | i", "n", "fail"), ("c | i", "p", "pass"), ("c | j", "n", "fail")]  # fmt: skip
        assert rows.skipped == {"verdicts without a value": 2} and rows.more["topic"] == ["law", "law", ""]


def test_lm_eval_filters_are_a_doubt_and_metrics_labelers(read):
    line = lambda k, name, **scores: {"doc_id": k, "resps": [], "filter": name, **scores}  # noqa: E731
    records = [line(k, name, acc=float(k == n), acc_norm=1, metrics=["acc", "acc_norm"])
               for n, name in enumerate(("strict", "loose")) for k in range(2)]  # fmt: skip
    with pytest.raises(
        ValueError, match=r"several filters could be the label: 'strict', 'loose'. Choose one, .* strict"
    ):
        read("s.jsonl", lines(records))
    assert read("s.jsonl", lines(records), "loose").label == ["0", "1", "1", "1"]
    assert read("s.jsonl", lines(records), "acc,strict").label == ["1", "0"]
    plain = [line(k, "none", acc=k, exact=True) for k in range(2)]
    assert read("p.jsonl", lines(plain), "acc").label == ["0", "1"]
    assert read("p.jsonl", lines(plain)).worker == ["acc", "exact"] * 2
    whole = {"results": {}, "samples": {"gsm": plain, "arc": plain[:1]}}
    rows = read("r.json", json.dumps(whole), "acc")
    assert rows.task == ["gsm | 0", "gsm | 1", "arc | 0"] and rows.more["benchmark"] == ["gsm", "gsm", "arc"]


def test_pairs_in_both_orders_whoever_stands_first(read):
    one = {"question_id": 81, "model_1": "x", "model_2": "y", "judge": ["j", "pair-v2"], "turn": 1,
           "g1_winner": "model_1", "g2_winner": "tie", "tstamp": 1.5, "category": "math"}  # fmt: skip
    turned = one | {"model_1": "y", "model_2": "x", "judge": ["k", "pair-v2"], "g2_winner": "error"}
    rows = read("p.jsonl", lines([one, turned]))
    assert rows.task == ["81 | x | y"] * 3 and rows.worker == ["j", "j", "k"]
    assert rows.label == ["model_1", "tie", "model_2"] and rows.more["order"] == ["1", "2", "1"]
    assert rows.more["pair"] == ["x | y"] * 3 and rows.more["category"] == ["math"] * 3
    assert read("p.jsonl", lines([one, turned]), "g2_winner").label == ["tie"]
    later = one | {"turn": 2, "judge": ["j", "pair-v2-multi-turn"]}
    assert (
        read("p.jsonl", lines([one, later])).task == ["81 | turn 1 | x | y"] * 2 + ["81 | turn 2 | x | y"] * 2
    )
    both = read("p.jsonl", lines([one, one | {"judge": ["j", "other"]}]))
    assert both.worker == ["j pair-v2", "j pair-v2", "j other", "j other"]
    single = {"question_id": 1, "model": "x", "judge": ["j", "v"], "score": 7, "turn": 1}
    rows = read("s.jsonl", lines([single, single | {"model": "y", "score": 9.5}, single | {"score": -1}]))
    assert (rows.task, rows.label) == (["1 | x", "1 | y"], ["7", "9.5"])
    assert rows.skipped == {"verdicts without a value": 1}


def test_alpaca_weighted_ties_and_nothing(read):
    one = {"instruction": "do", "output_1": "a", "output_2": "b", "generator_1": "base", "generator_2": "new"}
    told = [1.0000123, 1.98, 1.5, None, 0]
    rows = read(
        "a.json", json.dumps([one | {"annotator": f"a{k}", "preference": p} for k, p in enumerate(told)])
    )
    assert rows.label == ["1", "2", "1.5", "1.5"] and rows.more["against"] == ["base"] * 4
    assert rows.notes[0].startswith("Weighted preferences") and rows.skipped == {
        "verdicts without a value": 1
    }


def test_scores_of_langfuse_langsmith_and_ragas(read):
    """What people said in the interface is gold, under the name of a score or under one of its own."""
    score = lambda trace, name, value, source="EVAL": {  # noqa: E731
        "id": f"{trace}{name}{source}", "trace_id": trace, "observation_id": "", "name": name, "value": value,
        "string_value": "", "data_type": "BOOLEAN", "source": source}  # fmt: skip
    found = [
        score("t1", "right", 1),
        score("t1", "right", 0, "ANNOTATION"),
        score("t2", "right", 1),
        score("t2", "b", 0),
    ]
    rows = read("s.csv", csv(found))
    assert list(zip(rows.task, rows.worker, rows.label, strict=True)) == [
        ("t1", "right", "1"), ("t2", "right", "1"), ("t2", "b", "0")]  # fmt: skip
    assert rows.beside == {GOLD: {"t1": "0"}}
    answer = read("s.json", json.dumps({"data": found, "meta": {"page": 1}}))
    assert (answer.task, answer.label, answer.beside) == (rows.task, rows.label, rows.beside)
    feedback = [
        {"run_id": k, "key": key, "score": v} for k, key, v in (("r", "gpt", 1), ("r", "gold_human", 0))
    ]
    rows = read("f.csv", csv(feedback))
    assert (rows.worker, rows.beside) == (["gpt"], {GOLD: {"r": "0"}})
    table = [
        {"question": f"q{k}", "answer": "a", "faithfulness": k / 4, "mine": 1.0, "human_ok": "yes"}
        for k in (1, 2)
    ]
    rows = read("r.csv", csv([*table, table[0] | {"question": "q3", "faithfulness": None, "human_ok": ""}]))
    assert list(zip(rows.task, rows.worker, rows.label, strict=True)) == [
        ("q1", "faithfulness", "0.25"), ("q1", "mine", "1.0"), ("q2", "faithfulness", "0.5"),
        ("q2", "mine", "1.0"), ("q3", "mine", "1.0")]  # fmt: skip
    assert rows.beside == {GOLD: {"q1": "yes", "q2": "yes"}}


def test_lists_of_ratings_and_objects_of_tasks(read):
    record = {"id": "d", "expert_annotations": [{"fluency": 4, "relevance": 2}, {"fluency": 5}],
              "turker_annotations": [{"fluency": 1, "relevance": 3}]}  # fmt: skip
    found = lines([record | {"model_id": "M1"}, record | {"model_id": "M2"}])
    with pytest.raises(ValueError, match="several ratings could be the label: 'fluency', 'relevance'"):
        read("s.jsonl", found)
    rows = read("s.jsonl", found, "fluency")
    assert rows.worker == ["expert 1", "expert 2", "turker 1"] * 2 and rows.label == ["4", "5", "1"] * 2
    assert rows.task == ["d | M1"] * 3 + ["d | M2"] * 3
    people = {who: {f"t{k}": "yn"[k % 2] for k in range(5)} for who in ("ann", "bob")}
    rows = read("w.json", json.dumps(people))
    assert sorted(set(rows.worker)) == ["ann", "bob"] and len(set(rows.task)) == 5
    square = {f"a{k}": {f"b{j}": "yn"[j % 2] for j in range(4)} for k in range(4)}
    with pytest.raises(
        ValueError, match=r"which names are tasks and which are workers. Convert it to a table"
    ):
        read("q.json", json.dumps(square))


def test_toloka_appen_zooniverse_and_their_gold(read):
    name, content, _ = formats.toloka(ROWS)
    rows = read(name, content.replace("t1.png\tpos\t", "t1.png\tpos\tneg"))
    assert rows.beside == {GOLD: {"t1": "neg"}} and rows.skipped == {"rejected answers": 1}
    with pytest.raises(
        ValueError, match="this is a Toloka result, and it has no column ASSIGNMENT:worker_id"
    ):
        read("t.tsv", "INPUT:image\tOUTPUT:result\tCONFIDENCE:result\na\tx\t90%\n")
    answers = (("u", 1, "x", "x"), ("u", 2, "y", "x"), ("v", 1, "x\ny", "x\nz"))
    names = ("_unit_id", "_worker_id", "a", "a_gold")
    appen = [dict(zip(names, one, strict=True)) | {"_golden": 1, "b": one[1]} for one in answers]
    rows = read("a.csv", csv(appen))
    assert rows.label == ['["x"]', '["y"]', '["x", "y"]'] and rows.beside == {GOLD: {"u": '["x"]'}}
    plain = [
        {k: v for k, v in one.items() if k not in ("a_gold", "b")} | {"url": one["_unit_id"]} for one in appen
    ]
    assert read("b.csv", csv(plain)).form == "Appen report, 2 workers, answer 'a'"
    with pytest.raises(
        ValueError, match="this is an Appen report, and it has one row for each unit; download"
    ):
        read("c.csv", "_unit_id,_golden,_trusted_judgments,a,a:confidence\n1,false,3,x,0.9\n")

    def zoo(*steps, gold=("",)):
        base = {"classification_id": 1, "user_name": "v", "subject_ids": 9}
        return csv(
            [base | {"annotations": json.dumps(one), "gold_standard": g} for one in steps for g in gold]
        )

    step = lambda value, task="T0": {"task": task, "task_label": "?", "value": value}  # noqa: E731
    assert read("z.csv", zoo([step("Star")], [step(["Moon", "Sun"])])).label == [
        '["Star"]',
        '["Moon", "Sun"]',
    ]
    assert read("z.csv", zoo([step([step("x", "T1")], "T3")])).form.endswith("task 'T1'")
    assert read("z.csv", zoo([step([{"choice": "LION", "answers": {}}])])).label == ["LION"]
    assert read("z.csv", zoo([step([{"value": "a1", "label": "One", "option": True}])])).label == ["One"]
    with pytest.raises(ValueError, match="several tasks could be the label: 'T0', 'T1'"):
        read("z.csv", zoo([step("a"), step("b", "T1")]))
    with pytest.raises(ValueError, match=r"its answers are drawings or texts. Convert it to a table"):
        read("z.csv", zoo([step([{"x": 1.0, "y": 2.0}])]))
    rows = read("z.csv", zoo([step("a")], gold=("", "true")))
    assert (rows.label, rows.beside) == (["a"], {GOLD: {"9": "a"}})


def test_qualtrics_and_manifests(read):
    name, content, _ = formats.qualtrics(ROWS)
    head, ids, names, *answers = content.splitlines()
    row = '{"ImportId":"QID9"}'
    more = [
        f"{head},age",
        f"{ids},How old?",
        f'{names},"{row.replace(chr(34), chr(34) * 2)}"',
        *(f"{a},4{k}" for k, a in enumerate(answers)),
    ]
    preview = "Survey Preview,R_x" + ",pos" * (head.count(",") - 1) + ",30"
    rows = read(name, "\n".join([*more, preview]))
    assert told(rows) == sorted(ROWS) and rows.skipped == {"previews": 1, "questions without an answer": 1}
    assert "Questions with other answers were left out: 'age'." in rows.notes
    line = {
        "source-ref": "s3://b/1",
        "tags": [0, 2],
        "tags-metadata": {"class-map": {"0": "a", "2": "b"}, "type": "x"},
    }
    assert read("m.manifest", lines([line])).label == ['["a", "b"]']
    box = {
        "source-ref": "s",
        "box": {"annotations": [], "image_size": []},
        "box-metadata": {"class-map": {"0": "a"}},
    }
    with pytest.raises(
        ValueError, match="this is a SageMaker Ground Truth manifest, and its labels are boxes"
    ):
        read("m.manifest", lines([box]))


def test_sets_are_written_in_one_order_whichever_tool(read):
    """Multi-label answers of five tools; the order of clicks says nothing."""
    given = (["b", "a"], ["a", "b"], ["a"])
    studio = [{"id": k, "data": {}, "annotations": [{"completed_by": 1, "result": [
        {"from_name": "f", "type": "choices", "value": {"choices": some}}]}]}
        for k, some in enumerate(given)]  # fmt: skip
    minimal = [{"id": k, "annotation_id": k, "annotator": 1,
                "f": json.dumps({"choices": v}) if len(v) > 1 else v[0]}
               for k, v in enumerate([*given, *given])]  # fmt: skip
    prodigy = [{"_input_hash": k, "_task_hash": k, "options": [], "accept": some, "answer": "accept"}
               for k, some in enumerate(given)]  # fmt: skip
    argilla = [{"id": k, "fields": {},
                "responses": [{"user_id": 1, "status": None, "values": {"q": {"value": some}}}]}
               for k, some in enumerate(given)]  # fmt: skip
    doccano = [
        {"id": k, "data": "t", "label": "#".join(some), "Comments": "[]"} for k, some in enumerate(given)
    ]
    expected = ['["a", "b"]', '["a", "b"]', '["a"]']
    for content in (json.dumps(studio), csv(minimal), lines(prodigy), json.dumps(argilla), csv(doccano)):
        assert read("x", content).label[:3] == expected


def test_a_taxonomy_is_its_path_and_a_ranking_is_refused(read):
    path = [{"id": 1, "data": {}, "annotations": [{"completed_by": 1, "result": [
        {"from_name": "f", "type": "taxonomy", "value": {"taxonomy": [["Animal", "Dog"]]}}]}]}]  # fmt: skip
    assert read("x.json", json.dumps(path)).label == ["Animal / Dog"]
    ranked = [
        {"id": 1, "fields": {}, "responses": {"q": [{"user_id": 1, "value": [{"rank": 1, "value": "a"}]}]}}
    ]
    with pytest.raises(ValueError, match="this is an Argilla export, and its answers are rankings"):
        read("x.json", json.dumps(ranked))


JUNK = (None, 0, 1.5, "x", [], {}, [1], {"a": 1}, True, ["a", ["b"]], [{"a": 1}], "[1", "{}")


def damaged(found, rng):
    """Somewhere in these objects something is gone, or is something else."""
    places = [(found, k) for k in range(len(found))]
    for inside, key in places:
        deeper = inside[key]
        if isinstance(deeper, dict | list):
            places += [(deeper, k) for k in (deeper if isinstance(deeper, dict) else range(len(deeper)))]
    inside, key = places[rng.integers(len(found), len(places))]
    if rng.random() < 0.4:
        del inside[key]
    else:
        inside[key] = JUNK[rng.integers(len(JUNK))]
    return found


@pytest.mark.parametrize("name", [name for name, one in FORMATS.items() if "json" in one(ROWS)[0]])
def test_damaged_files_are_a_sentence(read, name):
    """Of 60 damaged files each gives labels in whole columns, is no known format, or is refused by name."""
    rng = np.random.default_rng(7)
    file, content, _ = FORMATS[name](ROWS)
    whole = json.loads(content) if file.endswith("json") else list(map(json.loads, content.splitlines()))
    whole = json.dumps(whole if isinstance(whole, list) else [whole])
    for _ in range(60):
        try:
            rows = of_records({"": damaged(json.loads(whole), rng)}, Source(file), None)
        except ValueError as problem:
            assert str(problem).startswith(file), problem
            continue
        if rows is not None:
            columns = (rows.task, rows.worker, rows.label, *rows.more.values())
            assert len({len(column) for column in columns}) == 1
            assert all(isinstance(text, str) for column in columns for text in column)
