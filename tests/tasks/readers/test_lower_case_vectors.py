"""Vectors of words in lower case, from files that tell cases apart."""

import numpy as np

from elmo_keras.tasks.readers.word_vector_file import read_lower_case_vectors

SENTENCES = [["US", "us", "US", "Us"], ["Bonn", "BONN", "BONN"], ["Él", "x"]]


def read(tmp_path, *words):
    """The vectors by word, from a file in which the vector of line i is [i, -i]."""
    path = tmp_path / "vectors.txt"
    lines = (f"{word} {i} {-i}\n" for i, word in enumerate(words))
    path.write_text("".join(lines), encoding="utf-8")
    found = read_lower_case_vectors(path, SENTENCES)
    np.testing.assert_array_equal(found.vectors[:, 1], -found.vectors[:, 0])
    return dict(zip(found.words, found.vectors[:, 0].tolist(), strict=True))


def test_the_lower_case_form_is_preferred_whether_the_text_has_it_or_not(tmp_path):
    assert read(tmp_path, "US", "us", "BONN", "bonn", "él") == {
        "us": 1,
        "bonn": 3,
        "él": 4,
    }


def test_otherwise_the_form_that_is_most_frequent_in_the_text_counts(tmp_path):
    assert read(tmp_path, "Us", "Bonn", "US", "BONN", "x") == {
        "us": 2,
        "bonn": 3,
        "x": 4,
    }
    assert read(tmp_path, "Bonn", "Us", "uS") == {"us": 1, "bonn": 0}


def test_a_file_without_these_words_gives_none_of_its_size(tmp_path):
    path = tmp_path / "vectors.txt"
    path.write_text("other 1 2 3\n")
    found = read_lower_case_vectors(path, SENTENCES)
    assert found.words == () and found.vectors.shape == (0, 3)
