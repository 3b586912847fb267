"""Zips and tars are read, or refused within bounds."""

import contextlib
import errno
import io
import os
import tarfile
import tracemalloc
import zipfile
from pathlib import Path

import pytest

from elmo_keras.formats.archives import FREE_BYTES, unpack
from elmo_keras.formats.model_directory import find_model
from tests.formats.conftest import contents, zipped


def refused(path, message):
    with pytest.raises(ValueError, match=f"{path.name} should be .*{message}"):
        unpack(path)


def test_an_archive_is_unpacked_once_and_again_when_it_changes(directory, cache):
    path, others = directory.with_name("m.zip"), {"__MACOSX/a": "", "training/b": ""}
    zipped(path, contents(directory) | others, "folder/")
    expected = find_model(directory).vocabulary.words
    assert find_model(path).vocabulary.words == expected
    [folder] = cache.glob("unpacked/m.zip-*")
    names = sorted(file.relative_to(folder).as_posix() for file in folder.rglob("*.*"))
    assert names == [f"folder/{name}" for name in sorted(contents(directory))]
    (folder / "folder/vocab.txt").write_text("<S>\n</S>\n<UNK>\nkept\n")
    assert find_model(path).vocabulary.words[-1] == "kept"
    zipped(path, contents(directory) | {"other": ""})
    assert find_model(path).vocabulary.words == expected
    [other] = cache.glob("unpacked/m.zip-*")
    assert other != folder and not (other / "folder").exists()


def test_what_can_not_be_unpacked_leaves_nothing(directory, cache, monkeypatch):
    path = zipped(directory.with_name("m.zip"), contents(directory))

    def fails(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space left"):
        patch.setattr(os, "fsync", fails)
        find_model(path)
    assert [file.name for file in cache.glob("unpacked/*")] == ["lock"]
    find_model(path)


OUTSIDE = "../a", "/etc/a", "b/../../a", "C:a", "b\\..\\..\\a"


@pytest.fixture(params=["zip", "tar"])
def pack(request, tmp_path):
    """Writes a zip or a tar of files, name → content."""

    def pack(files):
        if request.param == "zip":
            compression = {"compression": zipfile.ZIP_DEFLATED}
            return zipped(tmp_path / "m", files, **compression)
        with tarfile.open(tmp_path / "m", "w:gz") as archive:
            for name, content in files.items():
                info = tarfile.TarInfo(name)
                info.size = len(content)
                archive.addfile(info, io.BytesIO(content))
        return tmp_path / "m"

    return pack


@pytest.mark.parametrize("name", OUTSIDE)
def test_nothing_is_written_outside_of_the_cache(pack, cache, tmp_path, name):
    path = pack({name: b"x", "options.json": b"{}"})
    before = {*tmp_path.rglob("*")}
    with contextlib.suppress(ValueError):  # tarfile refuses some names
        unpack(path)
    after = {*tmp_path.rglob("*")} - before
    assert all(file.is_relative_to(cache) for file in after)
    assert not Path("/etc/a").exists()


def test_too_many_files_are_refused(pack, monkeypatch):
    monkeypatch.setattr("elmo_keras.formats.archives.MAX_MEMBERS", 20)
    refused(pack({str(i): b"" for i in range(21)}), "in 21 files or more")


def test_links_are_left_out(tmp_path):
    link = tarfile.TarInfo("vocab.txt")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with tarfile.open(tmp_path / "m.tar", "w") as archive:
        archive.addfile(link)
    assert not [*unpack(tmp_path / "m.tar").iterdir()]


def test_a_bomb_is_refused_without_filling_the_memory(pack):
    path = pack({"a": bytes(FREE_BYTES * 3 // 2)})
    tracemalloc.start()
    try:
        refused(path, "It unpacks to 100,663,296 bytes or more")
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
