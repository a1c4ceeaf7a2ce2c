"""`python -m jtruth.cli`."""

from jtruth.cli.entry import main

if __name__ == "__main__":
    main()
