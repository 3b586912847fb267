"""`python -m export` in a checkout is `elmo-keras export`."""
