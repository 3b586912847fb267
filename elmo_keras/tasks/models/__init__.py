"""Task models, and the layers they are made of."""
