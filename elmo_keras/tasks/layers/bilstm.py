"""The bidirectional LSTM of the task models."""

import weakref

import keras

# While Keras loads a model, it takes two objects that had the same address, one after
# the other, for one shared object. So the LSTM that `Bidirectional` copies twice stays
# alive, and keeps its address, as long as the copies.
_copied = weakref.WeakKeyDictionary()


def bilstm(units: int, name: str | None = None) -> keras.layers.Bidirectional:
    """A biLSTM of `units` in each direction: `(batch, time, 2 · units)`."""
    lstm = keras.layers.LSTM(units, return_sequences=True)
    layer = keras.layers.Bidirectional(lstm, name=name)
    _copied[layer] = lstm
    return layer
