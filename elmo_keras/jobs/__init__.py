"""Work in parts that survives a kill."""
