"""Embeds corpora on the machines of a Ray cluster."""
