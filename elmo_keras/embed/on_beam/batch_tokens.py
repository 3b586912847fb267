"""How large an element of a pipeline is: its tokens."""

from collections.abc import Sized
from typing import Any

from elmo_keras.embed.numbered_batches import N_BOUNDARIES


def n_tokens(example: Any) -> int:
    """The number of tokens of an example, with `<S>` and `</S>`.

    Args:
        example: a `str`, a list of tokens, or `(key, sentence)`, which
            `KeyedModelHandler` hands to the functions of the handler inside it. For
            anything else it is the least number: `RunInference` reports what is wrong
            with an example only after the batches are made.
    """
    if isinstance(example, tuple) and len(example) == 2:
        example = example[1]
    if isinstance(example, (str, bytes)):
        example = example.split()
    return N_BOUNDARIES + (len(example) if isinstance(example, Sized) else 0)
