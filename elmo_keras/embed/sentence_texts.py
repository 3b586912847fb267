"""The texts of the sentences, to find their vectors by."""

from elmo_keras.embedding.sentences import Batch


class Texts:
    """The texts of sentences and their numbers, as long as they are not too much.

    Args:
        longest: most bytes; with more, all are forgotten.
    """

    def __init__(self, longest: int):
        self._left, self._numbers = longest, {}

    @property
    def too_long(self) -> bool:
        """Whether there were more."""
        return self._left < 0

    def add(self, batch: Batch) -> None:
        """Takes up those of a batch."""
        for text, number in zip(batch.texts, batch.sentences.tolist()):
            if text not in self._numbers:
                self._left -= len(text)
            if self.too_long:
                self._numbers.clear()
                return
            self._numbers[text] = max(number, self._numbers.get(text, 0))

    def to_index(self) -> dict[str, str] | None:
        """The name of each text's last dataset, or None if there was too much."""
        if self.too_long:
            return None
        ordered = sorted(self._numbers.items(), key=lambda item: item[1])
        return {text.decode(): str(number) for text, number in ordered}
