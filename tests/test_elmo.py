"""The Elmo layer."""

import copy

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import Elmo, ElmoConfig, tokenize
from elmo_keras.text.characters import character_ids
from tests.support import reference
from tests.support.dictionaries import dictionary_config
from tests.support.exported import elmo_layer
from tests.support.models import published_weights, randomize
from tests.support.sizes import CONFIG

RNG = np.random.default_rng(0)


def sentences(lengths):
    words = ["the", "a", "naïve", "word", "한국어", "🙂", "antidisestablishment", "."]
    return [list(RNG.choice(words, n)) for n in lengths]


@pytest.fixture(scope="module")
def elmo():
    """A layer for tests that only call it, in the same way every time."""
    return elmo_layer(CONFIG)


def test_the_output_is_the_mix_of_the_oracles_layers(config, elmo):
    batch = sentences([3, 1, 5])
    actual = elmo(tf.ragged.constant(batch))
    all_layers = elmo.all_layers(tf.ragged.constant(batch))
    assert all_layers.shape == (3, 3, 5, 10)
    mix = elmo.mixes[0]
    for i, sentence in enumerate(batch):
        layers = reference.bilm_layers(
            ["<S>", *sentence, "</S>"], published_weights(elmo.bilm), config
        )[:, 1:-1]
        n = len(sentence)
        np.testing.assert_allclose(all_layers[i, :, :n], layers, atol=1e-5)
        expected = reference.scalar_mix(layers, mix.scalars.numpy(), float(mix.gamma))
        np.testing.assert_allclose(actual[i, :n], expected, atol=1e-5)
        assert not np.any(actual[i, n:]) and not np.any(all_layers[i, :, n:])


def test_a_sentence_has_the_same_vectors_alone_and_in_any_batch():
    # A model of a realistic size, so that sums have many terms.
    elmo = randomize(elmo_layer(ElmoConfig.preset("tiny")), scale=0.1)
    batch = sentences([11, *RNG.integers(1, 40, size=31)])
    alone = elmo(tf.ragged.constant(batch[:1])).numpy()
    order = RNG.permutation(32)
    together = elmo(tf.ragged.constant([batch[i] for i in order])).numpy()
    row = together[list(order).index(0), :11]
    np.testing.assert_allclose(row, alone[0], rtol=0, atol=1e-6)
    assert np.abs(alone).max() > 0.1


def test_strings_lists_arrays_ragged_and_character_ids_are_the_same(config, elmo):
    ragged = tf.ragged.constant([["a", "", "b"], ["c"], []])
    expected = elmo(ragged)
    np.testing.assert_array_equal(elmo(ragged.to_tensor()), expected)
    wider = tf.pad(ragged.to_tensor(), [[0, 0], [0, 4]], constant_values="")
    np.testing.assert_allclose(elmo(wider)[:, :3], expected, atol=1e-7)
    assert elmo(wider).shape[1] == 7 and not np.any(elmo(wider)[:, 3:])
    ids = character_ids(ragged.to_tensor(), config)
    mask = tf.sequence_mask(ragged.row_lengths(), 3)
    lists = [["a", "", "b"], ["c"], []]
    for tokens in lists, np.array(lists, object):
        np.testing.assert_array_equal(elmo(tokens), expected)
        assert elmo.all_layers(tokens).shape == (3, 3, 3, 10)
    masked = tf.cast(tf.where(mask[..., None], ids, 0), tf.int64)
    np.testing.assert_array_equal(elmo(masked), expected)
    np.testing.assert_array_equal(elmo(ids), expected)
    np.testing.assert_array_equal(elmo(character_ids(ragged, config)), expected)


def test_batches_without_any_token_give_zeros(elmo):
    for shape in ((0, 3), (2, 0), (0, 0), (2, 3)):
        for tokens in (tf.zeros((*shape, 9), tf.int32), tf.fill(shape, "")):
            assert elmo(tokens).shape == (*shape, 10) and not np.any(elmo(tokens))


def test_sentence_boundaries_are_kept_on_request(config, elmo, eagerly):
    layer = elmo_layer(config, keep_sentence_boundaries=True)
    tokens = tf.ragged.constant([["a", "b"], ["c"], []])
    whole = layer(tokens)
    assert whole.shape == (3, 4, 10)
    np.testing.assert_array_equal(whole._keras_mask, tf.sequence_mask([4, 3, 2]))
    np.testing.assert_array_equal(whole[0, 1:3], elmo(tokens)[0])
    assert np.any(whole[2, 0]) and np.any(whole[2, 1]) and not np.any(whole[2, 2:])


def test_all_layers_and_the_top_one_are_layers_of_the_bilm(config, elmo, eagerly):
    tokens = [["a", "b"], ["c"]]
    expected = elmo.all_layers(tokens)
    for layers, index in (("all", slice(None)), ("top", -1), (1, 1)):
        other = Elmo(config, layers=layers)
        other.build()
        other.bilm.set_weights(elmo.bilm.get_weights())
        np.testing.assert_array_equal(other(tokens), expected[:, index])
    for mix_options in ({"l2": 0.1}, {"gamma": 2.0}, {"num_representations": 2}):
        with pytest.raises(ValueError, match="`layers='all'` has no mix"):
            Elmo(config, layers="all", **mix_options)


OF_SHAPE = "^`inputs` should be strings .* Received: .* of shape"
NO_TENSOR = "Received: an object of type"
BEFORE_TOKENS = 'padded with "" after their tokens'
ANOTHER_LENGTH = "rows of 9, .* Received: shape"


@pytest.mark.parametrize(
    ("inputs", "message"),
    [
        (np.zeros((2, 3), "float32"), OF_SHAPE),
        (tf.ragged.constant([[["a"]]]), OF_SHAPE),
        (["a b", "c"], OF_SHAPE),
        ({"tokens": [["a"]]}, NO_TENSOR),
        (np.array([["a", ""], ["", "word"]]), BEFORE_TOKENS),
        (tf.ones((2, 3, 20), tf.int32), ANOTHER_LENGTH),
    ],
)
def test_other_inputs_are_refused(config, inputs, message):
    calls = [Elmo(config), Elmo(config).all_layers]
    if message == ANOTHER_LENGTH:
        calls.append(Elmo(config).bilm)
    for call in calls:
        with pytest.raises(ValueError, match=message):
            call(inputs)


def tagger(elmo, **entry):
    entry = keras.Input(**entry)
    tags = keras.layers.Dense(3, activation="softmax")(elmo(entry))
    model = keras.Model(entry, tags)
    model.compile("adam", "sparse_categorical_crossentropy")
    return model


STRINGS = {"shape": (None,), "dtype": "string"}
TOKENS = tf.constant([["a", "b", "c"], ["d", "", ""]])
TAGS = tf.constant([[0, 1, 2], [1, 0, 0]])


def saved_and_loaded(model, path):
    model.save(path)
    loaded = keras.models.load_model(path)
    assert len(loaded.trainable_weights) == len(model.trainable_weights)
    return loaded


def test_a_model_fitted_on_strings_is_saved_and_loaded(config, tmp_path):
    elmo = Elmo(config, dropout=0.1, l2=0.01)
    model = tagger(elmo, **STRINGS)
    before = elmo.get_weights()
    dataset = tf.data.Dataset.from_tensors((TOKENS, TAGS))
    model.fit(dataset, shuffle=False, verbose=0)
    changed = [np.any(a != b) for a, b in zip(before, elmo.get_weights(), strict=True)]
    assert changed == [w.trainable for w in elmo.weights] and sum(changed) == 2
    loaded = saved_and_loaded(model, tmp_path / "tagger.keras")
    np.testing.assert_array_equal(loaded(TOKENS), model(TOKENS))


@keras.saving.register_keras_serializable("tests")
class Subclassed(keras.Model):
    """A model by subclassing, as people write one around an `Elmo` layer."""

    def __init__(self, *, raw_text=False, **kwargs):
        super().__init__(**kwargs)
        self.raw_text = raw_text
        self.elmo = Elmo(CONFIG)
        self.dense = keras.layers.Dense(2)

    def call(self, inputs):
        return self.dense(self.elmo(tokenize(inputs) if self.raw_text else inputs))

    def get_config(self):
        return super().get_config() | {"raw_text": self.raw_text}


@pytest.mark.journey
def test_models_of_all_kinds_come_back_with_their_weights(config, tmp_path):
    words = keras.Input(**STRINGS)
    cloned = keras.models.clone_model(keras.Model(words, Elmo(config)(words)))
    path, weights = tmp_path / "m.keras", tmp_path / "m.weights.h5"
    for model, inputs in [
        (Subclassed(), TOKENS),
        (Subclassed(raw_text=True), tf.constant(["a b", "c"])),
        (Subclassed(), tf.ones((2, 3, 9), tf.int32)),
        (Subclassed(), tf.ones((2, 3, 4, 10))),  # layers
        (keras.Model(words, Subclassed()(words)), TOKENS),
        (cloned, TOKENS),
    ]:
        expected = model(inputs)
        model.save(path)
        model.save_weights(weights)
        loaded = keras.models.load_model(path)  # a warning would be an error
        np.testing.assert_array_equal(loaded(inputs), expected)
        randomize(loaded)
        loaded.load_weights(weights)
        np.testing.assert_array_equal(loaded(inputs), expected)


def test_floats_for_strings_are_refused_where_keras_is_not_building(config):
    with pytest.raises(ValueError, match='keras.Input..None,., dtype="string"'):
        Subclassed()(tf.ones((2, 3)))
    model = keras.Sequential([Elmo(config), keras.layers.Dense(3)])
    with pytest.raises(ValueError, match=r"begin with keras.Input\(.*Sequential"):
        model(tf.fill((2, 3), "a"))


@pytest.mark.parametrize("dtype", ["bfloat16", "mixed_bfloat16", "float64"])
def test_the_penalty_of_the_mix_fits_the_loss_of_any_dtype(config, dtype):
    elmo = Elmo(config, l2=0.25, dtype=dtype)
    elmo.build()
    elmo.mixes[0].assign(mix=[1.0, 2.0, -1.0])
    (penalty,) = elmo.losses
    assert penalty.dtype == "float32" and float(penalty) == 1.5
    wide = "float64" if dtype == "float64" else "float32"
    assert {w.dtype for w in elmo.mixes[0].weights} == {wide}


def test_a_frozen_bilm_stays_frozen_when_the_model_is_unfrozen(config):
    elmo = Elmo(config)
    model = tagger(elmo, **STRINGS)
    trainable = len(model.trainable_weights)
    assert elmo.bilm.trainable_weights == [] and len(elmo.trainable_weights) == 2
    model.trainable = False
    assert model.trainable_weights == []
    model.trainable = True
    assert len(model.trainable_weights) == trainable
    for unfrozen in True, False:
        elmo.trainable_bilm = unfrozen
        expected = trainable + unfrozen * len(elmo.bilm.weights)
        assert len(model.trainable_weights) == expected


WORDS = [["Rivers", "bend", "."], ["One"]]


def test_the_graph_reads_the_weights_of_its_layer(config):
    elmo = elmo_layer(config, keep_sentence_boundaries=True)
    randomize(elmo.bilm)
    first = elmo.all_layers(WORDS)
    randomize(elmo.bilm, seed=2)
    changed = elmo.all_layers(WORDS)
    assert np.abs(changed - first).max() > 0.1
    other = copy.deepcopy(elmo)
    np.testing.assert_array_equal(other.all_layers(WORDS), changed)
    randomize(other.bilm)
    np.testing.assert_array_equal(other.all_layers(WORDS), first)
    np.testing.assert_array_equal(elmo.all_layers(WORDS), changed)


OF_DICTIONARY = [["a", "naïve", "한국어", "🙂"], ["word", "unknown"]]


@pytest.fixture(scope="module", params=[True, False], ids=["words", "characters_only"])
def dictionary_elmo(request):
    return elmo_layer(dictionary_config(request.param))


def test_ids_have_the_vectors_of_their_tokens(dictionary_elmo, eagerly):
    tokens = tf.ragged.constant(OF_DICTIONARY).to_tensor()
    ids = character_ids(tokens, dictionary_elmo.config)
    expected = dictionary_elmo(tokens)
    np.testing.assert_allclose(dictionary_elmo(ids), expected, rtol=0, atol=1e-6)
    assert not np.any(dictionary_elmo(ids)[1, 2:])
    with pytest.raises(ValueError, match="rows of .*`max_characters_per_token`"):
        dictionary_elmo(ids[..., :-1])
