"""One checkout's training and pipelines, by names that earlier versions have too.

    python checkout.py FOLDER training|pipelines

FOLDER holds `sentences.txt`. PYTHONPATH names the checkout.
"""

import itertools
import os
import sys
import time
from pathlib import Path

import protocol

ROWS, STEPS, NEGATIVES, WORDS = 128, 20, 8192, 50_000
EPOCHS = 3  # the first one traces


def main(folder: Path, job: str) -> None:
    # Each checkout has files of its own for LiteRT.
    place = Path(os.environ["PYTHONPATH"]).name
    os.environ["ELMO_KERAS_CACHE"] = str(folder / f"cache-{place}")
    work = {"training": training, "pipelines": pipelines}[job]
    run = work(protocol.read(folder / "sentences.txt"))
    protocol.answer_requests(job, {"run": run})


def training(sentences: protocol.Sentences):
    """The seconds of a step, in epochs of a few steps."""
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
    text = [*itertools.islice(itertools.cycle(sentences), ROWS * STEPS // 10)]
    n_steps = sum(len(sentence) + 1 for sentence in text) / (ROWS * STEPS)
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
        return {"seconds": (ends[-1] - ends[0]) / (EPOCHS - 1) / n_steps}

    return run


def pipelines(sentences: protocol.Sentences):
    from elmo_keras import pipeline

    heads = [pipeline("en-pos"), pipeline("en-ner")]
    lines = [" ".join(sentence) for sentence in sentences]
    return lambda: protocol.timed(
        sentences, lambda: [len(head(lines)) for head in heads]
    )


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
