"""Semantic search by sentence vectors."""
