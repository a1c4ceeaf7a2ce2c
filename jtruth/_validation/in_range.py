"""Class codes that a public function is given: whole numbers in range, as many as there should be."""

from typing import Any

import numpy as np

from jtruth._arrays import is_concrete
from jtruth._validation.words import some


def check_codes(
    codes: Any, num_codes: int, name: str, *, size: int | None = None, missing: bool = False
) -> None:
    """ValueError unless `codes` are whole numbers 0..num_codes-1, in one axis of the right length.

    Args:
        codes: concrete; of a traced array there is nothing to look at.
        num_codes: how many codes there are.
        name: of the argument, for the message.
        size: how many entries there must be; any number if None.
        missing: whether -1 stands for "not known".
    """
    if not is_concrete(codes):
        return
    values = np.asarray(codes)
    if values.ndim != 1 or (size is not None and values.shape != (size,)):
        wanted = "one axis" if size is None else f"shape ({size},), one entry for each sample"
        raise ValueError(f"{name} must have {wanted}; got shape {values.shape}")
    if values.dtype.kind not in "iubf":
        raise ValueError(f"{name} must hold class codes 0 to {num_codes - 1}; got dtype {values.dtype}")
    low = -1 if missing else 0
    good = (values >= low) & (values < num_codes) & (values == np.floor(values))  # NaN is not
    bad = np.flatnonzero(~good)
    if bad.size:
        unknown = ", or -1 for not known" if missing else ""
        raise ValueError(
            f"{name}[{bad[0]}] is {values[bad[0]]} ({bad.size} such entries: {some(bad)}); give class codes "
            f"0 to {num_codes - 1}{unknown}"
        )
