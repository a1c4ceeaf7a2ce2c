"""Two classes: exact distributions of the counts, and the ways of Su 2.1-2.6 beside them."""
