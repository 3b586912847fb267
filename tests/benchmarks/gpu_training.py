"""Trains the language models of the package on one NVIDIA GPU.

    python -m tests.benchmarks.gpu_training DATA OUT en

DATA is the folder of the corpora, OUT becomes a model directory, for `en` or `ko`. It
needs PyTorch with Triton. The steps are those of `elmo-keras train --optimizer muon
--schedule cosine`, but rows may begin within a sentence.
"""

import collections
import dataclasses
import math
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np
import torch
import triton  # noqa: F401  before TensorFlow, or LLVM's options meet twice

from elmo_keras import BidirectionalLanguageModel, ElmoConfig
from elmo_keras.formats.model_directory import save_model
from elmo_keras.layers.blocked_weights import blocked, plain
from elmo_keras.progress import Progress
from elmo_keras.text.corpus import BEGIN, END, Corpus
from elmo_keras.text.files import read_sentences
from elmo_keras.text.vocabulary import Vocabulary
from elmo_keras.text.word_ids import WordIds
from tests.benchmarks import runner
from tests.benchmarks.workers.gpu_step import Trainer

STEPS, ROWS, NEGATIVES, DRAWS = 20, 1024, 8192, 2**17
RATE, ZERO_STATE, SEED, WARM_UP = 0.005, 0.8, 1, 1000


class Recipe(NamedTuple):
    times: dict[str, int]  # files, and how often each is read
    vocabulary_size: int
    dropout: float
    # The greatest places where padding begins, of words that are computed together.
    lengths: tuple[int, ...]


RECIPES = {
    "en": Recipe(
        {
            "en_wiki/train.txt": 12,
            "en_simplewiki/train.txt.gz": 8,
            "en_wiki_articles/train.txt.gz": 12,
            "en_textbooks/train.txt.gz": 9,
            "en_government/train.txt.gz": 9,
            "en_docs/train.txt.gz": 8,
            "en_parliament/train.txt.gz": 6,
            "en_books/train.txt.gz": 6,
            "en_books_more/train.txt.gz": 4,
        },
        50_000,
        0.02,
        (12, 18),
    ),
    "ko": Recipe(
        {
            "ko_wiki/train.txt": 10,
            "ko_wiki_more/train.txt.gz": 10,
            "ko_wiki_rest/train.txt.gz": 10,
            "ko_nsmc/lm_train.txt": 10,
            "ko_law/train.txt.gz": 6,
            "ko_docs/train.txt.gz": 10,
            "ko_essays/train.txt.gz": 12,
        },
        75_000,
        0.1,
        (17, 24),
    ),
}


def main(data: Path, out: Path, language: Literal["en", "ko"], /) -> None:
    recipe = RECIPES[language]
    config = dataclasses.replace(ElmoConfig.preset("small"), tokenizer="words")
    corpus, times = read_corpus([(data / f, n) for f, n in recipe.times.items()])
    counts = dict(zip(corpus.words, corpus.counts().tolist()))
    vocabulary = Vocabulary.from_counts(counts, recipe.vocabulary_size, 2)
    bilm = BidirectionalLanguageModel(config, vocabulary_size=len(vocabulary))
    bilm.build()
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = False
    torch.manual_seed(SEED)
    streams = Streams(corpus, times, vocabulary, config, lengths=recipe.lengths)
    trainer = Trainer(
        {name: torch.from_numpy(w).cuda() for name, w in weights_of(bilm).items()},
        config.filters,
        steps=STEPS,
        rows=ROWS,
        characters=config.max_characters_per_token,
        dtype=torch.bfloat16,
        dropout=recipe.dropout,
    )
    train(trainer, streams)
    put_weights(bilm, {k: v.detach().cpu().numpy() for k, v in trainer.weights.items()})
    options = {
        "bidirectional": True,
        "n_epochs": 1,
        "batch_size": ROWS,
        "unroll_steps": STEPS,
        "n_negative_samples_batch": NEGATIVES,
        "learning_rate": RATE,
        "dropout": recipe.dropout,
        "all_clip_norm_val": 10.0,
        "sample_softmax": True,
        "n_train_tokens": int((corpus.lengths() * times).sum()),
        "n_tokens_vocab": len(vocabulary),
    }
    save_model(out, bilm, vocabulary, options=options)


def read_corpus(files: Sequence[tuple[Path, int]]) -> tuple[Corpus, np.ndarray]:
    """The sentences of all files, and how often each is to be read."""
    times = []

    def sentences() -> Iterator[list[str]]:
        for file, n in files:
            for sentence in read_sentences([str(file)]):
                times.append(n)
                yield sentence

    return Corpus.from_sentences(sentences()), np.array(times)


def train(trainer: Trainer, streams: "Streams") -> None:
    n_steps, of_batches = streams.n_steps, torch.cuda.Stream()
    warm_up = min(WARM_UP, n_steps // 10)

    def fetch(step):
        # Only its own stream is waited for: the steps before go on.
        with torch.cuda.stream(of_batches):
            return streams.batch(step), of_batches.record_event()

    following, losses = fetch(0), []
    with Progress(total=n_steps * STEPS * ROWS, unit=" tokens") as progress:
        for step in range(n_steps):
            batch, ready = following
            torch.cuda.current_stream().wait_event(ready)
            for tensor in (*batch["characters"], *_tensors(batch)):
                tensor.record_stream(torch.cuda.current_stream())
            following = fetch(min(step + 1, n_steps - 1))
            if step < warm_up:
                rate = RATE * (step + 1) / warm_up
            else:
                done = (step - warm_up) / (n_steps - warm_up)
                rate = RATE * (1 + math.cos(math.pi * done)) / 2
            losses.append(trainer.step(batch, rate))
            progress.update(STEPS * ROWS)
            if len(losses) == 100:
                loss = torch.stack(losses).mean().item()
                progress.set_postfix_str(f"sampled loss {loss:.3f} nats")
                losses.clear()


def _tensors(batch):
    return (x for x in batch.values() if isinstance(x, torch.Tensor))


class Streams:
    """The batches of a corpus, made on the device."""

    def __init__(
        self, corpus, times, vocabulary, config, *, lengths, rows=ROWS, device="cuda"
    ):
        self.device, self.rows = torch.device(device), rows
        self.random = torch.Generator(self.device).manual_seed(SEED)
        characters, ends = WordIds(config)([word.encode() for word in corpus.words])
        # Words get new ids: those of like length are neighbours.
        group = np.searchsorted(lengths, ends)
        order = np.argsort(group, kind="stable")
        new_ids = self._put(np.argsort(order))
        self.characters = self._put((characters[order] - 1).astype(np.int16))
        self.bounds = self._put(
            np.searchsorted(group[order], range(1, len(lengths) + 1))
        )
        width = max(width for width, _ in config.filters)
        self.lengths = [*(n + width for n in lengths), config.max_characters_per_token]
        self.begin, self.end = int(new_ids[BEGIN]), int(new_ids[END])
        self.vocabulary_size = len(vocabulary)
        self.in_vocabulary = self._put(vocabulary.encode(corpus.words)[order]).long()
        self._put_in_order(corpus, times, new_ids)

    def _put(self, array):
        return torch.from_numpy(np.ascontiguousarray(array)).to(self.device)

    def _put_in_order(self, corpus, times, new_ids):
        """All sentences in random order: `forward` and `backward`, each from a boundary on."""
        tokens, ends = self._put(corpus.tokens), self._put(corpus.ends)
        sentences = torch.repeat_interleave(self._put(times))
        shuffled = torch.randperm(
            len(sentences), generator=self.random, device=self.device
        )
        sentences = sentences[shuffled]
        lengths = torch.diff(ends, prepend=ends.new_zeros(1))[sentences]
        lasts = ends[sentences]
        starts = torch.cumsum(lengths + 1, 0) - lengths - 1
        total = int(lengths.sum()) + len(lengths)
        self.forward = torch.empty(total, dtype=torch.int32, device=self.device)
        self.backward = torch.empty_like(self.forward)
        for some in torch.arange(len(sentences), device=self.device).split(2**20):
            n, last = lengths[some], lasts[some]
            sentence = torch.repeat_interleave(n + 1)
            first = int(starts[some[0]])
            offset = torch.arange(len(sentence), device=self.device)
            offset -= (starts[some] - first)[sentence]
            n, last, boundary = n[sentence], last[sentence], offset == 0
            part = slice(first, first + len(sentence))
            for stream, at, token in (
                (self.forward, last - n + offset - 1, self.begin),
                (self.backward, last - offset, self.end),
            ):
                ids = new_ids[tokens[at.clamp(0, len(tokens) - 1)].long()]
                stream[part] = torch.where(boundary, token, ids).int()

    @property
    def n_steps(self) -> int:
        return len(self.forward) // (STEPS * self.rows)

    def batch(self, step: int) -> dict:
        rows = torch.arange(self.rows, device=self.device)
        rows *= (len(self.forward) - 1) // self.rows
        steps = torch.arange(STEPS + 1, device=self.device) + step * STEPS
        at = (rows + steps[:, None]) % len(self.forward)
        ahead, back = self.forward[at], self.backward[at]
        targets = torch.stack(
            [
                torch.where(ahead[1:] == self.begin, self.end, ahead[1:]),
                torch.where(back[1:] == self.end, self.begin, back[1:]),
            ]
        )
        targets = self.in_vocabulary[targets.long()].flatten(1)
        chance = torch.rand(at[1:].shape, generator=self.random, device=self.device)
        from_zero = (ahead[:-1] == self.begin) & (chance < ZERO_STATE)
        distinct, words = torch.unique(
            torch.stack([ahead[:-1], back[:-1]]), return_inverse=True
        )
        cuts = torch.searchsorted(distinct, self.bounds.int())
        groups = zip(distinct.long().tensor_split(cuts.cpu()), self.lengths)
        negatives, expected = zip(*(self._negatives() for _ in range(2)))
        hits = torch.full((2, self.vocabulary_size), NEGATIVES, device=self.device)
        for row, ids in zip(hits, negatives):
            row[ids] = torch.arange(len(ids), device=self.device)
        return {
            "characters": [
                self.characters[ids][:, :n].long() for ids, n in groups if len(ids)
            ],
            "words": words,
            "targets": targets,
            "goes_on": 1 - from_zero.float(),
            "negatives": torch.stack(negatives),
            "log_expected": torch.stack(expected),
            "hits": torch.gather(hits, 1, targets).int(),
        }

    def _negatives(self):
        """As `training.streams.draw_negatives`; the logs are those of all words."""
        size = self.vocabulary_size
        draws = torch.rand(
            DRAWS, generator=self.random, device=self.device, dtype=torch.float64
        )
        ids = torch.expm1(draws * math.log1p(size)).long().clamp_(max=size - 1)
        order = torch.arange(DRAWS, device=self.device)
        first = torch.full_like(order[:size], DRAWS)
        first.scatter_reduce_(0, ids, order, "amin")
        first, ids = first.sort()
        n_draws = (first[NEGATIVES - 1] + 1).double()
        ranks = torch.arange(1, size + 1, device=self.device, dtype=torch.float64)
        probability = torch.log1p(1 / ranks) / math.log1p(size)
        expected = -torch.expm1(n_draws * torch.log1p(-probability))
        return ids[:NEGATIVES], expected.log().float()


def weights_of(bilm: BidirectionalLanguageModel) -> dict[str, np.ndarray]:
    """The weights by the names of `gpu_step`; `put_weights` writes them back."""
    weights, widest = {}, max(width for width, _ in bilm.config.filters)
    for name, parts in _variables(bilm).items():
        arrays = [plain(p).numpy() if len(p.shape) == 4 else p.numpy() for p in parts]
        if name == "convolution":
            arrays = [
                np.pad(a, [(0, widest - len(a)), (0, 0), (0, 0)]).reshape(
                    -1, a.shape[2]
                )
                for a in arrays
            ]
        both = name[-1] in "01"  # directions
        weights[name] = np.stack(arrays) if both else np.concatenate(arrays, axis=-1)
    return weights


def put_weights(bilm: BidirectionalLanguageModel, weights) -> None:
    for name, parts in _variables(bilm).items():
        first = 0
        for direction, part in enumerate(parts):
            if name[-1] in "01":
                values = weights[name][direction]
                part.assign(blocked(values) if len(part.shape) == 4 else values)
                continue
            count = part.shape[-1]
            values = weights[name][..., first : first + count]
            if name == "convolution":
                width, dim, _ = part.shape
                values = values[: width * dim].reshape(part.shape)
            part.assign(values)
            first += count


def _variables(bilm):
    words, variables = bilm.token_representation, collections.defaultdict(list)
    (highway,) = words.highways
    variables |= {
        "embeddings": [words.embeddings],
        "convolution": words.kernels,
        "bias": words.biases,
        "carry": [highway.carry_kernel],
        "carry_bias": [highway.carry_bias],
        "transform": [highway.transform_kernel],
        "transform_bias": [highway.transform_bias],
        "projection": [words.projection.kernel],
        "projection_bias": [words.projection.bias],
        "softmax": [bilm.softmax.kernel],
        "softmax_bias": [bilm.softmax.bias],
    }
    for direction in (bilm.lstm.forward, bilm.lstm.backward):
        for i, lstm in enumerate(direction.lstms):
            variables[f"kernel_{i}"].append(lstm.kernel)
            variables[f"recurrent_{i}"].append(lstm.recurrent_kernel)
            variables[f"lstm_bias_{i}"].append(lstm.bias)
            variables[f"lstm_projection_{i}"].append(lstm.projection_kernel)
    return variables


if __name__ == "__main__":
    runner.run(main)
