"""The arithmetic of scores."""
