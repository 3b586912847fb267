"""Files, progress, checks of arguments: what every room may import, and imports none."""
