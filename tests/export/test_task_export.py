"""Exported models of tasks give the answers of the models."""

from functools import partial

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.export.version_paths import export_metadata
from elmo_keras.heads import CoreferenceModel, Tagger
from elmo_keras.heads.head import keras_model, read_head
from elmo_keras.heads.tagger.graph import answers
from elmo_keras.text.tokens import padded_tokens
from tests.support.commands import command
from tests.support.exported_tasks import NER_TAGS, TASKS, constants
from tests.support.heads import make_head
from tests.support.task_models import token_vectors

pytestmark = pytest.mark.journey  # exporting a model takes seconds


def check_rows(actual, alone, begin):
    """The answers from row `begin` are those of the texts alone, without padding."""
    for name, values in alone.items():
        rows = actual[name][begin : begin + len(values)]
        if len(values.shape) > 1:
            rows = rows[:, : values.shape[1]]
        if values.dtype.is_floating:
            np.testing.assert_allclose(rows, values, atol=1e-4)
        else:
            np.testing.assert_array_equal(rows, values)


@pytest.mark.parametrize("kind", TASKS)
def test_a_text_has_the_same_answers_alone_beside_others_and_beside_a_long_one(
    exported_task, kind
):
    """TensorFlow Serving merges requests so: rows one after another."""
    _, signatures, _ = exported_task(kind)
    default, texts = signatures["default"], TASKS[kind].texts
    together = default(**constants(texts))
    n = len(next(iter(texts.values())))
    for i in range(n):
        inputs = {name: x[i : i + 1] for name, x in texts.items()}
        check_rows(together, default(**constants(inputs)), i)
    long = {n: ["ein " * 2100] if n != "predicate" else [2] for n in texts}
    merged = {n: (8 * x)[:21] + long[n] + (3 * x)[:10] for n, x in texts.items()}
    actual = default(**constants(merged))
    for begin in 0, n, 22:
        check_rows(actual, together, begin)


@pytest.mark.parametrize("kind", TASKS)
def test_no_texts_and_texts_without_words_are_answered(exported_task, kind):
    _, signatures, _ = exported_task(kind)
    if kind != "srl":  # each text of theirs has a predicate
        texts = {name: [" ", ""] for name in TASKS[kind].texts}
        actual = signatures["default"](**constants(texts))
        assert all(len(x) == 2 for x in actual.values())
        numbers = [x for x in actual.values() if x.dtype.is_floating]
        assert all(np.all(np.isfinite(x)) for x in numbers)
    empty = {
        name: tf.zeros([0], tf.int32 if name == "predicate" else tf.string)
        for name in TASKS[kind].texts
    }
    assert all(len(x) == 0 for x in signatures["default"](**empty).values())


def test_what_does_not_fit_is_refused(exported_task):
    _, signatures, _ = exported_task("ner")
    call = signatures["tokens"]
    cases = {
        "should not be empty strings": ([["a", ""]], [2]),
        "at most 65536 tokens. Send shorter": ([["a"] * 65_537], [65_537]),
    }
    for message, (tokens, lengths) in cases.items():
        with pytest.raises(tf.errors.InvalidArgumentError, match=message):
            call(tokens=tf.constant(tokens), sequence_len=tf.constant(lengths))


@pytest.mark.parametrize(
    ("kind", "message", "texts"),
    [
        ("classify", "at most 8192 tokens", {"sentences": ["a " * 8193]}),
        (
            "qa",
            "at most 8192 tokens",
            {"context": ["a" + ", b" * 5000], "question": ["?"]},
        ),
        ("entail", "as many texts", {"premise": ["a"] * 3, "hypothesis": ["b"]}),
        ("srl", "position of a token", {"sentences": ["a b"], "predicate": [2]}),
    ],
)
def test_texts_that_would_take_all_memory_are_refused(
    exported_task, kind, message, texts
):
    _, signatures, _ = exported_task(kind)
    with pytest.raises(tf.errors.InvalidArgumentError, match=message):
        signatures["default"](**constants(texts))


def test_the_description_names_the_tags(exported_task):
    _, _, version = exported_task("ner")
    info = export_metadata(version)
    assert (info["task_model"], info["tags"]) == ("Tagger", NER_TAGS)
    assert info["needs"] == [] and info["tokenizer"] == "spaces"


@pytest.mark.parametrize(
    ("make", "option", "message"),
    [
        (partial(Tagger, tags=NER_TAGS), "--as-dict", "--as-dict is not for a model"),
        (partial(CoreferenceModel, units=2), "--version=1", "can't be exported"),
    ],
)
def test_what_does_not_fit_a_model_is_refused(make, option, message, tmp_path, capsys):
    model = make(token_vectors())
    model.build()
    model.save(tmp_path / "model.keras")
    assert command("export")([tmp_path / "model.keras", tmp_path / "out", option]) == 2
    assert message in capsys.readouterr().err
    assert not list((tmp_path / "out").glob("*"))


def test_a_head_is_exported_with_its_language_model(model_directory, tmp_path):
    head = make_head("ner", model_directory, tmp_path)
    assert command("export")([head, tmp_path / "out", "--no-warmup"]) == 0
    loaded = tf.saved_model.load(str(tmp_path / "out" / "1"))
    actual = loaded.signatures["default"](tf.constant(["The bank of Ann", "She"]))
    model = keras_model(read_head(head))
    tokens = padded_tokens([["The", "bank", "of", "Ann"], ["She"]])
    expected = answers(model, {"tokens": tokens})
    np.testing.assert_array_equal(actual["tags"], expected["tags"])
    np.testing.assert_allclose(actual["scores"], expected["scores"], atol=1e-5)
    assert command("export")([head, tmp_path / "out", "--gamma", "2"]) == 2
