"""Embeds sentences in pipelines of Apache Beam."""
