"""The result of a job on a Ray cluster, counted while it runs."""

from pathlib import Path
from typing import NamedTuple

from elmo_keras.embed.on_ray.part_files import Part


class JobSummary(NamedTuple):
    """The result of a call of `embed_on_ray`.

    Attributes:
        output: the folder that was written.
        finished: False if `stop` ended the call; the same call resumes.
        parts, sentences, tokens: how many are written, by this call and those before.
        seconds: time since the first worker was ready.
        tokens_now: the tokens that this call embedded.
        parts_again, tokens_again: those of this call that an earlier process had begun
            to compute when it ended.
    """

    output: Path
    finished: bool = False
    parts: int = 0
    sentences: int = 0
    tokens: int = 0
    seconds: float = 0.0
    tokens_now: int = 0
    parts_again: int = 0
    tokens_again: int = 0

    def with_part(self, part: Part) -> "JobSummary":
        """The summary with one more part, of an earlier call."""
        return self._replace(
            parts=self.parts + 1,
            sentences=self.sentences + part.sentences,
            tokens=self.tokens + part.tokens,
        )

    def with_new_part(self, part: Part, again: bool) -> "JobSummary":
        """The summary with one more part, of this call.

        Args:
            part: the part.
            again: whether an earlier process had begun it.
        """
        return self.with_part(part)._replace(
            tokens_now=self.tokens_now + part.tokens,
            parts_again=self.parts_again + again,
            tokens_again=self.tokens_again + again * part.tokens,
        )

    def __str__(self):
        rate = self.tokens_now / max(self.seconds, 1e-9)
        text = (
            f"{self.sentences:,} sentences, {self.tokens:,} tokens in {self.parts:,} "
            f"parts, {self.seconds:,.1f} s, {rate:,.0f} tokens/s: {self.output}"
        )
        if not self.parts_again:
            return text
        return (
            f"{text}. Computed again, because a process had ended before they were "
            f"written: {self.parts_again:,} parts, {self.tokens_again:,} tokens."
        )
