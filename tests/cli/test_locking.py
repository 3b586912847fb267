"""One process at a time in a folder."""

import pytest

from elmo_keras.cli.locking import only_process


def lock_again(folder):
    with only_process(folder, "taken"):
        raise AssertionError("The folder was locked twice.")


def test_a_folder_is_made_and_locked_until_the_block_ends(tmp_path):
    folder = tmp_path / "a" / "b"
    with only_process(folder, "taken"):
        # A lock belongs to the open file, so this process can't get it twice either.
        with pytest.raises(ValueError, match="taken"):
            lock_again(folder)
        assert [path.name for path in folder.iterdir()] == ["lock"]
    with only_process(folder, "taken"):
        pass
