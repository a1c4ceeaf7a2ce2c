"""From the file that people have to the answer, in one command."""

import json

import numpy as np
import pytest


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """A wide table of 40 items: three judges in words of their own, gold for 12, and a model."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 40)
    words = {"ann": ("no", "yes"), "bob": ("false", "true"), "cy": ("fail", "pass")}
    judges = {
        name: [word[c] for c in np.where(rng.random(40) < 0.85, y, 1 - y)] for name, word in words.items()
    }
    model = [("no", "yes")[c] for c in np.where(rng.random(40) < 0.9, y, 1 - y)]
    gold = [("no", "yes")[c] if k < 12 else "" for k, c in enumerate(y)]
    rows = zip(range(40), *judges.values(), model, gold, strict=True)
    path = tmp_path_factory.mktemp("wide") / "wide.csv"
    lines = ["item,ann,bob,cy,model,gold", *(",".join(map(str, row)) for row in rows)]
    path.write_text("\n".join(lines) + "\n")
    return path


def test_a_wide_table_of_mixed_words_with_its_own_predictions_and_gold(run, wide, tmp_path):
    command = ["evaluate", wide, "--predictions", "column:model", "--gold", "column:gold", "--assume",
               "independent", "--positive", "pass", "--json", tmp_path / "out.json"]  # fmt: skip
    code, out, err = run(*command)
    assert code == 0, err
    assert "were read as two classes, fail and pass" in out and "wide table, 3 labelers" in out
    found = json.loads((tmp_path / "out.json").read_text())
    assert found["classes"] == ["fail", "pass"] and found["num_labelers"] == 3 and found["num_gold"] == 12


def test_columns_of_their_own_and_maps(run, tmp_path):
    rows = [f"{k},{w},{5 if (k + len(w)) % 2 else 2}" for k in range(8) for w in ("ann", "bobby", "c")]
    (tmp_path / "labels.csv").write_text("\n".join(["task,worker,label", *rows]) + "\n")
    (tmp_path / "pred.csv").write_text(
        "\n".join(["place,says", *(f"{k},{5 - k % 2 * 3}" for k in range(8))]) + "\n"
    )
    (tmp_path / "noise.json").write_text(json.dumps({"symmetric": 0.2, "prior": [0.5, 0.5]}))
    code, out, err = run(
        "evaluate", tmp_path / "labels.csv", "--predictions", tmp_path / "pred.csv", "--pred-task", "place",
        "--pred-label", "says", "--pass-at", "4", "--noise", tmp_path / "noise.json", "--positive", "fail",
    )  # fmt: skip
    assert code == 0, err
    assert "24 labels were cut at 4: at least that is pass, below it fail." in out and "class 'fail'" in out
    # of two columns the other one holds the predictions, whatever its name; of three it must be said
    known = ("--task", "task", "--pass-at", "4", "--noise", tmp_path / "noise.json", "--positive", "fail")
    asked = ("evaluate", tmp_path / "labels.csv", "--predictions", tmp_path / "pred.csv", *known)
    assert run(*asked, "--pred-task", "place")[1] == out
    assert (
        "no columns 'task', 'label'; the columns are 'place', 'says'. Say which one holds the task and the "
        "label by --pred-task NAME --pred-label NAME" in (run(*asked)[2])
    )
    (tmp_path / "pred.csv").write_text("task,guess,words\n0,pass,none\n")
    assert "Say which one holds the label by --pred-label NAME" in run(*asked)[2]
    code, _, err = run("inspect", tmp_path / "labels.csv", "--map", "5")
    assert code == 2 and "write label=class, separated by commas" in err
