"""Two classes: exact distributions of the counts, and the methods of Su 2.1-2.6."""
