"""`python -m jtruth`: the command line, where no console script is on the path."""

from jtruth.cli.entry import main

if __name__ == "__main__":
    main()
