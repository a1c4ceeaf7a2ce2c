"""Columns, words and cuts that the command is told of."""

import json

from tests.cli.files import write


def test_columns_of_their_own_and_maps(run, refusal, tmp_path):
    rows = [(k, w, 5 if (k + len(w)) % 2 else 2) for k in range(8) for w in ("ann", "bobby", "c")]
    labels = write(tmp_path / "labels.csv", ("task", "worker", "label"), rows)
    said = write(tmp_path / "pred.csv", ("place", "says"), [(k, 5 - k % 2 * 3) for k in range(8)])
    (tmp_path / "noise.json").write_text(json.dumps({"symmetric": 0.2, "prior": [0.5, 0.5]}))
    known = ("--pass-at", "4", "--noise", tmp_path / "noise.json", "--positive", "fail")
    asked = ("evaluate", labels, "--predictions", said, *known)
    code, out, err = run(*asked, "--pred-task", "place", "--pred-label", "says")
    assert code == 0, err
    assert "24 labels were cut at 4: at least that is pass, below it fail." in out and "class 'fail'" in out
    # of two columns the other one holds the predictions, whatever its name; of three it must be said
    assert run(*asked, "--task", "task", "--pred-task", "place")[1] == out
    assert (
        "no columns 'task', 'label'; the columns are 'place', 'says'. Say which one holds the task and the "
        "label by --pred-task NAME --pred-label NAME" in refusal(*asked, "--task", "task")
    )
    said.write_text("task,guess,words\n0,pass,none\n")
    assert "Say which one holds the label by --pred-label NAME" in refusal(*asked, "--task", "task")
    assert "write label=class, separated by commas" in refusal("inspect", labels, "--map", "5")
