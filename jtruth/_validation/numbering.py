"""Short texts as numbers, a million at a time: a hash table whose every step is a NumPy operation.

A text of up to 8 K bytes is a row of K whole numbers of 64 bits, filled up by zero bytes (no text has one).
A place of the table holds the number of a text or -1; texts that want the same place take the next free one
(open addressing). A place is believed only after all bytes were compared, so a number is never a matter of
chance.
"""

import numpy as np
from jaxtyping import Int, UInt64

_ODD = np.uint64(0x9E3779B97F4A7C15)  # 2^64 / golden ratio: multiplying spreads small differences upwards
_FOLD = np.uint64(29)


class Numbering:
    """Texts get the numbers 0, 1, ... in the order in which they come."""

    def __init__(self):
        self.size = 0
        self._words = np.zeros((256, 1), np.uint64)  # row k: the text with number k
        self._bits = 10
        self._table = np.full(1 << self._bits, -1, np.int32)
        self._late = False  # two texts had one hash: one of them got its number too late

    def numbers(self, words: UInt64[np.ndarray, "rows words"]) -> Int[np.ndarray, " rows"]:
        """The number of each text; runs of equal texts (rows sorted by task) are looked up once."""
        self._widen(words.shape[1])
        begins = np.empty(len(words), bool)
        begins[0], begins[1:] = True, _unequal(words[1:], words[:-1])
        first = np.flatnonzero(begins)
        if first.size > 0.7 * len(words):
            return self._look_up(self._fitted(words))
        return np.repeat(self._look_up(self._fitted(words[first])), np.diff(first, append=len(words)))

    def texts(self) -> list[bytes]:
        """All texts, by number."""
        words = np.ascontiguousarray(self._words[: self.size])
        return words.view(f"S{8 * words.shape[1]}").ravel().tolist()

    def settle(self, codes: Int[np.ndarray, " rows"]) -> tuple[np.ndarray, list[bytes]]:
        """(codes, texts) of all rows together, numbered by first appearance whatever the hashes were."""
        if not self._late:
            return codes, self.texts()
        first = np.empty(self.size, np.int64)
        first[codes[::-1]] = np.arange(len(codes))[::-1]  # NumPy keeps the last assignment to a place
        order = np.argsort(first)
        new = np.empty(self.size, np.int32)
        new[order] = np.arange(self.size, dtype=np.int32)
        texts = self.texts()
        return new[codes], [texts[k] for k in order]

    def _look_up(self, words: np.ndarray) -> np.ndarray:
        """Numbers of texts, new ones among them."""
        hashed, rounds = _hash(words), 0
        found = self._find(words, hashed)
        while (new := np.flatnonzero(found < 0)).size:
            _, first = np.unique(hashed[new], return_index=True)  # the first text of each hash
            first = new[np.sort(first)]
            self._add(words[first])
            found[new] = self._find(words[new], hashed[new])
            rounds += 1
        self._late |= rounds > 1
        return found

    def _find(self, words: np.ndarray, hashed: np.ndarray) -> np.ndarray:
        """Numbers of texts, -1 for those that have none."""
        place = self._places(hashed)
        found = self._table[place]
        wrong = np.flatnonzero((found >= 0) & _unequal(self._words[found], words))
        while wrong.size:
            place[wrong] = (place[wrong] + 1) & (self._table.size - 1)
            again = self._table[place[wrong]]
            found[wrong] = again
            wrong = wrong[(again >= 0) & _unequal(self._words[again], words[wrong])]
        return found

    def _add(self, words: np.ndarray) -> None:
        """Give the next numbers to different texts that have none."""
        begin, self.size = self.size, self.size + len(words)
        if self.size > len(self._words):
            grown = np.zeros((2 * self.size, self._words.shape[1]), np.uint64)
            grown[:begin] = self._words[:begin]
            self._words = grown
        self._words[begin : self.size] = words
        if 2 * self.size > self._table.size:
            self._bits = int(4 * self.size).bit_length()
            begin = 0  # all of them, into a larger table
            self._table = np.full(1 << self._bits, -1, np.int32)
        self._place(np.arange(begin, self.size, dtype=np.int32))

    def _place(self, number: np.ndarray) -> None:
        """Put numbers at their places; whoever finds one taken goes on to the next."""
        place = self._places(_hash(self._words[number]))
        while number.size:
            free = self._table[place] < 0
            self._table[place[free]] = number[free]  # of several for one place the last stays
            left = self._table[place] != number
            number, place = number[left], (place[left] + 1) & (self._table.size - 1)

    def _places(self, hashed: np.ndarray) -> np.ndarray:
        return (hashed >> np.uint64(64 - self._bits)).astype(np.int64)

    def _widen(self, width: int) -> None:
        """Room for longer texts. Places stay: a hash does not depend on zero bytes at the end."""
        more = width - self._words.shape[1]
        if more > 0:
            self._words = np.pad(self._words, ((0, 0), (0, more)))

    def _fitted(self, words: np.ndarray) -> np.ndarray:
        """Texts as wide as those that are known."""
        more = self._words.shape[1] - words.shape[1]
        return words if more == 0 else np.pad(words, ((0, 0), (0, more)))


def _hash(words: np.ndarray) -> np.ndarray:
    """(rows,) uint64; words of zero at the end change nothing."""
    found = words[:, 0] * _ODD
    for word in words.T[1:]:
        found = np.where(word == 0, found, (found ^ (found >> _FOLD) ^ word) * _ODD)
    return found


def _unequal(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """(rows,) whether two texts differ."""
    found = a[:, 0] != b[:, 0]
    for k in range(1, a.shape[1]):
        found |= a[:, k] != b[:, k]
    return found
