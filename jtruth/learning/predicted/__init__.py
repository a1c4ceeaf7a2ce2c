"""One label a sample, and a classifier's probabilities that never saw it: how often are the labels wrong?"""
