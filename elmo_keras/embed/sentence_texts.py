"""The texts of the sentences, for finding their vectors."""

from elmo_keras.embed.numbered_batches import Batch


class Texts:
    """The distinct texts of sentences, with the number of each text's last sentence.

    Args:
        max_bytes: maximum size of all texts; if it is exceeded, all are forgotten.
    """

    def __init__(self, max_bytes: int):
        self._left, self._numbers = max_bytes, {}

    @property
    def too_long(self) -> bool:
        """Whether the texts exceeded `max_bytes`."""
        return self._left < 0

    def add(self, batch: Batch) -> None:
        """Adds the texts of a batch."""
        for text, number in zip(batch.texts, batch.sentences.tolist()):
            if text not in self._numbers:
                self._left -= len(text)
            if self.too_long:
                self._numbers.clear()
                return
            self._numbers[text] = max(number, self._numbers.get(text, 0))

    def to_index(self) -> dict[str, str] | None:
        """The name of each text's last dataset; None if there were too many bytes."""
        if self.too_long:
            return None
        ordered = sorted(self._numbers.items(), key=lambda item: item[1])
        return {text.decode(): str(number) for text, number in ordered}
