"""Versions of installed packages."""

import importlib.metadata


def installed_version(package: str) -> str | None:
    """The version of a package; None if it is not installed, as in a plain checkout."""
    try:
        return importlib.metadata.version(package)
    except importlib.metadata.PackageNotFoundError:
        return None
