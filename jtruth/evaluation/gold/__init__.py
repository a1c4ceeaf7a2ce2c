"""A few known classes: what they make of the answer, and shares of classes."""
