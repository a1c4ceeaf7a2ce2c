"""Bayesian annotation models in NumPyro, sampled by NUTS."""
