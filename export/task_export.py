"""Writes a task model as a SavedModel."""

import dataclasses
from pathlib import Path

import tensorflow as tf

from elmo_keras.tasks import Answerer
from elmo_keras.tasks.layers.task_model import TaskModel

from .saved_model import ExportOptions
from .sentences import make_tokenizer, split_sentences
from .task_signatures import task_signatures
from .version_directory import temporary_version, write_version
from .version_info import task_info
from .version_paths import new_version
from .word_numbers import without_tables


def export_task(
    model: TaskModel,
    output: str | Path,
    options: ExportOptions | None = None,
    *,
    version: int | None = None,
    warmup: bool = True,
) -> Path:
    """Writes a task model as a SavedModel, whose signatures give its answers.

    Args:
        model: a built model: tagger, classifier, entailment, similarity or answerer.
        output: the folder of all versions, made if it is missing.
        options: `ExportOptions()` if None. Tokenizer, normalization and the name of the
            input apply to models of one text, tokenizer and normalization also to those
            of two; all others are for language models.
        version: its number; if None, one more than the highest existing one, also
            among archives.
        warmup: whether to add warm-up requests for TensorFlow Serving.

    Returns:
        `output/<version>`, which appears only when it is complete.

    Raises:
        FileExistsError: the version exists already.
        ImportError: an optional package is needed and not installed.
        ValueError: models of this kind are not exported, an option does not apply, or
            the number is too large.
    """
    options = options or ExportOptions()
    check_task(model, options)
    tokenizer = make_tokenizer(options.tokenizer)

    def split(texts):
        return split_sentences(texts, tokenizer, options.normalization)

    with temporary_version(Path(output), version) as folder:
        root = tf.train.Checkpoint()
        root.variables = [weight.value for weight in model.weights]
        with without_tables(model.token_vectors):
            signatures = task_signatures(model, split, options.input_name)
        info = task_info(model, signatures, options)
        write_version(folder, root, signatures, info=info, warmup=warmup)
        return folder.rename(new_version(Path(output), version))


def check_task(model: TaskModel, options: ExportOptions) -> None:
    """Refuses models that have no answers in a graph, and options of other models.

    Raises:
        ValueError: see above; the message names what can be exported.
    """
    if type(model).answers is TaskModel.answers:
        raise ValueError(
            f"A {type(model).__name__} can't be exported. Export a model of tag, "
            "classify, entail, similarity or answer; or the Elmo layer in this one, with "
            "--layer NAME."
        )
    applies = {"tokenizer", "normalization"}
    if isinstance(model, Answerer):
        applies = set()
    elif len(model.text_fields) == 1:
        applies |= {"input_name"}
    usual = ExportOptions()
    for field in dataclasses.fields(options):
        value = getattr(options, field.name)
        if field.name not in applies and value != getattr(usual, field.name):
            raise ValueError(
                f"--{field.name.replace('_', '-')} is not for a {type(model).__name__}. "
                "Leave it out, or export the Elmo layer in the model with --layer NAME."
            )
