"""Layers that the models of several tasks share."""

PLACES = "input", "output", "both"  # where `TokenVectors` add ELMo
