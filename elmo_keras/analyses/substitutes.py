"""Prints the words that a language model expects in place of a word.

    python -m elmo_keras.analyses.substitutes "The bank of the river" --word bank --elmo MODEL_DIR
    python -m elmo_keras.analyses.substitutes "The bank of the river" --position 4 --direction forward --elmo MODEL_DIR

The sentence's tokens are separated by spaces. With --direction, the words are the
likeliest ones whatever word is there: forward by the tokens before it, backward by
those after it, both by the product of the two.
"""

import math
import sys
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.hub.local_files import MODEL_HELP
from elmo_keras.util.argument_types import non_negative, positive
from elmo_keras.util.command import command_parser, run_command

PROGRAM = "elmo_keras.analyses.substitutes"
DIRECTIONS = "both", "forward", "backward"


def main(arguments: Sequence[str] | None = None) -> int:
    p = command_parser(PROGRAM, __doc__)
    p.add_argument("sentence", nargs="+", metavar="SENTENCE")
    p.add_argument(
        "--elmo",
        dest="model",
        required=True,
        metavar="MODEL",
        help=f"{MODEL_HELP}, with a softmax",
    )
    p.add_argument("--word", help="a word that occurs once in the sentence")
    p.add_argument("--position", type=non_negative(int), help="of a token, from 0")
    p.add_argument("--top", type=positive(int), default=10, help="(default: 10)")
    p.add_argument("--direction", choices=DIRECTIONS, help="also the word itself")
    options = p.parse_intermixed_args(arguments)
    return run_command(PROGRAM, lambda: substitutes(**vars(options)))


def substitutes(
    sentence: Sequence[str],
    *,
    model: str | Path,
    word: str | None = None,
    position: int | None = None,
    top: int = 10,
    direction: str | None = None,
) -> None:
    from elmo_keras.language_model import LanguageModel  # by TensorFlow

    tokens = " ".join(sentence).split()
    if not tokens:
        raise ValueError("The sentence should have at least one token. It is empty.")
    if (word is None) == (position is None):
        raise ValueError("Give either --word or --position.")
    if word is not None:
        position = only_position(word, tokens)
    elif position >= len(tokens):
        raise ValueError(
            f"--position should be from 0 to {len(tokens) - 1}, as the sentence has "
            f"{len(tokens)} tokens. Received: {position}"
        )
    language_model = LanguageModel.from_pretrained(model)
    if direction is None:
        likeliest = language_model.substitutes(tokens, position, top=top)
    else:
        likeliest = language_model.likeliest(
            tokens, position, top=top, direction=direction
        )
    for other, log_probability in likeliest:
        print(f"{math.exp(log_probability):9.3%}  {other}")


def only_position(word: str, tokens: Sequence[str]) -> int:
    """The index of a word that occurs once."""
    positions = [i for i, token in enumerate(tokens) if token == word]
    if len(positions) != 1:
        listed = ", ".join(map(str, positions))
        where = f"at the positions {listed}" if positions else "nowhere"
        raise ValueError(
            f"--word should occur once in the sentence; {word!r} is {where}. Give "
            "--position instead."
        )
    return positions[0]


if __name__ == "__main__":
    sys.exit(main())
