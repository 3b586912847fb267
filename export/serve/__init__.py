"""`python -m export.serve` in a checkout is `elmo-keras serve`."""
