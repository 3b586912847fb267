"""The bidirectional LSTM of the task models."""

import gc
import weakref

import keras

from elmo_keras.tasks.layers.bilstm import bilstm


def test_the_copied_lstm_lives_as_long_as_its_copies(monkeypatch, request):
    """Otherwise loading a model takes two LSTMs at the same address for one."""
    copied = []

    def lstm(*args, original=keras.layers.LSTM, **kwargs):
        layer = original(*args, **kwargs)
        copied.append(weakref.ref(layer))
        return layer

    monkeypatch.setattr(keras.layers, "LSTM", lstm)
    request.addfinalizer(gc.unfreeze)
    gc.freeze()  # what older tests left takes long to be looked through
    layer = bilstm(2)
    gc.collect()
    (reference,) = copied
    assert reference() is not None
    del layer
    gc.collect()  # the copies
    gc.collect()  # and what they were copied from
    assert reference() is None
