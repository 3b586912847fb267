"""Files of word vectors."""

import gzip

import numpy as np
import pytest

from elmo_keras.heads.word_vector_files import (
    read_lower_case_vectors,
    read_word_vectors,
)

WORDS = "the", "한국어", "New York", "of"
VECTORS = np.random.default_rng(0).normal(size=(4, 3)).astype(np.float32)


def vector_text(words=WORDS, vectors=VECTORS):
    rows = zip(words, vectors.tolist())
    return "".join(f"{w} {' '.join(map(repr, row))}\n" for w, row in rows).encode()


@pytest.mark.parametrize(
    "content",
    [
        vector_text() + b"\n",
        b"4 3\n" + vector_text(),
        b"4 3\n" + vector_text().replace(b"\n", b" \n"),  # as fastText writes
        b"\xef\xbb\xbf" + vector_text(),
        gzip.compress(vector_text(), mtime=0),
    ],
    ids="glove word2vec fasttext mark glove.gz".split(),
)
def test_all_formats_hold_the_same(content, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    words, vectors = read_word_vectors(path)
    assert words == WORDS
    np.testing.assert_array_equal(vectors, VECTORS)


def test_only_wanted_words_are_kept_and_the_first_of_repeated_ones(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_bytes(vector_text(["of", "a", "of", "the"]))
    words, vectors = read_word_vectors(path, {"of", "the", "absent"})
    assert words == ("of", "the")
    np.testing.assert_array_equal(vectors, VECTORS[[0, 3]])
    words, vectors = read_word_vectors(path, {"absent"})
    assert words == () and vectors.shape == (0, 3)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "Line 1 should be a word and its numbers: b''"),
        (b"PK\x03\x04\x14\x00", "Line 1 should be a word"),
        (
            vector_text() + b"last 0.5\n",
            "Word 5 should have 3 numbers. Its line: b'last",
        ),
        (vector_text() + b"last 0.5 x 1\n", "Word 5, 'last', should have 3 finite"),
        (b"9 3\n" + vector_text(), "Line 1 says 9 words. The file has 4"),
        (
            b"1 3\nthe " + VECTORS[0].tobytes(),
            "as text, plain or gzipped. Word 1 should",
        ),
        (vector_text() + b"last nan 1 2\n", "Word 5, 'last', should have 3 finite"),
        (gzip.compress(vector_text(), mtime=0)[:-9], "Compressed file ended"),
    ],
)
def test_damaged_files_are_refused(content, message, tmp_path):
    path = tmp_path / "vectors"
    path.write_bytes(content)
    message = f"vectors should hold word vectors of GloVe or .*{message}"
    with pytest.raises(ValueError, match=message):
        read_word_vectors(path)


FORMS = [["US", "us", "US", "Us"], ["Bonn", "BONN", "BONN"], ["Él", "x"]]


@pytest.mark.parametrize(
    "words, lines",
    [
        # The form in lower case, whether the text has it or not.
        ("US us BONN bonn él", {"us": 1, "bonn": 3, "él": 4}),
        # Otherwise the form that is most frequent in the text.
        ("Us Bonn US BONN x", {"us": 2, "bonn": 3, "x": 4}),
        ("Bonn Us uS", {"us": 1, "bonn": 0}),
    ],
)
def test_a_word_has_the_vector_of_one_of_its_forms(file, words, lines):
    text = "".join(f"{word} {i} {-i}\n" for i, word in enumerate(words.split()))
    vectors = read_lower_case_vectors(file(text), FORMS)
    np.testing.assert_array_equal(vectors.vectors[:, 1], -vectors.vectors[:, 0])
    assert dict(zip(vectors.words, vectors.vectors[:, 0], strict=True)) == lines
