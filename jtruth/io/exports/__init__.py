"""Exports of annotation tools as rows of task, worker, label; a file for each tool."""

from jtruth.io.exports.recognised import of_records, of_table

__all__ = ["of_records", "of_table"]
