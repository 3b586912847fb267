"""Files of vectors that were damaged, of others, or refer to other files."""

import h5py
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from elmo_keras import read_embeddings


@pytest.mark.parametrize("part", [slice(2, 5), slice(-2, None), slice(None, None, -3)])
def test_slices_and_indices_from_the_end(tmp_path, part):
    vectors = np.arange(14, dtype="float32").reshape(7, 2)
    np.save(tmp_path / "vectors.npy", vectors)
    with read_embeddings(tmp_path / "vectors.npy") as embeddings:
        np.testing.assert_array_equal(embeddings[part], vectors[part])
        np.testing.assert_array_equal(embeddings[-7], vectors[0])
        with pytest.raises(IndexError, match="There are 7 sentences. Received: -8"):
            embeddings[-8]


def virtual(file):
    layout = h5py.VirtualLayout((2, 3), "float32")
    layout[...] = h5py.VirtualSource("other.hdf5", "a", (2, 3))
    file.create_virtual_dataset("1", layout)


def external(file):
    file.create_dataset("1", (3,), "f4", external=[("/etc/passwd", 0, 12)])


@pytest.mark.parametrize(
    ("fill", "message"),
    [
        (virtual, "in another file"),
        (external, "in another file"),
        ({"1": h5py.ExternalLink("/other", "0")}, "a link to somewhere else"),
        ({"1": b"text"}, "an array of floats"),
        ({"2": np.ones(3)}, "missing"),
    ],
)
def test_only_arrays_of_the_file_itself_are_read(tmp_path, fill, message):
    path = tmp_path / "vectors.hdf5"
    with h5py.File(path, "w") as file:
        file["0"] = np.ones((2, 3), "float32")
        file.update(fill) if isinstance(fill, dict) else fill(file)
    with read_embeddings(path) as vectors:
        np.testing.assert_array_equal(vectors[0], np.ones((2, 3)))
        expected = f"vectors.hdf5 should hold the vectors `1`. .*{message}"
        with pytest.raises(ValueError, match=expected):
            vectors[1]


def test_a_file_of_others_is_refused(tmp_path):
    path = tmp_path / "vectors.npy"
    for content in b"text", b"\x93NUMPY\1\0\x07\0{'a': (":
        path.write_bytes(content)
        with pytest.raises(ValueError, match="vectors.npy should be a .npy file"):
            read_embeddings(path)
    for array in np.zeros(3), np.zeros((2, 3), "int32"):
        np.save(path, array)
        with pytest.raises(ValueError, match="npy should hold one array of vectors"):
            read_embeddings(path)
    table = pa.table({"id": [0, 1], "text": ["a", "b"]})
    pq.write_table(table, tmp_path / "texts.parquet")
    (tmp_path / "text.parquet").write_text("no Parquet")
    for name in "texts.parquet", "text.parquet":
        with pytest.raises(ValueError, match="should be a Parquet file of vectors"):
            read_embeddings(tmp_path / name)
    vectors = pa.array([[1.0, 2.0], [3.0, 4.0]], pa.list_(pa.float32(), 2))
    path = tmp_path / "unordered.parquet"
    pq.write_table(pa.table({"id": [1, 0], "vector": vectors}), path)
    with (
        read_embeddings(path) as embeddings,
        pytest.raises(ValueError, match="Found 1 in the place of 0"),
    ):
        embeddings[0]
