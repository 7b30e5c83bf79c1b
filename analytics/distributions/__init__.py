"""Laws of random counts, sums and selections."""
