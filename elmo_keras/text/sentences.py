"""Sentences as programs give them, as lists of tokens in UTF-8."""

from collections.abc import Callable, Iterable, Iterator, Sequence

Sentence = str | bytes | Sequence[str | bytes]


def tokens_of_sentences(
    sentences: Iterable[Sentence],
    tokenizer: Callable[[str], Sequence[str]] | None = None,
) -> Iterator[list[bytes]]:
    """Yields the tokens of each sentence as UTF-8; a `str` is split at ASCII white space.

    Raises:
        TypeError: a sentence is no text and no sequence; the message gives its number.
        ValueError: a token is empty.
    """
    for number, sentence in enumerate(sentences):
        if isinstance(sentence, str) and tokenizer is not None:
            sentence = tokenizer(sentence)
        if isinstance(sentence, (str, bytes)):
            sentence = encoded(sentence).split()  # at ASCII white space only
        try:
            tokens = [encoded(token) for token in sentence]
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
        yield tokens


def encoded(text: str | bytes) -> bytes:
    """UTF-8 of a text."""
    return text if isinstance(text, bytes) else text.encode()
