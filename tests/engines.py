"""Tables in Polars and DuckDB, for tests of reading from them."""

import polars as pl
import pytest

NAMES = {"task": "item", "worker": "rater", "label": "rating"}
OPEN = []  # connections: a relation of DuckDB 1.4 does not keep its own open


@pytest.fixture(scope="module", autouse=True)
def connections():
    """Closed at the end."""
    yield
    while OPEN:
        OPEN.pop().close()


def duck(columns):
    """A relation of DuckDB."""
    import duckdb  # not above: when such a module is unloaded, DuckDB 2.0 complains

    OPEN.append(duckdb.connect())
    return OPEN[-1].from_arrow(pl.DataFrame(columns).to_arrow())


ENGINES = {"polars": lambda columns: pl.DataFrame(columns).lazy(), "duckdb": duck}
engines = pytest.mark.parametrize("engine", ENGINES.values(), ids=list(ENGINES))
