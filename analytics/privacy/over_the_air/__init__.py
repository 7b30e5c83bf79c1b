"""Privacy of collaborative inference over the air: participation, observers, rounds, Theorem 1, feature-aware selection."""
