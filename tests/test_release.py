"""Statements about a release agree in all places."""

import re
import runpy
import sys
import tomllib
from pathlib import Path

import pytest

import jtruth as jt

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def test_pythons_are_those_that_are_tested():
    """Classifiers, the lowest one, the workflow for forks, and what README.md asks for."""
    named = re.findall(r"Python :: (3\.\d+)", "\n".join(PROJECT["classifiers"]))
    workflow = (ROOT / ".github" / "workflows" / "tests.yml").read_text()
    (matrix,) = re.findall(r"python: \[(.*)\]", workflow)
    assert re.findall(r"3\.\d+", matrix) == named
    assert PROJECT["requires-python"] == f">={named[0]}"
    assert f"Python {named[0]} or newer" in (ROOT / "README.md").read_text()
    assert f'python-version: "{named[0]}"' in workflow  # of the lowest versions


@pytest.mark.parametrize("sign", ["==", ">="])
def test_requirements_are_every_one_with_its_floor(monkeypatch, capsys, sign):
    monkeypatch.setattr(sys, "argv", ["requirements.py", sign])
    runpy.run_path(str(ROOT / ".ci" / "requirements.py"))
    lines = capsys.readouterr().out.splitlines()
    assert all(re.fullmatch(rf"[a-z-]+(\[\w+\])?{sign}[\d.]+", line) for line in lines)
    names = {re.split(r"[\[<>=]", line)[0] for line in lines}
    asked = [*PROJECT["dependencies"], *PROJECT["optional-dependencies"]["test"]]
    assert {re.split(r"[\[<>=]", one)[0] for one in asked} - {"jtruth"} <= names
    assert {"matplotlib", "pandas", "polars", "pyarrow", "scikit-learn"} <= names


def test_one_version_everywhere():
    citation = (ROOT / "CITATION.cff").read_text()
    assert re.search(r"^version: (.*)$", citation, re.MULTILINE)[1] == jt.__version__ == "0.1.0"
    assert (ROOT / "SECURITY.md").is_file() and (ROOT / "jtruth" / "py.typed").is_file()
    dated = rf"^## \[{jt.__version__}\] - \d{{4}}-\d\d-\d\d$"
    assert re.search(dated, (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert "DeprecationWarning" in (ROOT / "docs" / "stability.md").read_text()
