"""Layers that the models of several tasks share."""
