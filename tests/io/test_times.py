"""Times as text: against pandas, and ambiguous ones are refused."""

from datetime import UTC, datetime, timedelta, timezone

import numpy as np
import pandas as pd
import polars as pl
import pytest

from jtruth._validation.coded import Coded
from jtruth._validation.times import times_of

MOMENTS = [datetime(2026, 1, 2, 9, 5), datetime(2025, 12, 13, 21, 30, 7), datetime(1999, 7, 31),
           datetime(2026, 2, 1, 12)]  # fmt: skip
SECONDS = [moment.replace(tzinfo=UTC).timestamp() for moment in MOMENTS]
FORMS = [
    "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d %H:%M:%S", "%Y-%m-%d %H:%M:%S.%f", "%Y/%m/%d %H:%M:%S", "%Y%m%dT%H%M%S",
    "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %I:%M:%S %p", "%m/%d/%y %I:%M:%S %p", "%d.%m.%Y %H:%M:%S",
    "%d.%m.%y, %H:%M:%S", "%d-%m-%Y %H:%M:%S", "%d-%b-%Y %H:%M:%S", "%b %d, %Y %I:%M:%S %p",
    "%B %d, %Y, %H:%M:%S", "%d %B %Y %H:%M:%S", "%a, %d %b %Y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y",
    "%Y-%m-%dT%H:%M:%SZ", "%Y-%m-%d %H:%M:%S UTC", "%Y-%m-%d %H:%M:%S +0000",
]  # fmt: skip


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_time(form):
    """One row has a day above 12, which decides for all; empty cells have no time."""
    texts = [moment.strftime(form) for moment in MOMENTS]
    assert pd.to_datetime(texts[0], format=form).timestamp() == SECONDS[0]  # pandas writes it so, too
    np.testing.assert_array_equal(times_of([*texts, "", "NA"]), [*SECONDS, np.nan, np.nan])
    coded = times_of(Coded(np.array([1, 0, 1], np.int32), texts))
    np.testing.assert_array_equal(coded, [SECONDS[1], SECONDS[0], SECONDS[1]])


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_numbers_count_seconds_or_parts_of_them(unit):
    counted = np.array(MOMENTS, f"M8[{unit}]").astype(int).tolist()
    np.testing.assert_allclose(times_of(list(map(str, counted))), SECONDS, rtol=0, atol=1e-6)
    np.testing.assert_allclose(times_of(counted), SECONDS, rtol=0, atol=1e-6)
    for other in ("1 2", "0.5 1e3", "a b", "NA NA", "9:30 10:00", "31/31/2026", "29.2.2025"):
        assert times_of(other.split()) is None
    with pytest.raises(ValueError, match=r"^--order when mixes units"):
        times_of(["1767344405", "1767344405000"], "--order when")


def test_times_of_frames():
    zone = timezone(timedelta(hours=2))
    frames = pd.Series(MOMENTS), pl.Series(MOMENTS), pd.Series(MOMENTS).dt.as_unit("ns")
    for column in (MOMENTS, np.array(MOMENTS, "M8[ns]"), *frames):
        np.testing.assert_array_equal(times_of(column), SECONDS)
    local = [moment.replace(tzinfo=UTC).astimezone(zone) for moment in MOMENTS]
    np.testing.assert_array_equal(times_of(local), SECONDS)
    np.testing.assert_array_equal(times_of([moment.isoformat() for moment in local]), SECONDS)
    assert np.isnan(times_of(pd.Series([MOMENTS[0], None]))[1])


@pytest.mark.parametrize(
    ("texts", "message"),
    [(["01/02/2026 09:00", "02/01/2026 10:00"], "'01/02/2026 09:00' may be 2026-02-01 or 2026-01-02"),
     (["2026-01-02 09:00", "2026-01-02T09:00Z"], "some times have a time zone and others do not")],
)  # fmt: skip
def test_times_that_could_be_two_are_refused(texts, message):
    with pytest.raises(ValueError, match=f"^the column of times: {message}"):
        times_of(texts)


def test_days_and_months_where_it_does_not_matter():
    """The order is the same either way; both would be wrong for a row that has neither."""
    assert np.argsort(times_of(["03/04/2026", "01/02/2026", "03/04/2026 01:00"])).tolist() == [1, 0, 2]
    assert times_of(["13/02/2026", "01/13/2026"]) is None
