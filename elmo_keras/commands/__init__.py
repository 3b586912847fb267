"""Shared by the commands: arguments, errors, outputs, stopping, locks."""
