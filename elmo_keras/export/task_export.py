"""Writes a task model as a SavedModel."""

import contextlib
import dataclasses
from collections.abc import Iterator
from pathlib import Path

import tensorflow as tf

from elmo_keras.export.options import ExportOptions
from elmo_keras.export.sentences import splitter
from elmo_keras.export.task_signatures import task_signatures
from elmo_keras.export.version_directory import write_version
from elmo_keras.export.version_info import task_info
from elmo_keras.tasks.answer.question_answering import QuestionAnswering
from elmo_keras.tasks.layers.task_model import TaskModel
from elmo_keras.tasks.layers.token_vectors import TokenVectors
from elmo_keras.text.string_search import StringSearch


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
        output, version, warmup: see `export_elmo`, as for what is returned and raised.
        options: `ExportOptions()` if None. Tokenizer, normalization and the name of the
            input apply to models of one text, tokenizer and normalization also to those
            of two; all others are for language models.

    Raises:
        ValueError: models of this kind are not exported, or an option does not apply.
    """
    options = options or ExportOptions()
    check_task(model, options)
    split = splitter(options.tokenizer, options.normalization)

    def make():
        root = tf.train.Checkpoint()
        root.variables = [weight.value for weight in model.weights]
        with without_tables(model.token_vectors):
            signatures = task_signatures(model, split, options.input_name)
        return root, signatures, task_info(model, signatures, options)

    return write_version(output, version, make, warmup=warmup)


def check_task(model: TaskModel, options: ExportOptions) -> None:
    """Refuses models that have no answers in a graph, and options of other models."""
    if type(model).answers is TaskModel.answers:
        raise ValueError(
            f"A {type(model).__name__} can't be exported. Export a model of tag, "
            "classify, entail, similarity or answer; or the Elmo layer in this one, with "
            "--layer NAME."
        )
    applies = {"tokenizer", "normalization"}
    if isinstance(model, QuestionAnswering):
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


@contextlib.contextmanager
def without_tables(vectors: TokenVectors) -> Iterator[None]:
    """What is traced within the context looks up words with core operations.

    A SavedModel so needs no table that a loader must fill. As with `StringLookup`, word
    i has the number i + 1, and other words 0.
    """
    if not vectors.words:
        yield
        return
    table = vectors.word_ids
    numbers = range(1, len(vectors.words) + 1)
    vectors.word_ids = StringSearch(vectors.words, numbers, unknown=0)
    try:
        yield
    finally:
        vectors.word_ids = table
