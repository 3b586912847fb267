"""Layers that the models of several tasks share."""

PLACES = "input", "output", "both"  # where `TokenVectors` add ELMo
THRESHOLD = 0.3  # lowest probability of a predicted label, as for GoEmotions
