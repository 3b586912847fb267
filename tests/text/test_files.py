"""Text files to sentences of tokens."""

import gzip
import os
import threading

import pytest

from elmo_keras.text import files as text
from elmo_keras.text.files import read_sentences, text_files


@pytest.fixture
def read(tmp_path):
    """Writes bytes into a file and reads its sentences."""

    def of(content, name="text.txt"):
        (tmp_path / name).write_bytes(content)
        return list(read_sentences([str(tmp_path / name)]))

    return of


def test_files_come_in_the_order_of_patterns_and_sorted_within_one(tmp_path):
    for name in ("b.txt", "a.txt", "c.gz", "sub.txt/d.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("x")
    patterns = ["c.gz", "*.txt", "**/d.txt"]
    files = text_files(str(tmp_path / pattern) for pattern in patterns)
    names = [str(path.relative_to(tmp_path)) for path in files]
    assert names == ["c.gz", "a.txt", "b.txt", "sub.txt/d.txt"]  # and no folder
    with pytest.raises(IsADirectoryError, match="sub.txt is a folder. Give its files"):
        text_files([str(tmp_path / "sub.txt")])
    for pattern in ("none.txt", "none*"):
        with pytest.raises(FileNotFoundError, match=f"No file matches .*{pattern[:3]}"):
            list(read_sentences([str(tmp_path / pattern)]))


@pytest.mark.parametrize("change", ["a c\n", ""])
def test_a_text_that_changes_while_it_is_read_is_refused(tmp_path, change):
    path = tmp_path / "text.txt"
    path.write_text("a b\n" * 3)
    sentences = read_sentences([str(path)])
    assert next(sentences) == ["a", "b"]
    with path.open("a" if change else "w") as file:
        file.write(change)
    with pytest.raises(ValueError, match=r"text.txt changed while it was read. Wait"):
        list(sentences)


def test_lines_are_split_by_ascii_space_and_empty_ones_left_out(read):
    assert read(b"c", "en1.txt") == [["c"]]
    assert read(b"a b", "en[1].txt") == [["a", "b"]]  # a name like a pattern
    content = "one  two\t three\r\n \r\n\n한 국\u3000어 \u00a0.\n four"
    expected = [["one", "two", "three"], ["한", "국\u3000어", "\u00a0."], ["four"]]
    assert read(content.encode()) == expected
    assert read(b"") == []


@pytest.mark.parametrize("name", ["text.gz", "text.txt"])
def test_gzip_is_recognised_by_its_content_and_a_byte_order_mark_left_out(read, name):
    members = gzip.compress(b"\xef\xbb\xbfa b\nc") + gzip.compress(b" d\n")
    assert read(members, name) == [["a", "b"], ["c", "d"]]
    content = "\ufeffa b\n\ufeffc\n".encode()
    assert read(content, name) == [["a", "b"], ["\ufeffc"]]


def test_a_damaged_or_truncated_gzip_file_is_refused(read):
    lines = b"".join(b"line %d\n" % i for i in range(500))
    whole = gzip.compress(lines)
    assert len(read(whole)) == 500
    flipped = bytearray(whole)
    flipped[len(whole) // 2] ^= 0xFF
    wrong_sum = whole[:-8] + bytes(4) + whole[-4:]
    for damaged in (flipped, wrong_sum, whole[:-9], whole[:2], whole + b"rest"):
        with pytest.raises(ValueError, match="text.txt should be a complete gzip file"):
            read(damaged)


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_another_encoding_is_refused_with_the_line(read, compress):
    with pytest.raises(ValueError, match="latin should be UTF-8. Line 2: .*0xef"):
        read(compress(b"fine\nna\xefve\n"), "latin")


def test_an_endless_line_is_refused_before_it_is_read(read, monkeypatch):
    monkeypatch.setattr(text, "LONGEST_LINE", 10)
    assert read(b"123456789\n1234567890") == [["123456789"], ["1234567890"]]
    with pytest.raises(ValueError, match="text.txt, line 2: it has more than 10 bytes"):
        read(b"fine\n1234567890\n")


@pytest.mark.parametrize("compress", [bytes, gzip.compress])
def test_a_pipe_is_read_whole(tmp_path, compress):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    content = compress(b"a b\nc\n")
    writer = threading.Thread(target=path.write_bytes, args=[content], daemon=True)
    writer.start()
    assert list(read_sentences([str(path)])) == [["a", "b"], ["c"]]
    writer.join()


def test_raw_text_is_split_into_sentences_and_words(tmp_path):
    raw = "Mr. Day doesn't. Is it red? Yes!\r\n\n나는 학교에 갔다. 비가 왔다...\n"
    (tmp_path / "raw").write_text(raw, encoding="utf-8")
    sentences = read_sentences([str(tmp_path / "raw")], raw_text=True)
    expected = "Mr. Day does n't .|Is it red ?|Yes !|나는 학교에 갔다 .|비가 왔다 ..."
    assert [" ".join(sentence) for sentence in sentences] == expected.split("|")
