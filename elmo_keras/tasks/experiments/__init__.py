"""Training a task model, and comparing it over variants and seeds."""
