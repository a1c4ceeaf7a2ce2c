"""Messages, moments and entropy: consensus by other means than the likelihood of a confusion matrix."""
