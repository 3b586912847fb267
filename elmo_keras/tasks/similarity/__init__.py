"""Similarity of two sentences, as a score from 0 to `HIGHEST_SCORE`."""

HIGHEST_SCORE = 5.0
