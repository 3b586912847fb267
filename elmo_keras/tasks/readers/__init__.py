"""Readers of the usual data files."""
