"""Any number of classes and symbols: the count table by draws, and the ways of Su 2.7 beside it."""
