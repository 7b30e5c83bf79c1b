"""What an observer with several looks at the devices learns: the law of the others' noise."""
