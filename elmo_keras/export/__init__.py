"""Exports ELMo as a TensorFlow 2 SavedModel, and serves it."""

import elmo_keras  # noqa: F401, whose errors of commands also cover these imports
