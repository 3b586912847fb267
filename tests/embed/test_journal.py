"""The file that has the state of its last commit, whatever happens."""

import contextlib
import io
import itertools
import os
import tempfile
from pathlib import Path

import h5py
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from elmo_keras.embed import journal
from elmo_keras.embed.journal import JournaledFile

CHANGES = st.one_of(
    st.tuples(st.just("write"), st.integers(0, 40), st.binary(min_size=1, max_size=30)),
    st.tuples(st.just("truncate"), st.integers(0, 60)),
)
COMMITS = st.lists(st.lists(CHANGES, min_size=1, max_size=4), max_size=4)


class PowerCut(Exception):
    """Raised in place of the end of the process."""


@pytest.fixture(autouse=True)
def small_pages(monkeypatch):
    """Makes pages so small that a few bytes touch many of them."""
    monkeypatch.setattr(journal, "PAGE", 7)


def apply(change, file):
    kind, *arguments = change
    if kind == "truncate":
        (size,) = arguments
        if isinstance(file, io.BytesIO):  # does not grow by it
            file.seek(0, os.SEEK_END)
            file.write(bytes(max(0, size - file.tell())))
        file.truncate(size)
    elif kind == "write":
        file.seek(arguments[0])
        assert file.write(arguments[1]) == len(arguments[1])


def content(file):
    file.seek(0)
    buffer = bytearray(file.seek(0, os.SEEK_END) + 5)
    file.seek(0)
    return bytes(buffer[: file.readinto(buffer)])


def uncertain_disk(n_calls):
    """Functions to write and flush that raise a power cut at the N-th call."""
    count, whole = itertools.count(), journal._write

    def write(descriptor, data, start):
        if next(count) == n_calls:
            whole(descriptor, bytes(data)[: len(data) // 2], start)
            raise PowerCut
        whole(descriptor, data, start)

    def flush(_):
        if next(count) == n_calls:
            raise PowerCut

    return write, flush


@settings(max_examples=200, deadline=None)
@given(COMMITS, st.integers(0, 40), st.integers(0, 60))
def test_it_reads_as_a_file_and_after_a_power_cut_as_the_last_commit(
    commits, n_calls, place
):
    model, states = io.BytesIO(), [b""]
    with tempfile.TemporaryDirectory() as folder, pytest.MonkeyPatch.context() as patch:
        file = JournaledFile(Path(folder))
        write, flush = uncertain_disk(n_calls)
        patch.setattr(journal, "_write", write)
        patch.setattr(journal.os, "fsync", flush)
        with contextlib.suppress(PowerCut):
            for changes in commits:
                for change in changes:
                    apply(change, model)
                    apply(change, file)
                    assert content(file) == model.getvalue()
                    assert (file.seek(place), model.seek(place)) == (place, place)
                    assert file.read(9) == model.read(9)
                states.append(model.getvalue())
                file.commit(len(states))
                states = states[-1:]
        patch.undo()
        file.close()
        again = JournaledFile(Path(folder))
        assert content(again) in states
        again.close()


def test_the_note_of_the_last_commit_is_kept(tmp_path):
    file = JournaledFile(tmp_path)
    assert file.note is None
    file.write(b"some bytes")
    file.commit({"done": 3})
    file.write(b"more")
    file.close()
    again = JournaledFile(tmp_path)
    assert again.note == {"done": 3} and content(again) == b"some bytes"
    again.close()


def test_a_journal_without_its_data_is_ignored(tmp_path):
    file = JournaledFile(tmp_path)
    file.write(b"some bytes")
    file.commit(1)
    file.close()
    file.path.rename(tmp_path / "elsewhere")
    again = JournaledFile(tmp_path)
    assert again.note is None and content(again) == b""
    again.close()


def test_hdf5_in_it_can_be_read_after_each_commit(tmp_path, monkeypatch):
    monkeypatch.setattr(journal, "PAGE", 4096)
    file = JournaledFile(tmp_path)
    for i in range(30):
        with h5py.File(file, "a" if i else "w") as hdf5:
            hdf5[str(i)] = np.arange(i * 100)
        file.commit(i)
    file.close()
    with h5py.File(file.path) as hdf5:
        assert len(hdf5) == 30
        for i in range(30):
            np.testing.assert_array_equal(hdf5[str(i)], np.arange(i * 100))


def committed(folder):
    file = JournaledFile(folder)
    file.write(b"the first part")
    file.commit({"n": 1})
    file.seek(3)
    file.write(b"changed, and longer than before")
    file.commit({"n": 2})
    expected = content(file)
    file.close()
    return expected


def test_a_damaged_journal_is_named_and_changes_nothing(tmp_path):
    committed(tmp_path)
    data, path = tmp_path / journal.DATA, tmp_path / journal.JOURNAL
    before, whole = data.read_bytes(), path.read_bytes()
    flipped = [whole[:i] + bytes([whole[i] ^ 1]) + whole[i + 1 :] for i in (0, 70, -9)]
    for damaged in [b"", b"\n", b"{", whole[:-1], whole[1:], b"{}\n", *flipped]:
        path.write_bytes(damaged)
        message = f"{path} is damaged. .* Delete the folder {tmp_path} and start again"
        with pytest.raises(ValueError, match=message):
            JournaledFile(tmp_path)
        assert data.read_bytes() == before
    path.write_bytes(whole)
    data.write_bytes(before[:5])
    with pytest.raises(ValueError, match="data beside it was cut to 5 bytes"):
        JournaledFile(tmp_path)


def test_a_journal_without_a_digest_is_read(tmp_path):
    expected = committed(tmp_path)
    path = tmp_path / journal.JOURNAL
    path.write_bytes(path.read_bytes().partition(b"\n")[2])
    with contextlib.closing(JournaledFile(tmp_path)) as file:
        assert content(file) == expected
        assert file.note == {"n": 2}
