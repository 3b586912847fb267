"""Where spans end within their last token, such as before a particle."""

import zlib
from collections.abc import Iterator, Sequence

import numpy as np

ENDS = "ends/kernel"  # the name of its weights in a head
_BUCKETS, _MAX_LEFT_OUT, _LONGEST_ENDING = 2**14, 6, 5
SHAPE = _BUCKETS, _MAX_LEFT_OUT + 1
MIN_SHARE = 1 / 20  # of the spans; if fewer end within a word, these are mistakes
_EPOCHS, _RATE, _DECAY = 4, 0.2, 1e-4


class SpanEnds:
    """How many characters of its last token a span leaves out, by a logistic regression.

    It reads how the token ends, up to five characters, and whether the last character
    comes after a consonant (as 이 and 은 do) or a vowel (가, 는), alone and together with
    the span's label, in 16,384 hashed features.

    Args:
        kernel: `(features, 7)`, the score of leaving out 0 to 6 characters.

    Example:

    >>> examples = [("서울에서", "LC", 2), ("서울", "LC", 0), ("부산에서", "LC", 2)]
    >>> SpanEnds.fit(examples)("대전에서", "LC")
    2
    """

    def __init__(self, kernel: np.ndarray):
        self.kernel = kernel

    def __call__(self, token: str, label: str) -> int:
        rows = [*_features(token, label)]
        # Something of the token is always left.
        return int(self.kernel[rows].sum(axis=0)[: len(token)].argmax())

    @classmethod
    def fit(cls, examples: Sequence[tuple[str, str, int]]) -> "SpanEnds":
        """Learns, by Adagrad, from (last token, label, number of characters to leave out)."""
        kernel = np.zeros(SHAPE, np.float32)
        squares = np.full_like(kernel, 1e-8)
        rows = [[*_features(token, label)] for token, label, _ in examples]
        rng = np.random.default_rng(0)
        for i in np.concatenate([rng.permutation(len(rows)) for _ in range(_EPOCHS)]):
            x = rows[i]
            scores = kernel[x].sum(axis=0)
            gradient = np.exp(scores - scores.max())
            gradient /= gradient.sum()
            gradient[min(examples[i][2], _MAX_LEFT_OUT)] -= 1
            gradient = gradient + _DECAY * kernel[x]
            squares[x] += np.square(gradient)
            kernel[x] -= _RATE * gradient / np.sqrt(squares[x])
        return cls(kernel)


def _features(token, label) -> Iterator[int]:
    """The rows of the kernel that a token and a label add up, each once."""
    shape = "".join("9" if c.isdigit() else c for c in token)
    endings = [shape[-n:] for n in range(1, min(len(shape), _LONGEST_ENDING) + 1)]
    endings.append(f"{_final(shape[-2:-1])}{shape[-1]}")
    names = [label, f"{min(len(shape), 6)}{shape[-1]}"]
    names += [f"{first}:{ending}" for first in ("*", label) for ending in endings]
    yield from dict.fromkeys(zlib.crc32(name.encode()) % _BUCKETS for name in names)


def _final(syllable):
    """Whether a Hangul syllable ends in a vowel or in a consonant; "" for other letters."""
    if not "가" <= syllable <= "힣":
        return ""
    return "consonant" if (ord(syllable) - ord("가")) % 28 else "vowel"
