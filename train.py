"""Trains a bidirectional language model, fine-tunes one, or tells its perplexity.

    python train.py
    python train.py --train 'text/*.txt.gz' --valid valid.txt --output MODEL_DIR
    python train.py --evaluate --valid test.txt --output MODEL_DIR

Without arguments it reads the English text that every Python installation
carries. Text files hold one sentence a line, tokens separated by spaces. The same
command again goes on from the last checkpoint.
"""

import collections
import contextlib
import dataclasses
import fcntl
import functools
import shutil
import sys
from typing import NamedTuple

import keras
import numpy as np
import tensorflow as tf

from elmo_keras import BidirectionalLanguageModel, Elmo, ElmoConfig, Vocabulary
from elmo_keras.checkpoint import checkpoints
from elmo_keras.corpus import Corpus, report
from elmo_keras.cost import Estimate, check_fits, estimate, n_parameters
from elmo_keras.curves import draw_curves
from elmo_keras.distribution import (
    is_chief,
    make_strategy,
    n_local_replicas,
    n_workers,
    sum_over_workers,
    worker,
)
from elmo_keras.fit import Limits, fit
from elmo_keras.model_card import model_card
from elmo_keras.model_directory import OPTIONS, find_model, load_bilm, save_model
from elmo_keras.neighbors import context_vectors, nearest, occurrences
from elmo_keras.optimizers import RowAdagrad, make_optimizer
from elmo_keras.perplexity import Perplexity, log_probabilities, perplexity
from elmo_keras.pretrained import Pretrained, find_pretrained
from elmo_keras.python_reference import python_reference
from elmo_keras.stopping import INTERRUPTED, stopping
from elmo_keras.streams import Streams
from elmo_keras.text import raw_text_tokenizer, read_sentences, text_files
from elmo_keras.training_arguments import parser, training_options
from elmo_keras.training_run import CHECKPOINTS, TrainingRun, restore, save

HELD_OUT = slice(5, None, 10)  # topics of Python's reference
EXAMPLE_WORD = "return"
NEIGHBORS = 3
MOST_USES = 1000
WARM_UP = 500  # steps of a new softmax
MIN_COUNT = 2  # rarer words are <UNK>
CARD, CURVES = "model_card.md", "curves.png"


class Inputs(NamedTuple):
    """What a run is made from; all that can be wrong with it has been looked for."""

    config: ElmoConfig
    pretrained: Pretrained | None
    vocabulary: Vocabulary
    train: Corpus
    valid: Corpus
    uses: list


def main(arguments=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = parser(__doc__).parse_args(arguments)
    existed = arguments.output.exists()
    try:
        if arguments.evaluate:
            return evaluate(arguments)
        check_output(arguments.output)
        strategy = make_strategy(arguments.replicas)
        with only_run(arguments, strategy):
            prepared = prepare(arguments, strategy)
            return train_safely(arguments, *prepared) if prepared else 0
    except (ValueError, OSError, ImportError) as error:
        return fail(2, error)
    except KeyboardInterrupt:
        print("\nInterrupted.")
        return INTERRUPTED
    finally:
        if not existed:
            discard(arguments.output)


def train_safely(arguments, inputs, run, path) -> int:
    """Trains; what goes wrong then is no fault of the arguments: the exit status."""
    try:
        return train(arguments, inputs, run, path)
    except (FloatingPointError, OSError) as error:
        return fail(1, error)
    except tf.errors.OpError as error:
        if n_workers(run.strategy) == 1:
            raise
        return fail(
            1,
            f"another worker is gone ({type(error).__name__}). Start all workers "
            "again: they go on from the last checkpoint.",
        )


def prepare(arguments, strategy):
    """Inputs, run, and the checkpoint it goes on from; None if only the cost is asked.

    All that can be wrong with text, models and options is found here.
    """
    inputs = read(arguments, strategy)
    streams = make_streams(arguments, inputs, strategy)
    cost = tell_cost(arguments, inputs, streams, strategy)
    check_fits(cost, n_local_replicas(strategy), arguments.output)
    if arguments.dry_run:
        return None
    run = make_run(arguments, inputs, streams, strategy)
    path = restore(run, arguments.output)
    check_shared(run, arguments.output)
    return inputs, run, path


def check_output(output):
    """Refuses to train where a model is that can't be gone on with."""
    if (output / OPTIONS).exists() and not checkpoints(output / CHECKPOINTS):
        raise ValueError(f"{output} holds a model already. Give another --output.")


@contextlib.contextmanager
def only_run(arguments, strategy):
    """Refuses to train where another process does."""
    if arguments.dry_run or not is_chief(strategy):
        yield
        return
    folder = arguments.output / "training"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ValueError(
                f"Another process trains in {arguments.output}. Wait for its end, or "
                "give another --output."
            ) from None
        yield


def fail(status, error) -> int:
    """Tells an error in a line on standard error; returns the exit status."""
    print(f"train.py: {error}", file=sys.stderr)
    return status


def discard(output):
    """Removes a new directory, unless there is a model or a checkpoint by now."""
    if not (output / OPTIONS).exists() and not checkpoints(output / CHECKPOINTS):
        shutil.rmtree(output, ignore_errors=True)


def read(arguments, strategy) -> Inputs:
    """The text and the model to start from."""
    pretrained = read_pretrained(arguments)
    config = model_config(arguments, pretrained)
    train, valid = texts(arguments, config, strategy)
    vocabulary = read_vocabulary(arguments, config, pretrained, train)
    uses = uses_to_show(arguments, train, valid)
    return Inputs(config, pretrained, vocabulary, train, valid, uses)


def read_pretrained(arguments):
    """The model to start from, or None."""
    if (arguments.options is None) != (arguments.weights is None):
        raise ValueError("--options and --weights should be given together.")
    if arguments.init and arguments.options:
        raise ValueError("--init and --options should not be given together.")
    path = arguments.init or arguments.options
    if path is None:
        return None
    return find_pretrained(path, arguments.weights, arguments.vocabulary)


def model_config(arguments, pretrained) -> ElmoConfig:
    """That of the model to start from, or the preset with what is asked for instead."""
    names = "max_characters_per_token", "cut_at", "unicode_normalization"
    given = {name: getattr(arguments, name) for name in names}
    given = {name: value for name, value in given.items() if value is not None}
    if pretrained is None:
        preset = ElmoConfig.preset(arguments.preset or "tiny")
        return dataclasses.replace(preset, **given)
    if arguments.preset or given:
        raise ValueError(
            "The sizes and the characters are those of the model to start from. Leave "
            f"out --{'preset' if arguments.preset else min(given).replace('_', '-')}."
        )
    return pretrained.config


def texts(arguments, config, strategy) -> tuple[Corpus, Corpus]:
    """The text to train on, and the text held out."""
    if bool(arguments.train) != bool(arguments.valid):
        raise ValueError("--train and --valid should be given together.")
    if not arguments.train:
        topics = python_reference()
        held_out = range(len(topics))[HELD_OUT]
        parts = ([], [])
        for i, topic in enumerate(topics):
            parts[i in held_out].extend(topic)
        return Corpus.of(parts[0]), Corpus.of(parts[1])
    valid = held_out_text(arguments, config)
    train = Corpus.in_files(
        sentences(arguments, config, arguments.train),
        arguments.output / f"training/corpus-{worker(strategy)}",
        [
            arguments.raw_text,
            config.unicode_normalization,
            *map(fingerprint, text_files(arguments.train)),
        ],
    )
    if not len(train):
        raise ValueError("The files of --train hold no sentence.")
    return train, valid


def held_out_text(arguments, config) -> Corpus:
    """The text of --valid."""
    valid = Corpus.of(sentences(arguments, config, arguments.valid))
    if not len(valid):
        raise ValueError("The files of --valid hold no sentence.")
    return valid


def sentences(arguments, config, patterns):
    """The sentences of files, as the options say they should be read."""
    tokenizer = raw_text_tokenizer() if arguments.raw_text else None
    return read_sentences(patterns, tokenizer, config.unicode_normalization)


def fingerprint(path):
    """What tells whether a file is still the same."""
    about = path.stat()
    return [str(path), about.st_size, about.st_mtime_ns]


def read_vocabulary(arguments, config, pretrained, train) -> Vocabulary:
    """The vocabulary given, that of the model to start from, or that of the text."""
    counting = "vocabulary_size", "vocabulary_text", "min_count"
    counted = [name for name in counting if getattr(arguments, name) is not None]
    kept = pretrained and pretrained.vocabulary and not arguments.new_softmax
    if counted and (arguments.vocabulary or kept):
        raise ValueError(
            "The vocabulary is there already and is not counted. Leave out "
            f"--{counted[0].replace('_', '-')}."
        )
    if arguments.vocabulary:
        return Vocabulary.load(arguments.vocabulary)
    if kept:
        return pretrained.vocabulary
    counts = collections.Counter(dict(zip(train.words, train.counts().tolist())))
    if arguments.vocabulary_text:
        for sentence in sentences(arguments, config, arguments.vocabulary_text):
            counts.update(sentence)
    return Vocabulary.from_counts(
        counts, arguments.vocabulary_size, arguments.min_count or MIN_COUNT
    )


def uses_to_show(arguments, *corpora):
    """Uses of the word whose neighbours are to be shown; none without one."""
    word = arguments.neighbors or (None if arguments.train else EXAMPLE_WORD)
    if word is None:
        return []
    uses = [use for corpus in corpora for use in occurrences(corpus, word, MOST_USES)]
    if len(uses) <= NEIGHBORS:
        raise ValueError(
            f"--neighbors {word}: it stands in the text {len(uses)} times, and "
            f"{NEIGHBORS + 1} uses are needed."
        )
    return uses


def make_streams(arguments, inputs, strategy) -> Streams:
    """The text as it is trained on."""
    options = training_options(arguments)
    if options.batch_size % arguments.parts:
        raise ValueError(
            f"--batch-size {options.batch_size} should be a multiple of --parts "
            f"{arguments.parts}."
        )
    return Streams(
        inputs.train,
        inputs.vocabulary,
        inputs.config,
        options.batch_size * strategy.num_replicas_in_sync,
        options.unroll_steps,
        options.n_negatives(len(inputs.vocabulary)),
        arguments.seed,
    )


def tell_cost(arguments, inputs, streams, strategy) -> Estimate:
    """What the run will take, printed if that is all that is wanted."""
    cost = estimate(
        streams,
        strategy.num_replicas_in_sync,
        arguments.parts,
        arguments.optimizer,
        arguments.dtype,
        total_steps(arguments, streams),
    )
    if arguments.dry_run:
        describe_inputs(inputs, print)
        print(cost)
    return cost


def make_run(arguments, inputs, streams, strategy) -> TrainingRun:
    """Builds the model and its optimizer."""
    options = training_options(arguments)
    keras.utils.set_random_seed(arguments.seed)
    n_steps = total_steps(arguments, streams)
    with strategy.scope():
        bilm = BidirectionalLanguageModel(
            inputs.config,
            len(inputs.vocabulary),
            options.dropout,
            dtype=arguments.dtype,
        )
        bilm.build()
        optimizer = make_optimizer(
            arguments.optimizer, options.learning_rate, arguments.schedule, n_steps
        )
        optimizer.build(bilm.trainable_weights)
    warm_up = start_from(arguments, inputs, bilm, optimizer)
    return TrainingRun(
        strategy,
        bilm,
        optimizer,
        streams,
        options,
        identity(arguments, inputs, streams, warm_up),
        arguments.parts,
        warm_up,
    )


def total_steps(arguments, streams) -> int:
    """How many steps the run has, if nothing ends it early."""
    n_epochs = epochs(arguments)
    of_epochs = sys.maxsize if n_epochs is None else streams.n_steps(0) * n_epochs
    return min(of_epochs, arguments.steps or sys.maxsize)


def epochs(arguments) -> int | None:
    """How many epochs there are, or None where only steps are asked for."""
    only_steps = arguments.steps and not arguments.epochs
    return None if only_steps else training_options(arguments).n_epochs


def start_from(arguments, inputs, bilm, optimizer) -> int:
    """Reads the model to start from; the steps that train its new softmax alone."""
    pretrained = inputs.pretrained
    if pretrained is None:
        return 0
    words = pretrained.vocabulary
    same_words = words is not None and words.digest == inputs.vocabulary.digest
    with_softmax = same_words and not arguments.new_softmax
    accumulators = pretrained.read_into(bilm, with_softmax)
    if accumulators and isinstance(optimizer, RowAdagrad):
        optimizer.set_accumulators(accumulators)
    if with_softmax:
        return arguments.warm_up or 0
    return WARM_UP if arguments.warm_up is None else arguments.warm_up


def identity(arguments, inputs, streams, warm_up) -> dict:
    """What must be the same when the run goes on."""
    start = arguments.init or arguments.options
    same = dataclasses.asdict(training_options(arguments)) | {
        "rows of text in all": streams.n_rows,
        "parts": arguments.parts,
        "model": inputs.config.to_dict(),
        "vocabulary": inputs.vocabulary.digest,
        "training text": inputs.train.digest,
        "held-out text": inputs.valid.digest,
        "seed": arguments.seed,
        "optimizer": arguments.optimizer,
        "schedule": arguments.schedule,
        "dtype": arguments.dtype,
        "model to start from": start and str(start.resolve()),
        "new softmax": arguments.new_softmax,
        "steps of warm-up": warm_up,
    }
    # There may be more epochs, and the rows may be divided otherwise.
    del same["n_epochs"], same["batch_size"]
    if arguments.schedule != "constant":
        same["steps of the schedule"] = total_steps(arguments, streams)
    return same


def check_shared(run, output):
    """Refuses workers that don't go on from the same checkpoint."""
    step = run.progress.step
    total = sum_over_workers(run.strategy, np.array(float(step)))
    if total != step * n_workers(run.strategy):
        raise ValueError(
            f"{output} should be the same for all workers, on a disk that all see. "
            f"Here it is at step {step}, elsewhere not."
        )


def train(arguments, inputs, run, path) -> int:
    """Trains, keeps the best, shows what was learned: the exit status."""
    output, chief = arguments.output, is_chief(run.strategy)
    say = print if chief else lambda *_: None
    reports = describe_inputs(inputs, say)
    if path is not None:
        say(f"Going on from step {run.progress.step}, {path}")
    evaluate_held_out = evaluator(inputs, run)
    keep = functools.partial(keep_model, arguments, inputs, run)
    with stopping() as stop:
        if not run.progress.held_out:
            run.progress.held_out.append((0, *evaluate_held_out()))
            save(run, output)  # from here on the same command goes on
        say(f"Held-out perplexity before training: {held_out(run, 0)}")
        ends = limits(arguments)
        finished = fit(run, output, ends, evaluate_held_out, keep, stop)
    if not (output / OPTIONS).exists():
        keep()
    if chief:
        describe(arguments, run, reports)
    say(f"The model is in {output}")
    if not finished:
        say(f"Interrupted at step {run.progress.step}. The same command goes on there.")
        return INTERRUPTED
    if chief:
        tell_progress(held_out(run, 0), best_held_out(run))
        if inputs.uses:
            show_neighbors(Elmo.from_pretrained(output), inputs.uses)
    sum_over_workers(run.strategy, np.zeros(()))  # none leaves while another writes
    return 0


def evaluator(inputs, run):
    """A function that gives the held-out perplexity; each worker does its part."""
    valid = inputs.valid.every(n_workers(run.strategy), worker(run.strategy))

    def evaluate_held_out() -> Perplexity:
        sums = log_probabilities(run.bilm, valid, inputs.vocabulary).sum(axis=0)
        sums = sum_over_workers(run.strategy, sums)
        return Perplexity.of(sums, inputs.valid.n_predictions)

    return evaluate_held_out


def keep_model(arguments, inputs, run):
    """Writes the model as it is now; one worker does."""
    if is_chief(run.strategy):
        counts = len(inputs.train.tokens), len(inputs.vocabulary)
        options = run.options.to_options(*counts)
        save_model(arguments.output, run.bilm, inputs.vocabulary, options)


def describe_inputs(inputs, say):
    """Tells what the texts hold and how large the model is; returns the reports."""
    corpora = {"Training": inputs.train, "Held-out": inputs.valid}
    reports = {
        name: report(corpus, inputs.vocabulary, inputs.config)
        for name, corpus in corpora.items()
    }
    for name, found in reports.items():
        say(f"{name} text: {found}")
    say(f"Vocabulary: {len(inputs.vocabulary):,} words")
    softmax = len(inputs.vocabulary) * (inputs.config.projection_dim + 1)
    parameters = n_parameters(inputs.config)
    say(f"Model: {parameters:,} parameters, and {softmax:,} of the softmax")
    return reports


def limits(arguments) -> Limits:
    """When training ends, and how often what is done in it."""
    return Limits(
        epochs(arguments),
        arguments.steps,
        arguments.patience,
        arguments.checkpoint_every,
        arguments.evaluate_every,
    )


def held_out(run, i) -> Perplexity:
    """The result of an evaluation."""
    return Perplexity(*run.progress.held_out[i][1:])


def best_held_out(run) -> Perplexity | None:
    """The result of the weights that were kept; None if they were not evaluated."""
    results = [held_out(run, i) for i in range(1, len(run.progress.held_out))]
    return min(results, key=lambda result: result.mean, default=None)


def describe(arguments, run, reports):
    """Writes the model card and draws the curves."""
    files = {"Training": arguments.train, "Held-out": arguments.valid}
    texts = {
        k: (v or ["Python's language reference"], reports[k]) for k, v in files.items()
    }
    card = model_card(run, texts, best_held_out(run))
    (arguments.output / CARD).write_text(card, encoding="utf-8")
    try:
        draw_curves(run.progress, arguments.output / CURVES, run.loss_name)
    except ImportError:
        print("There are no curves without matplotlib: pip install matplotlib")


def tell_progress(before, after):
    """Prints both perplexities one below the other."""
    print(f"Held-out perplexity before training: {before}")
    print(f"Held-out perplexity after training:  {after}")
    times = before.mean / after.mean
    verb = "fell to 1/" if times >= 1 else "rose to "
    print(f"The mean {verb}{max(times, 1 / times):.1f} of what it was")


def evaluate(arguments) -> int:
    """Prints the full-softmax perplexity of a model directory: the exit status."""
    if not arguments.valid:
        raise ValueError("--evaluate needs the text of --valid.")
    files = find_model(arguments.output)
    bilm, vocabulary = load_bilm(arguments.output), files.vocabulary
    if bilm.softmax is None:
        raise ValueError(
            f"{arguments.output} has no softmax, so there is no perplexity."
        )
    valid = held_out_text(arguments, bilm.config)
    print(f"Held-out text: {report(valid, vocabulary, bilm.config)}")
    result = perplexity(bilm, valid, vocabulary, verbose=1)
    print(f"Held-out perplexity: {result}")
    return 0


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
