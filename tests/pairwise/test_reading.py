"""Comparisons in every usual layout; unusable rows are refused, or left out with a note."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest

from jtruth.io.plan import FilePlan
from jtruth.pairwise import read_preferences
from jtruth.pairwise.reading import VERIFIED, to_verify

WON = ("x", "y", "tie", "y")  # questions 1 to 4; on the even ones y stands in the first column


def rows(words):
    """Question, first column, second column and the words for who won, a line each."""
    for q, won in enumerate(WON, 1):
        a, b = ("y", "x") if q % 2 == 0 else ("x", "y")
        yield q, a, b, {a: words[0], b: words[1], "tie": words[2]}[won]


def table(header, words, sep=","):
    lines = (sep.join(map(str, row)) for row in rows(words))
    return "\n".join([header, *lines]) + "\n"


def two_games():
    """MT-bench: a game in each order, both in the words of the columns."""
    return json.dumps([
        {"question_id": q, "model_1": a, "model_2": b, "g1_winner": w, "g2_winner": w, "judge": ["j", "v2"]}
        for q, a, b, w in rows(("model_1", "model_2", "tie"))
    ])  # fmt: skip


def alpaca():
    return json.dumps([
        {"instruction": f"do {q}", "output_1": "a text", "output_2": "b", "generator_1": a, "generator_2": b,
         "annotator": "j", "preference": w} for q, a, b, w in rows((1.0, 2.0, 1.5))
    ])  # fmt: skip


SYSTEMS = "question,model_a,model_b,winner"
LAYOUTS = {
    "arena": table(SYSTEMS, ("model_a", "model_b", "tie (bothbad)")),
    "letters": table(SYSTEMS, ("[[A]]", "[[B]]", "[[C]]")),
    "names": table(SYSTEMS, (None,) * 3).replace("None", "{}").format("x", "y", "Tie", "Y"),
    "signs; German": table("question;model_a;model_b;winner", ("A>>B", "B>A", "A=B"), ";"),
    "tabs": table("prompt\tsystem 1\tsystem 2\tpreference", ("1", "2", "1.5"), "\t"),
    "any names": table("item,left,right,vote", ("left", "right", "draw")),
    "alpaca": alpaca(),
    "two games": two_games(),
    "flags": table(
        "id,model_a,model_b,winner_model_a,winner_model_b,winner_tie", ("1,0,0", "0,1,0", "0,0,1")
    ),
    "places": table("question,model_a,model_b,winner", ("left", "second", "no preference")),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_is_the_same_comparisons(layout, tmp_path):
    path = tmp_path / "file"
    path.write_text(LAYOUTS[layout])
    found = read_preferences(path)
    games = 1 + (layout == "two games")
    assert found.systems == ("x", "y") and len(found.names) == 4 and len(found.item) == 4 * games
    assert found.answer.tolist() == [0, 1, 2, 1] * games
    orders = [0, 1, 0, 1]  # y was shown first on the even questions
    assert found.exchanged.tolist() == orders + [1 - o for o in orders] * (games - 1)
    assert found.judges == ("j v2" if games > 1 else "j" if layout == "alpaca" else "judge",)


TWO = {  # two systems that no column names; what was said; their names
    "words": ("question,winner\n1,x\n2,y\n3,tie\n4,y\n", {}, ("x", "y")),
    "labels": ("task,worker,label\n1,j,text 1 better\n2,j,text 2 better\n3,j,tie\n4,j,text 2 better\n", {},
               ("text 1", "text 2")),
    "signs": ("task,judge,vote\n1,j,1\n2,j,-1\n3,j,0\n4,j,-1\n", {}, ("A", "B")),
    "halves": ("task,judge,vote\n1,j,1\n2,j,0\n3,j,.5\n4,j,0\n", {}, ("A", "B")),
    "codes named": ("task,worker,label\n1,j,0\n2,j,1\n3,j,2\n4,j,1\n",
                    {"classes": ("output 1 better", "output 2 better", "tie")}, ("output 1", "output 2")),
    "better": ("task,worker,label\n1,j,x better\n2,j,y wins\n3,j,tie\n4,j,y better\n", {}, ("x", "y")),
    "PandaLM": ("idx,annotator1,annotator2,instruction\n1,1,1,do\n2,2,2,go\n3,0,0,do it\n4,2,2,no\n",
                {"map": {"1": "A", "2": "B", "0": "tie"}}, ("A", "B")),
    "map": ("task,worker,label\n1,j,0\n2,j,1\n3,j,2\n4,j,1\n", {"map": {"0": "A", "1": "B", "2": "tie"}},
            ("A", "B")),
    "wide": ("question,gpt,claude\n1,A,A\n2,B,B\n3,tie,tie\n4,B,B\n", {}, ("A", "B")),
}  # fmt: skip


@pytest.mark.parametrize("name", TWO)
def test_two_systems_without_columns(name, tmp_path):
    text, said, systems = TWO[name]
    (tmp_path / "f.csv").write_text(text)
    found = read_preferences(tmp_path / "f.csv", plan=FilePlan(**said))
    assert found.systems == systems
    votes = np.bincount(found.item * 3 + found.answer, minlength=12).reshape(4, 3)
    assert votes.argmax(axis=1).tolist() == [0, 1, 2, 1] and (found.exchanged == -1).all()


def test_who_was_shown_first_by_a_column_of_words_or_names():
    base = {"question": [1, 1, 2, 2], "judge": "j", "winner": ["A", "B", "left", "left"]}
    for order in (["AB", "BA", "AB", "BA"], [False, True, False, True], [1, 2, 1, 2]):
        found = read_preferences(pd.DataFrame(base | {"order": order}))
        assert found.exchanged.tolist() == [0, 1, 0, 1] and found.answer.tolist() == [0, 1, 0, 1]
    named = pd.DataFrame(base | {"model_a": "x", "model_b": "y", "shown_first": ["x", "y", "x", "y"]})
    found = read_preferences(named)
    assert found.exchanged.tolist() == [0, 1, 0, 1] and found.answer.tolist() == [0, 1, 0, 1]


def test_a_winner_may_be_called_like_a_side_and_losers_have_a_column(tmp_path):
    frame = pd.DataFrame({"q": [1, 2], "model_a": ["B", "A"], "model_b": ["A", "B"], "winner": ["B", "B"]})
    found = read_preferences(frame)
    assert found.systems == ("B", "A") and found.answer.tolist() == [0, 0]
    pairs = list(itertools.permutations("xyz", 2))[:4]
    found = read_preferences(pd.DataFrame(pairs, columns=["winner", "loser"]))
    assert found.systems == ("x", "y", "z") and found.answer.tolist() == [0, 0, 1, 0]
    assert (found.exchanged == -1).all() and any("each row is its own" in note for note in found.notes)


def test_turns_of_a_question_hang_together_and_repeated_answers_are_said():
    frame = pd.DataFrame({
        "question_id": [1, 1, 1, 2, 2], "turn": [1, 2, 2, 1, 2], "model_a": "x", "model_b": "y", "judge": "j",
        "winner": ["x", "y", "y", "tie", "x"],
    })  # fmt: skip
    found = read_preferences(frame)
    assert len(found.names) == 4 and found.question.tolist() == [0, 0, 1, 1]
    assert any("1 row repeats an answer" in note for note in found.notes)
    assert len(read_preferences(frame, plan=FilePlan(repeats="keep")).item) == 5


GOLD = pd.DataFrame({
    "question": [1, 2, 3, 1, 2, 3], "model_a": "x", "model_b": ["y"] * 3 + ["z"] * 3, "judge": "j",
    "winner": list("xyxxzz"), "human": ["x", None, "tie", "z", "z", None],
})  # fmt: skip


def test_verified_preferences_of_a_column_a_judge_or_a_table():
    want = [0, -1, 2, 1, 1, -1]
    assert read_preferences(GOLD, gold="column:human").gold.tolist() == want
    people = GOLD.assign(judge="human", winner=GOLD.human)
    both = read_preferences(pd.concat([GOLD, people]), gold="worker:human")
    assert both.gold.tolist() == want and both.judges == ("j",)
    turned = people.rename(columns={"model_a": "model_b", "model_b": "model_a"}).dropna()
    assert read_preferences(GOLD, gold=turned).gold.tolist() == want
    assert "1 verified comparison is not among those" in read_preferences(GOLD[1:], gold=turned).notes[-1]
    with pytest.raises(ValueError, match="2 verified comparisons are not among those"):
        read_preferences(GOLD[1:2], gold=turned[2:])
    wide = pd.DataFrame({"question": [1, 2], "gpt": ["A", "B"], "claude": ["A", "tie"], "human": ["B", None]})
    for way in ("column:human", "worker:human"):
        found = read_preferences(wide, gold=way)
        assert found.judges == ("gpt", "claude") and found.gold.tolist() == [1, -1]
    for alone in (GOLD, people):
        with pytest.raises(ValueError, match="no judge 'human' besides others"):
            read_preferences(alone, gold="worker:human")


def frame(winner="x", **columns):
    return pd.DataFrame(
        {"question": [1, 2], "model_a": "x", "model_b": "y", "judge": "j", "winner": winner} | columns
    )


BAD = {
    "winner 'z' is neither system": frame(["x", "z"]),
    "different answers to the same comparison": frame(["x", "y"], question=1),
    "'u', 'v' were never compared with 'x', 'y'": frame(["x", "v"], model_a=["x", "u"], model_b=["y", "v"]),
    "no row compares two": frame("x", model_b="x"),
    "numbers .0, 1, 2.*1=A,2=B,0=tie": pd.DataFrame({"task": [1, 2, 3], "worker": "j", "label": [0, 1, 2]}),
    "no column holds the winner": pd.DataFrame({"question": [1, 2], "model_a": "x", "model_b": "y"}),
    "a system has no name": frame(model_a=["x", None]),
    "no columns name the systems, and winners are 'x', 'y', 'z'": pd.DataFrame({"question": [1, 2, 3],
                                                                               "winner": list("xyz")}),
}  # fmt: skip


def test_a_column_that_says_no_order_is_not_taken_for_one():
    placed = frame(position=["top", "side"])
    assert read_preferences(placed).exchanged.tolist() == [0, 0]
    with pytest.raises(ValueError, match="which do not show which came first"):
        read_preferences(placed, order="position")


@pytest.mark.parametrize("text", BAD)
def test_what_cannot_be_used_is_refused(text):
    with pytest.raises(ValueError, match=text):
        read_preferences(BAD[text])


def test_what_is_left_out_is_said():
    given = frame(["x", None, "y", "error"], question=[1, 2, 3, 4], model_b=["y", "y", "x", "y"])
    notes = " ".join(read_preferences(given).notes)
    assert read_preferences(given).how.startswith("question 'question'; systems 'model_a', 'model_b'; winner")
    some = frame([1.2, 1.9], judge=["j", None])
    more = read_preferences(some)
    assert more.answer.tolist() == [0, 1] and more.judges == ("j", "(unnamed)")
    assert any("1 answer has no judge" in n for n in more.notes)
    assert any("2 preferences between 1 and 2 were cut at 1.5" in n for n in more.notes)
    assert "1 row comparing a system with itself" in notes and "2 rows without a winner" in notes


def exchanged(words=("A", "B", "tie"), **names):
    """Twelve comparisons of x and y in both orders, under any names of columns."""
    q, sides = np.repeat(np.arange(6), 2), [("x", "y"), ("y", "x")] * 6
    one, two = map(list, zip(*sides, strict=True))
    won = [words[(k + s) % 3] if words else (one, two)[s % 2][k] for k, s in enumerate(q)]
    columns = {"aufgabe_id": q, "links": one, "rechts": two, "annotator": "gpt", "urteil": won}
    return pd.DataFrame({names.get(name, name): cells for name, cells in columns.items()})


@pytest.mark.parametrize("words", [("A", "B", "tie"), ()])
def test_systems_are_found_by_the_cells_of_columns_of_any_name(words):
    want = read_preferences(exchanged(words, links="model_a", rechts="model_b", urteil="winner"))
    for found in (
        read_preferences(exchanged(words)),
        read_preferences(exchanged(words, links="red", rechts="blue")),
        read_preferences(exchanged(words, links="left_model", rechts="right_model")),
        read_preferences(exchanged(words).assign(gold_pref="B")),
    ):
        assert found.systems == ("x", "y") and len(found.names) == 6 and found.judges == ("gpt",)
        assert found.answer.tolist() == want.answer.tolist()
        assert found.exchanged.tolist() == want.exchanged.tolist() == [0, 1] * 6
    assert any(
        "'links', 'rechts' were read as the systems" in n for n in read_preferences(exchanged(words)).notes
    )
    assert not any("taken for" in note for note in want.notes)
    always = pd.DataFrame(
        {"case": range(6), "contender": "new", "baseline": "old", "sieger": ["new", "old"] * 3}
    )
    assert read_preferences(always).systems == ("new", "old")


def test_columns_that_are_not_used_are_named_where_systems_have_no_names():
    always = pd.DataFrame(
        {"case": range(6), "contender": "new", "baseline": "old", "verdict": ["A", "B"] * 3}
    )
    found = read_preferences(always)
    assert found.systems == ("A", "B") and any(
        "Ignored columns: 'contender', 'baseline'" in n for n in found.notes
    )
    wide = pd.DataFrame(
        {"question": range(4), "gpt": list("xyxy"), "claude": ["y", "y", "tie", "x"], "llama": "x"}
    )
    found = read_preferences(wide)
    assert found.systems == ("x", "y") and found.judges == ("gpt", "claude", "llama") and not found.notes
    with pytest.raises(
        ValueError, match="columns 'urteil', 'zweites' hold winners, and column 'annotator' the"
    ):
        read_preferences(exchanged().assign(zweites="A"))


def test_verified_preferences_that_the_file_has_are_named():
    people = GOLD.assign(judge="human_1", winner=GOLD.human)
    assert read_preferences(pd.concat([GOLD, people]).drop(columns="human")).people == "worker:human_1"
    assert (
        read_preferences(GOLD).people == "column:human"
        and read_preferences(people.drop(columns="human")).people == ""
    )
    assert read_preferences(GOLD, gold="column:human").people == ""


def test_comparisons_to_verify_are_a_table_of_gold():
    for table in (
        GOLD,
        GOLD[:3],
        pd.DataFrame(itertools.permutations("xyz", 2), columns=["winner", "loser"]),
    ):
        found = read_preferences(table)
        asked = pd.DataFrame(to_verify(found, 50, np.random.default_rng(0)), columns=VERIFIED)
        assert len(asked) == len(found.names)
        gold = read_preferences(
            table, gold=asked.assign(winner=asked[["model_a", "model_b"]].min(axis=1))
        ).gold
        assert (gold == [int(found.systems[a] > found.systems[b]) for a, b in found.pair]).all()
        assert len(to_verify(found, 2, np.random.default_rng(0))) == 2
