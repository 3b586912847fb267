"""The loop over batches: reads, computes, writes and counts."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import NamedTuple

from elmo_keras.cli.progress_line import Progress
from elmo_keras.elmo import Elmo
from elmo_keras.embed.batch_vectors import SentenceVectors, WordVectors
from elmo_keras.embed.numbered_batches import N_BOUNDARIES, Batch, Shard
from elmo_keras.embed.reading_ahead import reading_ahead
from elmo_keras.embed.sentence_texts import Texts
from elmo_keras.embed.unfinished import OtherText, Unfinished
from elmo_keras.embed.vector_files import Hdf5Output, NpyOutput, is_hdf5, is_npy

MAX_TEXT_BYTES = 2**28  # of all sentences in `sentence_to_index`


class Summary(NamedTuple):
    """The result of a call of `embed_corpus`.

    Attributes:
        output: the file that was written.
        finished: False if `stop` ended the call; the same call resumes.
        sentences, tokens: how many were embedded, by this call and those before it.
        words: how many words went through the character CNN: each distinct word
            once, and again whenever it had left the cache.
        seconds: time since this call began to compute.
        tokens_now: the tokens that this call embedded.
        texts_left_out: whether `sentence_to_index` was left out because there was
            too much text.
    """

    output: Path
    finished: bool
    sentences: int
    tokens: int
    words: int
    seconds: float
    tokens_now: int
    texts_left_out: bool

    def __str__(self):
        share = 1 - self.words / max(self.tokens, 1)
        left_out = " Too much text for sentence_to_index: it is left out."
        return (
            f"{self.sentences:,} sentences, {self.tokens:,} tokens, {self.words:,} "
            f"words computed ({max(share, 0):.1%} of the tokens from the cache), "
            f"{self.seconds:,.1f} s, {self.tokens_now / self.seconds:,.0f} tokens/s: "
            f"{self.output}{'.' + left_out if self.texts_left_out else ''}"
        )


class Loop:
    """The work of `embed_corpus`, once its arguments are checked.

    Args:
        work: the file that grows.
        elmo: computes the vectors of words.
        vectors: computes the vectors of sentences.
        shard: which lines are embedded.
        forget_sentences: whether to leave out `sentence_to_index`.
    """

    def __init__(
        self,
        work: Unfinished,
        elmo: Elmo,
        vectors: SentenceVectors,
        *,
        shard: Shard,
        forget_sentences: bool,
    ):
        self.work, self.vectors = work, vectors
        self.words = WordVectors(elmo)
        # Only HDF5 has an index of texts.
        self.forget_sentences = forget_sentences or not is_hdf5(work.output)
        self.texts = Texts(0 if self.forget_sentences else MAX_TEXT_BYTES)
        self.batches = self.sentences = self.tokens = self.tokens_now = 0
        self.n_words = 0
        self.output = _output(
            work, vectors, n_shards=shard.count, texts=not forget_sentences
        )

    def embed(
        self, batches: Iterator[Batch], progress: Progress, stop: Callable[[], bool]
    ) -> Summary:
        """Embeds the batches; one thread reads ahead, another one writes."""
        if self.work.file.note is None:
            self.output.begin(self.work.identity)
            self.work.commit(None)
        with ThreadPoolExecutor(1) as writer:
            written = writer.submit(int)
            for batch in reading_ahead(batches):
                if stop():
                    break
                self._count(batch)
                if self._is_done(batch):
                    progress.skip(batch.share)
                    continue
                x = self.words.of(batch.words)
                vectors = self.vectors.of(x, batch.lengths - N_BOUNDARIES)
                written.result()
                written = writer.submit(self._write, batch, vectors)
                self.tokens_now += batch.n_tokens
                progress.add(batch.n_tokens, batch.share)
            written.result()
        finished = not stop()
        if finished:
            self._finish()
        return self._summary(finished, progress.seconds)

    def _count(self, batch):
        self.words.expect(batch.new_words, batch.renumbered)
        self.texts.add(batch)
        self.batches += 1
        self.sentences += len(batch.sentences)
        self.tokens += batch.n_tokens
        self.n_words += len(batch.new_words) - batch.renumbered * N_BOUNDARIES

    def _is_done(self, batch):
        done = self.work.done or {"batches": 0}
        other = self.batches == done["batches"] and batch.digest != done["digest"]
        if other or (self.batches > done["batches"] and done.get("whole")):
            self._refuse()
        return self.batches <= done["batches"]

    def _refuse(self):
        raise OtherText(
            f"{self.work.folder} belongs to a run over another text. Use that text "
            "to resume, or ask to overwrite."
        )

    def _write(self, batch, vectors):
        self.output.write(batch.sentences, vectors, batch.texts)
        self.work.commit({"batches": batch.number + 1, "digest": batch.digest})

    def _finish(self):
        if self.work.done and self.batches < self.work.done["batches"]:
            self._refuse()
        done = self.work.file.note["done"] or {"batches": 0}
        if not done.get("whole"):  # else a run was killed before renaming the file
            texts = None if self.forget_sentences else self.texts.to_index()
            self.output.finish(self.sentences, texts)
            self.work.commit(done | {"whole": True})
        self.work.finish(self.output.converted())

    def _summary(self, finished, seconds):
        return Summary(
            output=self.work.output,
            finished=finished,
            sentences=self.sentences,
            tokens=self.tokens,
            words=self.n_words,
            seconds=seconds,
            tokens_now=self.tokens_now,
            texts_left_out=self.texts.too_long and not self.forget_sentences,
        )


def _output(work, vectors, *, n_shards, texts):
    """What writes the format that the output's name asks for."""
    kind = vectors.shape, vectors.dtype
    if is_npy(work.output):
        return NpyOutput(work.file, *kind, n_shards=n_shards)
    if is_hdf5(work.output):
        return Hdf5Output(work.file)
    # pyarrow is imported only for Parquet.
    from elmo_keras.embed.parquet_output import ParquetOutput

    return ParquetOutput(work.file, *kind, texts=texts)
