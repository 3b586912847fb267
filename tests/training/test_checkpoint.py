"""Checkpoints are whole, or are skipped."""

import itertools

import ml_dtypes
import numpy as np
import pytest

from elmo_keras.training.checkpoint import (
    checkpoints,
    newest_checkpoint,
    read_checkpoint,
    save_checkpoint,
)

ARRAYS = {
    "weights/0": np.arange(35, dtype=np.float32).reshape(5, 7),
    "weights/1": np.array([-0.0, np.inf, 1e-45], np.float32),
    "optimizer/0": np.array(2**40 + 1, np.int64),
    "optimizer/1": np.array(0.1, np.float32),
    "state/0": np.zeros((0, 3), np.float32),
}
METADATA = {"progress": {"step": 7, "losses": [[3, 0.1]]}, "identity": {"name": "한"}}


def assert_same(arrays, expected):
    assert arrays.keys() == expected.keys()
    for name, array in expected.items():
        assert arrays[name].dtype == array.dtype
        assert arrays[name].shape == array.shape
        assert arrays[name].tobytes() == array.tobytes()


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_what_is_read_is_what_was_written(tmp_path):
    half = np.array([[1.5, -3e38]], ml_dtypes.bfloat16)
    written, expected = ARRAYS | {"half": half}, ARRAYS | {"half": np.float32(half)}
    path = save_checkpoint(tmp_path / "new" / "folder", 7, written, metadata=METADATA)
    arrays, metadata = read_checkpoint(path)
    assert metadata == METADATA
    assert_same(arrays, expected)
    assert_same(newest_checkpoint(path.parent)[0], expected)
    long = {"losses": [[i, i / 7] for i in range(10_000)]}  # the same step once more
    assert save_checkpoint(path.parent, 7, {}, metadata=long) == path
    assert read_checkpoint(path) == ({}, long) and len(names(path.parent)) == 1


def test_the_newest_two_are_kept_and_leftovers_removed(tmp_path):
    (tmp_path / "other.txt").touch()
    for step in (9, 10, 100):
        (tmp_path / f".checkpoint-{step + 1:010}.hdf5.12345.hdf5").write_bytes(b"begun")
        save_checkpoint(tmp_path, step, {"step": np.array(step)}, metadata={})
    expected = ["checkpoint-0000000010.hdf5", "checkpoint-0000000100.hdf5"]
    assert names(tmp_path) == [*expected, "other.txt"]
    assert [path.name for path in checkpoints(tmp_path)] == expected[::-1]
    (tmp_path / ".checkpoint-0000000102.hdf5.77.hdf5").write_bytes(b"begun")
    assert newest_checkpoint(tmp_path)[0]["step"] == 100


def test_a_later_checkpoint_that_was_skipped_does_not_replace_a_whole_one(tmp_path):
    save_checkpoint(tmp_path, 20, {}, metadata={})
    save_checkpoint(tmp_path, 30, {}, metadata={}).write_bytes(b"damaged")
    save_checkpoint(tmp_path, 21, {}, metadata={})
    assert names(tmp_path) == [f"checkpoint-00000000{n}.hdf5" for n in (20, 21)]


def damages(content):
    """Yields the content with one byte changed, or with its end missing."""
    for place, change in itertools.product(range(0, len(content), 97), (0x01, 0xFF)):
        if not 32 <= place < 512:  # nothing is between the checksum and the content
            changed = bytearray(content)
            changed[place] ^= change
            yield bytes(changed)
    for length in (0, 10, 512, len(content) // 2, len(content) - 1):
        yield content[:length]
    yield content[:600] + bytes(len(content) - 600)


def test_a_damaged_newest_checkpoint_is_skipped_with_a_warning(tmp_path):
    save_checkpoint(tmp_path, 1, ARRAYS, metadata={"n": 1})
    newest = save_checkpoint(tmp_path, 2, ARRAYS, metadata={"n": 2})
    content = newest.read_bytes()
    assert len(list(damages(content))) > 200
    for damaged in damages(content):
        newest.write_bytes(damaged)
        with pytest.warns(UserWarning, match="checkpoint-0000000002.hdf5 is damaged"):
            arrays, metadata, path = newest_checkpoint(tmp_path)
        assert metadata == {"n": 1} and path.name == "checkpoint-0000000001.hdf5"
    assert_same(arrays, ARRAYS)
    newest.write_bytes(content)
    assert newest_checkpoint(tmp_path)[1] == {"n": 2}
    assert newest_checkpoint(tmp_path / "none") is None
    for path in tmp_path.iterdir():
        path.write_bytes(content[:-1])
    damage = pytest.raises(ValueError, match="All checkpoints in .* are damaged")
    with damage, pytest.warns(UserWarning, match="Trying the previous one"):
        newest_checkpoint(tmp_path)
