"""Precision, recall and F1 of semantic roles, as the script of CoNLL-2005 counts."""

from collections.abc import Sequence

from elmo_keras.tasks.tag.entities import entities, span_scores

PREDICATE = "V"
CONTINUATION = "C-"


def arguments(tags: Sequence[str]) -> set[tuple]:
    """The arguments of a predicate: role and pieces, each its first token and its end.

    `C-X` continues the last argument with the role X, or is one of its own if there is
    none before it. The predicate itself, `V`, is no argument.

    >>> sorted(arguments(["B-ARG1", "B-V", "O", "B-C-ARG1", "B-ARG0"]))
    [('ARG0', (4, 5)), ('ARG1', (0, 1), (3, 4))]
    """
    found: list[list] = []
    last: dict[str, list] = {}  # role → its last argument
    for begin, end, role in entities(tags):
        continued = role.removeprefix(CONTINUATION)
        if continued == role or continued not in last:
            last[continued] = [continued]
            found.append(last[continued])
        last[continued].append((begin, end))
    return {tuple(argument) for argument in found if argument[0] != PREDICATE}


def role_scores(
    gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]]
) -> dict[str, float]:
    """Precision, recall and F1 over the arguments of all predicates.

    An argument is right if its role and all its pieces are right. The predicates are
    given, so that they do not count; `arguments` leaves them out.

    Args:
        gold, predicted: BIO tags of the same sentences, each with one predicate.

    Returns:
        `F1`, `precision` and `recall`, between 0 and 1; 0 where the divisor is 0.

    Reference: Carreras and Màrquez 2005, and their script `srl-eval.pl`.
    """
    return span_scores(map(arguments, gold), map(arguments, predicted))
