"""Question answering with spans of a paragraph."""
