"""The package's `en` in int8: its three layers side by side."""

import numpy as np
import protocol

from elmo_keras import Embedder
from elmo_keras.hub.catalogue import BOX

embedder = Embedder("en", layers="all", arithmetic="int8")


def features(sentences: list[list[str]]) -> list[np.ndarray]:
    return [np.concatenate([*layers], axis=1) for layers in embedder.encode(sentences)]


hello = protocol.hello("ai-edge-litert", size=protocol.folder_size(BOX / "en"))
protocol.answer_requests(hello, protocol.feature_requests(features))
