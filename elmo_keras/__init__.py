"""ELMo on Keras 3 and TensorFlow 2, and without TensorFlow where a model is only read.

- `text`, `layers`, `config`: strings become ids, and ids become vectors.
- `bilm`, `elmo`, `language_model`: the model, its vectors, and what it predicts.
- `hub`, `formats`: a name becomes files, and files become arrays.
- `lite`, `embed`: vectors by LiteRT or TensorFlow, in memory and in files.
- `training`: a language model learns from text.
- `heads`: a folder for each kind of answer, from labelled files to `pipeline`.
- `search`, `export`, `serve`, `adapters`, `commands`: what users run.
- `base`: files, progress and checks, which everything else uses.
"""

from elmo_keras.base.lazy_names import attach

__version__ = "0.4.0"
__getattr__, __all__ = attach(__name__, __file__)


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
