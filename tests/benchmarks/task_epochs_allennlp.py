"""AllenNLP's side of the benchmark of epochs; `task_epochs.py` starts it.

python task_epochs_allennlp.py FILE

FILE holds the examples as JSON. The tagger is that of `elmo_keras.tasks.tag` without
ELMo, made of AllenNLP's modules: its sizes, its optimizer, and batches of sentences of
similar length. Tokens are numbered once, before the first epoch. Each line of standard
input asks for an epoch of training.
"""

import collections
import json
import os
import random
import sys
import time
from pathlib import Path

import allennlp_imports  # noqa: F401
import torch
from allennlp.modules.conditional_random_field.conditional_random_field import (
    ConditionalRandomField,
)
from allennlp.modules.seq2seq_encoders.pytorch_seq2seq_wrapper import (
    PytorchSeq2SeqWrapper,
)
from allennlp.modules.seq2vec_encoders.cnn_encoder import CnnEncoder

BATCH_SIZE, SORTED_TOGETHER = 32, 32
WORD_DIM, CHARACTER_DIM, UNITS, DROPOUT = 100, 16, 100, 0.3
N_FILTERS, WIDTHS, LONGEST = 32, (3, 6), 50


class Tagger(torch.nn.Module):
    """Words and characters, a biLSTM and a CRF."""

    def __init__(self, n_words: int, n_tags: int):
        super().__init__()
        self.words = torch.nn.Embedding(n_words, WORD_DIM, padding_idx=0)
        self.letters = torch.nn.Embedding(257, CHARACTER_DIM, padding_idx=0)
        self.cnn = CnnEncoder(CHARACTER_DIM, N_FILTERS, WIDTHS)
        size = WORD_DIM + N_FILTERS * len(WIDTHS)
        lstm = torch.nn.LSTM(size, UNITS, bidirectional=True, batch_first=True)
        self.lstm = PytorchSeq2SeqWrapper(lstm)
        self.scores = torch.nn.Linear(2 * UNITS, n_tags)
        self.dropout = torch.nn.Dropout(DROPOUT)
        self.crf = ConditionalRandomField(n_tags)

    def forward(self, words, letters, tags):
        """The loss: the mean over tokens of −log p."""
        mask = words > 0
        flat = letters.flatten(0, 1)
        of_letters = self.cnn(self.letters(flat), flat > 0)
        of_letters = of_letters.reshape(*words.shape, -1)
        x = self.dropout(torch.cat([self.words(words), of_letters], dim=-1))
        scores = self.scores(self.dropout(self.lstm(x, mask)))
        return -self.crf(scores, tags, mask) / mask.sum()


def main(file: Path) -> None:
    """Trains an epoch for each line of standard input."""
    torch.set_num_threads(len(os.sched_getaffinity(0)))
    torch.manual_seed(1)
    rows, n_words, n_tags = numbered(json.loads(file.read_text(encoding="utf-8")))
    model = Tagger(n_words, n_tags)
    optimizer = torch.optim.Adam(model.parameters(), 3e-3)
    print(json.dumps({"examples": len(rows)}), flush=True)
    for epoch, _ in enumerate(sys.stdin, 1):
        start, processor = time.perf_counter(), time.process_time()
        losses = [step(model, optimizer, batch) for batch in batches(rows, epoch)]
        answer = {
            "seconds": time.perf_counter() - start,
            "processor": time.process_time() - processor,
            "loss": sum(losses) / len(losses),
        }
        print(json.dumps(answer), flush=True)


def numbered(examples):
    """Words, letters and tags of each sentence as numbers, and how many there are."""
    counts = collections.Counter(w.lower() for e in examples for w in e["tokens"])
    frequent = [word for word, count in counts.items() if count >= 2]
    words = {word: i for i, word in enumerate(frequent, 2)}  # 0 padding, 1 others
    names = sorted({tag for e in examples for tag in e["tags"]})
    rows = [
        (
            torch.tensor([words.get(word.lower(), 1) for word in e["tokens"]]),
            [torch.tensor([*word.encode()[:LONGEST]]) + 1 for word in e["tokens"]],
            torch.tensor([names.index(tag) for tag in e["tags"]]),
        )
        for e in examples
    ]
    return rows, len(words) + 2, len(names)


def batches(rows, epoch):
    """Random batches of sentences of similar length, padded, in random order."""
    rng = random.Random(epoch)
    rows = rng.sample(rows, len(rows))
    at_once = SORTED_TOGETHER * BATCH_SIZE
    made = []
    for first in range(0, len(rows), at_once):
        some = sorted(rows[first : first + at_once], key=lambda row: len(row[0]))
        made += [some[i : i + BATCH_SIZE] for i in range(0, len(some), BATCH_SIZE)]
    rng.shuffle(made)
    for batch in made:
        words, letters, tags = zip(*batch)
        pad = torch.nn.utils.rnn.pad_sequence
        words, tags = pad(words, batch_first=True), pad(tags, batch_first=True)
        longest = max(len(word) for sentence in letters for word in sentence)
        padded = torch.zeros(*words.shape, max(longest, *WIDTHS), dtype=torch.long)
        for row, sentence in zip(padded, letters):
            row[: len(sentence), :longest] = torch.nn.functional.pad(
                pad(sentence, batch_first=True),
                (0, longest - max(map(len, sentence))),
            )
        yield words, padded, tags


def step(model, optimizer, batch) -> float:
    """A step of training; returns the loss."""
    optimizer.zero_grad()
    loss = model(*batch)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
    optimizer.step()
    return loss.item()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
