"""Results with verified labels (gold)."""
