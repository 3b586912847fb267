"""The language model in Keras' `fit`."""

import itertools

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
from elmo_keras.training.checkpoint import Checkpoints
from elmo_keras.training.keras_model import TrainableLanguageModel
from elmo_keras.training.streams import Streams
from elmo_keras.training.validation import Validation
from tests.support.models import DEVICES
from tests.support.training_runs import CORPUS, VOCABULARY, Losses

N_STEPS = 50


def streams_of(config):
    sizes = {"n_rows": 2, "unroll_steps": 3, "n_negatives": None}
    return Streams(CORPUS, VOCABULARY, config, zero_state_share=0.5, **sizes)


def set_variables(variables, values):
    for variable, value in zip(variables, values, strict=True):
        variable.assign(value)


def losses_step_by_step(run):
    """The losses of the first steps, whose graph is called by hand."""
    losses = []
    for epoch in itertools.count():
        run.reset_state()
        for parts in run.streams.batches(epoch):
            loss, _, run.state = run.steps.graphs[False](parts, run.state)
            losses.append(float(loss))
            if len(losses) == N_STEPS:
                return losses


@pytest.mark.journey
def test_fit_takes_all_steps_in_their_order_and_a_saved_model_goes_on(reused, tmp_path):
    reused.attempt(tmp_path / "first", n_steps=1)  # traces the step
    set_variables(reused.variables(), reused.initial)
    expected = losses_step_by_step(reused.model.run)
    trained = [np.copy(variable) for variable in reused.variables()]
    set_variables(reused.variables(), reused.initial)
    losses, vocabulary = Losses(N_STEPS), reused.inputs.vocabulary
    valid = Validation(reused.inputs.valid, vocabulary)
    history = reused.model.fit(
        reused.streams, epochs=99, validation=valid, callbacks=[losses]
    )
    assert losses.values == expected
    for actual, variable in zip(reused.variables(), trained, strict=True):
        np.testing.assert_array_equal(actual, variable)
    now = LanguageModel(reused.model.bilm, vocabulary).perplexity(reused.inputs.valid)
    assert history.history["val_perplexity"][-1] == now.zero.mean
    assert history.history["val_loss"][-1] == pytest.approx(np.log(now.zero.mean))
    in_epoch = losses.values[: reused.streams.n_steps(0)]
    assert min(in_epoch) < history.history["sampled_loss"][0] < max(in_epoch)

    reused.model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert loaded.optimizer.iterations == N_STEPS
    assert loaded.get_config()["all_clip_norm_val"] == reused.settings.clip_norm
    save_model(tmp_path / "model", loaded.bilm, vocabulary)
    assert Elmo.from_pretrained(tmp_path / "model")([["a", "b"]]).shape == (1, 2, 10)


@pytest.mark.journey
def test_fit_ends_as_early_as_keras_says_and_resumes_from_checkpoints(bilm, tmp_path):
    model, streams = TrainableLanguageModel(bilm), streams_of(bilm.config)
    model.compile(keras.optimizers.Adam(0.01))
    model.optimizer.build(bilm.trainable_weights)
    variables = [*bilm.trainable_weights, *model.optimizer.variables]
    initial = [np.copy(variable) for variable in variables]

    def trained(epochs, folder, *callbacks):
        set_variables(variables, initial)
        history = model.fit(
            streams,
            epochs=epochs,
            verbose=0,
            callbacks=callbacks,
            checkpoints=Checkpoints(tmp_path / folder, every=2),
            validation=Validation(CORPUS, VOCABULARY),
        )
        return history.epoch, model.get_weights()

    # No held-out loss is lower by so much than the one before it.
    stopping = keras.callbacks.EarlyStopping("val_loss", min_delta=99, patience=1)
    assert trained(9, "stopped", stopping)[0] == [0, 1]
    epochs, resumed = trained(3, "stopped")
    assert epochs == [2]
    for weight, whole in zip(resumed, trained(3, "whole")[1], strict=True):
        np.testing.assert_array_equal(weight, whole)


@pytest.mark.journey
def test_any_optimizer_trains_on_two_devices_as_on_one(bilm):
    before, losses = [np.copy(w) for w in bilm.get_weights()], (Losses(), Losses())
    streams = streams_of(bilm.config)
    strategies = tf.distribute.get_strategy(), MirroredStrategy(DEVICES)
    for strategy, callback in zip(strategies, losses):
        with strategy.scope():
            copy = BidirectionalLanguageModel.from_config(bilm.get_config())
            model = TrainableLanguageModel(copy)
            copy.set_weights(before)
            model.compile(keras.optimizers.Adam(0.01))
        model.fit(streams, epochs=2, callbacks=[callback], verbose=0)
    one, two = [callback.values for callback in losses]
    np.testing.assert_allclose(one, two, atol=1e-5)  # sums in another order
    assert one[-1] < one[0]
    model.optimizer.weight_decay = 0.1
    with pytest.raises(ValueError, match="several devices.* should have no weight_dec"):
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
