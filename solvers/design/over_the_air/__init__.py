"""The joint design of collaborative inference over the air."""
