"""Laws of the random sums that occur in a system."""
