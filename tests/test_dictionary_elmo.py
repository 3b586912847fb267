"""Elmo with a dictionary: its inputs, and many ids."""

import numpy as np
import pytest
import tensorflow as tf

from elmo_keras import character_ids
from tests.support.dictionaries import dictionary_config
from tests.support.exported import elmo_layer

TOKENS = [["a", "naïve", "한국어", "🙂"], ["word", "unknown"]]


@pytest.fixture(scope="module", params=[True, False], ids=["words", "characters_only"])
def elmo(request):
    return elmo_layer(dictionary_config(request.param))


def test_ids_have_the_vectors_of_their_tokens(elmo):
    tokens = tf.ragged.constant(TOKENS).to_tensor()
    ids = character_ids(tokens, elmo.config)
    np.testing.assert_allclose(elmo(ids), elmo(tokens), rtol=0, atol=1e-6)
    assert not np.any(elmo(ids)[1, 2:])
    with pytest.raises(ValueError, match="rows of .*`max_characters_per_token`"):
        elmo(ids[..., :-1])
