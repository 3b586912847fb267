"""Entities and semantic roles in tag sequences: their precision, recall and F1."""

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import tensorflow as tf

OUTSIDE = "O"
BEGIN, INSIDE = "BSU", "IELM"
END = "ESLU"
_TYPE = r"[^\s,()|*]+"
TAG = re.compile(rf"{OUTSIDE}|[{BEGIN}{INSIDE}]-{_TYPE}")
# What is no type, but a prefix, a tag of another scheme, or a sign for no entity.
_NO_TYPE = rf"(?i:[{BEGIN}{INSIDE}O0]([-_/:].*)?|.*[-_/:][{BEGIN}{INSIDE}])"
_TYPE_ALONE = re.compile(rf"(?!{_NO_TYPE}$){_TYPE}")
UNTYPED = "ENTITY"  # the type of entities that have none


def entities(tags: Sequence[str]) -> list[tuple[int, int, str]]:
    """The entities of a sentence, as conlleval finds them: first token, end and type.

    An entity begins at `B-X`, or at an `I-X` that follows no tag of type X, and
    continues through the `I-X` that follow. `S-`, `E-` (BIOES), `M-` (BMES) and `U-`,
    `L-` (BILOU) are accepted as well.
    """
    spans, begin, previous = [], None, OUTSIDE
    for i, tag in enumerate([*tags, OUTSIDE]):
        continues = previous[0] not in END and tag[0] in INSIDE
        if begin is not None and not (continues and previous[2:] == tag[2:]):
            spans.append((begin, i, previous[2:]))
            begin = None
        if begin is None and tag != OUTSIDE:
            begin = i
        previous = tag
    return spans


class TagSpans(NamedTuple):
    """Spans of each sentence: column i holds span i, in the order of the tokens."""

    begins: "tf.Tensor"  # int32 (batch, time), the first token; −1 for no span
    ends: "tf.Tensor"  # int32 (batch, time), the token after the last one, or −1
    types: "tf.Tensor"  # strings (batch, time), "" for no span
    count: "tf.Tensor"  # int32 (batch,), the number of spans


def tag_spans(ids: "tf.Tensor", tags: Sequence[str]) -> TagSpans:
    """As `entities`, by a graph: of int32 tags `(batch, time)`, −1 at padding."""
    import tensorflow as tf

    def before_and_after(values):
        """The values of the tag before each boundary, and of the one after it."""
        of_tags = tf.gather(tf.constant(values), padded)
        return of_tags[:, :-1], of_tags[:, 1:]

    def columns(marked):
        """The positions that are marked in each row, then −1: `(batch, time)`."""
        time = tf.shape(marked)[1]
        positions = tf.sort(tf.where(marked, tf.range(time), time), axis=1)
        return tf.where(positions < time, positions, -1)

    names = [*tags, OUTSIDE]  # the last one for padding
    types = [name[2:] for name in names]
    distinct = sorted(set(types))
    padded = tf.pad(ids, [[0, 0], [1, 1]], constant_values=-1)
    padded = tf.where(padded < 0, len(tags), padded)
    was_open, is_open = before_and_after([name != OUTSIDE for name in names])
    ended, _ = before_and_after([name[0] in END for name in names])
    _, continues = before_and_after([name[0] in INSIDE for name in names])
    type_before, type_after = before_and_after([distinct.index(t) for t in types])
    ends_here = ended | ~continues | (type_before != type_after)
    begins = columns((is_open & (~was_open | ends_here))[:, :-1])
    ends = columns((was_open & ends_here)[:, 1:])
    first = tf.gather(ids, tf.maximum(begins, 0), batch_dims=1)
    type_names = tf.gather(tf.constant(types), tf.maximum(first, 0))
    is_span = begins >= 0
    return TagSpans(
        begins,
        tf.where(is_span, ends + 1, -1),
        tf.where(is_span, type_names, ""),
        tf.reduce_sum(tf.cast(is_span, tf.int32), axis=1),
    )


def span_probabilities(
    spans: TagSpans, alone: "tf.Tensor", after: "tf.Tensor"
) -> "tf.Tensor":
    """The probability that a span's tokens have their tags: `(batch, time)`, 0 for none.

    From the logarithms of the probabilities of tags, see `crf.tag_log_probabilities`.
    """
    import tensorflow as tf

    first, last = tf.maximum(spans.begins, 0), tf.maximum(spans.ends - 1, 0)
    sums = tf.cumsum(after, axis=1)
    total = tf.gather(alone, first, batch_dims=1)
    total += tf.gather(sums, last, batch_dims=1)
    total -= tf.gather(sums, first, batch_dims=1)
    return tf.where(spans.begins >= 0, tf.exp(tf.minimum(total, 0.0)), 0.0)


def to_bio(tags: Sequence[str]) -> list[str]:
    """Tags of the schemes IO, IOB1, BIO, BIOES, BMES and BILOU as BIO."""
    for tag in tags:
        if not TAG.fullmatch(tag):
            raise ValueError(f"a tag should be O, or B-TYPE or I-TYPE, not {tag!r}")
    return bio_tags(entities(tags), len(tags))


def bio_tags(spans: Iterable[tuple[int, int, str]], n_tokens: int) -> list[str]:
    """The tags of spans as `entities` gives them."""
    tags = [OUTSIDE] * n_tokens
    for begin, end, type_ in spans:
        tags[begin:end] = [f"B-{type_}"] + [f"I-{type_}"] * (end - begin - 1)
    return tags


def full_tags(tags: Iterable[str]) -> dict[str, str]:
    """The tags that all tags of a file mean, where they are types or prefixes alone.

    >>> full_tags(["O", "PERSON"]), full_tags("OIB")["I"]
    ({'PERSON': 'I-PERSON'}, 'I-ENTITY')
    """
    alone = set(tags) - {OUTSIDE}
    if alone & {"B", "I"} and alone <= {*BEGIN, *INSIDE}:
        return {prefix: f"{prefix}-{UNTYPED}" for prefix in alone}
    if OUTSIDE in tags and all(map(_TYPE_ALONE.fullmatch, alone)):
        return {type_: f"I-{type_}" for type_ in alone}
    return {}


def marks_spans(tags: Sequence[str]) -> bool:
    return any(tag.startswith("B-") for tag in tags)


def count_spans(gold: Iterable, predicted: Iterable) -> tuple[int, int, int]:
    """The spans of a sentence: how many are right, how many there are, and were predicted."""
    gold, predicted = set(gold), set(predicted)
    return len(gold & predicted), len(gold), len(predicted)


def span_scores(n_right: int, n_gold: int, n_predicted: int) -> dict[str, float]:
    """Precision, recall and F1 of spans, right in tokens and type; 0 where undefined."""
    return {
        "F1": 2 * n_right / max(n_gold + n_predicted, 1),
        "precision": n_right / max(n_predicted, 1),
        "recall": n_right / max(n_gold, 1),
    }


PREDICATE = "V"
CONTINUATION = "C-"


def arguments(tags: Sequence[str]) -> set[tuple]:
    """The arguments of a predicate: role and pieces, each its first token and its end.

    `C-X` continues the last argument with the role X, or is one of its own if there is
    none before it. The predicate itself, `V`, is no argument.
    """
    pieces: list[list] = []
    last: dict[str, list] = {}  # role → its last argument
    for begin, end, role in entities(tags):
        continued = role.removeprefix(CONTINUATION)
        if continued == role or continued not in last:
            last[continued] = [continued]
            pieces.append(last[continued])
        last[continued].append((begin, end))
    return {tuple(argument) for argument in pieces if argument[0] != PREDICATE}


def constraints(tags: Sequence[str]) -> list[list[bool]]:
    """`allowed` of `LinearChainCRF`: I-X only follows B-X or I-X, and is never the first."""

    def may_follow(tag, previous):
        return not tag.startswith("I-") or previous in (f"B-{tag[2:]}", tag)

    return [[may_follow(tag, previous) for tag in tags] for previous in (*tags, None)]
