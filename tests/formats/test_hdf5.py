"""The reading of untrusted HDF5 files, against libhdf5, and what is refused."""

import hashlib
import io
import tempfile
import zlib
from pathlib import Path

import h5py
import numpy as np
import pytest

from elmo_keras.formats.hdf5 import new_hdf5, open_hdf5

VALUES = np.random.default_rng(0).normal(size=(37, 23))


def content(fill, **options):
    """The bytes of a file that `fill` writes to."""
    target = io.BytesIO()
    with h5py.File(target, "w", **options) as file:
        fill(file)
    return target.getvalue()


def reading(data):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "file")
        path.write_bytes(data)
        return open_hdf5(path)  # it keeps the mapped content


def dataset(*args, **kwargs):
    """Makes a dataset."""
    return lambda file: file.create_dataset(*args, **kwargs)


def put(name, value):
    return lambda file: file.__setitem__(name, value)


def varied(file):
    file.attrs["words"] = "Wörter"
    file["scalar"] = 3.5
    file["empty"] = np.zeros((0, 3), "float32")
    file["big_endian"] = VALUES.astype(">f4")
    file["half"] = VALUES.astype("float16")
    file["counts"] = np.arange(5, dtype="uint8")
    file["flags"] = np.array([True, False])
    for i in range(40):
        file[f"many/nested/{i}"] = np.full(i % 5, i, "float32")


def many(file):
    """More links than fit one block, in any version."""
    varied(file)
    for i in range(40, 700):
        file[f"many/nested/{i}"] = np.full(i % 5, i, "float32")


def chunked(file):
    chunks = {"chunks": (10, 7)}
    file.create_dataset("gzip", data=VALUES, compression="gzip", **chunks)
    file.create_dataset("all", data=VALUES, compression=9, shuffle=True, **chunks)
    file.create_dataset("checked", data=VALUES, fletcher32=True, **chunks)
    file.create_dataset("plain", data=VALUES, **chunks)
    file.create_dataset("small", data=np.zeros((12, 60)), chunks=(3, 7))


V108, LATEST = {"libver": ("v108", "v108")}, {"libver": "latest"}


@pytest.mark.parametrize(
    ("fill", "options"),
    [
        *((many, o) for o in ({}, V108, LATEST, {"track_order": True})),
        (varied, {"userblock_size": 1024}),
        (chunked, {}),
        (chunked, V108),
    ],
)
def test_arrays_are_those_that_libhdf5_reads(fill, options):
    data, names = content(fill, **options), []
    actual = reading(data).datasets
    with h5py.File(io.BytesIO(data)) as file:
        file.visit(names.append)
        items = {name: file[name] for name in names}
        expected = {n: x[()] for n, x in items.items() if isinstance(x, h5py.Dataset)}
    assert actual.keys() == expected.keys()
    for name, values in expected.items():
        assert actual[name].shape == values.shape
        np.testing.assert_array_equal(actual[name][...], values)


@pytest.mark.parametrize(
    ("file_options", "dataset_options", "message"),
    [
        (LATEST, {"chunks": (37, 7)}, "HDF5 files with layout class 4"),
        ({}, {"compression": "lzf"}, "HDF5 filter 32000. Only gzip can be read"),
    ],
)
def test_other_storage_is_refused_with_the_command_that_rewrites_it(
    file_options, dataset_options, message, tmp_path, monkeypatch
):
    data = content(dataset("b/a", data=VALUES, **dataset_options), **file_options)
    with pytest.raises(ValueError, match=message) as error:
        reading(data).datasets["b/a"][...]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "OLD").write_bytes(data)
    exec(str(error.value).split('python -c "')[1].split('"')[0], {})
    with h5py.File("NEW"):  # its writing has ended
        actual = open_hdf5(Path("NEW")).datasets["b/a"]
    np.testing.assert_array_equal(actual[...], VALUES)


@pytest.mark.parametrize("options", [{}, LATEST])
def test_texts_are_read(options):
    def fill(file):
        file.attrs["number"] = 3
        file.attrs["words"] = "Wörter"
        file["about"] = "x" * 100_000

    actual = reading(content(fill, **options))
    assert actual.text_attribute("words") == "Wörter"
    assert actual.text_attribute("number") is actual.text_attribute("none") is None
    assert actual.datasets["about"].text() == "x" * 100_000


def virtual(file):
    layout = h5py.VirtualLayout((3,), "float32")
    layout[:] = h5py.VirtualSource("other.hdf5", "a", (3,))
    file.create_virtual_dataset("a", layout)


OTHER_PLACE = "file should be an HDF5|^`a` is damaged"


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        (dataset("a", 3, "f4", external=[("/etc/passwd", 0, 12)]), OTHER_PLACE),
        (virtual, OTHER_PLACE),
        (put("a", h5py.ExternalLink("/other", "b")), OTHER_PLACE),
        (put("a", h5py.Empty("f4")), "structure in it is damaged, or of a rare kind"),
        (put("a", b"abc"), "hold numbers. Found: "),
        (dataset("a", (3,), "f4"), "never written"),
        (dataset("a", (3,), "f4", chunks=(2,)), "lacks a part"),
        (dataset("a", (2**50,), "f4", chunks=(2,)), "lacks a part"),
        (dataset("a", 5, "f8", chunks=2**22, maxshape=(None,)), "of wrong sizes"),
    ],
)
def test_values_that_are_no_arrays_in_the_file_are_refused(fill, message):
    with pytest.raises(ValueError, match=message):
        reading(content(fill)).datasets["a"][...]


def test_a_chunk_inflates_to_its_size_and_no_further():
    noise = np.random.default_rng(0).integers(0, 256, 1000).astype("u1")
    data = content(dataset("a", data=noise, chunks=(1000,), compression=9))
    start = data.index(zlib.compress(noise.tobytes(), 9))
    bomb = zlib.compress(bytes(500_000), 9)
    data = data[:start] + bomb + data[start + len(bomb) :]
    with pytest.raises(ValueError, match="A compressed chunk is damaged"):
        reading(data).datasets["a"][...]


def test_loops_in_the_structures_end():
    data = bytearray(content(many))
    nodes = [i for i in range(len(data)) if data[i : i + 4] == b"TREE"]
    inner = next(i for i in nodes if data[i + 5])  # a node with nodes below
    data[inner + 32 : inner + 40] = inner.to_bytes(8, "little")
    with pytest.raises(ValueError, match="damaged"):
        reading(bytes(data))
    # The header of the root continues in itself, again and again.
    data = bytearray(content(varied))
    root = int.from_bytes(data[64:72], "little")
    message = root + 16
    loop = [0x10, 0, 16, 0, 0, 0, 0, 0, *message.to_bytes(8, "little")]
    data[message : message + 24] = bytes(loop) + (24).to_bytes(8, "little")
    data[root + 2 : root + 4] = b"\xff\xff"  # messages
    data[root + 8 : root + 12] = (24).to_bytes(4, "little")
    with pytest.raises(ValueError, match="too much in its structures"):
        reading(bytes(data))
    # A link leads back to the group that holds it.
    looped = content(lambda f: f.create_group("a").__setitem__("b", f["/"]))
    assert not reading(looped).datasets


def test_a_file_appears_whole_with_its_checksum_or_not_at_all(tmp_path):
    path = tmp_path / "file"
    with pytest.raises(KeyError), new_hdf5(path):
        raise KeyError
    assert not list(tmp_path.iterdir())
    with pytest.raises(FileNotFoundError, match="There is no file .*file"):
        open_hdf5(path)
    with new_hdf5(path, 512) as file:
        file["a"] = np.arange(3)
    content = path.read_bytes()
    assert content[:32] == hashlib.sha256(content[512:]).digest()
    path.write_text("text")
    with pytest.raises(ValueError, match="file should be an HDF5 file"):
        open_hdf5(path)
