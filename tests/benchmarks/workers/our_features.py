"""The package's `en` in int8: its three layers side by side."""

import time

import numpy as np
import protocol

from elmo_keras import Embedder
from elmo_keras.hub.catalogue import BOX

imported = time.time()
embedder = Embedder("en", layers="all", arithmetic="int8")


def features(sentences: list[list[str]]) -> list[np.ndarray]:
    return [np.concatenate([*layers], axis=1) for layers in embedder.encode(sentences)]


hello = protocol.hello("ai-edge-litert", imported=imported)
files = [file for file in (BOX / "en").rglob("*") if file.is_file()]
hello["megabytes"] = sum(file.stat().st_size for file in files) / 1e6
protocol.answer_requests(hello, protocol.feature_requests(features))
