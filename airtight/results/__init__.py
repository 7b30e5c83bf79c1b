"""Results of the commands: one value type for each part; ``of`` computes its numbers, ``tree`` converts it to JSON."""
