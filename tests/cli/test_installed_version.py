"""Versions of installed packages."""

import numpy

from elmo_keras.cli.installed_version import installed_version


def test_an_installed_package_has_a_version_and_another_none():
    assert installed_version("numpy") == numpy.__version__
    assert installed_version("no-such-package-here") is None
