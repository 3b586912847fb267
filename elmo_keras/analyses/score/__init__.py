"""Probabilities of sentences and words by a language model."""
