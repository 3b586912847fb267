"""Comparisons of the variants of an experiment."""
