"""TARS: how good is a classifier, by unbiased counts from noisy labels (Dolatshah et al. 2018)."""
