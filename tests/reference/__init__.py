"""Plain-loop reference implementations, written from the papers alone."""
