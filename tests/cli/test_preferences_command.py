"""`jtruth preferences`: the first screen, the suggested command, options in the words of the shell."""

import itertools
import shlex

import numpy as np
import pandas as pd


def test_the_first_screen_and_its_next_step(answer, tmp_path):
    rng = np.random.default_rng(0)
    rows = [(q, *pair, j) for q in range(20) for pair in itertools.permutations("abc", 2) for j in "mn"]
    frame = pd.DataFrame(rows, columns=["question", "model_a", "model_b", "judge"])
    better = rng.random(len(frame)) < np.where(frame.model_a < frame.model_b, 0.8, 0.3)
    frame["winner"] = np.where(better, "model_a", "model_b")
    frame.to_csv(tmp_path / "c.csv", index=False)
    look, _ = answer("inspect", tmp_path / "c.csv")
    assert "compares two systems" in look["sentence"] and look["next"].startswith("jtruth preferences ")
    assert "--missing" not in look["next"]
    found, out = answer("preferences", tmp_path / "c.csv", full=False)
    assert found["target"] == "population" and len(found["strengths"]) == len(found["win_rates"]) == 3
    assert "a is preferred to all others with probability" in out and len(out.splitlines()) <= 20
    words = shlex.split(out.split("next: jtruth ")[1].split("  # ")[0].replace("\\\n", " "))
    answer(*words[:-1], tmp_path / "to_verify.csv")
    asked = pd.read_csv(tmp_path / "to_verify.csv", dtype=str)
    assert len(asked) == 30 and asked.winner.isna().all() and {*asked.model_a} == {*"abc"}
    asked.assign(winner=asked.model_a.where(asked.index % 3 > 0, "tie")).to_csv(
        tmp_path / "g.csv", index=False
    )
    found, out = answer("preferences", tmp_path / "c.csv", "--gold", tmp_path / "g.csv")
    assert found["rule"] == "corrected" and "next" not in found and len(found["matrices"]) == 12


def test_words_of_the_shell_reach_the_reader(run, refusal, tmp_path):
    (tmp_path / "c.csv").write_text("task,worker,label\n" + "".join(f"{k},j,{k % 2}\n" for k in range(30)))
    assert "--map 0=A,1=B" in refusal("preferences", tmp_path / "c.csv")
    code, out, err = run("preferences", tmp_path / "c.csv", "--map", "0=old,1=new", "--seed", "1")
    assert code == 0 and "(--order ...)" in out and "P(old better)" in out and "seed 1" in out, err
    assert "no column 'who'" in refusal("preferences", tmp_path / "c.csv", "--worker", "who")
