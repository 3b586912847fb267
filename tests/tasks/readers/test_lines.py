"""Lines of data files."""

import gzip

import pytest

from elmo_keras.tasks.readers.lines import blocks, numbered_lines, read_json


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


def test_json_may_be_gzipped_and_must_be_complete(tmp_path):
    path = tmp_path / "a.json.gz"
    content = '\ufeff"' + "가" * 2**20 + '"'
    path.write_bytes(gzip.compress(content.encode()))
    assert read_json(path) == "가" * 2**20
    path.write_bytes(gzip.compress(content.encode())[:-9])
    with pytest.raises(ValueError, match="a.json.gz should be a complete gzip file"):
        read_json(path)


def test_lines_end_at_line_feeds_only(tmp_path):
    path = tmp_path / "a"
    path.write_bytes("a\u2028b\x85c\x0bd\r\n\xa0\n".encode())
    assert list(numbered_lines(path)) == [(1, "a\u2028b\x85c\x0bd"), (2, "\xa0")]
    assert len(list(blocks(path))) == 1
