"""Files of word vectors in their three formats."""

import gzip

import numpy as np
import pytest

from elmo_keras.tasks.readers.word_vector_file import (
    read_lower_case_vectors,
    read_word_vectors,
)

WORDS = "the", "한국어", "New York", "of"
VECTORS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def text(words=WORDS, vectors=VECTORS):
    rows = zip(words, vectors.tolist())
    return "".join(f"{w} {' '.join(map(repr, row))}\n" for w, row in rows).encode()


def binary(between=b"\n"):
    rows = zip(WORDS, VECTORS)
    entries = [w.replace(" ", "_").encode() + b" " + v.tobytes() for w, v in rows]
    return b"4 3\n" + between.join(entries)


@pytest.mark.parametrize(
    ("content", "spaces"),
    [
        (text() + b"\n", True),
        (b"4 3\n" + text(), True),
        (b"4 3\n" + text().replace(b"\n", b" \n"), True),  # as fastText writes
        (binary(), False),
        (binary(between=b""), False),
        (b"\xef\xbb\xbf" + text(), True),
        (b"\xef\xbb\xbf4 3\n" + text(), True),
        (gzip.compress(text(), mtime=0), True),
        (gzip.compress(binary(), mtime=0), False),
    ],
    ids="glove word2vec fasttext binary unbroken mark mark2 glove.gz binary.gz".split(),
)
def test_all_formats_hold_the_same(content, spaces, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    words, vectors = read_word_vectors(path)
    # "New York" has a space in text only.
    expected = WORDS if spaces else [word.replace(" ", "_") for word in WORDS]
    assert list(words) == list(expected)
    np.testing.assert_array_equal(vectors, VECTORS)


def test_only_wanted_words_are_kept_and_the_first_of_repeated_ones(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(text(["of", "a", "of", "the"]))
    words, vectors = read_word_vectors(path, {"of", "the", "absent"})
    assert words == ("of", "the")
    np.testing.assert_array_equal(vectors, VECTORS[[0, 3]])


def test_without_a_wanted_word_the_size_is_still_known(tmp_path):
    path = tmp_path / "vectors.txt"
    for content in (text(), binary()):
        path.write_bytes(content)
        words, vectors = read_word_vectors(path, {"absent"})
        assert words == () and vectors.shape == (0, 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Line 1 should be a word and its numbers: b''"),
        (b"word\n", "Line 1 should be a word"),
        (b"PK\x03\x04\x14\x00", "It is a zip: unzip it"),
        (b"\xba\x16\x4f\x2f\x0c\x00", "fastText: give its .vec file"),
        (text() + b"last 0.5\n", "Word 5 should have 3 numbers. Its line: b'last"),
        (text() + b"last 0.5 x 1\n", "Word 5, 'last', should have 3 finite"),
        (b"9 3\n" + text(), "Line 1 says 9 words. The file ends after 4"),
        (binary()[:-5], "Line 1 says 4 words. The file ends within word 4"),
        (binary().replace(b" ", b"_"), "Line 1 should be a word|Word 1 has no end"),
        (b"The cat sees the dog\n", "Line 1 should be a word and .*The cat"),
        (b"4 0\n" + text(), "Line 1 says that vectors have 0 dimensions"),
        (text() + b"last nan 1 2\n", "Word 5, 'last', should have 3 finite numbers"),
        (gzip.compress(text(), mtime=0)[:-9], "Compressed file ended"),
    ],
)
def test_damaged_files_are_refused(content, message, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    with pytest.raises(
        ValueError, match=f"vectors should hold word vectors of GloVe or .*{message}"
    ):
        read_word_vectors(path)


SENTENCES = [["US", "us", "US", "Us"], ["Bonn", "BONN", "BONN"], ["Él", "x"]]


def lower_case(tmp_path, *words):
    """Vectors of words in lower case, from a file in which the vector of line i is [i, -i]."""
    path = tmp_path / "vectors.txt"
    lines = (f"{word} {i} {-i}\n" for i, word in enumerate(words))
    path.write_text("".join(lines), encoding="utf-8")
    found = read_lower_case_vectors(path, SENTENCES)
    np.testing.assert_array_equal(found.vectors[:, 1], -found.vectors[:, 0])
    return dict(zip(found.words, found.vectors[:, 0].tolist(), strict=True))


def test_the_lower_case_form_is_preferred_whether_the_text_has_it_or_not(tmp_path):
    assert lower_case(tmp_path, "US", "us", "BONN", "bonn", "él") == {
        "us": 1,
        "bonn": 3,
        "él": 4,
    }


def test_otherwise_the_form_that_is_most_frequent_in_the_text_counts(tmp_path):
    assert lower_case(tmp_path, "Us", "Bonn", "US", "BONN", "x") == {
        "us": 2,
        "bonn": 3,
        "x": 4,
    }
    assert lower_case(tmp_path, "Bonn", "Us", "uS") == {"us": 1, "bonn": 0}
