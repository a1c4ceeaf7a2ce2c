"""How good is my classifier? Posteriors of its metrics, given a log-likelihood of the labels and a prior."""
