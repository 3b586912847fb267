"""The command `substitutes`."""

import math
from collections.abc import Sequence
from typing import Literal

from elmo_keras.text.sentences import words_of_sentences
from elmo_keras.util.arguments import Count, Index
from elmo_keras.util.command import import_tensorflow


def substitutes(
    *sentence: str,
    model: str,
    word: str | None = None,
    position: Index | None = None,
    top: Count = 10,
    direction: Literal["both", "forward", "backward"] | None = None,
) -> None:
    """Prints the words that a language model expects in place of a word.

    The sentence is split as the model's text was. With --direction, the words are the
    likeliest ones whatever word is there: forward by the tokens before it, backward by
    those after it, both by the product of the two.

        elmo-keras substitutes "The bank of the river" --word bank --model MODEL_DIR
        elmo-keras substitutes "The bank of the river" --position 4 --direction forward --model MODEL_DIR

    Args:
        sentence: a text or tokens
        model: a model with a softmax: a model directory, a zip, or a published model's name
        word: a word that occurs once in the sentence
        position: index of a token, from 0
        top: number of words
        direction: the likeliest words by it, also the word itself
    """
    if (word is None) == (position is None):
        raise ValueError("Give either --word or --position.")
    import_tensorflow()
    from elmo_keras.language_model import LanguageModel

    language_model = LanguageModel.from_pretrained(model)
    text, tokenizer = " ".join(sentence), language_model.bilm.config.tokenizer
    [tokens] = words_of_sentences(text, tokenizer)
    if not tokens:
        raise ValueError("The sentence should have at least one token. It is empty.")
    if position is None:
        position = only_position(word, tokens)
    elif position >= len(tokens):
        raise ValueError(
            f"--position should be from 0 to {len(tokens) - 1}, as the sentence has "
            f"{len(tokens)} tokens. Received: {position}"
        )
    if direction is None:
        likeliest = language_model.substitutes(tokens, position, top=top)
    else:
        likeliest = language_model.likeliest(
            tokens, position, top=top, direction=direction
        )
    for other, log_probability in likeliest:
        print(f"{math.exp(log_probability):9.3%}  {other}")


def only_position(word: str | None, tokens: Sequence[str]) -> int:
    """The index of a word that occurs once."""
    positions = [i for i, token in enumerate(tokens) if token == word]
    if len(positions) != 1:
        raise ValueError(
            f"--word should occur once in the sentence. {word!r} is at the positions "
            f"{positions}. Give --position instead."
        )
    return positions[0]
