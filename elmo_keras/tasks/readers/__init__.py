"""Lines, tables, JSON and words, for the readers of several tasks."""
