"""Task models with an `Elmo` layer, and the commands that train and compare them.

Each task has a folder with its data, model and scores; `run.run` trains and compares
the models of a `task.Task`.
"""

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from elmo_keras.tasks.models import *  # noqa: F403

__all__ = [  # noqa: F405
    "ESIM",
    "CoreferenceModel",
    "LayerCache",
    "LinearChainCRF",
    "QuestionAnswering",
    "SimilarityModel",
    "Tagger",
    "TextClassifier",
    "TokenVectors",
    "read_lower_case_vectors",
]


def __getattr__(name: str) -> Any:
    """A public name: the first one imports the models, and TensorFlow with them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(importlib.import_module("elmo_keras.tasks.models"), name)
