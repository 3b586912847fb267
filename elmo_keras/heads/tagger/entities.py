"""Entities and semantic roles in tag sequences: their precision, recall and F1."""

import re
from collections.abc import Iterable, Sequence

OUTSIDE = "O"
BEGIN, INSIDE = "BSU", "IELM"
END = "ESLU"
NO_LABEL = r"\s\x00-\x1f\x7f-\x9f,()|*"  # characters that no tag holds
_TYPE = rf"[^{NO_LABEL}]+"
TAG = re.compile(rf"{OUTSIDE}|[{BEGIN}{INSIDE}]-{_TYPE}")
# Words in a file that are prefixes, tags of another scheme, or signs for no entity.
_NO_TYPE = rf"(?i:[{BEGIN}{INSIDE}O0]([-_/:].*)?|.*[-_/:][{BEGIN}{INSIDE}])"
_TYPE_ALONE = re.compile(rf"(?!{_NO_TYPE}$){_TYPE}")
_AT_END = re.compile(rf"{_TYPE}_[BI]")
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


def check_tag(tag: str) -> None:
    if not TAG.fullmatch(tag):
        raise ValueError(f"a tag should be O, or B-TYPE or I-TYPE, not {tag!r}")


def to_bio(tags: Sequence[str]) -> list[str]:
    """Tags of the schemes IO, IOB1, BIO, BIOES, BMES and BILOU as BIO."""
    for tag in tags:
        check_tag(tag)
    return bio_tags(entities(tags), len(tags))


def bio_tags(spans: Iterable[tuple[int, int, str]], n_tokens: int) -> list[str]:
    """The tags of spans as `entities` gives them."""
    tags = [OUTSIDE] * n_tokens
    for begin, end, type_ in spans:
        tags[begin:end] = [f"B-{type_}"] + [f"I-{type_}"] * (end - begin - 1)
    return tags


def full_tags(tags: Iterable[str]) -> dict[str, str]:
    """Tag → the tag that it stands for, in a file with types or prefixes alone.

    >>> full_tags(["O", "PERSON"]), full_tags("OIB")["I"]
    ({'PERSON': 'I-PERSON'}, 'I-ENTITY')
    >>> full_tags(["PER_B", "-"])
    {'PER_B': 'B-PER', '-': 'O'}
    """
    alone = set(tags) - {OUTSIDE}
    if OUTSIDE not in tags and (signs := alone & {"_", "-"}):
        full = full_tags([OUTSIDE, *alone - signs])
        return full | dict.fromkeys(signs, OUTSIDE)
    if alone and all(map(_AT_END.fullmatch, alone)):  # as Naver writes them
        return {tag: f"{tag[-1]}-{tag[:-2]}" for tag in alone}
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


def f1_of_spans(n_right: int, n_gold: int, n_predicted: int) -> dict[str, float]:
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
