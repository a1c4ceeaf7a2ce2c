"""Maximum likelihood: Dawid and Skene's model by EM, from hundreds to millions of labels."""
