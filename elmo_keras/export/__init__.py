"""Exports ELMo and models of tasks as SavedModels, and ELMo for LiteRT."""
