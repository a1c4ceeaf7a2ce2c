"""docs/results.md names every function that returns a result; the API pages every result type and field."""

import importlib
import inspect
import re
import typing
from pathlib import Path

import pytest

import jtruth

TOLD = """Evaluation Estimate Assumption Check LabelerReport Prevalence Sensitivity JointPosterior NutsFit
Fit TableDraws PredictiveTable Comparison RangeEstimate PlanSearch CalibrationReport LeaveOneOut"""
DOCS = Path(__file__).resolve().parents[1] / "docs"


@pytest.fixture(scope="module")
def maker():
    """docs/make_results.py."""
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(DOCS))
        yield importlib.import_module("make_results")


@pytest.fixture(scope="module")
def api(maker):
    """Text of every page of the API."""
    return {
        name: text for name, text in importlib.import_module("make_pages").pages().items() if "api/" in name
    }


def test_the_page_is_what_the_source_says(maker):
    assert (DOCS / "results.md").read_text() == maker.page(), "run: python docs/make_results.py"


def test_every_function_that_returns_a_result_is_on_the_page(maker):
    text = (DOCS / "results.md").read_text()
    for kind, names in maker.result_types().items():
        for name in names:
            assert re.search(rf"^\| `{re.escape(name)}` \| .*`{kind.__name__}`", text, re.MULTILINE), (
                name,
                kind,
            )


def test_every_result_and_every_field_is_in_the_api(maker, api):
    """Found another way: the fields that Python sees, and names that users are told of."""
    names = {kind.__name__ for kind in maker.result_types()}
    assert set(TOLD.split()) <= names
    for kind in maker.result_types():
        own = getattr(kind, "_fields", None) or list(getattr(kind, "__dataclass_fields__", {}))
        inherited = {name for base in kind.__mro__[1:] for name in vars(base).get("__annotations__", {})}
        head = rf"^## `(?:jtruth\.[\w.]+\.)?{kind.__name__}`\n(.*?)(?=^## |\Z)"
        page = api[f"api/{kind.__module__.split('.')[1]}.md"]
        said = "".join(re.findall(head, page, re.DOTALL | re.MULTILINE))
        assert said, kind
        for name in own:
            assert name in inherited or name.startswith("_") or f"- `{name}`: " in said, (kind, name)


def test_the_api_opens_with_evaluate_and_has_functions_first(api):
    assert api["api/index.md"].index("## `jtruth.evaluate`") < api["api/index.md"].index("## Modules")
    heads = re.findall(r"^## `(.*)`$", api["api/evaluation.md"], re.MULTILINE)
    assert heads[0] == "jtruth.evaluation.evaluate"
    assert heads.index("jtruth.evaluation.set_agreement") < heads.index("jtruth.evaluation.Evaluation")


def classes_of(annotation):
    """Every class of jtruth that an annotation names, whatever kind of class."""
    if inspect.isclass(annotation) and annotation.__module__.startswith("jtruth."):
        yield annotation
    for part in annotation if isinstance(annotation, list) else typing.get_args(annotation):
        yield from classes_of(part)


def test_what_a_public_function_takes_can_be_imported(maker):
    """Or, what another function returned, from its file."""
    functions = [(name, of) for name, of in maker.public_functions() if name not in maker.BESIDE]
    rooms = [getattr(jtruth, name) for name in jtruth.__all__ if inspect.ismodule(getattr(jtruth, name))]
    exported = {id(getattr(room, name)) for room in rooms for name in maker.names_of(room)}
    hidden = {
        f"{kind.__module__}.{kind.__name__}: {name}({where})"
        for name, function in functions
        for where, annotation in maker.hints(function).items()
        if where != "return"
        for kind in classes_of(annotation)
        if id(kind) not in exported and any(part[0] == "_" for part in kind.__module__.split("."))
    }
    assert len(functions) > 150 and not hidden, "put these into __all__ of the room"
