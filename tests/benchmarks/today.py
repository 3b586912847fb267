"""Compares `en` with what else gives vectors of words today: frozen features of single words.

    python -m tests.benchmarks.today --data FOLDER

FOLDER holds the corpora. word2vec (skip-grams, 256 dimensions, one epoch) learns from the
text that `en` learned from. A logistic regression learns entities of Wikigold and parts of
speech of EWT from few and from many sentences. Whole sentences: how often the cosine to a
sentence of SNLI is higher for one that follows from it than for one that contradicts it.
Systems take turns at 512 sentences of Wikipedia.
"""

import collections
import functools
import random
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler

from elmo_keras.heads import read_columns, read_conllu
from elmo_keras.heads.tagger.entities import count_spans, entities, f1_of_spans
from tests.benchmarks import runner
from tools.make_heads import WIKIGOLD

TEXTS = (
    "en_wiki/train.txt en_simplewiki/train.txt.gz en_wiki_articles/train.txt.gz "
    "en_textbooks/train.txt.gz en_government/train.txt.gz en_docs/train.txt.gz "
    "en_parliament/train.txt.gz en_books/train.txt.gz en_books_more/train.txt.gz"
).split()
N_HELD_OUT = 336  # sentences of Wikigold
FEW, MANY = {"ner": 136, "pos": 100}, {"ner": 1360, "pos": 2000}


def main(
    *,
    data: Path,
    rounds: runner.Count = 5,
) -> None:
    texts = [data / name for name in TEXTS]
    commands = {
        "`en` in int8": ("ours", ".", "features"),
        "word2vec of the same text": ("with_word2vec", *texts),
        "all-MiniLM-L6-v2": ("with_minilm",),
        "spaCy's en_core_web_sm": ("with_spacy",),
    }
    sentences = runner.read(data / "en_wiki/valid.txt")[:512]
    pairs = read_pairs(data / "en_snli/dev.txt")
    processes = {
        name: functools.partial(runner.worker, *command)
        for name, command in commands.items()
    }
    # word2vec learns first.
    quick = {n: p for n, p in processes.items() if "word2vec" not in n}
    first = runner.first_answers(
        quick, lambda system: system.ask("run", sentences=sentences[:1]), rounds=rounds
    )
    with runner.started(processes) as systems:
        turns = runner.in_turns(
            systems,
            lambda system, _: system.ask("run", sentences=sentences),
            rounds=rounds,
            warm_up=1,
        )
        names = "entities, F1, 136 / 1,360", "parts of speech, 100 / 2,000", "sentences"
        speed = runner.speeds(turns)
        runner.head("", "MB", "first vectors, s", runner.RATE, *names)
        for name, system in systems.items():
            scores = probe(system, data)
            cosines = np.array(system.ask("cosines", pairs=pairs)).reshape(-1, 2)
            start = runner.spread(first[name], 2) if name in first else "–"
            size = f"{system.hello['megabytes']:.0f}"
            rate = runner.spread(speed[name])
            runner.row(name, size, start, rate, *scores, share_right(cosines))
        shared = np.array([trigram_cosine(*pair) for pair in pairs]).reshape(-1, 2)
        runner.row("character trigrams", *5 * ["–"], share_right(shared))


def read_pairs(path: Path) -> list[tuple[list[str], list[str]]]:
    """Each premise with a hypothesis that follows, and again with one that contradicts."""
    hypotheses = collections.defaultdict(dict)
    for line in path.read_text("utf-8").splitlines():
        premise, hypothesis, label = line.split("\t")
        hypotheses[premise].setdefault(label, hypothesis)
    return [
        (premise.split(), by_label[label].split())
        for premise, by_label in hypotheses.items()
        if {"0", "2"} <= by_label.keys()
        for label in "02"
    ]


def share_right(cosines: np.ndarray) -> str:
    """How often the first is the higher one; ties count half."""
    right = (np.sign(cosines[:, 0] - cosines[:, 1]) + 1) / 2
    return f"{100 * right.mean():.1f}"


def trigram_cosine(*sentences: Sequence[str]) -> float:
    a, b = (
        collections.Counter(text[i : i + 3] for i in range(len(text) - 2))
        for text in (f" {' '.join(tokens)} " for tokens in sentences)
    )
    lengths = (sum(n * n for n in counts.values()) ** 0.5 for counts in (a, b))
    return sum(n * b[part] for part, n in a.items()) / np.prod([*lengths])


def probe(system: runner.Worker, data: Path) -> list[str]:
    """F1 of entities and accuracy of parts of speech by a logistic regression."""
    # A classifier of single words sees no first words: neighbours of a type are one entity.
    gold = [
        e | {"tags": [tag.replace("B-", "I-") for tag in e["tags"]]}
        for e in read_columns(data / WIKIGOLD)
    ]
    random.Random(1).shuffle(gold)
    names = (data / f"en_ewt/en_ewt-ud-{part}.conllu" for part in ("train", "dev"))
    train, dev = map(read_conllu, names)
    n = MANY["ner"]
    sets = {
        "ner": (gold[:n], gold[n : n + N_HELD_OUT]),
        "pos": (train[: MANY["pos"]], dev),
    }
    cells = []
    for task, parts in sets.items():
        train, test = (features(system, part) for part in parts)
        scores = [score(task, size[task], train, test, *parts) for size in (FEW, MANY)]
        cells.append(" / ".join(f"{100 * value:.1f}" for value in scores))
    return cells


def features(system: runner.Worker, examples: list[dict]) -> list[np.ndarray]:
    """The vectors of each sentence's words."""
    tokens = [example["tokens"] for example in examples]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "features.npy"
        system.ask("save", sentences=tokens, path=str(path))
        vectors = np.load(path).astype(np.float32)
    return np.split(vectors, np.cumsum([len(sentence) for sentence in tokens])[:-1])


def score(task, size, train, test, train_examples, test_examples) -> float:
    """F1 of entities, or the accuracy."""
    x = np.concatenate(train[:size])
    y = [tag for example in train_examples[:size] for tag in example["tags"]]
    scaler = StandardScaler().fit(x)
    model = LogisticRegression(C=0.01, max_iter=300).fit(scaler.transform(x), y)
    predicted = model.predict(scaler.transform(np.concatenate(test)))
    ends = np.cumsum([len(x) for x in test])[:-1]
    rows = [row.tolist() for row in np.split(predicted, ends)]
    gold = [example["tags"] for example in test_examples]
    if task == "pos":
        return np.mean(predicted == np.concatenate(gold))
    counts = [count_spans(entities(a), entities(b)) for a, b in zip(gold, rows)]
    return f1_of_spans(*(sum(column) for column in zip(*counts)))["F1"]


if __name__ == "__main__":
    runner.run(main)
