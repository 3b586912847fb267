"""The maintainers' programs: `python -m tools.NAME`, from a checkout."""
