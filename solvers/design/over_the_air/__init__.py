"""Joint design of collaborative inference over the air."""
