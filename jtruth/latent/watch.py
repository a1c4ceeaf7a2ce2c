"""What a long run does beside its sampling: it tells how far it is, and keeps a file to go on from.

One `Watch` serves every sampler, Gibbs, Hamiltonian and NUTS. It changes no draw: the same key gives the same
numbers watched or not, and a run that was killed goes on from its file as if nothing had happened.
"""

import contextlib
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from jtruth.latent.checkpoint import Checkpoint

_UNASKED = 5.0  # seconds before a bar appears that nobody asked for
Told = Callable[[int, int], None]  # (steps done, steps planned so far), all chains together


class Watch(NamedTuple):
    """Whom to tell, and what to write."""

    progress: bool | Told | None = None  # called after every block of steps; True: a bar
    checkpoint: str | Path | None = None  # a file to resume from if it exists, and to write
    seconds: float = 10.0  # least time between two writings; what is finished is always written

    def file(self, mark: str) -> Checkpoint:
        """The file of the run with this mark; nothing at all without `checkpoint`."""
        return Checkpoint(self.checkpoint, mark, self.seconds)

    @contextlib.contextmanager
    def telling(self) -> Iterator[Told]:
        """A function of (done, planned): the caller's, a tqdm bar's, or one that does nothing.

        Where nobody says anything a run of more than five seconds has a bar on a terminal, gone at its end.
        """
        if callable(self.progress):
            yield self.progress
        elif not (sys.stderr.isatty() if self.progress is None else self.progress):
            yield lambda done, planned: None
        else:
            from tqdm.auto import tqdm  # here: in a notebook without ipywidgets its import prints a warning

            unasked = {"delay": _UNASKED, "leave": False} if self.progress is None else {}
            with tqdm(unit="step", **unasked) as bar:

                def show(done: int, planned: int) -> None:
                    bar.total = planned
                    bar.update(done - bar.n)

                yield show


UNWATCHED = Watch()
