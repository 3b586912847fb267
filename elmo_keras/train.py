"""The command `train`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from cyclopts import Parameter

from elmo_keras import Embedder
from elmo_keras.analyses.neighbors import context_vectors, occurrences, print_uses
from elmo_keras.text.corpus import TextStatistics
from elmo_keras.training.options import (
    ZERO_STATE_SHARE,
    Limits,
    RunSettings,
    TextData,
    TrainingOptions,
)
from elmo_keras.util.arguments import Count, Index, Positive, Rate, Seed, Share, Texts
from elmo_keras.util.command import INTERRUPTED, import_tensorflow, stopping
from elmo_keras.util.progress import Progress

if TYPE_CHECKING:
    from elmo_keras.training.inputs import Inputs
    from elmo_keras.training.run import TrainingRun

EXAMPLE_WORD = "return"  # a word of Python's language reference
NEIGHBORS = 3
MAX_USES = 1000
TEXT = Parameter(group="Text")
MODEL = Parameter(group="Model")
FINE_TUNING = Parameter(group="Fine-tuning")
LIMITS = Parameter(group="Limits")
UPDATES = Parameter(group="Updates")
# For Python's language reference, which is a small text.
EXAMPLE = TrainingOptions(n_epochs=14, batch_size=32, learning_rate=0.1)


def train(
    *,
    train: Annotated[Texts | None, TEXT] = None,
    valid: Annotated[Texts | None, TEXT] = None,
    raw_text: Annotated[bool, TEXT] = False,
    vocabulary: Annotated[Path | None, TEXT] = None,
    vocabulary_text: Annotated[Texts | None, TEXT] = None,
    vocabulary_size: Annotated[Count | None, TEXT] = None,
    min_count: Annotated[Count | None, TEXT] = None,
    output: Annotated[Path, MODEL] = Path("model"),
    preset: Annotated[
        Literal["small", "medium", "original", "tiny", "test"] | None, MODEL
    ] = None,
    max_characters_per_token: Annotated[Count | None, MODEL] = None,
    cut_at: Annotated[Literal["byte", "character"] | None, MODEL] = None,
    unicode_normalization: Annotated[Literal["NFC"] | None, MODEL] = None,
    init: Annotated[str | None, FINE_TUNING] = None,
    options: Annotated[str | None, FINE_TUNING] = None,
    weights: Annotated[str | None, FINE_TUNING] = None,
    new_softmax: Annotated[bool, FINE_TUNING] = False,
    warm_up: Annotated[Index | None, FINE_TUNING] = None,
    epochs: Annotated[Count | None, LIMITS] = None,
    steps: Annotated[Count | None, LIMITS] = None,
    patience: Annotated[Count | None, LIMITS] = None,
    checkpoint_every: Annotated[Count, LIMITS] = 500,
    evaluate_every: Annotated[Count | None, LIMITS] = None,
    zero_state: Annotated[Share | None, UPDATES] = None,
    published_state: Annotated[bool, UPDATES] = False,
    seed: Annotated[Seed, UPDATES] = 0,
    batch_size: Annotated[Count | None, UPDATES] = None,
    unroll_steps: Annotated[Count | None, UPDATES] = None,
    negatives: Annotated[Count | None, UPDATES] = None,
    full_softmax: Annotated[bool, UPDATES] = False,
    dropout: Annotated[Rate | None, UPDATES] = None,
    clip_norm: Annotated[Positive | None, UPDATES] = None,
    optimizer: Annotated[
        Literal["adagrad", "adam", "lion", "rmsprop", "sgd"], UPDATES
    ] = "adagrad",
    learning_rate: Annotated[Positive | None, UPDATES] = None,
    schedule: Annotated[Literal["constant", "cosine", "linear"], UPDATES] = "constant",
    dtype: Annotated[Literal["float32", "mixed_bfloat16"], UPDATES] = "float32",
    replicas: Annotated[Count | None, UPDATES] = None,
    parts: Annotated[Count, UPDATES] = 1,
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
        train: patterns of text files, plain or gzipped
        valid: patterns of held-out text files
        raw_text: split paragraphs into sentences and tokens with tensorflow-text
        vocabulary: a vocab.txt to use
        vocabulary_text: patterns of further text whose words are counted
        vocabulary_size: maximum number of words
        min_count: rarer words are <UNK>; 2 if not given
        output: model directory
        preset: sizes of a new model; tiny if not given
        max_characters_per_token: longer words are cut; 50 if not given
        cut_at: where they are cut; byte if not given
        unicode_normalization: normal form of the text
        init: a model to start from: a model directory, a zip, a checkpoint of bilm-tf,
            or a published model's name or address
        options: published options.json to start from, with --weights
        weights: published HDF5 weights, with --options
        new_softmax: make a new softmax for the words of the new text
        warm_up: steps that train only a new softmax first; 500 if not given
        epochs: maximum number of epochs; 10 if neither they nor steps are given
        steps: maximum number of steps
        patience: maximum number of evaluations in a row without a lower perplexity
        checkpoint_every: steps
        evaluate_every: steps; each epoch ends with one as well
        zero_state: probability that a sentence is read from the zero state, as Elmo
            reads it, and not from where the one before ended; 0.1 if not given
        published_state: always carry the LSTM state over, as bilm-tf does; the
            perplexity with the state carried over chooses the model
        seed: of initial weights, order of the sentences, negatives and dropout
        batch_size: rows of text per replica; 128 if not given
        unroll_steps: tokens of each row in a step; 20 if not given
        negatives: of the sampled softmax; 8192 if not given
        full_softmax: no sampling
        dropout: on the inputs of the LSTM layers and the last output; 0.1 if not given
        clip_norm: global norm at which gradients are clipped; 10 if not given
        optimizer: of the weights
        learning_rate: 0.2 if not given
        schedule: of the learning rate
        dtype: of the matrix products
        replicas: on this machine; all GPUs if not given
        parts: of a batch, computed one after another (gradient accumulation): same
            update, less memory
        dry_run: only print the cost
        evaluate: only print the perplexity of the model in --output
        neighbors: print similar uses of this word at the end
    """
    if evaluate and not valid:
        raise ValueError("--evaluate needs the text of --valid.")
    if bool(train) != bool(valid) and not evaluate:
        raise ValueError("--train and --valid should be given together.")
    data = TextData(
        train=train,
        valid=valid,
        raw_text=raw_text,
        vocabulary=vocabulary,
        vocabulary_text=vocabulary_text,
        vocabulary_size=vocabulary_size,
        min_count=min_count,
    )
    if evaluate:
        return print_perplexity(output, data)
    if (options is None) != (weights is None):
        raise ValueError("--options and --weights should be given together.")
    if init and options:
        raise ValueError("Give either --init, or --options and --weights.")
    if zero_state is not None and published_state:
        raise ValueError("Give either --zero-state or --published-state.")
    changes = {
        "max_characters_per_token": max_characters_per_token,
        "cut_at": cut_at,
        "unicode_normalization": unicode_normalization,
    }
    changes = {name: value for name, value in changes.items() if value is not None}
    if (init or options) and (preset or changes):
        surplus = "preset" if preset else min(changes).replace("_", "-")
        raise ValueError(
            "The model to start from fixes the sizes and the characters. Leave out "
            f"--{surplus}."
        )
    usual = TrainingOptions() if train else EXAMPLE
    training = TrainingOptions(
        n_epochs=epochs or usual.n_epochs,
        batch_size=batch_size or usual.batch_size,
        unroll_steps=unroll_steps or usual.unroll_steps,
        n_negative_samples_batch=negatives or usual.n_negative_samples_batch,
        learning_rate=learning_rate or usual.learning_rate,
        dropout=usual.dropout if dropout is None else dropout,
        all_clip_norm_val=clip_norm or usual.all_clip_norm_val,
        sample_softmax=not full_softmax,
    )
    settings = RunSettings(
        options=training,
        init=init or options,
        weights=weights,
        preset=preset,
        changes=changes,
        new_softmax=new_softmax,
        warm_up=warm_up,
        seed=seed,
        zero_state_share=0.0 if published_state else zero_state or ZERO_STATE_SHARE,
        optimizer=optimizer,
        schedule=schedule,
        dtype=dtype,
        replicas=replicas,
        parts=parts,
    )
    limits = Limits(
        n_epochs=epochs if steps else training.n_epochs,
        n_steps=steps,
        patience=patience,
        checkpoint_every=checkpoint_every,
        evaluate_every=evaluate_every,
    )
    return run_training(
        output,
        data,
        settings,
        limits,
        word=neighbors or (None if train else EXAMPLE_WORD),
        dry_run=dry_run,
    )


def run_training(
    output: Path,
    data: TextData,
    settings: RunSettings,
    limits: Limits,
    *,
    word: str | None,
    dry_run: bool,
) -> int:
    """Trains a model and compares the uses of `word`."""
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
            write_model(run, output)
        if chief:
            report.write_card(run, data, output)
            print(f"The model is in {output}")
            print(report.describe_result(run.progress, finished), flush=True)
        if not finished:
            return INTERRUPTED
        if chief and uses:
            vectors = context_vectors(Embedder(output, layers="top"), uses)
            print_uses(uses, vectors, NEIGHBORS)
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
    with Progress(total=valid.n_predictions) as bar:
        perplexity = model.perplexity(valid, progress=bar.update)
    print(f"Held-out perplexity: {perplexity}")
    return 0


def uses_to_show(inputs: "Inputs", word: str) -> list:
    """Uses of the word whose neighbors are printed at the end."""
    texts = inputs.train, inputs.valid
    uses = [use for text in texts for use in occurrences(text, word, MAX_USES)]
    if len(uses) <= NEIGHBORS:
        raise ValueError(
            f"--neighbors {word}: the text has {len(uses)} uses of it, and "
            f"{NEIGHBORS + 1} are needed."
        )
    return uses
