"""Heads: networks on a language model, trained on labelled data, that read texts."""

from elmo_keras.base.lazy_names import attach

__getattr__, __all__ = attach(__name__, __file__)
