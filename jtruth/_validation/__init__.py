"""From columns of ids and labels to integer codes, and the messages for columns that cannot be used.

Everything here is host-side Python and NumPy and runs before JAX sees anything, because JAX clamps an index
that is out of range instead of complaining. Nothing is repaired: text stays text ("001" is not 1), a missing
value is never a class, and every message says where the trouble is, what was found and what to do.
"""

from jtruth._validation.classes import (
    MISSING_TEXT,
    class_names,
    encode_classes,
)
from jtruth._validation.columns import encode_columns
from jtruth._validation.ids import (
    as_list,
    check_columns,
    encode_ids,
    frame_columns,
    names_for,
)
from jtruth._validation.rows import (
    collapse_rows,
    distinct_indices,
    has_duplicates,
    keep_one_label_each,
    matrix_entries,
    none_unlabelled,
    padded_rows,
    unused,
)
from jtruth._validation.words import (
    Source,
    choose,
    duplicates,
    position,
    quoted,
    some,
)

__all__ = [
    "MISSING_TEXT",
    "Source",
    "as_list",
    "check_columns",
    "choose",
    "class_names",
    "collapse_rows",
    "distinct_indices",
    "duplicates",
    "encode_classes",
    "encode_columns",
    "encode_ids",
    "frame_columns",
    "has_duplicates",
    "keep_one_label_each",
    "matrix_entries",
    "names_for",
    "none_unlabelled",
    "padded_rows",
    "position",
    "quoted",
    "some",
    "unused",
]
