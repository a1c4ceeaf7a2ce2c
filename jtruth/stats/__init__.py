"""Plain statistics that know nothing of labels."""
