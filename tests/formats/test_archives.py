"""Zips and tars: what is read, and what is refused within bounds."""

import collections
import errno
import io
import os
import tarfile
import tracemalloc
import warnings
import zipfile

import pytest

from elmo_keras.formats.archives import FREE_BYTES, read_archive
from elmo_keras.formats.model_directory import find_model
from tests.formats.conftest import contents, zipped


def refused(path, message):
    with pytest.raises(ValueError, match=message):
        for _, blocks in read_archive(path):
            collections.deque(blocks, maxlen=0)


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


@pytest.mark.parametrize(
    ("offsets", "value", "message"),
    [
        ((6, 8), b"\1", "File .* is encrypted, password req"),
        ((8, 10), bytes([14]), "Its compression should be"),
        ((22, 24), (100).to_bytes(4, "little"), "Bad CRC-32"),  # more than declared
        ((26, 28), (50_000).to_bytes(2, "little"), "File name in directory.{,480}$"),
    ],
)
def test_a_file_of_an_unusual_kind_is_refused(tmp_path, offsets, value, message):
    path = zipped(tmp_path / "m.zip", {"a": bytes(60_000)})
    content = bytearray(path.read_bytes())
    # Of the field in the local header and in the central directory.
    for signature, offset in zip((b"PK\3\4", b"PK\1\2"), offsets):
        start = content.rindex(signature) + offset
        content[start : start + len(value)] = value
    path.write_bytes(content)
    refused(path, f"^(a in )?.*m.zip .*{message}")


OUTSIDE = "../a", "/etc/a", "b/../../a", "C:a", "b\\..\\..\\a"


@pytest.mark.parametrize(
    ("names", "message"),
    [
        *(([name], "lies outside of it") for name in OUTSIDE),
        ([str(i) for i in range(22)], "more than 20 files"),
        (["x" * 2**21], "It has a header that is too long"),
        (["twice", "twice"], "two files of one name"),
    ],
)
def test_names_that_are_no_files_of_a_model_are_refused(
    tmp_path, monkeypatch, names, message
):
    monkeypatch.setattr("elmo_keras.formats.archives.MAX_MEMBERS", 20)
    with tarfile.open(tmp_path / "m.tar", "w", format=tarfile.PAX_FORMAT) as archive:
        for name in names:
            archive.addfile(tarfile.TarInfo(name))
    refused(tmp_path / "m.tar", f"m.tar .*{message}")
    if len(names[0]) < 2**16:
        with (
            warnings.catch_warnings(action="ignore"),  # of a name twice
            zipfile.ZipFile(tmp_path / "m.zip", "w") as archive,
        ):
            for name in names:
                archive.writestr(name, b"")
        refused(tmp_path / "m.zip", f"m.zip .*{message}")


def test_links_are_left_out(tmp_path):
    link = tarfile.TarInfo("vocab.txt")
    link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
    with tarfile.open(tmp_path / "m.tar", "w") as archive:
        archive.addfile(link)
    assert not [*read_archive(tmp_path / "m.tar")]


@pytest.mark.parametrize("kind", ["zip", "tar"])
def test_a_bomb_is_refused_without_filling_the_memory(tmp_path, kind):
    path, content = tmp_path / "bomb", bytes(FREE_BYTES * 3 // 2)
    if kind == "zip":
        zipped(path, {"a": content}, compression=zipfile.ZIP_DEFLATED)
    else:
        with tarfile.open(path, "w:gz") as archive:
            info = tarfile.TarInfo("a")
            info.size = len(content)
            archive.addfile(info, io.BytesIO(content))
    del content
    tracemalloc.start()
    try:
        refused(path, "bomb should be a complete zip or tar. Its .* bytes unpack to")
        assert tracemalloc.get_traced_memory()[1] < 2**24
    finally:
        tracemalloc.stop()
