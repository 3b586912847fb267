"""The spans found by a graph are those found in lists of tags."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.tasks.tag.entities import entities
from elmo_keras.tasks.tag.tag_spans import marks_spans, tag_spans


@pytest.mark.parametrize(
    "tags",
    [
        ["B-PER", "I-PER", "B-LOC", "I-LOC", "O"],
        ["O", "S-A", "B-A", "I-A", "E-A", "U-B", "L-B", "I-B"],
        ["B-A"],
    ],
)
def test_spans_are_the_entities_of_any_tags(tags):
    rng = np.random.default_rng(0)
    lengths = [*rng.integers(0, 9, 200), 0]
    rows = [rng.integers(len(tags), size=n).tolist() for n in lengths]
    numbers = tf.ragged.constant(rows, tf.int32).to_tensor(-1)
    spans = tag_spans(numbers, tags)
    for i, row in enumerate(rows):
        expected = entities([tags[number] for number in row])
        n = int(spans.count[i])
        found = [x[i].numpy() for x in (spans.begins, spans.ends, spans.types)]
        names = [name.decode() for name in found[2][:n]]
        assert [*zip(found[0][:n], found[1][:n], names)] == expected
        assert set(found[0][n:]) | set(found[1][n:]) <= {-1}
        assert set(found[2][n:]) <= {b""}


def test_no_column_and_no_row_give_no_span():
    for shape in ((2, 0), (0, 0), (0, 3)):
        spans = tag_spans(tf.zeros(shape, tf.int32), ["B-A", "O"])
        assert spans.begins.shape == shape and not np.any(spans.count)


def test_parts_of_speech_mark_no_spans():
    assert marks_spans(["O", "B-A"]) and not marks_spans(["INTJ", "B", "NOUN"])
