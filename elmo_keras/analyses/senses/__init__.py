"""Word senses by nearest neighbours."""
