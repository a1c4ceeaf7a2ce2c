"""How do I train a classifier on noisy labels?"""
