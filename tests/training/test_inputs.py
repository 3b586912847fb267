"""Texts, vocabulary and the model to start from, as the options ask for them."""

import dataclasses
import types
import unicodedata
from contextlib import nullcontext

import pytest

from elmo_keras import ElmoConfig, Vocabulary
from elmo_keras.text.corpus import Corpus
from elmo_keras.training.inputs import check_vocabulary, read_inputs
from elmo_keras.training.options import RunSettings, TextData
from tests.support.sizes import CONFIG, OPTIONS_FILE

TINIEST = RunSettings(preset=OPTIONS_FILE)


@pytest.fixture
def read(tmp_path):
    """Reads inputs from two texts."""

    def of(train, valid="a b\n", *, settings=TINIEST, **data):
        for name, text in (("train", train), ("valid", valid)):
            (tmp_path / name).write_text(text)
        files = [str(tmp_path / "train")], [str(tmp_path / "valid")]
        return read_inputs(
            TextData(train=files[0], valid=files[1], **data),
            settings,
            cache=tmp_path / "cache",
        )

    return of


def test_a_text_that_is_trained_on_is_not_held_out(read, tmp_path):
    read("a b\n")
    (tmp_path / "same").symlink_to(tmp_path / "valid")
    files = [str(tmp_path / name) for name in ("t*", "same", "valid")]
    data = TextData(train=files[:2], valid=files[2:])
    with pytest.raises(ValueError, match="`train` and `valid` both name .*same, and"):
        read_inputs(data, TINIEST, cache=tmp_path / "cache")


def test_without_a_held_out_text_every_20th_sentence_is_held_out(tmp_path):
    text = tmp_path / "text"
    text.write_text("".join(f"word {i}\n" for i in range(50)))
    data = TextData(train=[str(text)], min_count=1)
    inputs = read_inputs(data, TINIEST, cache=tmp_path / "cache")
    held_out, train = [*inputs.valid.sentences()], [*inputs.train.sentences()]
    assert held_out == [["word", str(i)] for i in (0, 20, 40)]
    assert len(train) == 47 and ["word", "20"] not in train
    text.write_text("one sentence\n")
    with pytest.raises(ValueError, match="`train` names files that hold less than two"):
        read_inputs(data, TINIEST, cache=tmp_path / "cache")


@pytest.mark.parametrize(
    ("data", "tokenizer", "size"),
    [
        ({"raw_text": True}, "words", (18, 99)),
        ({"tokenizer": "words"}, "words", (9, 63)),
        ({}, "spaces", (9, 63)),
    ],
)
def test_the_model_splits_a_str_as_its_text_was_split(read, data, tokenizer, size):
    inputs = read("The cat sat. A dog doesn't, too!\n" * 9, **data)
    assert (len(inputs.train), len(inputs.train.tokens)) == size
    assert inputs.config.tokenizer == tokenizer


def test_words_have_one_spelling_where_characters_are_normalised(read):
    pytest.importorskip("tensorflow_text")
    text = "한국어 말뭉치 이다\n" * 40
    inputs = read(
        *(unicodedata.normalize(form, text) for form in ("NFC", "NFD")),
        settings=RunSettings(preset=OPTIONS_FILE, unicode_normalization="NFC"),
    )
    assert [text.unknown for text in inputs.statistics] == [0, 0]


def test_sizes_are_those_of_the_preset_with_changes(read):
    assert read("a b\n", settings=RunSettings()).config == ElmoConfig.preset("tiny")
    settings = RunSettings(preset=OPTIONS_FILE, cut_at="character")
    expected = dataclasses.replace(CONFIG, cut_at="character")
    assert read("a b\n", settings=settings).config == expected


def test_words_are_counted_in_further_text_and_limited(read, tmp_path):
    (tmp_path / "more").write_text("c c b\n")
    more = {"vocabulary_text": [str(tmp_path / "more")]}
    assert read("a a b\n").vocabulary.words[3:] == ("a",)  # b occurs once
    assert read("a a b\n", **more).vocabulary.words[3:] == ("a", "b", "c")
    more |= {"vocabulary_size": 5, "min_count": 1}
    assert read("a a b\n", **more).vocabulary.words[3:] == ("a", "b")


def test_a_vocabulary_file_is_not_counted(read, tmp_path):
    (tmp_path / "words").write_text("<S>\n</S>\n<UNK>\nz\n")
    words = {"vocabulary": tmp_path / "words"}
    assert read("a b\n", **words).vocabulary.words[3:] == ("z",)
    with pytest.raises(ValueError, match="`min_count` is for counting words"):
        read("a b\n", **words, min_count=3)


def test_a_training_text_that_changed_is_read_again(read):
    assert len(read("a b\n").train) == 1
    assert len(read("a b\nc d e\n").train) == 2


@pytest.mark.parametrize(("words", "refused"), [("a", False), ("xyz", True)])
def test_a_vocabulary_without_the_words_of_the_text_is_refused(words, refused):
    # "a" is two of ten tokens.
    text = Corpus.from_sentences([list("abc"), list("adefghi")])
    vocabulary = Vocabulary(("<S>", "</S>", "<UNK>", *words))
    inputs = types.SimpleNamespace(train=text, vocabulary=vocabulary)
    message = "`vocabulary` lacks 100.0% of the tokens .*: its 6 words leave"
    with pytest.raises(ValueError, match=message) if refused else nullcontext():
        check_vocabulary(inputs)
