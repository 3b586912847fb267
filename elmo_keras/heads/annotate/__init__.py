"""Text in, answers out: trained heads by name."""
