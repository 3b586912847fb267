"""Nearest neighbours of words and of their uses."""
