"""The command `train`."""

import dataclasses
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import numpy as np
from cyclopts import Parameter

from elmo_keras.embed.embedder import Embedder
from elmo_keras.text.corpus import Corpus, TextStatistics
from elmo_keras.training.options import EPOCHS, Limits, RunSettings, TextData
from elmo_keras.util.command import INTERRUPTED, import_tensorflow, stopping

if TYPE_CHECKING:
    from elmo_keras.training.inputs import Inputs
    from elmo_keras.training.run import TrainingRun

EXAMPLE_WORD = "return"  # a word of Python's language reference
NEIGHBORS = 3
MAX_USES = 1000
# For Python's language reference, which is a small text.
EXAMPLE_EPOCHS, EXAMPLE_ROWS, EXAMPLE_RATE = 14, 32, 0.1
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
        elmo-keras train --train 'text/*.txt.gz' --valid valid.txt --output MODEL_DIR
        elmo-keras train --evaluate --valid test.txt --output MODEL_DIR

    Args:
        output: model directory
        dry_run: only print the cost
        evaluate: only print the perplexity of the model in --output
        neighbors: print similar uses of this word at the end
    """
    if evaluate and not data.valid:
        raise ValueError("--evaluate needs the text of --valid.")
    if evaluate:
        return print_perplexity(output, data)
    if bool(data.train) != bool(data.valid):
        raise ValueError("--train and --valid should be given together.")
    if not data.train:
        settings = dataclasses.replace(
            settings,
            batch_size=settings.batch_size or EXAMPLE_ROWS,
            learning_rate=settings.learning_rate or EXAMPLE_RATE,
        )
    if not limits.epochs and not limits.steps:
        epochs = EPOCHS if data.train else EXAMPLE_EPOCHS
        limits = dataclasses.replace(limits, epochs=epochs)
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
    import_tensorflow()
    from elmo_keras.training import cost, distribution, report
    from elmo_keras.training.inputs import check_vocabulary, read_inputs
    from elmo_keras.training.output import check_output, reserve
    from elmo_keras.training.run import make_run, make_streams

    strategy = distribution.make_strategy(settings.replicas)
    n_replicas, worker = strategy.num_replicas_in_sync, distribution.worker(strategy)
    check_output(output, data, settings)
    with reserve(output, lock=worker == 0 and not dry_run):
        if worker == 0:
            print("Reading the text", flush=True)
        cache = output / f"training/corpus-{worker}"
        inputs = read_inputs(data, settings, cache=cache)
        uses = uses_to_show(inputs, word) if word else []
        check_vocabulary(inputs)
        streams = make_streams(inputs, settings, strategy)
        n_steps = limits.total_steps(streams.n_steps(0))
        estimate = cost.estimate(
            streams, settings, n_replicas=n_replicas, n_steps=n_steps
        )
        if worker == 0:
            print(report.describe_inputs(inputs, streams), flush=True)
        if worker == 0 and dry_run:
            print(estimate, flush=True)
        cost.check_fits(estimate, distribution.n_local_replicas(strategy), output)
        if dry_run:
            return 0
        run = make_run(inputs, streams, settings, strategy=strategy, n_steps=n_steps)
        return fit_and_report(run, limits, output, data, uses=uses)


def fit_and_report(
    run: "TrainingRun", limits: Limits, output: Path, data: TextData, *, uses: list
) -> int:
    """Trains from the newest checkpoint on, if there is one, and reports the result."""
    from elmo_keras.training import report
    from elmo_keras.training.distribution import (
        failures_of_training,
        is_chief,
        sum_over_workers,
    )
    from elmo_keras.training.loop import fit
    from elmo_keras.training.output import has_model, write_model
    from elmo_keras.training.run import restore

    chief, checkpoint = is_chief(run.strategy), restore(run, output)
    with failures_of_training(run.strategy):
        if chief and checkpoint is not None:
            print(
                report.describe_resumption(run.progress, limits, checkpoint), flush=True
            )
        with stopping() as stop:
            finished = fit(run, limits, output, stop=stop.is_set)
        if not has_model(output):
            write_model(run, limits, output)
        if chief:
            report.write_card(run, data, output)
            print(f"The model is in {output}")
            print(report.describe_result(run.progress, finished), flush=True)
        if not finished:
            return INTERRUPTED
        if chief and uses:
            print_similar_uses(output, uses)
        sum_over_workers(run.strategy, np.zeros(()))  # waits for all of them
    return 0


def print_perplexity(output: Path, data: TextData) -> int:
    import_tensorflow()
    from elmo_keras import LanguageModel
    from elmo_keras.training.inputs import validation_text

    model = LanguageModel.from_pretrained(output)
    config = model.bilm.config
    valid = validation_text(data, config)
    print(
        f"Held-out text: {TextStatistics.from_corpus(valid, model.vocabulary, config)}"
    )
    print(f"Held-out perplexity: {model.perplexity(valid, progress=True)}")
    return 0


def uses_to_show(inputs: "Inputs", word: str) -> list:
    uses = [*uses_of(word, inputs.train), *uses_of(word, inputs.valid)]
    if len(uses) <= NEIGHBORS:
        raise ValueError(
            f"--neighbors {word}: the text has {len(uses)} uses of it, and "
            f"{NEIGHBORS + 1} are needed."
        )
    return uses


def uses_of(word: str, corpus: Corpus) -> Iterator[tuple[list[str], int]]:
    """The sentences with a word, the first `MAX_USES`, each with its position."""
    if word not in corpus.words:
        return
    indices = np.flatnonzero(corpus.tokens == corpus.words.index(word))[:MAX_USES]
    for index in indices:
        i = int(np.searchsorted(corpus.ends, index, side="right"))
        start = corpus.ends[i - 1] if i else 0
        yield [corpus.words[t] for t in corpus.sentence(i)], int(index - start)


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
