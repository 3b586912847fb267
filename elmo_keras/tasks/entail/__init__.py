"""Entailment between two sentences."""
