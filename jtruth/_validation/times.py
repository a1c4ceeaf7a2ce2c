"""Times as they are written: ISO, seconds since 1970 and parts of them, 01/02/2026 9:00 AM, 2 Jan 2026.

Whether 01/02 is in January or in February, the whole column decides: a number above 12 is a day. Where
nothing decides and the order of the rows depends on it, the column is refused.
"""

import re
from contextlib import suppress
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any

import numpy as np
from jaxtyping import Float

from jtruth._validation.coded import Coded, different, recode
from jtruth._validation.ids import MISSING_TEXT, as_list, is_missing
from jtruth._validation.words import brief, number_in

_CLOCK = re.compile(
    r"[T,\s]*(?<![\d./-])(\d\d?)(?::(\d\d)(?::(\d\d(?:[.,]\d+)?))?|(?=\s*[ap]\.?m))\s*(?:([ap])\.?m\.?)?"
    r"\s*(Z|UTC|GMT|[PMCE][SD]T|[+-]\d\d:?\d\d)?(?![\d:])",
    re.IGNORECASE,
)
_NO_DATE = re.compile(
    r"\b(mon|tue|wed|thu|fri|sat|sun)[a-z]*|(?<=\d)(st|nd|rd|th)\b|(?<=[a-z])\.", re.IGNORECASE
)
_FORMS = ("%Y %m %d", "%d %b %Y", "%d %B %Y", "%b %d %Y", "%B %d %Y", "%Y %b %d", "%d.%m.%Y", "%d.%m.%y")
_LOCAL = ("%d %m %Y", "%d %m %y"), ("%m %d %Y", "%m %d %y")  # day first, month first
_ZONES = {f"{z}{s}T": f"-{8 - k - (s == 'D'):02}:00" for k, z in enumerate("PMCE") for s in "SD"}  # American
_UNITS = (1e8, 1e11, 1e14, 1e17)  # where seconds from March 1973 on begin, thousandths, and so on


def times_of(column: Any, name: str = "the column of times") -> Float[np.ndarray, " rows"] | None:
    """Seconds since 1970 of every row, NaN where a cell is empty; None where some are no times.

    Of text (`Coded` or not), numbers, or times of Python, NumPy or pandas; without a zone in UTC. Refused,
    with the `name` of the column: days that may be months where it matters, zones of some times, numbers
    in different units.
    """
    if isinstance(column, np.ndarray) and column.dtype.kind == "M":  # in lists nanoseconds are numbers
        column = column.astype("M8[us]")
    values = column if isinstance(column, Coded) else as_list(column, name)
    texts = {one: str(one).strip().casefold() for one in different(values) if not is_missing(one)}
    given = [one for one, text in texts.items() if text not in MISSING_TEXT - {"-1"}]
    seconds = _seconds(given, name) if given else None
    if seconds is None:
        return None
    place = {one: k for k, one in enumerate(given)}
    return np.append(seconds, np.nan)[recode(values, lambda one: place.get(one, len(given)))]


def moment_text(moment: float, clock: bool = False, unit: str = "") -> str:
    """A moment of an order of times as a date, with hour and minute if wanted; of others the number of units.

    >>> moment_text(1772323200.0), moment_text(1772323200000.0, clock=True), moment_text(12.0)
    ('2026-03-01', '2026-03-01 00:00', '12')
    """
    if not _UNITS[0] <= moment < 1e20:
        return f"{unit}{moment:g}"
    seconds = moment / 1000.0 ** (np.searchsorted(_UNITS, moment, "right") - 1)
    return f"{datetime.fromtimestamp(float(seconds), UTC):{'%Y-%m-%d %H:%M' if clock else '%Y-%m-%d'}}"


def _seconds(values: list, name: str) -> np.ndarray | None:
    """Seconds of times, or of numbers of seconds, thousandths and so on; None: some are neither."""
    numbers = np.array([number_in(str(v)) if isinstance(v, str | int | float) else np.nan for v in values])
    if not (numbers >= _UNITS[0]).all():  # nor of NaN
        return _moments(values, name)
    unit = np.searchsorted(_UNITS, numbers, "right") - 1
    if np.ptp(unit):
        raise ValueError(f"{name} mixes units, such as seconds and milliseconds: use one unit")
    return numbers / 1000.0 ** unit[0]


def _moments(values: list, name: str) -> np.ndarray | None:
    """Seconds of times; None: some are no times."""
    texts = [str(value).strip() for value in values]  # of Python's and pandas' times in ISO form
    try:
        fits = [[datetime.fromisoformat(text) for text in texts]]
    except ValueError:
        read = [[_moment(text, order) for text in texts] for order in (0, 1)]
        fits = [[m for m in moments if m] for moments in read if None not in moments]
    if not fits:
        return None
    if len({moment.tzinfo is None for moment in fits[0]}) > 1:
        raise ValueError(f"{name}: some times have a time zone and others do not. Add the zone to all")
    seconds = [np.array([m.replace(tzinfo=m.tzinfo or UTC).timestamp() for m in one]) for one in fits]
    ranks = [np.unique(one, return_inverse=True)[1] for one in seconds]
    if (ranks[0] != ranks[-1]).any():
        k = int(np.flatnonzero(seconds[0] != seconds[1])[0])
        what = f"{brief(values[k])} may be {fits[0][k]:%Y-%m-%d} or {fits[1][k]:%Y-%m-%d}"
        raise ValueError(f"{name}: {what}. Write dates as year-month-day")
    return seconds[0]


def _moment(text: str, order: int) -> datetime | None:
    """A time, of a local date with the day (0) or the month (1) first; None: it is none."""
    with suppress(ValueError):
        return datetime.fromisoformat(text)
    clock = _CLOCK.search(text)
    if clock is None:
        return _day(text, order)
    day = _day(f"{text[: clock.start()]} {text[clock.end() :]}", order)
    hour, minute, second, half, zone = clock.groups(default="")
    if day is None or (half and int(hour) > 12):
        return None
    hour = int(hour) % 12 + 12 * (half in "pP") if half else int(hour)
    zone = _ZONES.get(zone.upper(), "Z" if zone[:1].isalpha() else zone)
    with suppress(ValueError):
        return datetime.fromisoformat(f"{day:%Y-%m-%d}T{hour:02}:{minute or '00'}:{second or '00'}{zone}")
    return None


@lru_cache(1 << 16)
def _day(text: str, order: int) -> datetime | None:
    """The day of a date."""
    words = " ".join(re.split(r"[\s,/-]+", _NO_DATE.sub("", text).strip(" ,")))
    for form in (*_FORMS, *_LOCAL[order]):
        with suppress(ValueError):
            return datetime.strptime(words, form)
    return None
