"""The tagger, and what task models are built from."""

import itertools

import keras
import numpy as np
import pytest
import tensorflow as tf
from conftest import randomize

from elmo_keras import Elmo
from elmo_keras.tasks.experiments.batches import Batches, predictions
from elmo_keras.tasks.experiments.early_stopping import fit_until_best
from elmo_keras.tasks.experiments.layer_cache import LayerCache
from elmo_keras.tasks.models.tagger import Tagger
from elmo_keras.tasks.models.token_vectors import TokenVectors, frequent_words
from elmo_keras.tasks.scores.entities import entity_scores
from elmo_keras.tasks.tag import scores, targets

TAGS = ["B-AN", "I-AN", "O"]


def examples(n, seed=0):
    """A run of "ein", "eine" and one of "und" each: an AN goes on over "und"."""
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(n):
        tokens = rng.choice(["ein", "eine", "und", "der", "war"], rng.integers(1, 8))
        tags = []
        for token in tokens:
            inside = tags and tags[-1] != "O" and token in ("und", "eine")
            begins = token in ("ein", "eine")
            tags.append("I-AN" if inside else "B-AN" if begins else "O")
        made.append({"tokens": tokens.tolist(), "tags": tags})
    return made


def elmo_layer(config, **kwargs):
    elmo = Elmo(config, **kwargs)
    elmo.build()
    return randomize(elmo)


def tagger(elmo=None, elmo_at="input", tags=TAGS, run_eagerly=False, **kwargs):
    words = frequent_words([example["tokens"] for example in examples(40)])
    vectors = TokenVectors(words, 7, 6, elmo, elmo_at, dropout=0.1)
    model = Tagger(vectors, tags, units=11, dropout=0.1, **kwargs)
    model.compile(
        keras.optimizers.Adam(0.02), run_eagerly=run_eagerly, jit_compile=False
    )
    model.build()
    model.optimizer.build(model.trainable_variables)
    return model


def batches(model, made, cache=None):
    return Batches(made, ["tokens"], ["predicate"], targets(made, model), cache, 8)


def rising():
    """Scores that make each epoch the best one."""
    count = itertools.count()
    return lambda: {"epoch": next(count)}


def fit(model, made):
    """The losses of five epochs."""
    return fit_until_best(model, batches(model, made), rising(), 5, 5).losses


def test_it_learns_a_set_that_was_made_up():
    keras.utils.set_random_seed(0)
    made, held_out = examples(120), examples(60, seed=1)
    model = tagger()
    losses = fit(model, made)
    assert losses[-1] < losses[0] / 4
    found = scores(model, held_out, predictions(model, batches(model, held_out)))
    assert found["F1"] > 0.9 and found["accuracy"] > 0.9
    gold = [tag for example in held_out for tag in example["tags"]]
    assert max(map(gold.count, TAGS)) / len(gold) < 0.6


@pytest.mark.parametrize("place", [None, "both"])
def test_a_saved_tagger_tags_strings_the_same(config, tmp_path, place):
    elmo = elmo_layer(config, num_representations=2) if place else None
    model = tagger(elmo, place or "input", run_eagerly=True)
    for variable in model.trainable_variables:
        variable.assign(keras.random.normal(variable.shape))
    sentences = [example["tokens"] for example in examples(5, seed=2)] + [["Neu"]]
    expected = model.tag(sentences)
    assert [len(tags) for tags in expected] == [len(tokens) for tokens in sentences]
    model.save(tmp_path / "tagger.keras")
    loaded = keras.models.load_model(tmp_path / "tagger.keras")
    assert loaded.tag(sentences) == expected
    inputs = {"tokens": tf.ragged.constant(sentences).to_tensor()}
    np.testing.assert_array_equal(loaded(inputs), model(inputs))


def losses(config, is_cached, of):
    """What `of` a model and its batches gives, for the same random numbers."""
    keras.utils.set_random_seed(3)
    made = examples(30)
    elmo = elmo_layer(config, num_representations=2, dropout=0.2, l2=0.1)
    model = tagger(elmo, "both", run_eagerly=of is not train)
    texts = [example["tokens"] for example in made]
    return of(
        model, batches(model, made, LayerCache(elmo, texts) if is_cached else None)
    )


def step(model, some):
    """The loss of one batch, with dropout."""
    (inputs, labels), *_ = some.shuffled(0, 0)
    return float(model.compute_loss(inputs, labels, model(inputs, training=True)))


def train(model, some):
    return fit_until_best(model, some, rising(), 3, 3).losses


@pytest.mark.parametrize("of", [step, pytest.param(train, marks=pytest.mark.slow)])
def test_cached_layers_give_the_losses_of_computed_ones(config, of):
    computed, cached = losses(config, False, of), losses(config, True, of)
    # The layers of a sentence differ by 1e-7 with its neighbours in the batch.
    np.testing.assert_allclose(cached, computed, rtol=1e-4)
    if of is train:
        assert computed[-1] < computed[0]


def test_training_ends_when_the_score_has_stopped_to_rise():
    found = iter([0.0, 0.5, 0.4, 0.4, 0.9])
    model = tagger(run_eagerly=True)
    kept = []

    def score():
        kept.append(model.scores.get_weights()[0])
        return {"F1": next(found)}

    some = batches(model, examples(4))
    fitted = fit_until_best(model, some, score, epochs=9, patience=2)
    assert (fitted.best_epoch, fitted.epochs) == (2, 4)
    assert fitted.scores == {"F1": 0.5} and len(fitted.losses) == 4
    np.testing.assert_array_equal(model.scores.get_weights()[0], kept[1])
    assert np.any(kept[1] != kept[3])


def test_equal_scores_and_a_falling_loss_go_on():
    model = tagger(run_eagerly=True)
    some = batches(model, examples(4))
    fitted = fit_until_best(model, some, lambda: {"F1": 0.0}, epochs=3, patience=1)
    assert fitted.losses == sorted(fitted.losses, reverse=True)
    assert fitted.best_epoch == 3


def test_a_loss_that_is_not_a_number_is_an_error():
    model = tagger(run_eagerly=True)
    model.scores.bias.assign([np.nan] * 3)
    with pytest.raises(FloatingPointError, match="loss of epoch 1 is nan"):
        fit_until_best(model, batches(model, examples(4)), dict, 2, 2)


def test_lambda_counts_in_the_loss(config):
    made, losses = examples(8), []
    for l2 in (0.0, 0.5):
        keras.utils.set_random_seed(3)
        elmo = elmo_layer(config, l2=l2)
        elmo.mixes[0].scalars.assign([1.0, 2.0, 3.0])
        model = tagger(elmo, run_eagerly=True)
        (inputs, labels), *_ = batches(model, made).shuffled(0, 0)
        losses.append(float(model.compute_loss(inputs, labels, model(inputs))))
    assert losses[1] - losses[0] == pytest.approx(0.5 * 14, rel=1e-5)


@pytest.mark.slow
def test_semantic_roles_need_the_predicate():
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    made = []
    for _ in range(100):
        place = int(rng.integers(6))
        tags = ["O"] * 6
        tags[place] = "B-V"
        if place:
            tags[place - 1] = "B-A0"
        predicate = [int(i == place) for i in range(6)]
        made.append({"tokens": ["w"] * 6, "predicate": predicate, "tags": tags})
    model = tagger(tags=["B-A0", "B-V", "O"], predicate_dim=5)
    fit(model, made)
    rows = predictions(model, batches(model, made))
    assert scores(model, made, rows)["F1"] > 0.95
    assert model.tag([["w"] * 3], [1]) == [["B-A0", "B-V", "O"]]
    # Without the predicate all sentences are the same, and so would be their tags.
    gold = [example["tags"] for example in made]
    assert max(entity_scores(gold, [tags] * 100)["F1"] for tags in gold) < 0.5


def test_padding_changes_no_score(config):
    model = tagger(elmo_layer(config), "input")
    alone = model({"tokens": tf.constant([["ein", "und"]])})
    padded = model({"tokens": tf.constant([["ein", "und", "", ""], ["der"] * 4])})
    # Products of one row and of two may be summed in another order.
    np.testing.assert_allclose(padded[0, :2], alone[0], atol=1e-6)


def test_unknown_words_share_a_vector_and_case_is_passed_over():
    vectors = TokenVectors(["der", "und"], word_dim=5, character_dim=0)
    x, at_output, mask = vectors(tf.constant([["Der", "der", "neu", "alt"]]))
    np.testing.assert_array_equal(x[0, 0], x[0, 1])
    np.testing.assert_array_equal(x[0, 2], x[0, 3])
    assert np.any(x[0, 0] != x[0, 2]) and at_output is None and np.all(mask)
    assert frequent_words([["Der", "der"], ["und", "neu", "und"]]) == ["der", "und"]


@pytest.mark.parametrize("place", ["input", "output", "both"])
def test_the_places_of_elmo_have_mixes_of_their_own(config, place):
    n = 2 if place == "both" else 1
    vectors = TokenVectors([], 5, 4, elmo_layer(config, num_representations=n), place)
    at_input, at_output, _ = vectors(tf.constant([["Der", "und"]]))
    dim = 2 * config.projection_dim
    assert at_input.shape[-1] == vectors.input_dim == 4 + dim * (place != "output")
    assert (at_output is None) == (place == "input")
    assert list(vectors.mixes) == (["input", "output"] if n == 2 else [place])
    if n == 2:
        assert np.any(at_input[..., 4:] != at_output)


def test_token_vectors_that_do_not_fit_are_refused(config):
    for arguments, message in (
        ({"character_dim": 5}, "even"),
        ({"elmo_at": "top"}, "one of"),
        ({"elmo": Elmo(config), "elmo_at": "both"}, "2 representations"),
        ({"character_dim": 0}, "none of them"),
    ):
        with pytest.raises(ValueError, match=message):
            TokenVectors(**arguments)


def test_layers_take_the_place_of_tokens(config):
    sentences = tf.constant([["ein", "und", ""], ["der", "war", "eine"]])
    elmo = elmo_layer(config, num_representations=2, layer_norm=True)
    expected, actual = elmo(sentences), elmo(elmo.layers(sentences))
    for one, other in zip(expected, actual):
        np.testing.assert_array_equal(one, other)
    masks = elmo.compute_mask(elmo.layers(sentences))
    assert masks[0].numpy().tolist() == [[True, True, False], [True] * 3]
    bounded = elmo_layer(config, keep_sentence_boundaries=True)
    layers = bounded.layers(sentences)
    np.testing.assert_array_equal(bounded(layers), bounded(sentences))


def test_layers_are_refused_where_they_do_not_fit(config):
    layers = elmo_layer(config).layers([["ein"]])
    with pytest.raises(ValueError, match="should compute its layers"):
        Elmo(config, trainable_bilm=True)(layers)
    with pytest.raises(ValueError, match=r"shape \(batch, 3, time, 10\)"):
        Elmo(config)(layers[:, :2])


def test_a_cache_holds_each_sentence_once_and_leaves_no_file(config, tmp_path):
    elmo = elmo_layer(config)
    sentences = [["ein"], [], ["der", "war"], ["ein"], ["und", "ein", "war"]]
    cache = LayerCache(elmo, sentences, tmp_path)
    assert not list(tmp_path.iterdir())
    # Products of other sizes are summed in another order.
    np.testing.assert_allclose(cache(sentences), elmo.layers(sentences), atol=1e-6)
    assert cache([["der", "war"]]).shape == (1, 3, 2, 10)
    assert LayerCache(elmo, [])([]).shape == (0, 3, 0, 10)


def test_batches_are_a_function_of_seed_and_epoch():
    made = examples(50)
    model = tagger()

    def order(seed, epoch):
        dataset = batches(model, made).shuffled(seed, epoch)
        return [inputs["tokens"].numpy().tolist() for inputs, _ in dataset]

    assert order(1, 2) == order(1, 2)
    assert order(1, 2) != order(1, 3) != order(2, 2)
    flat = sorted(b" ".join(row).strip() for rows in order(1, 2) for row in rows)
    assert flat == sorted(" ".join(e["tokens"]).encode() for e in made)


def test_labels_and_numbers_are_padded():
    made = [
        {"words": ["a", "b"], "weights": [[1.0], [2.0]]},
        {"words": [], "weights": [[3.0, 4.0]]},
    ]
    labels = [{"span": np.array([1, 2]), "kind": 5}, {"span": np.array([3]), "kind": 6}]
    some = Batches(made, ["words"], ["weights", "missing"], labels)
    inputs = some.inputs([0, 1])
    assert inputs["words"].numpy().tolist() == [[b"a", b"b"], [b"", b""]]
    assert inputs["weights"].numpy().tolist() == [[[1, 0], [2, 0]], [[3, 4], [0, 0]]]
    assert list(inputs) == ["words", "weights"]
    targets = some.targets([0, 1])
    assert targets["span"].numpy().tolist() == [[1, 2], [3, -1]]
    assert targets["kind"].numpy().tolist() == [5, 6]
    assert [inputs["words"].shape[0] for inputs, _ in some.shuffled(0, 0)] == [2]
