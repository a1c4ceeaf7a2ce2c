"""Prodigy: JSONL with one line for each annotation.

With options, the label is the one that was accepted and the task is the input (`_input_hash`). Without, a
line asks whether one label fits: the task is input and label (`_task_hash`), the answer accept or reject.
Ignored questions are counted as left out.
"""

from jtruth.io.exports.rows import NOBODY, Collector, LabelRows, one_value


def is_prodigy(record: dict) -> bool:
    """Whether this line was written by Prodigy."""
    return {"_input_hash", "_task_hash", "answer"} <= set(record)


def of_lines(found: Collector, records: list[dict], _: str | None) -> LabelRows:
    """Rows of the lines."""
    choice = any("options" in line for line in records)
    for found.record, line in enumerate(records):
        who = line.get("_annotator_id") or line.get("_session_id") or NOBODY
        if line["answer"] == "ignore":
            found.skip("ignored questions")
        elif not choice:
            found.add(line["_task_hash"], who, line["answer"])
        elif line["answer"] == "reject":
            found.skip("rejected questions")
        else:
            value = one_value(line.get("accept", []), found, "'accept'")
            if value is None:
                found.skip("questions without a choice")
            else:
                found.add(line["_input_hash"], who, value)
    return found.done("Prodigy export", "choices" if choice else "accept or reject of each label")
