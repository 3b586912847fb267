"""Tagging: parts of speech, named entities, semantic roles."""
