"""The signatures of task models: from texts, or tokens, to answers."""

import math
from collections.abc import Callable, Mapping

import tensorflow as tf

from elmo_keras.export.reusable import TOKENS, longest, sentences_spec
from elmo_keras.export.sentences import columns_with_rows, real_tokens
from elmo_keras.tasks.answer.question_answering import QuestionAnswering
from elmo_keras.tasks.answer.words_in_graph import text_answers, words_in_graph
from elmo_keras.tasks.layers.task_model import TaskModel

PREDICATE = "predicate"
# The networks of tasks are padded, unlike the language model: 11 KB for each position
# in a tagger of 100 units with a language model of 64 dimensions.
MAX_POSITIONS = 2**16
# Attention compares each token with all others: 4 bytes for each pair, and again.
MAX_PAIRS = 2**26
FILL = {tf.string: "", tf.int32: -1, tf.float32: 0.0}  # after the last token


def task_signatures(
    model: TaskModel, split: Callable, input_name: str
) -> dict[str, tf.types.experimental.ConcreteFunction]:
    """The signatures of a model: name → concrete function.

    `default`, also named `serving_default`, takes one string for each text; `tokens` takes
    tokens: with `sequence_len` for a model of one text, else padded with `""`. A model that
    answers questions finds words and their places itself, and has no `tokens`.
    """
    if isinstance(model, QuestionAnswering):
        return _named(_of_questions(model))
    fields = model.text_fields
    names = dict(zip(fields, [input_name] if len(fields) == 1 else fields))
    extra = {}
    if getattr(model, "predicate_dim", 0):
        extra[PREDICATE] = tf.TensorSpec((None,), tf.int32, name=PREDICATE)

    def default(**inputs):
        texts = {field: split(inputs[name]) for field, name in names.items()}
        return _answers(model, texts, inputs.get(PREDICATE))

    def of_tokens(**inputs):
        texts, time = _given(inputs, fields)
        return _answers(model, texts, inputs.get(PREDICATE), time=time)

    specs = {name: sentences_spec(name) for name in names.values()}
    shape = (None, None)
    of_fields = {f: tf.TensorSpec(shape, tf.string, name=f) for f in fields}
    of_fields = TOKENS if len(fields) == 1 else of_fields
    return _named(
        _traced(default, specs | extra), _traced(of_tokens, of_fields | extra)
    )


def _traced(function, specs):
    return tf.function(function, autograph=False).get_concrete_function(**specs)


def _named(default, tokens=None):
    found = {"default": default, "serving_default": default}
    return found if tokens is None else found | {"tokens": tokens}


def _given(inputs: Mapping[str, tf.Tensor], fields):
    """The tokens of each field, ragged, and the number of columns of a single one."""
    given = {field: columns_with_rows(inputs[field]) for field in fields}
    if len(fields) > 1:
        return {
            f: tf.RaggedTensor.from_tensor(x, padding="") for f, x in given.items()
        }, None
    (tokens,) = given.values()
    real = real_tokens(tokens, inputs["sequence_len"])
    no_empty = tf.debugging.Assert(
        tf.reduce_all(real.flat_values != ""),
        ["The first `sequence_len` of `tokens` should not be empty strings."],
    )
    with tf.control_dependencies([no_empty]):
        real = real.with_flat_values(tf.identity(real.flat_values))
    return {fields[0]: real}, tf.shape(tokens)[1]


def _answers(model, texts, predicate=None, *, time=None):
    """The answers to texts; those of a single text with its tokens, in `time` columns."""
    found = _in_pieces(model, texts, predicate)
    if len(texts) > 1:
        return found
    (tokens,) = texts.values()
    lengths = tf.cast(tokens.row_lengths(), tf.int32)
    found |= {"tokens": _dense(tokens), "sequence_len": lengths}
    time = longest(tokens) if time is None else time
    return {name: _fitted(x, time) for name, x in found.items()}


def _in_pieces(model, texts, predicate=None):
    """The answers to texts, computed for so many at once as `rows_at_once` says."""
    texts, at_once = rows_at_once(texts, compares_tokens=model.compares_tokens)
    n_rows = next(iter(texts.values())).nrows()
    width = tf.reduce_max([1, *map(longest, texts.values())])
    if predicate is not None:
        predicate = _checked(predicate, texts["tokens"])

    @tf.function(input_signature=[tf.TensorSpec((), tf.int64)], autograph=False)
    def piece(first):
        rows = slice(first, tf.minimum(first + at_once, n_rows))
        inputs = {field: _dense(tokens[rows]) for field, tokens in texts.items()}
        if predicate is not None:
            time = tf.shape(inputs["tokens"])[1]
            inputs[PREDICATE] = tf.one_hot(predicate[rows], time, dtype=tf.int32)
        answers = model.answers(inputs)
        return {name: _fitted(x, width) for name, x in answers.items()}

    n_pieces = tf.maximum(-(-n_rows // at_once), 1)
    specs = piece.get_concrete_function().structured_outputs
    arrays = {
        name: tf.TensorArray(
            x.dtype,
            tf.cast(n_pieces, tf.int32),
            element_shape=x.shape,
            infer_shape=False,
        )
        for name, x in specs.items()
    }

    def step(i, arrays):
        found = piece(i * at_once)
        number = tf.cast(i, tf.int32)
        return i + 1, {name: arrays[name].write(number, x) for name, x in found.items()}

    start = tf.constant(0, tf.int64), arrays
    _, arrays = tf.while_loop(
        lambda i, _: i < n_pieces, step, start, parallel_iterations=1
    )
    return {
        name: tf.ensure_shape(array.concat(), specs[name].shape)
        for name, array in arrays.items()
    }


def _dense(tokens):
    dense = tokens.to_tensor()
    missing = tf.maximum(1 - tf.shape(dense)[1], 0)
    return tf.pad(dense, [[0, 0], [0, missing]], constant_values="")


def _checked(predicate, tokens):
    lengths = tf.cast(tokens.row_lengths(), tf.int32)
    one_each = tf.size(predicate) == tf.size(lengths)
    inside = tf.cond(
        one_each,
        lambda: tf.reduce_all((predicate >= 0) & (predicate < lengths)),
        lambda: False,
    )
    in_range = tf.debugging.Assert(
        inside,
        ["`predicate` should be the position of a token in each text. Tokens and positions:",
         lengths, predicate],
        summarize=10,
    )  # fmt: skip
    with tf.control_dependencies([in_range]):
        return tf.identity(predicate)


def _fitted(x, time):
    """An answer with `time` columns, if its columns are tokens."""
    if x.shape.rank < 2 or x.shape[1] is not None:
        return x
    x = x[:, :time]
    missing = [[0, 0], [0, time - tf.shape(x)[1]]]
    return tf.pad(x, missing, constant_values=FILL[x.dtype])


def _of_questions(model):
    def default(**texts):
        placed = {field: words_in_graph(text) for field, text in texts.items()}
        words = {field: text.words for field, text in placed.items()}
        found = _in_pieces(model, words)
        return text_answers(placed["context"], placed["question"], found, model.endings)

    return _traced(default, {f: sentences_spec(f) for f in model.text_fields})


def rows_at_once(
    texts: Mapping[str, tf.RaggedTensor], *, compares_tokens: bool
) -> tuple[dict[str, tf.RaggedTensor], tf.Tensor]:
    """The tokens of each field, and how many rows fit into the bounds: int64."""
    lengths = [text.row_lengths() for text in texts.values()]
    longest = tf.reduce_max(tf.concat([[1], *lengths], axis=0))
    rows = tf.size(lengths[0], tf.int64)
    as_many = tf.reduce_all([tf.size(x, tf.int64) == rows for x in lengths])
    message = f"{', '.join(texts)} should have as many texts each."
    checks = [tf.debugging.Assert(as_many, [message])]
    maximum = MAX_POSITIONS // len(lengths)
    at_once = maximum // longest
    if compares_tokens:
        maximum = min(maximum, math.isqrt(MAX_PAIRS))
        at_once = tf.minimum(at_once, MAX_PAIRS // longest**2)
    message = f"A text should have at most {maximum} tokens. Send shorter ones. Found:"
    checks.append(tf.debugging.Assert(longest <= maximum, [message, longest]))
    with tf.control_dependencies(checks):
        texts = {
            field: text.with_flat_values(tf.identity(text.flat_values))
            for field, text in texts.items()
        }
        return texts, tf.identity(at_once)
