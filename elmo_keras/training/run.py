"""A training run of the command: its directory, batches and model."""

import contextlib
import shutil
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import keras
import tensorflow as tf

from elmo_keras.base.files import only_process
from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.commands.outputs import check_apart, check_file, check_folder
from elmo_keras.formats.model_directory import OPTIONS
from elmo_keras.hub.catalogue import PARTS, TRAINING, parts_of_model
from elmo_keras.hub.local_files import absolute
from elmo_keras.text.files import text_files
from elmo_keras.training.checkpoint import Checkpoints, checkpoints
from elmo_keras.training.distribution import worker
from elmo_keras.training.inputs import Inputs
from elmo_keras.training.keras_model import TrainableLanguageModel
from elmo_keras.training.loop import TrainingRun
from elmo_keras.training.optimizers import RowAdagrad, make_optimizer
from elmo_keras.training.options import EPOCHS, Limits, RunSettings, TextData
from elmo_keras.training.streams import Streams
from elmo_keras.training.validation import Validation

CHECKPOINTS, LOGS = "training/checkpoints", "training/logs"
WARM_UP_STEPS = 500  # default for a new softmax of a pretrained model


def check_output(output: Path, data: TextData, settings: RunSettings) -> None:
    """Refuses a model directory that can't be written, or would replace an input."""
    check_folder(output)
    texts = [data.train, data.valid, data.vocabulary_text]
    inputs = [path for patterns in texts for path in text_files(patterns or [])]
    inputs += [Path(file) for file in (data.vocabulary, settings.weights) if file]
    inputs += parts_of_model(settings.model) if settings.model else []
    check_apart([output / part for part in PARTS], inputs)
    if output.exists():
        for part in set(PARTS) - {TRAINING}:
            check_file(output / part)


@contextlib.contextmanager
def reserve(output: Path, *, lock: bool) -> Iterator[None]:
    """Reserves a model directory, keeping other processes out if `lock`.

    A new directory is removed again if it holds neither a model nor a checkpoint.
    """
    if has_model(output) and not checkpoints(output / CHECKPOINTS):
        raise ValueError(f"`output` {output} holds a model already. Give another.")
    refusal = (
        f"`output` {output} is in use: another process is training there. Wait until it "
        "ends, or give another."
    )
    existed, free = output.exists(), contextlib.nullcontext()
    try:
        with only_process(output / TRAINING, refusal) if lock else free:
            yield
    finally:
        if not (existed or has_model(output) or checkpoints(output / CHECKPOINTS)):
            shutil.rmtree(output, ignore_errors=True)


def has_model(output: Path) -> bool:
    return (output / OPTIONS).exists()


def make_streams(
    inputs: Inputs, settings: RunSettings, strategy: tf.distribute.Strategy
) -> Streams:
    return Streams(
        inputs.train,
        inputs.vocabulary,
        inputs.config,
        n_rows=settings.n_rows * strategy.num_replicas_in_sync,
        unroll_steps=settings.unroll_steps,
        n_negatives=settings.n_negatives(len(inputs.vocabulary)),
        seed=settings.seed,
        zero_state_share=settings.zero_state_share,
    )


def make_model(
    inputs: Inputs,
    settings: RunSettings,
    *,
    strategy: tf.distribute.Strategy,
    n_steps: int,
) -> TrainableLanguageModel:
    """Builds the model and its optimizer with a schedule of `n_steps`."""
    keras.utils.set_random_seed(settings.seed)
    files, warm_up = inputs.pretrained, settings.warm_up
    if files is None or warm_up is None:
        warm_up = min(WARM_UP_STEPS, n_steps // 4) if inputs.new_softmax else 0
    with strategy.scope():
        bilm = BidirectionalLanguageModel(
            inputs.config,
            vocabulary_size=len(inputs.vocabulary),
            dropout=settings.dropout,
            dtype=settings.arithmetic,
        )
        model = TrainableLanguageModel(
            bilm,
            all_clip_norm_val=settings.clip_norm,
            parts=settings.parts,
            warm_up_steps=warm_up,
        )
        optimizer = make_optimizer(
            settings.optimizer_name,
            settings.rate,
            schedule=settings.schedule_name,
            n_steps=n_steps,
        )
        optimizer.build(bilm.trainable_weights)
    jit_compile: Any = settings.jit_compile  # Keras' type is that of its default
    if jit_compile is None:  # on CPUs the plain step is as fast
        jit_compile = bool(tf.config.list_physical_devices("GPU"))
    model.compile(optimizer, jit_compile=jit_compile)
    if files is not None:
        # Read first, so that a damaged one leaves all weights as they are.
        with_softmax = not inputs.new_softmax
        accumulators = files.adagrad_accumulators(bilm) if with_softmax else None
        files.read_into(bilm, with_softmax=with_softmax)
        if accumulators and isinstance(optimizer, RowAdagrad):
            optimizer.set_accumulators(accumulators)
    return model


def make_run(
    model: TrainableLanguageModel,
    streams: Streams,
    inputs: Inputs,
    settings: RunSettings,
    limits: Limits,
    output: Path,
    *,
    stop: Callable[[], bool] = lambda: False,
    callbacks: Sequence[keras.callbacks.Callback] = (),
) -> TrainingRun:
    """A run in a model directory; checkpoints of other inputs or settings are refused."""
    schedule = settings.schedule_name
    published = {
        "unroll_steps": settings.unroll_steps,
        "n_negative_samples_batch": settings.negatives,
        "learning_rate": settings.rate,
        "dropout": settings.dropout,
        "all_clip_norm_val": settings.clip_norm,
        "sample_softmax": not settings.full_softmax,
    }
    metadata = published | {
        "held-out text": inputs.valid.digest,
        "schedule": schedule,
        "steps of the schedule": schedule != "constant"
        and limits.total_steps(streams.n_steps(0)),
        "dtype": settings.arithmetic,
        "model to start from": settings.model and absolute(settings.model),
        "new softmax": inputs.new_softmax,
    }
    options = published | {
        "bidirectional": True,
        "n_epochs": limits.epochs or EPOCHS,
        "batch_size": settings.n_rows,
        "n_train_tokens": len(inputs.train.tokens),
        "n_tokens_vocab": len(inputs.vocabulary),
    }
    return model.start_run(
        streams,
        limits,
        checkpoints=Checkpoints(
            output / CHECKPOINTS, every=limits.checkpoint_every, metadata=metadata
        ),
        validation=Validation(
            inputs.valid,
            inputs.vocabulary,
            every=limits.evaluate_every,
            directory=output,
            keep_last=limits.keep_last,
            options=options,
        ),
        logs=output / LOGS,
        stop=stop,
        callbacks=callbacks,
        verbose=worker(model.distribute_strategy) == 0,
    )
