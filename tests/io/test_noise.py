"""Noise models from JSON: order, other kinds, and refusals."""

import json

import pytest

from jtruth.io import read_noise
from jtruth.labels import Labels

LABELS = Labels.from_long(["1", "1", "2", "3"], ["a", "b", "a", "b"], ["no", "yes", "yes", "no"])


def noise_file(write, content):
    return write(content if isinstance(content, str) else json.dumps(content), "noise.json")


def test_noise_confusion_matrices_in_the_order_of_the_labels(write):
    a, b = [[0.9, 0.1], [0.2, 0.8]], [[0.7, 0.3], [0.4, 0.6]]
    found = read_noise(noise_file(write, {"confusion_matrices": {"b": b, "a": a, "other": a}}), LABELS)
    assert found["confusion_matrices"].tolist() == [a, b]
    swapped = {"confusion_matrices": {"a": a, "b": b}, "classes": ["yes", "no"], "prior": [0.3, 0.7]}
    found = read_noise(noise_file(write, swapped), LABELS)
    assert found["confusion_matrices"][0].tolist() == [[0.8, 0.2], [0.1, 0.9]]
    assert found["prior"].tolist() == [0.7, 0.3]


def test_noise_of_other_kinds(write):
    assert read_noise(noise_file(write, {"symmetric": 0.25}), LABELS) == {"symmetric": 0.25}
    found = read_noise(noise_file(write, {"fallibility": {"b": 0.1, "a": 0.2}}), LABELS)
    assert found["fallibility"].tolist() == [0.2, 0.1] and found["difficulty"].tolist() == [0, 0, 0]
    both = {"fallibility": {"a": 0, "b": 1}, "difficulty": {"3": 0.3, "2": 0.2, "1": 0.1}}
    assert read_noise(noise_file(write, both), LABELS)["difficulty"].tolist() == [0.1, 0.2, 0.3]


GOOD_MATRIX = [[0.5, 0.5], [0, 1]]
DRAWS = {"confusion_matrices": {"a": GOOD_MATRIX, "b": GOOD_MATRIX}}
BAD_NOISE = [
    ("{", "noise.json: this is not JSON text"),
    ("[" * 100_000 + "]" * 100_000, "noise.json: brackets are nested too deeply"),
    ('{"symmetric": ' + "[" * 900 + "0.1" + "]" * 900 + "}", "noise.json: symmetric must be one"),
    ('{"symmetric": 0.1, "symmetric": 0.4}', "'symmetric' occurs more than once"),
    ('{"confusion_matrices": {"a": [[1, 0], [0, 1]], "a": [[0, 1], [1, 0]]}}', "'a' occurs more"),
    (DRAWS | {"draws": {"prior": [[0.5, 0.5]]}}, "prior and confusion_matrices"),
    (
        DRAWS | {"draws": {"prior": [[0.5, 0.4]], "confusion_matrices": {k: [GOOD_MATRIX] for k in "ab"}}},
        "sums to 0.9",
    ),
    (DRAWS | {"draws": DRAWS | {"prior": [[0.5, 0.5]]}}, "matrices of the draws of 'a'"),
    (
        [1],
        "expected an object with one of 'confusion_matrices', 'symmetric', 'fallibility', 'model'; got list",
    ),
    ({"error": 0.1}, "got 'error'"),
    ({"symmetric": 0.1, "fallibility": {}}, "expected an object with one of"),
    ({"symmetric": 0.1, "difficulty": {}}, "keys 'difficulty' are not used with 'symmetric'"),
    ({"symmetric": 1.5}, "symmetric must lie in [0, 1]; got 1.5"),
    ({"symmetric": "0.1"}, "symmetric must be one number; got '0.1'"),
    ('{"symmetric": NaN}', "symmetric must lie in [0, 1]; got nan"),
    (
        {"confusion_matrices": {"a": GOOD_MATRIX, "c": GOOD_MATRIX}},
        "no entry for 1 of 2 ('b'); it has 1 entry for others ('c')",
    ),
    ({"confusion_matrices": {"a": GOOD_MATRIX, "b": [[1]]}}, "of 'b' must be numbers of shape (2, 2)"),
    ({"confusion_matrices": {"a": GOOD_MATRIX, "b": [[1, 0], [1]]}}, "must be numbers of shape (2, 2)"),
    (
        {"confusion_matrices": {"a": GOOD_MATRIX, "b": [[1, 0], [0.3, 0.6]]}},
        "row of class 'yes' in the confusion matrix of worker 'b' sums to 0.9, not to 1; divide counts",
    ),
    ({"confusion_matrices": {"a": [[1.1, -0.1], [0, 1]], "b": GOOD_MATRIX}}, "must lie in [0, 1]"),
    ({"confusion_matrices": [GOOD_MATRIX]}, "must be an object with one entry per name"),
    (
        {"symmetric": 0.1, "classes": ["no", "maybe"]},
        "classes are 'no', 'maybe', but those of the labels are 'no', 'yes'",
    ),
    ({"symmetric": 0.1, "prior": [0.5, 0.6]}, "prior sums to 1.1, not to 1"),
    ({"symmetric": 0.1, "prior": [-0.5, 1.5]}, "prior must lie in [0, 1]"),
    (
        {"fallibility": {"a": 0, "b": 0}, "difficulty": {"1": 0}},
        "difficulty has no entry for 2 of 3 ('2', '3')",
    ),
]


@pytest.mark.parametrize(("content", "fragment"), BAD_NOISE, ids=[said for _, said in BAD_NOISE])
def test_bad_noise_files(write, content, fragment):
    with pytest.raises(ValueError) as caught:
        read_noise(noise_file(write, content), LABELS)
    assert fragment in str(caught.value) and len(str(caught.value)) < 500
