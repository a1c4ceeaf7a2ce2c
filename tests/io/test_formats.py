"""Logs of evaluations, crowd platforms, surveys: every written format is read back, or refused."""

import json
import zipfile

import numpy as np
import pytest

from jtruth._validation.text import TextTable
from jtruth._validation.words import Source
from jtruth.io.exports import GOLD, of_records, of_table
from jtruth.io.parsing import parsed
from tests.io import formats
from tests.io.formats import CALLED, WORDS, csv, lines, written

ROWS = [("t1", "ann", "pos"), ("t1", "bob", "pos"), ("t2", "ann", "pos"), ("t2", "bob", "neg"),
        ("t3", "ann", "neg"), ("t3", "bob", "neg"), ("t4", "ann", "neg")]  # fmt: skip
WITHOUT = "verdicts without a label"
PARTS = "its labels are drawings, rankings or parts of a text"


@pytest.fixture
def read(tmp_path):
    """Reads a file with this content, or with these objects of JSON, as a known format."""

    def of(content, label=None, name="x.json"):
        path = tmp_path / name
        content = content if isinstance(content, str | bytes) else json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        file = parsed(path)
        return of_table(file, label) if isinstance(file, TextTable) else of_records(*file, label)

    return of


def table(rows):
    return list(zip(rows.task, rows.worker, rows.label, strict=True))


def told(rows, name):
    """Labels as (task, labeler, "pos" or "neg"), once each, whatever the format calls them."""
    people = {
        "ragas": formats.SHARES,
        "ratings": {who: f"expert {k}" for k, who in enumerate(formats.SHARES, 1)},
    }
    who = {new: old for old, new in people.get(name, {}).items()}
    word = dict(zip(CALLED[name], WORDS, strict=True))
    return sorted({(t.removesuffix(" | m1 | m2"), who.get(w, w), word[label]) for t, w, label in table(rows)})


@pytest.mark.parametrize("name", CALLED)
def test_any_labels_are_read_back_in_every_format(read, name):
    """Seven labels, and thirty random tables with gaps, of three labelers and up to seven tasks."""
    rng = np.random.default_rng(46)
    for trial in range(31):
        rows = [
            (f"t{task}", who, WORDS[int(rng.random() < 0.4)])
            for task in range(1, 8 if trial > 1 else 2)
            for who in formats.SHARES
            if rng.random() < 0.8
        ]
        rows = rows if trial else ROWS
        file, content = written(name, rows)
        found = read(content, "coherence" if name == "ratings" else None, file)
        assert told(found, name) == sorted(rows), trial
        assert not found.beside
        assert {len(column) for column in found.more.values()} <= {len(found.task)} == {len(found.label)}


# fmt: off
def sample(k, scores, epoch=1, **more):
    scores = scores and {who: {"value": value} for who, value in scores.items()}
    return {"id": k, "epoch": epoch, "scores": scores, **more}


def log(*samples, model="m/one"):
    return {"version": 2, "eval": {"task": "toy", "model": model}, "plan": {}, "samples": list(samples)}


def test_inspect_epochs_errors_and_metadata(read):
    """Two epochs of two samples by hand: one sample failed, one score is null, one is NaN."""
    metadata = {"topic": "law", "epoch": "x", "long": "y" * 99, "o": {}}
    rows = read(log(sample("a", {"s": "C", "t": "I"}, 1, metadata=metadata),
                    sample("a", {"s": "C", "t": None}, 2, error=None),
                    sample("b", {"s": "N", "t": "P"}, 1, metadata={"topic": 7}),
                    sample("b", None, 2, error={"message": "rate limit"}),
                    sample("c", {}, 1), sample("c", {"s": float("nan")}, 2)))
    assert rows.task == list("aaabb") and rows.worker == list("stsst") and rows.label == list("CICNP")
    assert rows.more["epoch"] == ["1", "1", "2", "1", "1"] and set(rows.more["model"]) == {"m/one"}
    assert rows.more["topic"] == ["law", "law", "", "7", "7"] and "long" not in rows.more
    assert rows.more["metadata.epoch"][0] == "x"
    assert rows.skipped == {"samples with an error": 1, "samples without a score": 1, WITHOUT: 2}
    assert rows.form == "inspect_ai log, 2 scorers"


def test_inspect_numbers_letters_and_several_values(read):
    """1 and 0 beside letters are C and I, as the tool itself has it; other mixed scales are refused."""
    letters = log(sample(1, {"s": "C", "t": 1, "u": False}), sample(2, {"s": "I", "t": 0.5}))
    assert read(letters).label == ["C", "C", "I", "I", "P"]
    assert read(log(sample(1, {"s": 1.0, "t": True}), sample(2, {"s": 0, "t": False}))).label == list("1100")
    old = log({"id": 1, "epoch": 1, "score": {"value": "C"}}, {"id": 2, "epoch": 1, "score": None})
    assert table(read(old)) == [("1", "score", "C")]
    for other in (0.7, 8):
        mixed = log(sample(1, {"s": "C", "t": other}), sample(2, {"s": "I", "t": other}))
        with pytest.raises(ValueError, match=r"json: the scorers have .* scales \(s: 'C', 'I'; t: .*'s'"):
            read(mixed)
        assert read(mixed, "t").label == [str(other)] * 2
    with pytest.raises(ValueError, match="different scales"):
        read(log(sample(1, {"s": 0.25, "t": 4}), sample(2, {"s": 1, "t": 5})))
    several = log(sample(1, {"s": {"fair": "C", "kind": "I"}}), sample(2, {"s": {"fair": "I"}}))
    with pytest.raises(ValueError, match=r"several scores .*'fair', 'kind'. .*--label fair or --label kind"):
        read(several)
    assert read(several, "fair").label == ["C", "I"] and read(several, "kind").label == ["I"]
    both = log(sample(1, {"s": {"fair": "C"}, "t": "I"}))
    assert read(both, "t").worker == ["t"] and read(both, "fair").worker == ["s"]


def test_a_human_scorer_is_gold_too(read):
    """Epochs that contradict one another are no truth; with classes of his own he is no labeler."""
    scores = [("a", "C", "C"), ("a", "I", "I"), ("b", "I", "I"), ("b", "I", "I"), ("c", "C", None)]
    found = log(*(sample(k, {"judge": j, "human_check": h}, n % 2) for n, (k, j, h) in enumerate(scores)))
    rows = read(found)
    assert rows.person == "human_check" and set(rows.worker) == {"judge", "human_check"}
    assert rows.beside == {GOLD: {"b": "I"}} and not rows.skipped
    assert any("'human_check' seems to be a person and is one of the labelers" in note for note in rows.notes)
    assert any("verified labels of 1 task (--gold export:ground_truth)" in note for note in rows.notes)
    assert read(found, "human_check").worker == ["human_check"] * 4
    found["samples"][0]["scores"]["human_check"]["value"] = "P"
    rows = read(found)
    assert set(rows.worker) == {"judge"} and not rows.person and "not used as" in " ".join(rows.notes)
    alone = read(log(sample("a", {"human": "C"})))
    assert alone.worker == ["human"] and not alone.beside
    two = read(log(sample("a", {"human_1": "C", "human_2": "I", "judge": "C"})))
    assert len(two.worker) == 3 and not two.beside


def test_models_under_test_are_a_column_and_a_part_of_the_task(read, tmp_path):
    logs = [log(sample("q", {"s": "C"}), model="x"), log(sample("q", {"s": "I"}), model="y")]
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        for k, one in enumerate(logs):
            archive.writestr(f"{k}.json", json.dumps(one))
    for content in (logs, lines(logs), (tmp_path / "logs.zip").read_bytes()):
        rows = read(content)
        assert rows.task == ["q | x", "q | y"] and rows.more["model"] == ["x", "y"]
    assert read(logs[0]).task == ["q"]


def test_an_archive_of_inspect_in_all_its_versions(read, tmp_path, monkeypatch):
    _, content = written("inspect_archive", ROWS)
    (tmp_path / "all.zip").write_bytes(content)

    def rewritten(keep, rename=()):
        with zipfile.ZipFile(tmp_path / "old.zip", "w") as new, zipfile.ZipFile(tmp_path / "all.zip") as old:
            for one in filter(keep, old.namelist()):
                new.writestr(dict(rename).get(one, one), old.read(one))
        return read((tmp_path / "old.zip").read_bytes(), name="c.eval")

    first = rewritten(lambda n: n != "header.json", {"_journal/start.json": "start.json"})
    running = rewritten(lambda n: n.startswith(("samples/", "_journal")))
    assert told(first, "inspect_log") == told(running, "inspect_log") == sorted(ROWS)
    with pytest.raises(ValueError, match=r"c.eval: this is an inspect_ai log, and it has no samples"):
        rewritten(lambda n: n.startswith("_journal"))
    method = b"PK\x01\x02\x14\x03\x14\x00\x00\x00"
    bad = content.replace(method + b"\x08\x00", method + b"\x5d\x00")
    assert bad != content
    with pytest.raises(ValueError, match=r"x.json: it is packed by a newer method .*inspect log convert"):
        read(bad)
    monkeypatch.setenv("JTRUTH_UNPACK_GB", "0.0000002")
    with pytest.raises(ValueError, match=r"x.json: the unpacked file exceeds"):
        read(content)


def result(test, provider, ok=True, parts=(), **more):
    grading = {"pass": ok, "componentResults": [{"pass": p, "assertion": a} for p, a in parts]}
    return {"testIdx": test, "promptIdx": 0, "provider": provider, "vars": {"q": f"q{test}"}, "success": ok,
            "gradingResult": grading, **more}


def results(*some):
    return {"evalId": "e", "results": {"results": list(some)}}


def test_promptfoo_providers_repeats_and_errors(read):
    """Answers of two providers are two samples; repeats have numbers of their own in real files."""
    some = [result(0, "x"), result(0, {"id": "y", "label": "why"}, False, error="reason", failureReason=1),
            result(1, "x", False, vars={"q": "q0"}), result(2, "x", False, failureReason=2, error="429"),
            result(2, "why", False, error="429", gradingResult=None), result(3, "x", vars={}),
            result(4, "x", vars={})]
    for content in (results(*some), {"version": 2, "results": some, "stats": {}}, lines(some)):
        rows = read(content)
        assert rows.task == ["0 | x", "0 | why", "0 | x", "3 | x", "4 | x"]
        assert rows.label == ["pass", "fail", "fail", "pass", "pass"] and set(rows.worker) == {"promptfoo"}
        assert rows.more["model"] == ["x", "why", "x", "x", "x"] and rows.more["repeat"] == list("11211")
        assert rows.skipped == {"results with an error": 2}


def test_promptfoo_assertions_prompts_and_people(read):
    """Different assertions together are one verdict; by --label each is one; what a person said is gold."""
    parts = [(True, {"type": "contains", "value": "a"}), (False, {"type": "llm-rubric", "value": "b"}),
             (True, {"type": "llm-rubric", "value": "c"})]
    found = results(result(0, "x", False, parts), result(1, "x", True, [(False, {"type": "human"}), *parts]))
    rows = read(found)
    assert table(rows) == [("0", "promptfoo", "fail"), ("1", "human", "fail"), ("1", "promptfoo", "fail")]
    assert rows.beside == {GOLD: {"1": "fail"}}
    names, passed = ["contains", "llm-rubric", "llm-rubric 2"], ["pass", "fail", "pass"]
    rows = read(found, "assertions")
    assert rows.worker == [*names, "human", *names] and rows.label == [*passed, "fail", *passed]
    assert read(found, "contains").label == ["pass", "pass"]
    assert table(read(found, "success")) == table(read(found))
    with pytest.raises(ValueError, match="there is no scorer 'tone'; there are 'contains'"):
        read(found, "tone")
    two = results(result(0, "x", prompt={"label": "short"}), result(0, "x", False, prompt={"label": "long"}))
    assert read(two).task == ["0 | x | prompt 1", "0 | x | prompt 2"]


def test_promptfoo_tables_of_both_versions(read):
    """The verdict stands in the cell, or in Status behind it; of several outputs the header repeats names."""
    rows = read(csv([{"q": "a", "[x] Say {{q}}": "[PASS] yes", "[y] Say {{q}}": "[FAIL] no\n---\nyes"},
                     {"q": "b", "[x] Say {{q}}": "[ERROR] 429", "[y] Say {{q}}": "[PASS] a [FAIL] word"}]))
    assert rows.task == ["0 | x", "0 | y", "1 | y"] and rows.label == ["pass", "fail", "pass"]
    assert rows.skipped == {"results with an error": 1} and rows.more["model"] == ["x", "y", "y"]
    rows = read(csv([{"q": q, "[x] p": "[FAIL] said the model", "Status": status, "Score": 1} for q, status in
                     (("a", "PASS"), ("b", "FAIL"), ("a", "FAIL"))]))
    assert rows.task == ["0", "1", "0"] and rows.label == ["pass", "fail", "fail"]
    assert rows.more["repeat"] == ["1", "1", "2"]
    head = "q,[x] p,Status,Score,[y] p,Status,Score\n"
    rows = read(head + "a,out,PASS,1,[PASS],FAIL,0\nb,out,ERROR,0,out,PASS,1\n")
    assert rows.task == ["0 | x", "0 | y", "1 | y"] and rows.label == ["pass", "fail", "pass"]
    with pytest.raises(ValueError, match="the header has 'Status' more than once"):
        read("q,Status,Status\na,b,c\n")


def test_deepeval_in_its_versions(read):
    """No score or error is no verdict; without `success` the threshold decides, equal names have inputs."""
    metrics = [{"name": "m", "score": None, "success": True}, {"name": "n", "score": 0.6, "threshold": 0.7},
               {"name": "o", "success": False, "error": "timeout"}, {"name": "p", "score": 0.5}]
    cases = [{"name": "c", "input": "i", "metrics_data": metrics, "metadata": {"topic": "law"}},
             {"name": "c", "input": "j", "metrics_data": metrics[1:2]}, {"metrics_data": None}]
    run = {"testRunData": {"testCases": cases}, "hyperparameters": {"model": "m"}}
    for top in ({"test_results": cases}, run):
        rows = read(top)
        assert table(rows) == [("c | i", "n", "fail"), ("c | i", "p", "pass"), ("c | j", "n", "fail")]
        assert rows.skipped == {WITHOUT: 2} and rows.more["topic"] == ["law", "law", ""]
    assert rows.more["model"] == ["m"] * 3


def test_lm_eval_filters_are_a_doubt_and_metrics_labelers(read):
    line = lambda k, name, **scores: {"doc_id": k, "resps": [], "filter": name, **scores}  # noqa: E731
    records = lines(line(k, name, acc=float(k == n), acc_norm=1, metrics=["acc", "acc_norm"])
                    for n, name in enumerate(("strict", "loose")) for k in range(2))
    with pytest.raises(ValueError, match=r"several filters could be .*: 'strict', 'loose'. Choose .* strict"):
        read(records)
    assert read(records, "loose").label == ["0", "1", "1", "1"]
    assert read(records, "acc,strict").label == ["1", "0"]
    first, *_, last = records.splitlines()
    for name, wanted, said in (("doc_id", "loose", r"x.json, line 2: not as .* \('doc_id' is missing\)"),
                               ("filter", None, "several filters could be the label: 'strict', ''")):
        with pytest.raises(ValueError, match=said):
            read(first + "\n" + last.replace(name, "of"), wanted)
    plain = [line(k, "none", acc=k, exact=True) for k in range(2)]
    assert read(lines(plain), "acc").label == ["0", "1"]
    assert read(lines(plain)).worker == ["acc", "exact"] * 2
    rows = read({"results": {}, "samples": {"gsm": plain, "arc": plain[:1]}}, "acc")
    assert rows.task == ["gsm | 0", "gsm | 1", "arc | 0"] and rows.more["benchmark"] == ["gsm", "gsm", "arc"]


def test_judgments_of_pairs_of_single_answers_and_of_outputs(read):
    """In both orders, whoever stands first; weighted preferences of alpaca_eval, ties, and nothing."""
    one = {"question_id": 81, "model_1": "x", "model_2": "y", "judge": ["j", "pair-v2"], "turn": 1,
           "g1_winner": "model_1", "g2_winner": "tie", "tstamp": 1.5, "category": "math"}
    turned = one | {"model_1": "y", "model_2": "x", "judge": ["k", "pair-v2"], "g2_winner": "error"}
    rows = read([one, turned])
    assert rows.task == ["81 | x | y"] * 3 and rows.worker == ["j", "j", "k"]
    assert rows.label == ["model_1", "tie", "model_2"] and rows.more["order"] == ["1", "2", "1"]
    assert rows.more["pair"] == ["x | y"] * 3 and rows.more["category"] == ["math"] * 3
    assert read([one, turned], "g2_winner").label == ["tie"]
    later = read([one, one | {"turn": 2, "judge": ["j", "pair-v2-multi-turn"]}])
    assert later.task == ["81 | turn 1 | x | y"] * 2 + ["81 | turn 2 | x | y"] * 2
    assert set(later.worker) == {"j"}
    assert read([one, one | {"judge": ["j", "other"]}]).worker == ["j pair-v2"] * 2 + ["j other"] * 2
    single = {"question_id": 1, "model": "x", "judge": ["j", "v"], "score": 7, "turn": 1}
    rows = read([single, single | {"model": "y", "score": 9.5}, single | {"score": -1}])
    assert table(rows) == [("1 | x", "j", "7"), ("1 | y", "j", "9.5")] and rows.skipped == {WITHOUT: 1}
    one = {"instruction": "do", "output_1": "a", "output_2": "b", "generator_1": "base", "generator_2": "new"}
    told = enumerate([1.0000123, 1.98, 1.5, None, 0])
    rows = read([one | {"annotator": f"a{k}", "preference": p} for k, p in told])
    assert rows.label == ["1", "2", "1.5", "1.5"] and rows.more["against"] == ["base"] * 4
    assert rows.notes[0].startswith("Weighted preferences") and rows.skipped == {WITHOUT: 1}


def test_scores_of_langfuse_langsmith_and_ragas(read):
    """What people said in the interface is gold too, under the name of a score or under one of its own."""
    score = lambda trace, name, value, source="EVAL": {  # noqa: E731
        "id": f"{trace}{name}{source}", "trace_id": trace, "observation_id": "", "name": name, "value": value,
        "string_value": "", "data_type": "BOOLEAN", "source": source}
    found = [score("t1", "right", 1), score("t1", "right", 0, "ANNOTATION"), score("t2", "right", 1),
             score("t2", "b", 0)]
    for content in (csv(found), {"data": found, "meta": {"page": 1}}):
        rows = read(content)
        assert table(rows) == [("t1", "right", "1"), ("t1", "right (annotation)", "0"), ("t2", "right", "1"),
                               ("t2", "b", "0")]
        assert rows.beside == {GOLD: {"t1": "0"}}
    rows = read(csv([{"run_id": "r", "key": key, "score": v} for key, v in (("gpt", 1), ("gold_human", 0))]))
    assert rows.worker == ["gpt"] and rows.beside == {GOLD: {"r": "0"}}
    app = [{"run_id": k, "key": "right", "score": k % 2, "feedback_source": {"type": who}}
           for k, who in enumerate(("api", "app", "api", "api"))]
    assert read(app).worker == ["right", "right (annotation)", "right", "right"]
    assert read(app, "right").label == ["0", "1", "0", "1"]
    shares = [{"question": f"q{k}", "answer": "a", "faithfulness": k / 4, "mine": 1.0, "human_ok": "yes"}
              for k in (1, 2)]
    rows = read(csv([*shares, shares[0] | {"question": "q3", "faithfulness": None, "human_ok": ""}]))
    assert rows.worker == ["faithfulness", "mine", "faithfulness", "mine", "mine"]
    assert rows.task == ["q1", "q1", "q2", "q2", "q3"] and rows.label == ["0.25", "1.0", "0.5", "1.0", "1.0"]
    assert rows.beside == {GOLD: {"q1": "yes", "q2": "yes"}} and rows.skipped == {WITHOUT: 1}


def test_lists_of_ratings(read):
    record = {"id": "d", "scores": ["a"], "turker_annotations": [{"fluency": 1, "relevance": 3}],
              "expert_annotations": [{"fluency": 4, "relevance": 2}, {"fluency": 5}]}
    found = lines([record | {"model_id": "M1"}, record | {"model_id": "M2"}])
    rows = read(found)
    assert rows.task[:3] == ["d | fluency | M1", "d | relevance | M1", "d | fluency | M1"]
    assert rows.label == list("13425") * 2 and rows.more["quality"][:2] == ["fluency", "relevance"]
    assert "--label fluency" in " ".join(rows.notes)
    with pytest.raises(ValueError, match="several ratings could be the label: 'fluency', 'relevance'"):
        read(found.replace('"relevance": 3', '"relevance": 80'))
    rows = read(found, "fluency")
    assert rows.worker == ["turker 1", "expert 1", "expert 2"] * 2 and rows.label == ["1", "4", "5"] * 2
    assert rows.task == ["d | M1"] * 3 + ["d | M2"] * 3


def test_mechanical_turk_toloka_and_appen(read):
    """An answer of Mechanical Turk is a column question.label, or one for each choice."""
    row = {"HITId": 1, "WorkerId": "w", "AssignmentStatus": "Approved"}
    rows = read(csv(row | {"Answer.ok.label": said} for said in ("true", "false", "")))
    assert rows.label == ["true", "false"] and rows.skipped == {"assignments without 'ok'": 1}
    boxes = [row | {"Answer.kind.cat": True, "Answer.kind.dog": dog} for dog in (False, True)]
    assert read(csv(boxes), "Answer.kind").label == ['["cat"]', '["cat", "dog"]']
    _, content = written("toloka", ROWS)
    rows = read(content.replace("t1.png\tpos\t", "t1.png\tpos\tneg"))
    assert rows.beside == {GOLD: {"t1": "neg"}} and rows.skipped == {"rejected answers": 2}
    with pytest.raises(ValueError, match="this is a Toloka result, and it has no ASSIGNMENT:worker_id"):
        read("INPUT:image\tOUTPUT:result\tCONFIDENCE:result\na\tx\t90%\n")
    answers = (("u", 1, "x", "x"), ("u", 2, "y", "x"), ("v", 1, "x\ny", "x\nz"))
    names = ("_unit_id", "_worker_id", "a", "a_gold")
    appen = [dict(zip(names, one, strict=True)) | {"_golden": 1, "b": one[1]} for one in answers]
    rows = read(csv(appen))
    assert rows.label == ['["x"]', '["y"]', '["x", "y"]'] and rows.beside == {GOLD: {"u": '["x"]'}}
    plain = [{k: one[k] for k in ("_unit_id", "_worker_id", "a", "_golden")} | {"url": one["_unit_id"]}
             for one in appen]
    assert read(csv(plain)).form == "Appen report, 2 workers, answer 'a'"
    with pytest.raises(ValueError, match="this is an Appen report, and it has one row for each unit"):
        read("_unit_id,_golden,_trusted_judgments,a,a:confidence\n1,false,3,x,0.9\n")


def test_zooniverse(read):
    def zoo(*steps, gold=("",)):
        base = {"classification_id": 1, "user_name": "v", "subject_ids": 9}
        return csv(base | {"annotations": json.dumps(one), "gold_standard": g} for one in steps for g in gold)

    step = lambda value, task="T0": {"task": task, "task_label": "?", "value": value}  # noqa: E731
    assert read(zoo([step("Star")], [step(["Moon", "Sun"])])).label == ['["Star"]', '["Moon", "Sun"]']
    assert read(zoo([step([step("x", "T1")], "T3")])).form.endswith("task 'T1'")
    assert read(zoo([step([{"choice": "LION", "answers": {}}])])).label == ["LION"]
    assert read(zoo([step([{"value": "a1", "label": "One", "option": True}])])).label == ["One"]
    with pytest.raises(ValueError, match="several tasks could be the label: 'T0', 'T1'"):
        read(zoo([step("a"), step("b", "T1")]))
    with pytest.raises(ValueError, match=f"x.json, line 2: {PARTS}"):
        read(zoo([step([{"x": 1.0, "y": 2.0}])]))
    rows = read(zoo([step("a")], gold=("", "true")))
    assert (rows.label, rows.beside) == (["a"], {GOLD: {"9": "a"}})


def test_qualtrics_and_manifests(read):
    head, ids, names, *answers = written("qualtrics", ROWS)[1].splitlines()
    more = [f"{head},age", f"{ids},How old?", names + ',"{""ImportId"":""QID9""}"',
            *(f"{answer},4{k}" for k, answer in enumerate(answers)),
            "Survey Preview,R_x" + ",pos" * (head.count(",") - 1) + ",30"]
    rows = read("\n".join(more))
    assert told(rows, "qualtrics") == sorted(ROWS)
    assert rows.skipped == {"previews": 1, "questions without a label": 1}
    assert "Questions with other answers were left out: 'age'." in rows.notes
    tags = {"source-ref": "s", "tags": [0, 2], "tags-metadata": {"class-map": {"0": "a", "2": "b"}}}
    assert read(lines([tags])).label == ['["a", "b"]']
    box = {"box": {"annotations": [], "image_size": []}, "box-metadata": {"class-map": {"0": "a"}}}
    with pytest.raises(ValueError, match=f"x.json, line 1: {PARTS}"):
        read(lines([{"source-ref": "s"} | box]))


def studio(kind, *values):
    return [{"id": k, "data": {}, "annotations": [{"completed_by": 1, "result": [
        {"from_name": "f", "type": kind, "value": {kind: some}}]}]} for k, some in enumerate(values)]


def test_sets_are_written_in_one_order_whichever_tool(read):
    """Multi-label answers of five tools; the order of clicks says nothing."""
    given = (["b", "a"], ["a", "b"], ["a"])
    minimal = [{"id": k, "annotation_id": k, "annotator": 1,
                "f": json.dumps({"choices": v}) if len(v) > 1 else v[0]} for k, v in enumerate(given * 2)]
    prodigy = [{"_input_hash": k, "_task_hash": k, "options": [], "accept": some, "answer": "accept"}
               for k, some in enumerate(given)]
    argilla = [{"id": k, "fields": {}, "responses": [
        {"user_id": 1, "status": None, "values": {"q": {"value": some}}}]} for k, some in enumerate(given)]
    doccano = [{"id": k, "data": "t", "label": "#".join(v), "Comments": "[]"} for k, v in enumerate(given)]
    for content in (studio("choices", *given), csv(minimal), lines(prodigy), argilla, csv(doccano)):
        assert read(content).label[:3] == ['["a", "b"]', '["a", "b"]', '["a"]']


def test_a_taxonomy_is_its_path_and_what_is_no_class_is_refused(read):
    assert read(studio("taxonomy", [["Animal", "Dog"]])).label == ["Animal / Dog"]
    ranked = {"fields": {}, "responses": {"q": [{"user_id": 1, "value": [{"rank": 1, "value": "a"}]}]}}
    parts = studio("choices", ["a"])
    parts[0]["annotations"][0]["result"] *= 2
    for content in ([ranked], parts, '{"id": 1, "text": "t", "label": [[0, 3, "X"]]}'):
        with pytest.raises(ValueError, match=f"x.json, .*: {PARTS}"):
            read(content)


JUNK = (None, 0, 1.5, "x", [], {}, [1], {"a": 1}, True, ["a", ["b"]], [{"a": 1}], "[1", "{}")
# fmt: on


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


@pytest.mark.parametrize("name", [name for name in CALLED if "json" in written(name, ROWS)[0]])
def test_damaged_files_are_a_sentence(name):
    """Of 60 damaged files each gives labels in whole columns, is no known format, or is refused by name."""
    rng = np.random.default_rng(7)
    file, content = written(name, ROWS)
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
