"""docs/results.md names every result type and every field of it, as they are now."""

import importlib.util
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
    spec = importlib.util.spec_from_file_location("make_results", DOCS / "make_results.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_page_is_what_the_source_says(maker):
    assert (DOCS / "results.md").read_text() == maker.page(), "run: python docs/make_results.py"


def test_every_result_and_every_field_is_on_the_page(maker):
    """Found another way: the fields that Python sees, and names that users are told of."""
    text = (DOCS / "results.md").read_text()
    parts = dict(re.findall(r"^### (\w+)\n(.*?)(?=^##|\Z)", text, re.DOTALL | re.MULTILINE))
    assert set(TOLD.split()) <= set(parts)
    for kind in maker.result_types():
        own = getattr(kind, "_fields", None) or list(getattr(kind, "__dataclass_fields__", {}))
        inherited = {name for base in kind.__mro__[1:] for name in vars(base).get("__annotations__", {})}
        said = text.split(f"### {kind.__name__}\n\n`{kind.__module__}`", 1)[1].partition("\n##")[0]
        for name in own:
            assert name in inherited or name.startswith("_") or f"- `{name}`: " in said, (kind, name)


def classes_of(annotation):
    """Every class of jtruth that an annotation names, whatever kind of class."""
    if inspect.isclass(annotation) and annotation.__module__.startswith("jtruth."):
        yield annotation
    for part in annotation if isinstance(annotation, list) else typing.get_args(annotation):
        yield from classes_of(part)


def test_what_a_public_function_takes_can_be_imported(maker):
    """Or, what another function returned, from its file; where results live says results.md."""
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
