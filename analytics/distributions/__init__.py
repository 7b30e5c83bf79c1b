"""Laws of the random sums that a system produces."""
