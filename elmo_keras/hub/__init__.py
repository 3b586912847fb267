"""Published models by name: where they are, and their files in the cache."""
