"""The results of the commands: a dataclass per part, whose ``of`` computes the numbers; ``tree`` gives the JSON."""
