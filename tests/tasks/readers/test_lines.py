"""Lines of data files."""

import gzip

import pytest

from elmo_keras.tasks.readers.lines import blocks, numbered_lines


def test_a_file_may_be_gzipped_and_must_be_utf8(tmp_path):
    path = tmp_path / "pairs.tsv.gz"
    path.write_bytes(gzip.compress("가\t나\r\nx\n".encode()))
    assert list(numbered_lines(path)) == [(1, "가\t나"), (2, "x")]
    path.write_bytes("a\tb\tx\n가".encode("utf-16"))
    with pytest.raises(ValueError, match="pairs.tsv.gz.*UTF-8"):
        list(numbered_lines(path))


def test_blank_lines_separate_blocks(tmp_path):
    path = tmp_path / "columns"
    path.write_text("\na b\nc\n \t\n\nd\n")
    assert list(blocks(path)) == [[(2, "a b"), (3, "c")], [(6, "d")]]
