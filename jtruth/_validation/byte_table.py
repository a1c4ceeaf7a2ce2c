"""Long text tables read as bytes, by NumPy: ends of fields by comparison, short fields as whole numbers.

Only plain tables are read here: fields without quotation marks, lines that end alike, in every line as many
fields as in the header. Whatever else there is, a fault or only a quotation mark, makes `byte_columns`
decline, and the csv module reads the file and says what is wrong. So both readers give the same columns and
there is one set of messages (`tests/io/test_byte_table.py` compares them on made-up files).

A file is gone through block by block, so that beside its bytes only the codes are kept. A column is coded
when it is first asked for; text in columns that nobody reads costs nothing.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from jtruth._validation.coded import Coded
from jtruth._validation.numbering import Numbering

BLOCK = 1 << 20  # bytes: some arrays of a block fit into a processor's cache
LONGEST = 64  # bytes of a field that is coded here
_LIMIT = 131_072  # the csv module refuses longer fields
_NEWLINE, _RETURN = 10, 13
_BOM = b"\xef\xbb\xbf"
_MASKS = np.array([(1 << 8 * k) - 1 for k in range(9)], np.uint64)  # the first k bytes of a word


class _Layout(NamedTuple):
    """Where the rows of a plain table are."""

    data: bytes
    begin: int  # first byte after the header
    end: int  # after the last field
    sep: int
    width: int  # fields of a row
    returns: bool  # lines end with a carriage return and a newline


class _Block(NamedTuple):
    """Whole rows of a plain table."""

    bytes: np.ndarray  # with zeros after them
    ends: np.ndarray  # (rows, fields): where each field's separator or newline is
    tail: int  # bytes between a row's last field and its newline: 1 for a carriage return

    def field(self, k: int) -> tuple[np.ndarray, np.ndarray]:
        """(start, length) of field k of each row."""
        start = self.ends[:, k - 1] + 1 if k else np.append(0, self.ends[:-1, -1] + 1)
        return start, self.ends[:, k] - start - self.tail * (k == self.ends.shape[1] - 1)


class ByteColumns(Sequence):
    """The columns of a plain table, each coded when it is asked for.

    Args:
        layout: of a table that `byte_columns` found to be plain.
        slowly: reads all columns, for fields that are too long for codes.
    """

    def __init__(self, layout: _Layout, slowly: Callable[[], Sequence], block: int):
        self._layout, self._slowly, self._block = layout, slowly, block
        self._done: dict[int, Any] = {}

    def __len__(self) -> int:
        return self._layout.width

    def __getitem__(self, key: Any) -> Any:
        if isinstance(key, slice):
            wanted = range(len(self))[key]
            self.load(wanted)
            return tuple(self._done[k] for k in wanted)
        place = range(len(self))[key]
        self.load([place])
        return self._done[place]

    def load(self, wanted: Iterable[int]) -> None:
        """Code several columns in one pass."""
        wanted = [k for k in dict.fromkeys(wanted) if k not in self._done]
        if not wanted:
            return
        known = {k: (Numbering(), []) for k in wanted}
        for begin, stop in _borders(self._layout, self._block):
            block = _block(self._layout, begin, stop)
            for k, (numbering, codes) in known.items():
                words = _words(block.bytes, *block.field(k))
                if words is None:
                    self._done.update(enumerate(self._slowly()))
                    return
                codes.append(numbering.numbers(words))
        for k, (numbering, codes) in known.items():
            all_codes, texts = numbering.settle(np.concatenate(codes))
            self._done[k] = Coded(all_codes, b"\n".join(texts).decode().split("\n"))  # no text has a line end


def byte_columns(
    data: bytes, sep: str, slowly: Callable[[], Sequence], block: int = BLOCK
) -> tuple[list[str], ByteColumns] | None:
    """(header, columns) of a plain table; None where the csv module has to look.

    Args:
        data: the whole file.
        sep: separator.
        slowly: reads all columns by the csv module.
        block: bytes that are looked at together.
    """
    first = data.find(b"\n")
    plain = len(sep) == 1 and sep.isascii() and (sep.isprintable() or sep == "\t") and sep not in '" '
    if not plain or first < 0 or b'"' in data or b"\0" in data:
        return None
    line = data[len(_BOM) * data.startswith(_BOM) : first]
    header = line.removesuffix(b"\r")
    try:
        names = header.decode().split(sep)
    except UnicodeDecodeError:
        return None
    if len(names) < 2 or b"\r" in header:
        return None
    end = len(data)
    while end > first + 1 and data[end - 1] in (_NEWLINE, _RETURN):
        end -= 1
    if b"\r" in data[end:].replace(b"\r\n", b""):  # lone returns at the end
        return None
    layout = _Layout(data, first + 1, end, ord(sep), len(names), header != line)
    return (names, ByteColumns(layout, slowly, block)) if _is_plain(layout, block) else None


def _is_plain(layout: _Layout, block: int) -> bool:
    """Whether there are rows, and every one is plain."""
    ascii_only = layout.data.isascii()
    for begin, stop in _borders(layout, block):
        chunk = layout.data[begin:stop]
        if not ascii_only:
            try:
                chunk.decode()
            except UnicodeDecodeError:
                return False
        rows = _block(layout, begin, stop)
        if not _fits(rows, layout):
            return False
        if chunk.count(b"\r") != (len(rows.ends) - (stop == layout.end)) * layout.returns:
            return False
    return layout.begin < layout.end


def _borders(layout: _Layout, block: int) -> Iterator[tuple[int, int]]:
    """Blocks of whole lines; the last has no line end."""
    begin = layout.begin
    while begin < layout.end:
        stop = (
            layout.data.rfind(b"\n", begin, begin + block) + 1 if begin + block < layout.end else layout.end
        )
        if stop == 0:  # one line is longer than a block
            stop = layout.data.find(b"\n", begin, layout.end) + 1 or layout.end
        yield begin, stop
        begin = stop


def _block(layout: _Layout, begin: int, stop: int) -> _Block:
    """The bytes of some rows, and where fields end; no rows where some line has a field more or less."""
    size = stop - begin
    block = np.zeros(size + 2 + LONGEST + 8, np.uint8)
    block[:size] = np.frombuffer(layout.data, np.uint8, size, begin)
    if stop == layout.end:
        tail = [_RETURN, _NEWLINE] if layout.returns else [_NEWLINE]
        block[size : size + len(tail)] = tail
    ends = np.flatnonzero((block == layout.sep) | (block == _NEWLINE))
    if ends.size % layout.width:
        ends = ends[:0]
    return _Block(block, ends.reshape(-1, layout.width), int(layout.returns))


def _fits(block: _Block, layout: _Layout) -> bool:
    """Whether every line has as many fields as the header, none too long, and ends as the header does."""
    ends = block.ends
    if not ends.size or int(np.diff(ends.ravel(), prepend=-1).max()) > _LIMIT:
        return False
    if (block.bytes[ends[:, -1]] != _NEWLINE).any() or (block.bytes[ends[:, :-1]] == _NEWLINE).any():
        return False
    return not layout.returns or bool((block.bytes[ends[:, -1] - 1] == _RETURN).all())


def _words(block: np.ndarray, start: np.ndarray, length: np.ndarray) -> np.ndarray | None:
    """(rows, words) uint64: the bytes of each field, eight in a word and zeros after them; None: too long."""
    most = int(length.max())
    if most > LONGEST:
        return None
    every = np.ndarray(
        (block.size - 7,), "<u8", block.data, strides=(1,)
    )  # the eight bytes from each byte on
    if most <= 8:
        return (every[start] & _MASKS[length])[:, None]
    words = np.empty((len(start), -(-most // 8)), np.uint64)
    for k in range(words.shape[1]):  # the zeros after a block are as many as the last field may want
        words[:, k] = every[start + 8 * k] & _MASKS[np.clip(length - 8 * k, 0, 8)]
    return words
