"""Task models as SavedModels: signatures from texts, or tokens, to answers."""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Literal

import tensorflow as tf

from elmo_keras.config import Splitting
from elmo_keras.export.sentences import (
    INPUT_NAMES,
    columns_with_rows,
    ensure,
    first_tokens,
    longest,
    sentences_spec,
    splitter,
    tokens_specs,
)
from elmo_keras.export.version_directory import describe, write_version
from elmo_keras.export.version_paths import new_version
from elmo_keras.heads.answering.graph import as_utf8, text_answers
from elmo_keras.heads.kinds import KINDS, find_kind, load
from elmo_keras.heads.model import TaskModel
from elmo_keras.text.tokens import pad_ragged, placed_words

PREDICATE = "predicate"
# The networks of tasks are padded, unlike the language model: 11 KB for each position
# in a tagger of 100 units with a language model of 64 dimensions.
MAX_POSITIONS = 2**16
# Attention compares each token with all others: twice 4 bytes for each pair.
MAX_PAIRS = 2**26
FILL = {tf.string: "", tf.int32: -1, tf.float32: 0.0}  # padding


def export_task(
    model: TaskModel,
    output: str | Path,
    *,
    tokenizer: Splitting | None = None,
    normalization: Literal["NFC"] | None = None,
    input_name: Literal["sentences", "text"] = "sentences",
    version: int | None = None,
    warmup: bool = True,
) -> str:
    """Writes a task model as a SavedModel, whose signatures give its answers.

    Args:
        model: a built model: tagger, classifier, entailment or answerer.
        output, version, warmup: see `export_elmo`, also for the result and errors.
        tokenizer, normalization: see `export_elmo`; not for an answerer.
        input_name: see `export_elmo`; only for models of one text.

    Raises:
        ValueError: models of this class are not exported, or an argument does not apply.
    """
    name, finds_words = type(model).__name__, model.finds_words
    if find_kind(model.kind).graph is None:
        exported = ", ".join(kind.name for kind in KINDS.values() if kind.graph)
        raise ValueError(
            f"A {name} can't be exported. Export a head of {exported}; or the Elmo layer "
            "in this one, with --layer NAME."
        )
    if finds_words and (tokenizer not in (None, "words") or normalization is not None):
        raise ValueError(
            f"`tokenizer` and `normalization` are not for a {name}, which finds the "
            "words of its texts. Leave them out."
        )
    if len(model.text_fields) > 1 and input_name != INPUT_NAMES[0]:
        raise ValueError(
            f"`input_name` is not for a {name}, whose texts are named "
            f"{', '.join(model.text_fields)}. Leave it out."
        )
    new_version(Path(output), version)
    root, vectors = tf.train.Checkpoint(), model.token_vectors
    if tokenizer is None:
        tokenizer = vectors.elmo.config.tokenizer if vectors.elmo else "spaces"
    root.variables = [weight.value for weight in model.weights]
    split = splitter(tokenizer, normalization)
    signatures = task_signatures(model, split, input_name)
    splits = "words" if finds_words else tokenizer
    metadata = {
        "task_model": name,
        **describe(vectors.elmo, signatures, splits, normalization),
    }
    metadata |= {key: list(getattr(model, key)) for key in model.listed}
    return write_version(output, version, root, signatures, metadata, warmup=warmup)


def task_signatures(
    model: TaskModel, split: Callable, input_name: str
) -> dict[str, tf.types.experimental.ConcreteFunction]:
    """The signatures of a model: name → concrete function.

    `default`, also named `serving_default`, takes one string for each text; `tokens` takes
    tokens: with `sequence_len` for a model of one text, else padded with `""`. A model that
    answers questions finds words and their places itself, and has no `tokens`.
    """
    fields, finds_words = model.text_fields, model.finds_words
    names = dict(zip(fields, [input_name] if len(fields) == 1 else fields))
    specs = {name: sentences_spec(name) for name in names.values()}
    token_specs = tokens_specs()
    if len(fields) > 1:
        token_specs = {f: sentences_spec(f, (None, None)) for f in fields}
    if PREDICATE in model.other_fields:
        specs[PREDICATE] = tf.TensorSpec((None,), tf.int32, name=PREDICATE)
        token_specs[PREDICATE] = specs[PREDICATE]

    @tf.function(autograph=False)
    def answer_texts(**inputs):
        if finds_words:
            texts = {field: as_utf8(text) for field, text in inputs.items()}
            placed = {field: placed_words(text) for field, text in texts.items()}
            answers = answer_in_pieces(model, {f: p.words for f, p in placed.items()})
            return text_answers(
                texts["context"], **placed, answers=answers, endings=model.endings
            )
        texts = {field: split(inputs[name]) for field, name in names.items()}
        return answer(model, texts, inputs.get(PREDICATE))

    @tf.function(autograph=False)
    def answer_tokens(**inputs):
        if len(fields) > 1:
            dense = {field: columns_with_rows(inputs[field]) for field in fields}
            from_tensor = tf.RaggedTensor.from_tensor  # pyright: ignore[reportAttributeAccessIssue]
            texts = {field: from_tensor(x, padding="") for field, x in dense.items()}
            return answer(model, texts)
        dense = columns_with_rows(inputs["tokens"])
        ragged = first_tokens(dense, inputs["sequence_len"])
        values = ensure(
            ragged.flat_values,
            tf.reduce_all(ragged.flat_values != ""),
            "The first `sequence_len` of `tokens` should not be empty strings.",
        )
        texts = {"tokens": ragged.with_flat_values(values)}
        return answer(model, texts, inputs.get(PREDICATE), tf.shape(dense)[1])

    function = answer_texts.get_concrete_function(**specs)
    signatures = {"default": function, "serving_default": function}
    if not finds_words:
        signatures["tokens"] = answer_tokens.get_concrete_function(**token_specs)
    return signatures


def answer(model, texts, predicate=None, time=None):
    """The answers to texts; those of a single text with its tokens, in `time` columns."""
    answers = answer_in_pieces(model, texts, predicate)
    if len(texts) > 1:
        return answers
    (tokens,) = texts.values()
    lengths = tf.cast(tokens.row_lengths(), tf.int32)
    answers |= {"tokens": pad_ragged(tokens), "sequence_len": lengths}
    time = longest(tokens) if time is None else time
    return {name: set_width(x, time) for name, x in answers.items()}


def answer_in_pieces(model, texts, predicate=None):
    """The answers to texts, for as many rows at once as `rows_at_once` says."""
    texts, at_once = rows_at_once(texts, compares_tokens=model.compares_tokens)
    n_rows = next(iter(texts.values())).nrows()
    width = tf.reduce_max([1, *map(longest, texts.values())])
    if predicate is not None:
        predicate = ensure_predicate(predicate, texts["tokens"])

    find_answers = load(find_kind(model.kind).graph)

    @tf.function(input_signature=[tf.TensorSpec((), tf.int64)], autograph=False)
    def piece(first):
        rows = slice(first, tf.minimum(first + at_once, n_rows))
        inputs = {field: pad_ragged(tokens[rows]) for field, tokens in texts.items()}
        if predicate is not None:
            time = tf.shape(inputs["tokens"])[1]
            inputs[PREDICATE] = tf.one_hot(predicate[rows], time, dtype=tf.int32)
        answers = find_answers(model, inputs)
        return {name: set_width(x, width) for name, x in answers.items()}

    n_pieces = tf.maximum(-(-n_rows // at_once), 1)
    specs = piece.get_concrete_function().structured_outputs
    size = tf.cast(n_pieces, tf.int32)
    arrays = {
        name: tf.TensorArray(x.dtype, size, element_shape=x.shape, infer_shape=False)
        for name, x in specs.items()
    }

    def step(i, arrays):
        index, answers = tf.cast(i, tf.int32), piece(i * at_once)
        return i + 1, {n: arrays[n].write(index, x) for n, x in answers.items()}

    _, arrays = tf.while_loop(
        lambda i, _: i < n_pieces,
        step,
        (tf.constant(0, tf.int64), arrays),
        parallel_iterations=1,
    )
    return {n: tf.ensure_shape(x.concat(), specs[n].shape) for n, x in arrays.items()}


def ensure_predicate(predicate, tokens):
    lengths = tf.cast(tokens.row_lengths(), tf.int32)
    inside = tf.cond(
        tf.size(predicate) == tf.size(lengths),
        lambda: tf.reduce_all((predicate >= 0) & (predicate < lengths)),
        lambda: False,
    )
    message = (
        "`predicate` should be the position of a token in each text. Tokens and "
        "positions:"
    )
    return ensure(predicate, inside, message, lengths, predicate)


def set_width(x, time):
    """An answer with `time` columns, if its columns are tokens."""
    if x.shape.rank < 2 or x.shape[1] is not None:
        return x
    x = x[:, :time]
    missing = [[0, 0], [0, time - tf.shape(x)[1]]]
    return tf.pad(x, missing, constant_values=FILL[x.dtype])


def rows_at_once(
    texts: Mapping[str, tf.RaggedTensor], *, compares_tokens: bool
) -> tuple[dict[str, tf.RaggedTensor], tf.Tensor]:
    """The tokens of each field, and how many rows fit into the bounds: int64."""
    lengths = [text.row_lengths() for text in texts.values()]
    longest = tf.reduce_max(tf.concat([[1], *lengths], axis=0))
    rows = tf.size(lengths[0], tf.int64)
    as_many = tf.reduce_all([tf.size(x, tf.int64) == rows for x in lengths])
    maximum = MAX_POSITIONS // len(lengths)
    at_once = maximum // longest
    if compares_tokens:
        maximum = min(maximum, math.isqrt(MAX_PAIRS))
        at_once = tf.minimum(at_once, MAX_PAIRS // longest**2)
    message = f"{', '.join(texts)} should have as many texts each."
    at_once = ensure(at_once, as_many, message)
    message = f"A text should have at most {maximum} tokens. Send shorter ones. Found:"
    at_once = ensure(at_once, longest <= maximum, message, longest)
    with tf.control_dependencies([at_once]):
        texts = {
            field: text.with_flat_values(tf.identity(text.flat_values))
            for field, text in texts.items()
        }
    return texts, at_once
