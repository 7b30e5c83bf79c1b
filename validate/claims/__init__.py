"""What a claim is, how it is tried, and what the trial finds."""
