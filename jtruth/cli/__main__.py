"""`python -m jtruth.cli`."""

from jtruth.cli import main

if __name__ == "__main__":
    main()
