"""Sentences as packed tokens, without a padded batch in between."""

from typing import NamedTuple

import numpy as np


class Packed(NamedTuple):
    """Where the tokens of sentences stand once they are packed step by step.

    Sentences come one after another, with `<S>` and `</S>`, from the longest to the
    shortest; see `layers.packing.Packing` for the packed order.

    Attributes:
        sizes: int32 `(steps,)`, the sentences that have a token at each step.
        ahead: int32 `(tokens,)`, the token at each place for the forward LSTM.
        back: int32 `(tokens,)`, the same for the backward LSTM, which reads each
            sentence from its own last token to its first.
        inner: int32 `(inner tokens,)`, the tokens that are no boundaries.
        ahead_places, back_places: int32 `(inner tokens,)`, the packed places of
            these.
        rows: int32 `(inner tokens,)`, the sentence of each.
    """

    sizes: np.ndarray
    ahead: np.ndarray
    back: np.ndarray
    inner: np.ndarray
    ahead_places: np.ndarray
    back_places: np.ndarray
    rows: np.ndarray


def pack_sentences(lengths: np.ndarray) -> Packed:
    """The packing of sentences with these lengths, which never rise."""
    rows = np.repeat(np.arange(len(lengths)), lengths)
    firsts = np.cumsum(lengths) - lengths
    steps = np.arange(len(rows)) - firsts[rows]
    from_behind = lengths[rows] - 1 - steps
    sizes = np.searchsorted(-lengths, -np.arange(lengths[0]))
    starts = np.cumsum(sizes) - sizes
    ahead_places = starts[steps] + rows
    back_places = starts[from_behind] + rows
    inner = np.flatnonzero((steps > 0) & (from_behind > 0))
    packed = (
        sizes,
        _inverted(ahead_places),
        _inverted(back_places),
        inner,
        ahead_places[inner],
        back_places[inner],
        rows[inner],
    )
    return Packed(*(part.astype(np.int32) for part in packed))


def _inverted(places):
    inverse = np.empty_like(places)
    inverse[places] = np.arange(len(places))
    return inverse
