"""The code of docs/labels_of_other_kinds.md runs as printed and says what the page says."""

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).resolve().parents[3] / "docs" / "labels_of_other_kinds.md"


def test_the_code_of_the_page(capsys):
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL):
        exec(block, names)
    out = capsys.readouterr().out
    cannot = names["fit"].channel.matrices[:, :, 2]
    assert (cannot[:, 1] > 0.25).all() and (cannot[:, 0] < 0.15).all()
    assert names["noise"].num_symbols == 3 and "2 questions" in out
    assert (names["ratings"].class_posterior.argmax(axis=1) == names["y"]).mean() > 0.95
    agreed = names["grades"].class_posterior.argmax(axis=1) == names["severity"]
    assert agreed.mean() > 0.8 and np.all(names["grades"].channel.kappa(names["grades"].prior) > 0.6)
