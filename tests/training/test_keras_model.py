"""The language model in Keras' `fit`."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import (
    BidirectionalLanguageModel,
    Elmo,
    LanguageModel,
    MirroredStrategy,
    Vocabulary,
)
from elmo_keras.formats.model_directory import save_model
from elmo_keras.training.keras_model import TrainableLanguageModel
from elmo_keras.training.optimizers import make_optimizer
from elmo_keras.training.streams import Streams
from tests.support.replicas import DEVICES
from tests.support.training_runs import CORPUS, VOCABULARY

N_STEPS = 50


class Losses(keras.callbacks.Callback):
    """The loss of each step, which Keras averages over those before it."""

    def __init__(self):
        super().__init__()
        self.found = []

    def on_train_batch_begin(self, batch, logs=None):
        self.model.reset_metrics()

    def on_train_batch_end(self, batch, logs=None):
        self.found += logs.values()


def losses_of_the_program(reused, folder):
    """The losses of the first steps of `train.py`, which leaves its weights."""
    run, losses = reused.begin(folder), []
    first = [np.copy(w) for w in run.bilm.get_weights()]
    for epoch in range(N_STEPS):
        run.reset_state()
        for parts in run.streams.batches(epoch):
            loss, _, run.state = run.steps[False](parts, run.state)
            losses.append(float(loss))
            if len(losses) == N_STEPS:
                return first, losses


def streams_of(config):
    sizes = {"n_rows": 2, "unroll_steps": 3, "n_negatives": None}
    return Streams(CORPUS, VOCABULARY, config, zero_state_share=0.5, **sizes)


def copy_of(bilm, weights):
    copy = BidirectionalLanguageModel.from_config(bilm.get_config())
    copy.build()
    copy.set_weights(weights)
    return copy


@pytest.mark.slow
def test_fifty_steps_are_those_of_train_and_a_saved_model_goes_on(reused, tmp_path):
    before, expected = losses_of_the_program(reused, tmp_path)
    run, losses = reused.run, Losses()
    model = TrainableLanguageModel(
        copy_of(run.bilm, before), all_clip_norm_val=reused.settings.clip_norm
    )
    model.compile(make_optimizer())
    history = model.fit(
        run.streams,
        epochs=4,
        steps_per_epoch=N_STEPS // 2,
        verbose=0,
        # No held-out loss is lower by so much than the one before it.
        callbacks=[losses, keras.callbacks.EarlyStopping("val_loss", 99, 1)],
        validation_data=run.inputs.valid,
    ).history
    # The mean that Keras computes of one loss is rounded.
    np.testing.assert_allclose(losses.found, expected, rtol=1e-6)
    weights = run.bilm.get_weights()
    for actual, trained in zip(model.bilm.get_weights(), weights, strict=True):
        np.testing.assert_array_equal(actual, trained)
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.iterations == N_STEPS
    vocabulary = run.inputs.vocabulary
    now = LanguageModel(model.bilm, vocabulary).perplexity(run.inputs.valid).zero.mean
    assert history["val_perplexity"][-1] == now
    assert history["val_loss"][-1] == pytest.approx(np.log(now), rel=1e-5)
    save_model(tmp_path / "model", loaded.bilm, vocabulary)
    assert Elmo.from_pretrained(tmp_path / "model")([["a", "b"]]).shape == (1, 2, 10)


@pytest.mark.slow
def test_any_optimizer_trains_on_two_devices_as_on_one(bilm):
    before = [np.copy(w) for w in bilm.get_weights()]
    losses = []
    for strategy in tf.distribute.get_strategy(), MirroredStrategy(DEVICES):
        streams = streams_of(bilm.config)
        with strategy.scope():
            model = TrainableLanguageModel(copy_of(bilm, before))
            model.compile(keras.optimizers.Adam(0.01))
        losses.append(Losses())
        model.fit(streams, epochs=2, callbacks=losses[-1:], verbose=0)
    one, two = [some.found for some in losses]
    np.testing.assert_allclose(one, two, atol=1e-5)  # sums in another order
    assert one[-1] < one[0]
    model.optimizer.weight_decay = 0.1
    with pytest.raises(
        ValueError, match="several devices.* should have no weight_decay"
    ):
        model.fit(streams, verbose=0)


def test_what_can_not_be_trained_is_said_in_one_line(bilm):
    model = TrainableLanguageModel(bilm)
    with pytest.raises(ValueError, match="should be `Streams`.*Corpus"):
        model.fit(CORPUS)
    streams = streams_of(bilm.config)
    with pytest.raises(ValueError, match="Call `compile` with an optimizer"):
        model.fit(streams)
    model.compile("adam")
    streams.vocabulary = Vocabulary.count([["a"]])
    with pytest.raises(ValueError, match="a softmax over the 4 words"):
        model.fit(streams)
