"""What several tests share: the command line at work, and oracles that only tests use."""
