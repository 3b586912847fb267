"""Commands that show what a biLM has learned, and what tasks gain from it."""
