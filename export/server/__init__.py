"""The parts of the embedded server; `export.serve` puts them together."""
