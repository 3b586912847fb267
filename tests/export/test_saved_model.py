"""The exported SavedModel: its outputs, what it refuses, what it doesn't compute."""

import collections

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.export.sentences import splitter
from elmo_keras.export.version_directory import export_elmo
from tests.support.exported import SENTENCES, TOKENS, elmo_layer, padded
from tests.support.processes import takes_less_than

v1 = tf.compat.v1


def test_an_empty_token_within_the_length_is_a_word(loaded, exported_elmo):
    tokens = tf.constant([["a", "", "b", "c"]])
    outputs = loaded.signatures["tokens"](tokens=tokens, sequence_len=[2])
    alone = exported_elmo(tf.ragged.constant([["a", ""]]))
    np.testing.assert_allclose(outputs["elmo"][:, :2], alone, atol=1e-6)
    assert outputs["elmo"].shape[1] == 4 and not np.any(outputs["elmo"][:, 2:])


@pytest.mark.parametrize("sentences", [[], ["", "  "]])
def test_batches_without_a_token_give_zeros(loaded, sentences):
    batch = len(sentences)
    outputs = loaded.signatures["default"](tf.constant(sentences, tf.string))
    assert outputs["layers"].shape == (batch, 3, 0, 10)
    np.testing.assert_array_equal(outputs["default"], np.zeros((batch, 10)))
    columns = 3 if batch else 0
    outputs = loaded.signatures["tokens"](
        tokens=tf.fill([batch, columns], "junk"),
        sequence_len=tf.zeros([batch], tf.int32),
    )
    np.testing.assert_array_equal(outputs["elmo"], np.zeros((batch, columns, 10)))


@pytest.mark.parametrize("columns", [1, 2**31])
def test_columns_without_rows_are_refused_before_they_take_memory(
    loaded, session, columns
):
    nothing = np.zeros([0], object), np.zeros([0], "int32")
    tokens = tf.reshape(tf.constant(nothing[0], tf.string), tf.constant([0, columns]))
    inputs = {"tokens": np.zeros([0, columns], object), "sequence_len": nothing[1]}
    with takes_less_than(200):
        with pytest.raises(tf.errors.InvalidArgumentError):
            loaded.signatures["tokens"](tokens=tokens, sequence_len=nothing[1])
        for output in ("word_emb", "default"):
            with pytest.raises(tf.errors.InvalidArgumentError):
                session("tokens", [output], inputs)


def test_a_run_of_spaces_takes_no_memory(loaded):
    text = tf.constant(["a" + " " * 10**7 + "b "])
    with takes_less_than(150):  # 24 bytes for each space would be 240
        np.testing.assert_array_equal(loaded.sequence_len(text), [2])
    lengths = loaded.sequence_len(["", " ", "  a   b ", "a\tb\nc"])
    np.testing.assert_array_equal(lengths, [0, 0, 2, 1])


@pytest.mark.parametrize(
    "lengths, expected",
    [
        ([5, 0, 0, 0], "from 0 to the number of columns"),
        ([-1, 0, 0, 0], "from 0 to the number of columns"),
        ([1, 1], "one length for each row"),
    ],
)
def test_lengths_that_do_not_fit_are_refused(loaded, session, lengths, expected):
    inputs = padded() | {"sequence_len": tf.constant(lengths)}
    with pytest.raises(tf.errors.InvalidArgumentError, match=expected):
        loaded.signatures["tokens"](**inputs)
    inputs = {name: x.numpy() for name, x in inputs.items()}
    for output in ("word_emb", "elmo", "sequence_len"):
        with pytest.raises(tf.errors.InvalidArgumentError, match=expected):
            session("tokens", [output], inputs)


def operations(session, output):
    """The number of operations that an output took, by kind, from the run's log."""
    metadata = v1.RunMetadata()
    options = v1.RunOptions(trace_level=v1.RunOptions.FULL_TRACE)
    inputs = {"sentences": ["two words", "three of them"]}
    session("default", [output], inputs, options=options, run_metadata=metadata)
    labels = [
        node.timeline_label
        for device in metadata.step_stats.dev_stats
        for node in device.node_stats
    ]
    kinds = ("MatMul", "ScatterNd")
    return {kind: sum(kind in label for label in labels) for kind in kinds}


def test_a_session_gives_the_layers_vectors_and_computes_no_others(session, check):
    check("session", session("default", ["elmo"], {"sentences": SENTENCES})["elmo"])
    names = ["word_emb", "lstm_outputs1", "lstm_outputs2", "default", "elmo"]
    counts = {name: operations(session, name) for name in names}
    products = [counts[name]["MatMul"] for name in names]
    assert products[0] < products[1] < products[2], counts
    assert products[2] == products[3] == products[4], counts
    # An output without a time axis needs no padding.
    assert 0 == counts["default"]["ScatterNd"] < counts["elmo"]["ScatterNd"], counts


def test_the_mix_trains_with_its_l2_and_dropout(loaded, exported_elmo):
    assert len(loaded.variables) == len(exported_elmo.weights)
    assert len(loaded.trainable_variables) == 2
    assert all(variable.trainable for variable in loaded.trainable_variables)
    (loss,) = loaded.regularization_losses
    assert float(loss()) == pytest.approx(float(sum(exported_elmo.losses)))
    many = tf.constant(["a " * 50])
    assert 0.3 < np.mean(loaded(many, training=True, as_dict=True)["elmo"] == 0) < 0.7
    assert not np.any(loaded(many, as_dict=True)["elmo"] == 0)
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(loaded(many, training=True, as_dict=True)["elmo"] ** 2)
    gradients = tape.gradient(value, loaded.variables)
    assert sum(gradient is not None for gradient in gradients) == 2


@pytest.mark.journey
def test_with_all_trainable_the_gradients_are_the_layers(tmp_path):
    elmo = elmo_layer(trainable_bilm=True)
    version = export_elmo(elmo, tmp_path, trainable="all", warmup=False)
    loaded = tf.saved_model.load(version)
    with tf.GradientTape() as tape:
        outputs = loaded(padded(), training=True, as_dict=True)
        value = tf.reduce_sum(outputs["elmo"] ** 2)
    actual = tape.gradient(value, loaded.trainable_variables)
    with tf.GradientTape() as tape:
        value = tf.reduce_sum(elmo(TOKENS, training=True) ** 2)
    expected = tape.gradient(value, [v.value for v in elmo.trainable_weights])
    assert len(actual) == len(expected) == len(elmo.weights)
    for gradient, other in zip(actual, expected):
        gradient, other = tf.convert_to_tensor(gradient), tf.convert_to_tensor(other)
        size = np.abs(other).max()
        np.testing.assert_allclose(gradient, other, atol=1e-5 * (1 + size))


def test_the_signatures_answer_the_warm_up_requests(exported_version, session):
    logs = pytest.importorskip("tensorflow_serving.apis.prediction_log_pb2")
    path = str(exported_version / "assets.extra" / "tf_serving_warmup_requests")
    signatures = collections.Counter()
    for record in tf.data.TFRecordDataset(path).as_numpy_iterator():
        request = logs.PredictionLog.FromString(record).predict_log.request
        inputs = {name: tf.make_ndarray(x) for name, x in request.inputs.items()}
        name = request.model_spec.signature_name
        vectors = session(name, ["elmo"], inputs)["elmo"]
        assert len(vectors) and np.all(np.any(vectors, axis=-1))
        signatures[name] += 1
    assert signatures == {"default": 4, "tokens": 4}


@pytest.mark.parametrize(
    ("options", "text", "tokens"),
    [
        (["spaces"], "a\tb,c d\u00a0e", ["a\tb,c", "d\u00a0e"]),
        (["whitespace"], "a\tb,c d\u00a0e", ["a", "b,c", "d\u00a0e"]),
        (["unicode_script"], "a\tb,c d\u00a0e", ["a", "b", ",", "c", "d", "e"]),
        # Bytes that are not UTF-8 are left alone.
        (["spaces", "NFC"], b"e\xcc\x81 \xff a", ["\u00e9", b"\xff", "a"]),
    ],
)
def test_a_splitter_normalises_and_splits(options, text, tokens):
    actual = splitter(*options)(tf.constant([text])).to_list()
    assert actual == [[tf.compat.as_bytes(token) for token in tokens]]


@pytest.mark.journey
def test_a_sentence_of_44000_tokens_has_its_vectors(loaded, exported_elmo):
    words = np.random.default_rng(0).choice(["a", "b", "c"], 44_000)
    outputs = loaded.signatures["default"](tf.constant([" ".join(words), "a"]))
    assert outputs["elmo"].shape == (2, 44_000, 10)
    long, short = exported_elmo(tf.constant(words[None])), exported_elmo([["a"]])
    np.testing.assert_allclose(outputs["elmo"][:1], long, atol=1e-6)
    np.testing.assert_allclose(outputs["elmo"][1, 0], short[0, 0], atol=1e-6)
