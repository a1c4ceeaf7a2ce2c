"""Words for classes: merged words are reported, and numbers are never merged."""

import pytest

from jtruth._validation.words import Source
from jtruth.io import FilePlan, read_gold, read_labels, read_predictions
from jtruth.io.cells import in_words, says_nothing, typed_map

MIXED = "task,worker,label\n1,a,yes\n1,b,TRUE\n2,a,no\n2,b,false\n3,a,Yes\n3,b,true\n"
PREDICTED = "task,label\n1,pass\n2,true\n3,NO\n"


def test_words_for_yes_and_no_are_two_classes_and_said(write):
    labels = read_labels(write(MIXED))
    assert labels.classes == ("fail", "pass") and labels.to_matrix().tolist() == [[1, 1], [0, 0], [1, 1]]
    said = "'TRUE', 'Yes', 'false', 'no', 'true', 'yes' were read as two classes, fail and pass"
    assert said in labels.notes[0]
    read = read_predictions(write(PREDICTED, "pred.csv"), labels)
    assert read.y_pred.tolist() == [1, 1, 0]
    assert "'NO', 'true' were read as the classes fail and pass" in read.notes[0]


def test_one_pair_of_words_in_one_spelling_stays(write):
    one = MIXED.replace("TRUE", "yes").replace("false", "no").replace("Yes", "yes").replace("true", "no")
    labels = read_labels(write(one))
    assert labels.classes == ("no", "yes") and not labels.notes
    spelled = read_labels(write(one.replace("2,a,no", "2,a,No")))
    assert spelled.classes == ("no", "yes") and "'No', 'no', 'yes' were read" in spelled.notes[0]


@pytest.mark.parametrize(
    "words", [("1", "1e0", "0"), ("001", "1", "0"), ("1", "true", "2"), ("yes", "1", "2")]
)
def test_numbers_never_merge(write, words):
    a, b, c = words
    path = write(f"task,worker,label\n1,u,{a}\n1,v,{b}\n2,u,{c}\n2,v,{c}\n")
    if a[0] in "10" and b[0] in "10":
        with pytest.raises(ValueError, match="equal as numbers"):
            read_labels(path)
    else:
        assert set(read_labels(path).classes) == set(words)


def test_classes_that_are_said_are_not_merged(write):
    with pytest.raises(ValueError, match="'TRUE'"):
        read_labels(write(MIXED), classes=("no", "yes"))


def test_a_map_says_what_words_mean_and_what_it_leaves(write):
    content = "task,worker,label\n1,a,5\n1,b,yes\n2,a,2\n2,b,maybe\n3,a,4\n3,b,Yes\n"
    words = FilePlan(map=typed_map("5=pass,4=pass,yes=pass,2=fail,never=fail"))
    labels = read_labels(write(content), plan=words)
    assert labels.classes == ("fail", "maybe", "pass")
    assert labels.to_matrix().tolist() == [[2, 2], [0, 1], [2, 2]]
    assert "The map leaves 1 label unchanged: 'maybe'" in labels.notes[0]
    assert "labels that never occur: 'never'" in labels.notes[1]
    cut = read_labels(write(content), plan=FilePlan(map={"yes": "pass", "maybe": "fail"}, pass_at=4))
    assert cut.classes == ("fail", "pass") and cut.to_matrix().tolist() == [[1, 1], [0, 0], [1, 1]]
    assert "Grades >= 4 count as pass (3 labels)." in cut.notes
    with pytest.raises(ValueError, match=r"labels.csv, line 3: label 'yes' is not a number.*cut at 4"):
        read_labels(write(content), plan=FilePlan(pass_at=4))


@pytest.mark.parametrize("text", ["", "a", "=", "=b", "a=b,,c=d", "a=b,a=c", "a=b,a="])
def test_bad_maps(text):
    with pytest.raises(ValueError, match="map "):
        typed_map(text)


@pytest.mark.parametrize(
    "given, at, refused",
    [
        (["4", "5", "0.83", "2"], 4, True),  # grades of people, probabilities of a judge
        (["4", "5", "0.83", "2"], 0.5, True),
        (["0.2", "0.83", "1"], 1, True),
        (["0.25", "4", "2"], 4, False),
        (["0.2", "0.83"], 4, True),  # probabilities alone, and a grade as the cut
        (["0.2", "0.83", "1.0", "0"], 0.5, False),  # nothing is a grade
        (["0.5", "4.5", "2"], 4, False),  # half grades
        (["0.83", "3.7", "4.2"], 4, False),  # means of grades
    ],
)
def test_probabilities_are_never_cut_beside_grades(given, at, refused):
    words = FilePlan(pass_at=at)
    if refused:
        with pytest.raises(ValueError, match=r"label '0\.\d+' is between 0 and 1 like a probability"):
            in_words(given, words, Source("x.csv", "line", 2))
    else:
        assert list(in_words(given, words, Source())[0]) == [
            "pass" if float(x) >= at else "fail" for x in given
        ]


def test_grades_with_decimal_commas_are_cut():
    assert list(in_words(["4,5", "3,75", "4"], FilePlan(pass_at=4), Source())[0]) == ["pass", "fail", "pass"]
    with pytest.raises(ValueError, match="'1,234' is not a number"):
        in_words(["1,234"], FilePlan(pass_at=4), Source())


def test_predictions_that_a_cut_made_equal_come_first(write):
    labels = read_labels(write("task,worker,label\n1,a,5\n2,a,2\n1,b,5\n2,b,1\n"), plan=FilePlan(pass_at=4))
    cut = lambda text: read_predictions(write(text, "pred.csv"), labels, plan=FilePlan(pass_at=4)).notes  # noqa: E731
    said = "Look first: pred.csv: every prediction is 'fail' after the cut at 4: do"
    assert said in cut("task,label\n1,1\n2,0\n")[1]
    assert not any("Look first" in note for note in cut("task,label\n1,5\n2,1\n"))


def test_what_says_nothing_and_words_beside_classes_that_are_no_yes_and_no():
    words = FilePlan(silent=("Unsure",))
    assert [says_nothing(value, words) for value in ("", " NA ", "unsure", "yes")] == [
        True,
        True,
        True,
        False,
    ]
    assert in_words(["yes"], FilePlan(), Source(), known=("cat", "dog")) == (["yes"], ())


def test_words_beside_grades_that_are_cut_are_named_with_the_map_to_say(tmp_path):
    """Gold in other words: the column and the map; in the classes' own words nothing is said of a cut."""
    (tmp_path / "l.csv").write_text("item,ai\n" + "".join(f"i{k},{10 * k}\n" for k in range(10)))
    labels = read_labels(tmp_path / "l.csv", labelers=["ai"], pass_at=50)
    plan = FilePlan.asked(pass_at=50)
    for words, said in (
        (("clear", "tumor"), "column 'label'.*map clear=fail,tumor=pass"),
        (("fail", "pass"), ""),
    ):
        path = tmp_path / "g.csv"
        path.write_text("task,label\n" + "".join(f"i{k},{words[k > 4]}\n" for k in range(10)))
        if said:
            with pytest.raises(ValueError, match=said):
                read_gold(path, labels, plan=plan)
        else:
            gold = read_gold(path, labels, plan=plan)
            assert not [note for note in getattr(gold, "notes", ()) if "cut" in note]
