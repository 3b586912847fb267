"""Texts, vocabulary and the model to start from, as the options ask for them."""

import unicodedata

import pytest

from elmo_keras import ElmoConfig
from elmo_keras.text.corpus import TextStatistics
from elmo_keras.training.inputs import (
    StartingPoint,
    TextFiles,
    VocabularySource,
    read_inputs,
)

START = StartingPoint(preset="test")


@pytest.fixture
def read(tmp_path):
    """Reads inputs from two texts."""

    def of(train, valid="a b\n", *, words=None, start=START, **options):
        for name, text in (("train", train), ("valid", valid)):
            (tmp_path / name).write_text(text)
        text = TextFiles(
            [str(tmp_path / "train")], [str(tmp_path / "valid")], **options
        )
        words = words or VocabularySource()
        return read_inputs(text, words, start, cache=tmp_path / "cache")

    return of


def test_raw_text_is_split_into_sentences_and_tokens(read):
    pytest.importorskip("tensorflow_text")
    inputs = read("The cat sat. A dog sat, too!\n" * 9, raw_text=True)
    assert (len(inputs.train), len(inputs.train.tokens)) == (18, 90)


def test_words_have_one_spelling_where_characters_are_normalised(read):
    pytest.importorskip("tensorflow_text")
    text = "한국어 말뭉치 이다\n" * 40
    inputs = read(
        *(unicodedata.normalize(form, text) for form in ("NFC", "NFD")),
        start=StartingPoint(preset="test", changes={"unicode_normalization": "NFC"}),
    )
    for corpus in (inputs.train, inputs.valid):
        found = TextStatistics.of(corpus, inputs.vocabulary, inputs.config)
        assert found.unknown == 0


def test_sizes_are_those_of_the_preset_with_changes(read):
    assert read("a b\n").config == ElmoConfig.preset("test")
    start = StartingPoint(preset="test", changes={"cut_at": "character"})
    assert read("a b\n", start=start).config.cut_at == "character"
    assert read("a b\n", start=StartingPoint()).config == ElmoConfig.preset("tiny")


def test_words_are_counted_in_further_text_and_limited(read, tmp_path):
    (tmp_path / "more").write_text("c c b\n")
    more = [str(tmp_path / "more")]
    assert read("a a b\n").vocabulary.words[3:] == ("a",)  # b occurs once
    words = VocabularySource(text=more)
    assert read("a a b\n", words=words).vocabulary.words[3:] == ("a", "b", "c")
    words = VocabularySource(text=more, max_size=5, min_count=1)
    assert read("a a b\n", words=words).vocabulary.words[3:] == ("a", "b")


def test_a_vocabulary_file_is_not_counted(read, tmp_path):
    (tmp_path / "words").write_text("<S>\n</S>\n<UNK>\nz\n")
    words = VocabularySource(file=tmp_path / "words")
    assert read("a b\n", words=words).vocabulary.words[3:] == ("z",)
    words = VocabularySource(file=tmp_path / "words", min_count=3)
    with pytest.raises(ValueError, match="Leave out --min-count"):
        read("a b\n", words=words)


def test_a_training_text_that_changed_is_read_again(read):
    assert len(read("a b\n").train) == 1
    assert len(read("a b\nc d e\n").train) == 2
