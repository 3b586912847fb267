"""Words as they are usually written: letters of both cases, straight quotation marks."""

from collections.abc import Iterable, Sequence

_STRAIGHT = {"’": "'", "‘": "'", "“": '"', "”": '"'}
_LEAST = 3  # words of more than a letter; shorter sentences are left as they are


class Truecaser:
    """Gives words of a sentence in one case the letters that they most often have.

    Names in such a sentence look like other words to a model of text in both cases. A
    sentence with letters of both cases is left as it is, except curly quotation marks and
    apostrophes, which become straight ones unless they are words. After Lita et al. (2003),
    "tRuEcasIng", with each word alone.

    Args:
        words: sorted by falling frequency, as in a vocabulary.

    Example:

    >>> truecaser = Truecaser(["the", "buys", "Musk", "The", "musk"])
    >>> truecaser("ELON MUSK BUYS THE FIRM".split())
    ['Elon', 'Musk', 'buys', 'the', 'Firm']
    >>> truecaser("Elon MUSK buys the firm".split())
    ['Elon', 'MUSK', 'buys', 'the', 'firm']
    >>> truecaser("Musk ’s firm".split())
    ['Musk', "'s", 'firm']
    """

    def __init__(self, words: Iterable[str]):
        self._usual: dict[str, str] = {}
        for word in words:
            self._usual.setdefault(word.lower(), word)
        self._curly = {c: x for c, x in _STRAIGHT.items() if c not in self._usual}

    def __call__(self, tokens: Sequence[str]) -> Sequence[str]:
        if not self._curly.keys().isdisjoint("".join(tokens)):
            table = str.maketrans(self._curly)
            tokens = [token.translate(table) for token in tokens]
        cased = [t for t in tokens if len(t) > 1 and t.lower() != t.upper()]
        in_one_case = all(map(str.islower, cased)) or all(map(str.isupper, cased))
        if len(cased) < _LEAST or not in_one_case:
            return tokens
        first, *following = map(self._written, tokens)
        return [first[0].upper() + first[1:], *following]

    def __contains__(self, word: str) -> bool:
        """Whether the vocabulary has a word, in letters of any case."""
        return word.lower() in self._usual

    def _written(self, token: str) -> str:
        """Words that the vocabulary lacks are mostly names."""
        name = token.capitalize() if token.isalpha() else token
        return self._usual.get(token.lower(), name)
