"""`repr` of every result type of docs/results.md is one line of at most 200 characters."""

import dataclasses
import importlib.util
import typing
from inspect import isabstract

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jtruth as jt
from jtruth._one_line import one_line
from jtruth.learning.annotation.posterior import NutsFit
from jtruth.stats.draws import DrawsEstimate
from jtruth.stats.estimates import Estimate
from jtruth.tables.posterior import TablePosterior
from tests.source import ROOT

MAKER = ROOT / "docs" / "make_results.py"
BIG = (np.zeros((300, 70)), "two\nlines " * 40, tuple(range(900)), {n: "a" for n in range(90)}, jnp.zeros(99))


def kinds():
    """Every type of the page that can be made: an abstract one has no fields of its own."""
    spec = importlib.util.spec_from_file_location("make_results_for_lines", MAKER)
    maker = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(maker)
    return [kind for kind in maker.result_types() if not isabstract(kind)]


def names(kind):
    return getattr(kind, "_fields", None) or [field.name for field in dataclasses.fields(kind)]


def filled(kind):
    """One whose fields hold too much of everything; no factory and no check is asked."""
    values = {name: BIG[n % len(BIG)] for n, name in enumerate(names(kind))}
    if hasattr(kind, "_fields"):
        return kind(**values)
    made = object.__new__(kind)
    for name, value in values.items():
        object.__setattr__(made, name, value)
    return made


def plain(annotation):
    """Whether it is a number, a text or None: Python's own line shows such fields whole."""
    parts = typing.get_args(annotation)
    literal = typing.get_origin(annotation) is typing.Literal
    return literal or annotation in (int, float, bool, str, type(None)) or (parts and all(map(plain, parts)))


@pytest.mark.parametrize("kind", kinds(), ids=lambda kind: f"{kind.__module__}.{kind.__name__}")
def test_every_type_of_the_page_has_a_line(kind):
    if issubclass(kind, Estimate | TablePosterior) or kind in OWN:
        assert type(kind.__repr__) is type(one_line) and kind.__repr__ is not one_line
        return  # a line of its own: in tests/answers
    if kind.__repr__ is not one_line:
        fields = typing.get_type_hints(kind).values()
        assert all(map(plain, fields)), f"say `__repr__ = one_line` in {kind.__name__}: not only numbers"
        return
    line = repr(filled(kind))
    assert line.startswith(f"{kind.__name__}({names(kind)[0]}=") and "\n" not in line and len(line) <= 200


OWN = (jt.Evaluation, jt.Comparison, NutsFit)


@dataclasses.dataclass(frozen=True)
class Pair:
    a: typing.Any
    b: typing.Any
    _kept: typing.Any = None
    __repr__ = one_line


def test_what_a_line_says():
    """Numbers and texts as they are, sizes of what is large, names of results, no private field."""
    dist, some = DrawsEstimate(np.arange(9.0)), ((0.25, 0.75),)
    assert repr(Pair(0.123456, np.zeros((2, 3)))) == "Pair(a=0.1235, b=float64[2, 3])"
    assert repr(Pair(Pair(1, 2), dist)) == "Pair(a=Pair(...), b=DrawsEstimate(...))"
    assert repr(Pair((1, None, "x"), some)) == "Pair(a=(1, None, 'x'), b=((0.25, 0.75),))"
    assert repr(Pair(2.0, -np.float32(3))) == "Pair(a=2.0, b=-3.0)"
    assert repr(Pair([1] * 5, {"a": 1})) == "Pair(a=(5 items), b={1 items})"
    assert repr(Pair(np.sum, "a" * 99)) == "Pair(a=sum, b='aaaaaaaaaaaaaaaaa...aaaaaaaaaaaaaaaaaa')"
    assert jax.jit(lambda x: x + len(repr(Pair(x, x))))(0.0) == len("Pair(a=float64[], b=float64[])")
