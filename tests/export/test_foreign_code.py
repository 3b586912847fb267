"""Programs written for google/elmo run with an export's folder as their handle.

Each test has the calls of a kind of program that people published for google/elmo/2 and
/3: notebooks, tutorials, services. `hub.Module` itself went out of tensorflow-hub with
TensorFlow's estimators; `hub.load` takes its place, and the calls stay.
"""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras.export.version_directory import export_elmo
from elmo_keras.export.version_paths import export_metadata
from tests.support.exported import LENGTHS, SENTENCES, TOKENS, padded

hub = pytest.importorskip("tensorflow_hub")
tf_keras = pytest.importorskip("tf_keras")
v1 = tf.compat.v1

pytestmark = [
    pytest.mark.journey,
    pytest.mark.filterwarnings("ignore:pkg_resources:UserWarning"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
]
PADDED = [tokens + [""] * (max(LENGTHS) - len(tokens)) for tokens in TOKENS]


@pytest.fixture(scope="module")
def elmo(exported_version):
    return hub.load(str(exported_version))


def test_a_session_of_tensorflow_1(exported_version, check):
    with tf.Graph().as_default(), v1.Session() as session:
        elmo = hub.load(str(exported_version))
        text = v1.placeholder(tf.string, [None])
        inputs = {"tokens": PADDED, "sequence_len": LENGTHS}
        outputs = [
            elmo(text, signature="default", as_dict=True)["elmo"],
            elmo(text),
            elmo(inputs=inputs, signature="tokens", as_dict=True)["elmo"],
        ]
        session.run([v1.global_variables_initializer(), v1.tables_initializer()])
        vectors, means, token_vectors = session.run(outputs, {text: SENTENCES})
    check("session, elmo", vectors)
    check("session, default", means, "default")
    check("session, tokens", token_vectors)


def test_lists_of_python_and_signatures_in_tensorflow_2(elmo, check):
    outputs = elmo(SENTENCES, signature="default", as_dict=True)
    for name in ("word_emb", "lstm_outputs1", "lstm_outputs2", "elmo", "default"):
        check(f"call, {name}", outputs[name].numpy(), name)
    inputs = {"tokens": PADDED, "sequence_len": LENGTHS}
    check("call, tokens", elmo(inputs, signature="tokens").numpy(), "default")
    text = tf.constant(SENTENCES)
    for signature in ("default", "serving_default"):
        embed = elmo.signatures[signature]
        check(signature, embed(text)["elmo"].numpy())
        check(f"{signature}, text", embed(text=text)["default"].numpy(), "default")
        check(f"{signature}, sentences", embed(sentences=text)["elmo"].numpy())
    with pytest.raises(TypeError, match="text"):
        elmo.signatures["default"](texts=text)
    check("tokens", elmo.signatures["tokens"](**padded())["elmo"].numpy())


def fitted(model, inputs):
    """Trains a model for a step; returns whether each of its weights changed."""
    before = [np.array(weight) for weight in model.weights]
    model.compile("adam", "mse")
    data = tf.data.Dataset.from_tensors((inputs, tf.ones([len(SENTENCES), 1])))
    model.fit(data, shuffle=False, verbose=0)
    return [np.any(np.array(w) != b) for w, b in zip(model.weights, before)]


@pytest.mark.parametrize(
    ("key", "trainable"), [("default", False), ("default", True), ("elmo", True)]
)
def test_a_hub_layer_trains_exactly_the_mix(
    exported_version, exported_elmo, check, key, trainable
):
    call = {"arguments": {"as_dict": True}, "output_key": key}
    layer = hub.KerasLayer(str(exported_version), trainable=trainable, **call)
    check("hub.KerasLayer", layer(np.array(SENTENCES, object)).numpy(), key)
    entry = tf_keras.layers.Input((), dtype=tf.string)
    model = tf_keras.Sequential([entry, layer, tf_keras.layers.Dense(1)])
    before = [w.numpy() for w in layer.weights]
    changed = fitted(model, tf.constant(SENTENCES))
    assert sum(changed) == 2 + 2 * trainable  # the head, and the mix
    names = [w.name for w, b in zip(layer.weights, before) if np.any(w != b)]
    assert sorted(names) == ["mix_0/gamma:0", "mix_0/scalars:0"][: 2 * trainable]
    assert len(layer.losses) == 1 and len(before) == len(exported_elmo.weights)


def test_an_export_with_the_other_choices(exported_elmo, check, tmp_path):
    """All outputs from each call, and requests that name the sentences `text`."""
    choices = {"as_dict": True, "input_name": "text", "trainable": "nothing"}
    choices |= {"tokenizer": "unicode_script", "normalization": "NFC"}
    version = export_elmo(exported_elmo, tmp_path, **choices, warmup=False)
    assert export_metadata(version)["needs"] == ["tensorflow_text"]
    elmo = hub.load(version)
    assert not elmo.trainable_variables
    for text in "e\u0301a,b", "\u00e9a , b":
        np.testing.assert_array_equal(elmo([text])["sequence_len"], [3])
    check("as_dict", elmo(SENTENCES)["elmo"].numpy())
    check("as_dict=False", elmo(SENTENCES, as_dict=False).numpy(), "default")
    layer = hub.KerasLayer(version, output_key="elmo")
    check("hub.KerasLayer, elmo", layer(tf.constant(SENTENCES)).numpy())
    for name in ("text", "sentences"):
        outputs = elmo.signatures["default"](**{name: tf.constant(SENTENCES)})
        check(f"signature, {name}", outputs["elmo"].numpy())
    with tf.Graph().as_default(), v1.Session() as session:
        signatures = v1.saved_model.load(session, ["serve"], version).signature_def
    for signature in ("default", "serving_default"):
        assert list(signatures[signature].inputs) == ["text"]
    assert sorted(signatures["tokens"].inputs) == ["sequence_len", "tokens"]


def test_one_constant_length_for_all_rows(exported_version, elmo):
    tokens = [["so", "close", "", ""], ["no", "matter", "how", "far"]]
    inputs = {"tokens": tf_keras.Input((4,), dtype="string")}
    inputs["sequence_len"] = tf.constant([4])
    layer = hub.KerasLayer(str(exported_version), signature="tokens", output_key="elmo")
    model = tf_keras.Model(inputs["tokens"], layer(inputs))
    whole = {"tokens": tokens, "sequence_len": [4, 4]}
    expected = elmo(whole, signature="tokens", as_dict=True)["elmo"]
    np.testing.assert_allclose(
        model.predict(tf.constant(tokens), verbose=0), expected, atol=1e-6
    )
    with pytest.raises(tf.errors.InvalidArgumentError, match=r"such as tf\.fill\("):
        elmo.signatures["tokens"](
            tokens=tf.constant(tokens), sequence_len=tf.constant([4, 4, 4])
        )
