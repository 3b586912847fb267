"""The state before the first token: computed from a text, and kept with a model."""
