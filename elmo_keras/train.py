"""The command `train`."""

import contextlib
import dataclasses
import functools
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from cyclopts import Parameter

from elmo_keras.commands.command import CommandFailed, import_tensorflow, stopping
from elmo_keras.embed.embedder import Embedder
from elmo_keras.text.corpus import TextStatistics
from elmo_keras.training.options import (
    EPOCHS,
    TUNING_EPOCHS,
    Limits,
    RunSettings,
    TextData,
)

if TYPE_CHECKING:
    import tensorflow as tf

    from elmo_keras.training.inputs import Inputs

EXAMPLE_WORD = "return"  # it occurs in Python's language reference
NEIGHBORS = 3
MAX_USES = 1000
# For Python's language reference, which is a small text.
EXAMPLE_EPOCHS, EXAMPLE_ROWS = 6, 32
EXAMPLE_UPDATES = {"optimizer": "muon", "schedule": "cosine"}
NO_TEXT, USUAL, NO_LIMITS = TextData(), RunSettings(), Limits()


def train(
    data: Annotated[TextData, Parameter(name="*", group="Text")] = NO_TEXT,
    settings: Annotated[
        RunSettings, Parameter(name="*", group="Model and updates")
    ] = USUAL,
    limits: Annotated[Limits, Parameter(name="*", group="Limits")] = NO_LIMITS,
    *,
    output: Path = Path("model"),
    dry_run: bool = False,
    evaluate: bool = False,
    neighbors: str | None = None,
) -> int:
    """Trains a bidirectional language model, fine-tunes one, or prints its perplexity.

    Without arguments it trains on the English text that comes with every Python
    installation. Text files hold one sentence a line, tokens separated by spaces. The
    same command again resumes from the last checkpoint.

        elmo-keras train
        elmo-keras train --train text.txt --output MODEL_DIR
        elmo-keras train --train 'text/*.txt.gz' --valid valid.txt --output MODEL_DIR
        elmo-keras train --init en --train TEXT --valid VALID --output MODEL_DIR
        elmo-keras train --evaluate --valid test.txt --output MODEL_DIR

    The model with the lowest perplexity of the held-out text is kept, the one before
    training included; if none is lower, the status is 1.

    Args:
        output: model directory
        dry_run: only print the cost
        evaluate: only print the perplexity of the model in --output
        neighbors: print similar uses of this word at the end
    """
    if evaluate:
        return print_perplexity(output, data)
    if data.valid and not data.train:
        raise ValueError("--valid needs the text of --train, or --evaluate.")
    if not data.train and not settings.model:
        chosen = settings.optimizer or settings.learning_rate or settings.schedule
        settings = dataclasses.replace(
            settings,
            batch_size=settings.batch_size or EXAMPLE_ROWS,
            **({} if chosen else EXAMPLE_UPDATES),
        )
    if not limits.epochs and not limits.steps:
        epochs = EPOCHS if data.train else EXAMPLE_EPOCHS
        limits = dataclasses.replace(
            limits, epochs=TUNING_EPOCHS if settings.model else epochs
        )
    word = neighbors or (None if data.train else EXAMPLE_WORD)
    return run_training(output, data, settings, limits, word=word, dry_run=dry_run)


def run_training(
    output: Path,
    data: TextData,
    settings: RunSettings,
    limits: Limits,
    *,
    word: str | None,
    dry_run: bool,
) -> int:
    """Trains from the newest checkpoint on, if there is one, and reports the result.

    Raises:
        CommandFailed: training failed, or the held-out perplexity did not fall.
    """
    import_tensorflow()
    from elmo_keras.training import cost, distribution, report, run
    from elmo_keras.training.inputs import check_vocabulary, read_inputs

    strategy = distribution.make_strategy(settings.replicas)
    worker = distribution.worker(strategy)
    say = functools.partial(print, flush=True) if worker == 0 else lambda text: None
    run.check_output(output, data, settings)
    with run.reserve(output, lock=worker == 0 and not dry_run):
        say("Reading the text")
        inputs = read_inputs(data, settings, cache=output / f"training/corpus-{worker}")
        uses = uses_to_show(inputs, word) if word else []
        check_vocabulary(inputs)
        streams = run.make_streams(inputs, settings, strategy)
        n_steps = limits.total_steps(streams.n_steps(0))
        n_replicas = strategy.num_replicas_in_sync
        estimate = cost.estimate(streams, settings, n_replicas=n_replicas)
        say(report.describe_inputs(inputs, streams))
        if dry_run:
            say(f"{estimate}\nSteps: {n_steps:,}")
        cost.check_fits(estimate, distribution.n_local_replicas(strategy), output)
        if dry_run:
            return 0
        model = run.make_model(inputs, settings, strategy=strategy, n_steps=n_steps)
        with failures_of_training(strategy, output), stopping() as stop:
            training = run.make_run(
                model, streams, inputs, settings, limits, output, stop=stop.is_set
            )
            training.train()
            progress = training.progress
            chosen = progress.chosen(limits.keep_last)
            fell = progress.means()[chosen] < progress.means()[0]
            if worker == 0:
                report.write_card(training, inputs, data, output)
            say(f"The model is in {output}")
            if fell and not training.interrupted:
                say(report.describe_result(progress, chosen))
                if worker == 0 and uses:
                    print_similar_uses(output, uses)
            distribution.sum_over_workers(strategy, np.zeros(()))  # waits for them
            if training.interrupted:
                ended = f"Interrupted at step {progress.step:,}."
                raise KeyboardInterrupt(f"{ended} The same command resumes there.")
    if not fell:
        which = "the last one" if limits.keep_last else "the one before training"
        raise CommandFailed(
            f"{report.describe_rise(progress)} The model in {output} is {which}. A lower "
            "--learning-rate may help."
        )
    return 0


@contextlib.contextmanager
def failures_of_training(
    strategy: "tf.distribute.Strategy", output: Path
) -> Iterator[None]:
    """Turns errors that arguments and input did not cause into `CommandFailed`."""
    import tensorflow as tf

    from elmo_keras.training.distribution import n_workers

    try:
        yield
    except OSError as error:
        advice = "Older checkpoints are kept: the same command resumes from the newest."
        raise CommandFailed(f"{error}. {advice}") from error
    except FloatingPointError as error:
        model = f"The model in {output} is the best one before that."
        raise CommandFailed(f"{error} {model}") from error
    except tf.errors.OpError as error:
        if n_workers(strategy) == 1:
            raise
        raise CommandFailed(
            f"another worker is gone ({type(error).__name__}). Start all workers "
            "again: they resume from the last checkpoint."
        ) from error


def print_perplexity(output: Path, data: TextData) -> int:
    if not data.valid:
        raise ValueError("--evaluate needs the text of --valid.")
    import_tensorflow()
    from elmo_keras.language_model import LanguageModel
    from elmo_keras.training.inputs import validation_text

    model = LanguageModel.from_pretrained(output, backend="tensorflow")
    config = model.bilm.config
    valid = validation_text(data, config)
    statistics = TextStatistics.from_corpus(valid, model.vocabulary, config)
    print(f"Held-out text: {statistics}")
    print(f"Held-out perplexity: {model.perplexity(valid, progress=True)}")
    return 0


def uses_to_show(inputs: "Inputs", word: str) -> list[tuple[list[str], int]]:
    """Sentences with a word, each with its position, at most `MAX_USES` of a text."""
    uses = []
    for corpus in (inputs.train, inputs.valid):
        word_id = corpus.words.index(word) if word in corpus.words else -1
        for index in np.flatnonzero(corpus.tokens == word_id)[:MAX_USES]:
            i = int(np.searchsorted(corpus.ends, index, side="right"))
            tokens = [corpus.words[t] for t in corpus.sentence(i)]
            uses.append((tokens, int(index - corpus.ends[i]) + len(tokens)))
    if len(uses) <= NEIGHBORS:
        raise ValueError(
            f"--neighbors {word}: the text has {len(uses)} uses of it, and "
            f"{NEIGHBORS + 1} are needed."
        )
    return uses


def print_similar_uses(model: Path, uses: list[tuple[list[str], int]]) -> None:
    """Prints the uses nearest to the first one, and to the one least similar to it."""
    # The last layer distinguishes the senses of a word best (Peters et al., Table 5).
    sentences = Embedder(model, layers="top").stream([tokens for tokens, _ in uses])
    vectors = np.stack([x[position] for x, (_, position) in zip(sentences, uses)])
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    cosines = vectors @ vectors.T
    for query in (0, int(np.argmin(cosines[0]))):
        print(f"  Nearest to {excerpt(*uses[query])}")
        nearest = np.argsort(-cosines[query], kind="stable")
        for other in nearest[nearest != query][:NEIGHBORS]:
            print(f"     {cosines[query, other]:6.3f} {excerpt(*uses[other])}")


def excerpt(tokens: list[str], position: int) -> str:
    """A word with up to 5 tokens on either side."""
    before = tokens[max(0, position - 5) : position]
    after = tokens[position + 1 : position + 6]
    return " ".join([*before, f"[{tokens[position]}]", *after])
