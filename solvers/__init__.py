"""Design problems: the best values of a system's free parameters, each with a certificate of optimality."""
