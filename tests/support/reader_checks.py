"""Checks of the readers of tasks' files."""

import re

import pytest


def check_malformed(read, path, line, reason):
    """A malformed file is refused with `file:line:` and the reason."""
    place = re.escape(f"{path}:{line}: ")
    with pytest.raises(ValueError, match=f"^{place}.*{reason}") as error:
        read(path)
    assert "\n" not in str(error.value)
