"""Reads the pipeline of a command."""

from typing import Any

from elmo_keras.base.messages import waiting
from elmo_keras.embed.engines.backend import TENSORFLOW, choose_backend
from elmo_keras.embed.options import start_backend
from elmo_keras.heads.find import find_head
from elmo_keras.heads.head import KERAS, read_card
from elmo_keras.heads.kinds import find_kind
from elmo_keras.heads.pipeline import pipeline


def load_pipeline(name: str) -> Any:
    """The pipeline of a head, whose backend starts without its log."""
    path, backend = find_head(name), TENSORFLOW
    if path.suffix != KERAS:
        card = read_card(path)
        kind = find_kind(card.kind)
        if kind.light is not None:
            backend = choose_backend(card.language_model, kind.arithmetic)
    start_backend(backend)
    with waiting(f"Loading {name}"):
        return pipeline(name)
