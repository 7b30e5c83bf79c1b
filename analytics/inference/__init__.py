"""Collaborative inference over the air."""
