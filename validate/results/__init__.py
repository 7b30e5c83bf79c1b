"""What the commands answer: one value type for each part, its numbers computed by ``of``, its JSON by ``tree``."""
