"""Sentences as programs give them: text, or lists of tokens."""

from collections.abc import Callable, Iterable, Iterator, Sequence

Sentence = str | bytes | Sequence[str | bytes]


def tokens_of_sentences(
    sentences: Iterable[Sentence],
    tokenizer: Callable[[str], Sequence[str]] | None = None,
) -> Iterator[list[bytes]]:
    """Yields the tokens of each sentence as UTF-8.

    Args:
        sentences: each a `str`, or a sequence of its tokens.
        tokenizer: splits a `str` into tokens; by default at ASCII white space.

    Raises:
        TypeError: a sentence is neither; the message gives its number from 0.
        ValueError: a token is empty.
    """
    for number, sentence in enumerate(sentences):
        yield _tokens(sentence, tokenizer, number)


def _tokens(sentence, tokenizer, number):
    if isinstance(sentence, str) and tokenizer is not None:
        sentence = tokenizer(sentence)
    if isinstance(sentence, (str, bytes)):
        # As bytes, which are split at ASCII white space only.
        return _encoded(sentence).split()
    try:
        tokens = [_encoded(token) for token in sentence]
    except (TypeError, AttributeError):
        raise TypeError(
            f"Sentence {number} should be a str or a list of tokens (str). "
            f"Received: {sentence!r:.100}"
        ) from None
    if b"" in tokens:
        raise ValueError(
            f"The tokens of sentence {number} should not be empty. Token "
            f"{tokens.index(b'')} is ''."
        )
    return tokens


def _encoded(text):
    return text if isinstance(text, bytes) else text.encode()
