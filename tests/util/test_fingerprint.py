import numpy
import pytest

from elmo_keras.util.fingerprint import (
    OtherRun,
    check_same_run,
    file_stamp,
    installed_version,
)


@pytest.mark.parametrize(
    "now, then", [({"a": 1}, {"a": 2}), ({"a": 1}, {}), ({}, {"a": 1})]
)
def test_another_value_is_named(now, then):
    check_same_run({"a": 1, "b": None}, {"a": 1}, "file", "Do this.")  # the same
    expected = f"file was made with a {then.get('a')}; this run has {now.get('a')}. Do"
    with pytest.raises(OtherRun, match=expected):
        check_same_run(now, then, "file", "Do this.")


def test_a_stamp_changes_with_the_content(tmp_path):
    path = tmp_path / "file"
    path.write_text("a")
    before = file_stamp(path)
    assert before["name"] == "file" and file_stamp(path) == before
    path.write_text("ab")
    assert file_stamp(path) != before


def test_an_installed_package_has_a_version_and_another_none():
    assert installed_version("numpy") == numpy.__version__
    assert installed_version("no-such-package-here") is None
