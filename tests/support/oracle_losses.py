"""Losses of a language model by the oracle."""

import numpy as np

from tests.support import reference
from tests.support.models import published_weights


def expected_losses(bilm, vocabulary, sentence, *, direction, state=None):
    """Losses of a sentence by the oracle, in reading order: (tokens + 1,)."""
    tokens = ["<S>", *sentence, "</S>"]
    tokens = tokens[::-1] if direction else tokens
    weights = published_weights(bilm)
    config = bilm.config
    ids = [reference.character_ids(t, config.max_characters_per_token) for t in tokens]
    x = [reference.token_vector(row, weights, config) for row in ids[:-1]]
    layers, state = reference.direction_layers(
        x, weights, config, direction=direction, state=state
    )
    logits = layers[-1] @ bilm.softmax.kernel.numpy().T + bilm.softmax.bias.numpy()
    targets = vocabulary.encode(tokens[1:])
    losses = [-np.log(reference.softmax(row)[t]) for row, t in zip(logits, targets)]
    return np.array(losses), state
