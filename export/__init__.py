"""ELMo as a TensorFlow 2 SavedModel, and that SavedModel served."""
