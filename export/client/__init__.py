"""`python -m export.client` in a checkout is `elmo-keras client`."""
