"""Exports ELMo as a TensorFlow 2 SavedModel, and serves it."""
