"""Coreference resolution in documents."""
