"""One process at a time in a folder."""

import threading

import pytest

from elmo_keras.util.locking import only_process
from tests.support.waiting import wait_until


def test_a_folder_is_made_and_locked_until_the_block_ends(tmp_path):
    folder = tmp_path / "a" / "b"
    with only_process(folder, "taken"):
        # A lock belongs to the open file, so this process can't get it twice either.
        with pytest.raises(ValueError, match="taken"):
            only_process(folder, "taken").__enter__()
        assert [path.name for path in folder.iterdir()] == ["lock"]
    with only_process(folder, "taken"):
        pass


def test_a_folder_is_waited_for_and_the_wait_is_said_once(tmp_path, capsys):
    shown, done = [], []

    def wait():
        with only_process(tmp_path / "a", "waiting", wait=True):
            done.append("waited")

    with only_process(tmp_path / "a", "never said", wait=True):
        thread = threading.Thread(target=wait)
        thread.start()
        wait_until(lambda: shown.append(capsys.readouterr().err) or any(shown))
        assert done == []
    thread.join()
    assert done == ["waited"] and "".join(shown) == "waiting\n"
