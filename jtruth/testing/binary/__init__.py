"""Two classes: exact laws of the counts, and the ways of Su 2.1-2.6 beside them."""
