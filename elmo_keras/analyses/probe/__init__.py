"""Linear classifiers on the layers of a biLM."""
