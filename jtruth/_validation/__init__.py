"""From columns of ids and labels to integer codes, and the messages for columns that cannot be used.

Everything here is host-side Python and NumPy and runs before JAX sees anything, because JAX clamps an index
that is out of range instead of complaining. Nothing is repaired: text stays text ("001" is not 1), a missing
value is never a class, and every message says where the trouble is, what was found and what to do.
"""

from jtruth._validation.classes import by_class, class_codes, class_names, encode_classes, inferred_classes
from jtruth._validation.coded import (
    ABSENT,
    IDLE,
    check_entries,
    collapse_rows,
    distinct_indices,
    has_duplicates,
    keep_one_label_each,
    none_unlabelled,
    occurring,
    padded_rows,
    row_codes,
    unused,
)
from jtruth._validation.columns import bare_note, encode_columns, frame_columns, frame_order, matrix_entries
from jtruth._validation.ids import (
    MISSING_TEXT,
    Aligned,
    TaskArray,
    align,
    align_table,
    as_list,
    check_columns,
    encode_ids,
    is_frame,
    match_ids,
    names_for,
    with_tasks,
)
from jtruth._validation.positive import positive_line, positive_of
from jtruth._validation.scale import places, scale_of, values_of
from jtruth._validation.words import Source, brief, choose, duplicates, position, present, quoted, some
