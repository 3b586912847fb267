"""Exports ELMo as a TensorFlow 2 SavedModel, and models of tasks."""
