"""Files for LiteRT that are not whole, not ours, or of another version."""

import zipfile

import numpy as np
import pytest

from elmo_keras.lite import lite_file
from elmo_keras.lite.lite_file import LiteFile, read_lite, write_lite

FILE = LiteFile(
    {"config": {"units": 2}},
    {
        "forward": np.frombuffer(b"\x18\0\0\0TFL3" + bytes(90), np.uint8),
        "backward": np.arange(7, dtype=np.uint8),
        "tokens": np.arange(70, dtype=np.uint8),
    },
    {"characters": np.eye(3, dtype=np.float32)},
)


@pytest.fixture
def path(tmp_path):
    write_lite(tmp_path / "m.tflite", FILE)
    return tmp_path / "m.tflite"


def test_all_parts_come_back_and_lie_aligned(path):
    actual = read_lite(path)
    assert actual.metadata["config"] == {"units": 2}
    assert {*actual.graphs} == {*FILE.graphs}
    for name, graph in FILE.graphs.items():
        np.testing.assert_array_equal(actual.graphs[name], graph)
        assert actual.graphs[name].ctypes.data % lite_file.ALIGNMENT == 0
    np.testing.assert_array_equal(actual.arrays["characters"], np.eye(3))


def test_the_bytes_repeat_and_any_zip_reader_reads_them(path, tmp_path):
    write_lite(tmp_path / "again.tflite", FILE)
    assert (tmp_path / "again.tflite").read_bytes() == path.read_bytes()
    with zipfile.ZipFile(path) as archive:
        assert archive.testzip() is None


def test_every_damaged_byte_of_a_part_is_noticed(path):
    whole = path.read_bytes()
    for place in range(0, len(whole) - 400, 7):
        damaged = bytearray(whole)
        damaged[place] ^= 0x55
        path.write_bytes(damaged)
        try:
            actual = read_lite(path)
        except ValueError as error:
            assert "m.tflite" in str(error)
            continue
        for name, graph in FILE.graphs.items():  # between the parts
            np.testing.assert_array_equal(actual.graphs[name], graph)


@pytest.mark.parametrize("content", [b"", b"TFL3" * 99, "cut", "zip"], ids=str)
def test_what_is_not_ours_or_not_whole_is_refused(path, content):
    if content == "cut":
        content = path.read_bytes()[:-30]
    if content == "zip":
        path.unlink()
        with zipfile.ZipFile(path, "w") as archive:
            archive.writestr("a", "b")
    else:
        path.write_bytes(content)
    with pytest.raises(ValueError, match="is not a whole `.tflite` file of elmo-keras"):
        read_lite(path)


def test_another_version_is_refused(path, monkeypatch):
    monkeypatch.setattr(lite_file, "VERSION", 2)
    with pytest.raises(ValueError, match="has version 1 of the format"):
        read_lite(path)
