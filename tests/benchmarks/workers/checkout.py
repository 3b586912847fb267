"""One checkout's side of `checkouts`, by names that earlier versions have too.

    python checkout.py JOB FOLDER

JOB is `float32`, `int8` (`en`), `training` or `pipelines`; FOLDER holds a model of random
weights and `sentences.txt`. PYTHONPATH names the checkout.
"""

import itertools
import os
import sys
import time
from pathlib import Path

import protocol

BATCH = 32
ROWS, STEPS, NEGATIVES, WORDS = 128, 20, 8192, 50_000
EPOCHS = 3  # the first one traces


def main(job: str, folder: Path) -> None:
    # Each checkout has files of its own for LiteRT.
    place = Path(os.environ["PYTHONPATH"]).name
    os.environ["ELMO_KERAS_CACHE"] = str(folder / f"cache-{place}")
    sentences = protocol.read(folder / "sentences.txt")
    if job == "training":
        requests = {"run": training(sentences)}
    elif job == "pipelines":
        requests = {"run": pipelines(sentences)}
    else:
        requests = embedding(folder, job, sentences)
    protocol.answer_requests(job, requests)


def embedding(folder: Path, arithmetic: str, sentences: protocol.Sentences) -> dict:
    from elmo_keras import Embedder, embed_corpus

    model = "en" if arithmetic == "int8" else folder
    embedder = Embedder(model, layers="all", arithmetic=arithmetic)

    def run(size: int, number: int | None = None) -> dict:
        some = sentences[:number]
        batches = [some[i : i + size] for i in range(0, len(some), size)]
        return protocol.timed(some, lambda: list(map(embedder.encode, batches)) and 0)

    def file() -> dict:
        output = folder / f"{os.getpid()}.npy"
        new = Embedder(model, layers="top", pooling="mean", arithmetic=arithmetic)
        new.encode([["a"]])
        text = folder / "sentences.txt"
        work = lambda: embed_corpus(new, text, output, overwrite=True) and 0
        return protocol.timed(sentences, work)

    return {"run": run, "file": file}


def training(sentences: protocol.Sentences):
    """The seconds of a step, with the text of an epoch over."""
    import keras

    from elmo_keras import (
        BidirectionalLanguageModel,
        Corpus,
        ElmoConfig,
        Streams,
        TrainableLanguageModel,
        Vocabulary,
    )

    words = Vocabulary.count(sentences).words
    made_up = [f"made-up-{i}" for i in range(WORDS - len(words))]
    vocabulary, config = Vocabulary([*words, *made_up]), ElmoConfig.preset("small")
    n_tokens = (2 + EPOCHS) * ROWS * STEPS
    text, n = [], 0
    for sentence in itertools.cycle(sentences):
        if n >= n_tokens:
            break
        text.append(sentence)
        n += len(sentence) + 1
    streams = Streams(
        Corpus.from_sentences(text),
        vocabulary,
        config,
        n_rows=ROWS,
        unroll_steps=STEPS,
        n_negatives=NEGATIVES,
    )
    bilm = BidirectionalLanguageModel(config, vocabulary_size=len(vocabulary))
    model = TrainableLanguageModel(bilm)
    model.compile(keras.optimizers.Adam(0.001))
    ends: list[float] = []
    clock = keras.callbacks.LambdaCallback(
        on_epoch_end=lambda *_: ends.append(time.perf_counter())
    )

    def run() -> dict:
        ends.clear()
        model.fit(streams, epochs=EPOCHS, verbose=0, callbacks=[clock])
        n_steps = streams.n_steps(0) * (EPOCHS - 1)
        return {"seconds": (ends[-1] - ends[0]) / n_steps}

    return run


def pipelines(sentences: protocol.Sentences):
    from elmo_keras import pipeline

    heads = [pipeline("en-pos"), pipeline("en-ner")]
    lines = [" ".join(sentence) for sentence in sentences]
    return lambda: protocol.timed(
        sentences, lambda: [len(head(lines)) for head in heads]
    )


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
