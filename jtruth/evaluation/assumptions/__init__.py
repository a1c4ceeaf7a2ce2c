"""Assumptions about shared errors, and what each of them implies."""
