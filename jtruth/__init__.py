"""jtruth."""
