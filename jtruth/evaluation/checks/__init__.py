"""Checks of labels, predictions, gold and model assumptions."""
