"""Trains a bidirectional language model and looks at what it learned.

    python train.py
    python train.py --train 'text/*.txt' --valid valid.txt --output MODEL_DIR

Without arguments it reads the English text that every Python installation
carries. Text files hold one sentence a line, tokens separated by spaces.
"""

import argparse
import dataclasses
import math
import os
import signal
import sys
import tempfile
import threading
import time
from pathlib import Path

import keras
import numpy as np
import tensorflow as tf

from elmo_keras import BidirectionalLanguageModel, Elmo, ElmoConfig, Vocabulary
from elmo_keras.characters import words_cut
from elmo_keras.config import PRESETS
from elmo_keras.corpus import Corpus, read_sentences, stream_batches
from elmo_keras.model_directory import OPTIONS, save_model
from elmo_keras.neighbors import context_vectors, nearest, occurrences
from elmo_keras.perplexity import perplexity
from elmo_keras.python_reference import python_reference
from elmo_keras.training import TrainingOptions, adagrad, train_step, zero_state
from elmo_keras.vocabulary import SPECIAL_WORDS

HELD_OUT = slice(5, None, 10)  # topics of Python's reference
EXAMPLE = {"n_epochs": 14, "batch_size": 32, "learning_rate": 0.1}
EXAMPLE_WORD = "return"
NEIGHBORS = 3
UNKNOWN = SPECIAL_WORDS.index("<UNK>")
INTERRUPTED = 130  # exit status of a program ended by Ctrl-C


def main(arguments=None) -> int:
    """Runs the program; returns its exit status."""
    options = parser().parse_args(arguments)
    try:
        text = read(options)
    except (ValueError, OSError) as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 2
    try:
        return run(options, *text)
    except FloatingPointError as error:
        print(f"train.py: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("\nInterrupted.")
        return INTERRUPTED


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--train", nargs="+", metavar="PATTERN", help="text to train on")
    p.add_argument("--valid", nargs="+", metavar="PATTERN", help="held-out text")
    p.add_argument("--output", default="model", metavar="MODEL_DIR", type=Path)
    p.add_argument("--preset", default="tiny", choices=sorted(PRESETS))
    p.add_argument("--epochs", type=positive(int))
    p.add_argument("--steps", type=positive(int), help="stop after so many")
    p.add_argument("--seed", default=0, type=seed)
    p.add_argument("--batch-size", type=positive(int))
    p.add_argument("--negatives", type=positive(int), help="of the sampled softmax")
    p.add_argument("--learning-rate", type=positive(float))
    p.add_argument("--vocabulary-size", type=positive(int), help="most words to keep")
    p.add_argument(
        "--min-count", default=2, type=positive(int), help="rarer words are <UNK>"
    )
    p.add_argument(
        "--max-characters-per-token", type=positive(int), help="longer words are cut"
    )
    p.add_argument("--cut-at", choices=["byte", "character"])
    p.add_argument("--unicode-normalization", choices=["NFC"])
    p.add_argument("--neighbors", metavar="WORD", help="show the uses of this word")
    return p


def positive(kind):
    """An argparse type: a number above 0."""

    def parse(text):
        number = kind(text)
        if not 0 < number < math.inf:
            raise argparse.ArgumentTypeError(f"should be above 0, not {text}")
        return number

    parse.__name__ = kind.__name__
    return parse


def seed(text):
    """An argparse type: a number that every generator takes."""
    if not 0 <= int(text) < 2**32:
        raise argparse.ArgumentTypeError(f"should be from 0 to 2**32 - 1, not {text}")
    return int(text)


def read(arguments):
    """The text and all that can be wrong with it, before anything is computed.

    Returns:
        The configuration of the model, sentences to train on, sentences held
        out, the vocabulary, and the uses of the word whose neighbours are to be
        shown.
    """
    output = arguments.output
    if (output / OPTIONS).exists():
        raise ValueError(f"{output} holds a model already. Give another --output.")
    train, valid = texts(arguments)
    uses = uses_to_show(arguments, train + valid)
    vocabulary = Vocabulary.count(train, arguments.vocabulary_size, arguments.min_count)
    config = model_config(arguments)
    output.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryFile(dir=output):
        pass  # it can be written to
    return config, train, valid, vocabulary, uses


def run(arguments, config, train, valid, vocabulary, uses) -> int:
    """Trains, evaluates, saves, shows what was learned: the exit status."""
    keras.utils.set_random_seed(arguments.seed)
    train, valid = Corpus.of(train), Corpus.of(valid)
    print(f"Training text: {describe(train, vocabulary, config)}")
    print(f"Held-out text: {describe(valid, vocabulary, config)}")
    options = training_options(arguments)
    bilm = BidirectionalLanguageModel(config, len(vocabulary), options.dropout)
    bilm.build()
    print(f"Model: {arguments.preset}, {bilm.count_params():,} parameters")
    before = perplexity(bilm, valid, vocabulary)
    print(f"Held-out perplexity before training: {before}")
    finished = fit(bilm, train, valid, vocabulary, options, arguments)
    counts = len(train.tokens), len(vocabulary)
    output = arguments.output
    if (output / OPTIONS).exists():  # since the training began
        output = output.with_name(f"{output.name}-{os.getpid()}")
    save_model(output, bilm, vocabulary, options.to_options(*counts))
    print(f"The model is in {output}")
    if not finished:
        return INTERRUPTED
    tell_progress(before, perplexity(bilm, valid, vocabulary))
    if uses:
        show_neighbors(Elmo.from_pretrained(output), uses)
    return 0


def model_config(arguments) -> ElmoConfig:
    """The preset, with what is asked for instead."""
    names = "max_characters_per_token", "cut_at", "unicode_normalization"
    given = {name: getattr(arguments, name) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    return dataclasses.replace(ElmoConfig.preset(arguments.preset), **given)


def training_options(arguments) -> TrainingOptions:
    """The published ones, those of the example without text, or as given."""
    given = {
        "n_epochs": arguments.epochs,
        "batch_size": arguments.batch_size,
        "n_negative_samples_batch": arguments.negatives,
        "learning_rate": arguments.learning_rate,
    }
    given = {name: value for name, value in given.items() if value is not None}
    return TrainingOptions(**({} if arguments.train else EXAMPLE) | given)


def uses_to_show(arguments, sentences):
    """Every use of the word whose neighbours are to be shown; none without one."""
    word = arguments.neighbors or (None if arguments.train else EXAMPLE_WORD)
    if word is None:
        return []
    uses = occurrences(sentences, word)
    if len(uses) <= NEIGHBORS:
        raise ValueError(
            f"--neighbors {word}: it stands in the text {len(uses)} times, and "
            f"{NEIGHBORS + 1} uses are needed."
        )
    return uses


def tell_progress(before, after):
    """Prints both perplexities one below the other."""
    print(f"Held-out perplexity before training: {before}")
    print(f"Held-out perplexity after training:  {after}")
    times = before.mean / after.mean
    verb = "fell to 1/" if times >= 1 else "rose to "
    print(f"The mean {verb}{max(times, 1 / times):.1f} of what it was")


def texts(arguments):
    """Sentences to train on, and sentences held out."""
    if arguments.train and arguments.valid:
        patterns = arguments.train, arguments.valid
        train, valid = (list(read_sentences(pattern)) for pattern in patterns)
    elif arguments.train or arguments.valid:
        raise ValueError("--train and --valid should be given together.")
    else:
        topics = python_reference()
        held_out = range(len(topics))[HELD_OUT]
        train = [s for i, t in enumerate(topics) if i not in held_out for s in t]
        valid = [s for i, t in enumerate(topics) if i in held_out for s in t]
    for option, sentences in (("--train", train), ("--valid", valid)):
        if not sentences:
            raise ValueError(f"The files of {option} hold no sentence.")
    return train, valid


def describe(corpus, vocabulary, config):
    """What a corpus holds, in a line."""
    unknown = np.mean(vocabulary.encode(corpus.words)[corpus.tokens] == UNKNOWN)
    cut = np.mean(words_cut(corpus.words, config).numpy()[corpus.tokens])
    return (
        f"{len(corpus):,} sentences, {len(corpus.tokens):,} tokens; {unknown:.1%} are "
        f"not among the {len(vocabulary):,} words of the vocabulary, {cut:.1%} have "
        f"more than {config.max_characters_per_token - 2} bytes and are cut"
    )


def fit(bilm, train, valid, vocabulary, options, arguments) -> bool:
    """Trains with a progress bar; False if it was interrupted."""
    optimizer = adagrad(options)
    optimizer.build(bilm.trainable_weights)

    # The number of distinct words changes from batch to batch.
    @tf.function(autograph=False, reduce_retracing=True)
    def step(batch, state):
        return train_step(bilm, optimizer, batch, state, options)

    sampled = options.n_negative_samples_batch < len(vocabulary)
    loss_name = "sampled loss" if sampled else "loss"
    steps_left = arguments.steps
    # An exception in the midst of TensorFlow could abort the program.
    stop = threading.Event()
    previous = signal.signal(signal.SIGINT, lambda *_: stop.set())
    try:
        for epoch in range(options.n_epochs):
            batches = stream_batches(
                train,
                vocabulary,
                bilm.config,
                options.batch_size,
                options.unroll_steps,
                seed=(arguments.seed, epoch),
            ).take(-1 if steps_left is None else steps_left)
            print(f"Epoch {epoch + 1}/{options.n_epochs}")
            done = run_epoch(
                step, batches, zero_state(bilm, options.batch_size), loss_name, stop
            )
            if stop.is_set():
                print("\nInterrupted. What was learned so far is saved.")
                return False
            print(f"Held-out perplexity: {perplexity(bilm, valid, vocabulary)}")
            if steps_left is not None and (steps_left := steps_left - done) <= 0:
                break
    finally:
        signal.signal(signal.SIGINT, previous)
    return True


def run_epoch(step, batches, state, loss_name, stop) -> int:
    """Goes through the batches once, until `stop` is set; the number of steps."""
    n_steps = int(batches.cardinality())
    names = [f"mean {loss_name}", "tokens/s"]
    progress = keras.utils.Progbar(n_steps, stateful_metrics=names)
    total, tokens, start = 0.0, 0, time.perf_counter()
    for batch in batches:
        if stop.is_set():
            break
        loss, read, state = step(batch, state)
        if not np.isfinite(loss):
            raise FloatingPointError(
                "The loss is not finite any more, and nothing was saved. Give a "
                "lower --learning-rate."
            )
        total += float(loss) * int(read)
        tokens += int(read)
        rate = tokens / (time.perf_counter() - start)
        progress.add(1, list(zip(names, (total / tokens, round(rate)))))
    return n_steps


def show_neighbors(elmo, uses):
    """Prints the nearest neighbours of a word's uses, for two unlike ones."""
    vectors = context_vectors(elmo, uses)
    first = 0
    least_alike = nearest(vectors, first)[0][-1]
    for query in (first, least_alike):
        print(f"\nNearest to   {uses[query].excerpt()}")
        others, cosines = nearest(vectors, query)
        for other, cosine in list(zip(others, cosines))[:NEIGHBORS]:
            print(f"      {cosine:6.3f} {uses[other].excerpt()}")


if __name__ == "__main__":
    sys.exit(main())
