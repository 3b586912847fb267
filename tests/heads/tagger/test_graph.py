"""The graphs of SavedModels against the decoder in NumPy."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.heads.tagger.crf import LinearChainCRF
from elmo_keras.heads.tagger.decoding import TagDecoder
from elmo_keras.heads.tagger.entities import constraints, entities
from elmo_keras.heads.tagger.graph import answers, tag_spans
from tests.support.models import randomize
from tests.support.task_models import Scorer, text_inputs

BIO = ["B-A", "B-BC", "I-A", "I-BC", "O"]
BIOES = ["O", "S-A", "B-A", "I-A", "E-A", "U-B", "B-B", "L-B", "I-B"]
WORDS = ["DET", "NOUN", "X"]


def padded(rows, time, blank):
    return [row + [blank] * (time - len(row)) for row in rows]


@pytest.mark.parametrize("crf", [True, False], ids=["CRF", "no CRF"])
@pytest.mark.parametrize("tags", [BIO, BIOES, WORDS], ids=["BIO", "BIOES", "words"])
def test_a_graph_gives_the_tags_spans_and_probabilities_of_the_decoder(tags, crf):
    rng = np.random.default_rng(0)
    lengths = np.array([9, 0, *rng.integers(0, 9, 200)])
    scores = rng.normal(size=(len(lengths), 9, len(tags))).astype("float32") * 2
    layer = weights = None
    if crf:
        layer = LinearChainCRF(len(tags), constraints(tags))
        layer.build()
        weights = randomize(layer).weights_in("float32").only(layer.allowed)
        weights = type(weights)(*map(np.asarray, weights))
    inputs = text_inputs(tokens=[["x"] * n for n in lengths])
    outputs = answers(Scorer(scores=scores, tags=tags, crf=layer), inputs)
    outputs = {name: values.numpy() for name, values in outputs.items()}

    mask = np.arange(9) < lengths[:, None]
    flat = scores[mask]
    best = TagDecoder(tags, weights).best_tags(flat, lengths)
    assert outputs["tags"].astype(str).tolist() == padded(best, 9, "")
    assert {tag for row in best for tag in row} == {*tags}
    # Tags whose names mark no spans: each token has a label with its probability.
    names = [*"abcdefghi"][: len(tags)]
    rows = TagDecoder(names, weights).label(flat, lengths)
    expected = padded([[word.score for word in row] for row in rows], 9, 0.0)
    np.testing.assert_allclose(outputs["scores"], expected, atol=1e-5)

    spans = TagDecoder(tags, weights).label(flat, lengths)
    if tags == WORDS:
        assert not [name for name in outputs if name.startswith("span")]
        return
    assert outputs["span_count"].tolist() == [*map(len, spans)]
    for name, blank, values in (
        ("types", "", [[span.label for span in row] for row in spans]),
        ("begins", -1, [[span.first for span in row] for row in spans]),
        ("ends", -1, [[span.end for span in row] for row in spans]),
    ):
        actual = outputs[f"span_{name}"].astype(type(blank)).tolist()
        assert actual == padded(values, 9, blank)
    expected = padded([[span.score for span in row] for row in spans], 9, 0.0)
    np.testing.assert_allclose(outputs["span_scores"], expected, atol=1e-5)


@pytest.mark.parametrize("tags", [BIO, BIOES, ["B-A"]], ids=["BIO", "BIOES", "one"])
def test_spans_are_the_entities_of_any_tags(tags):
    rng = np.random.default_rng(0)
    lengths = [*rng.integers(0, 9, 200), 0]
    rows = [rng.integers(len(tags), size=n).tolist() for n in lengths]
    spans = tag_spans(tf.ragged.constant(rows, tf.int32).to_tensor(-1), tags)
    for i, row in enumerate(rows):
        expected = entities([tags[number] for number in row])
        n = int(spans.count[i])
        begins, ends, types = (values[i].numpy() for values in spans[:3])
        names = [name.decode() for name in types[:n]]
        assert [*zip(begins[:n], ends[:n], names)] == expected
        assert {*begins[n:], *ends[n:]} <= {-1} and {*types[n:]} <= {b""}


@pytest.mark.parametrize("shape", [(0, 3), (2, 0), (0, 0)])
def test_an_empty_batch_and_empty_sentences_have_no_spans(shape):
    spans = tag_spans(tf.zeros(shape, tf.int32), BIO)
    assert spans.begins.shape == shape and not np.any(spans.count)
