"""Some classes are known: error rates by counting, and when error rates can be learned without."""
