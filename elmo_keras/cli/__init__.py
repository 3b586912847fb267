"""Shared by the commands: argument types, errors and statuses, stopping, locks."""
