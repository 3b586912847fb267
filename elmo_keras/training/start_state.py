"""Keeps a state with a model, from which each sentence is read instead of from zero.

    python -m elmo_keras.training.start_state MODEL_DIR
    python -m elmo_keras.training.start_state MODEL_DIR --text 'text/*.txt.gz'
    python -m elmo_keras.training.start_state MODEL --output MODEL_DIR

It is the mean of the LSTM states at the ends of a text's sentences: by default of
Python's language reference. MODEL_DIR/start_state.h5 holds it; without this file
sentences are read from zero again. Other models than directories, such as published
ones, are written to --output with their state.
"""

import argparse
import dataclasses
import itertools
import sys
from collections.abc import Sequence
from pathlib import Path

from elmo_keras.formats.model_parts import PARTS, parts_of_model
from elmo_keras.hub.file_names import OPTIONS, START_STATE, WEIGHTS
from elmo_keras.hub.local_files import MODEL_HELP
from elmo_keras.text.files import text_files
from elmo_keras.training.options import TextData
from elmo_keras.util.argument_types import positive
from elmo_keras.util.command import command_parser, run_command
from elmo_keras.util.outputs import check_apart, check_file, check_folder
from elmo_keras.util.replacing import replacing

PROGRAM = "elmo_keras.training.start_state"


def parser() -> argparse.ArgumentParser:
    p = command_parser(PROGRAM, __doc__)
    add = p.add_argument
    add("model", metavar="MODEL", help=MODEL_HELP)
    add("--text", nargs="+", metavar="PATTERN", help="text files, plain or gzipped")
    split = "split paragraphs into sentences and tokens with tensorflow-text"
    add("--raw-text", action="store_true", help=split)
    number = "sentences of the text that are read at most (default: 2000)"
    add("--sentences", type=positive(int), default=2000, metavar="N", help=number)
    new = "a new directory for the model and its state (default: MODEL itself)"
    add("--output", type=Path, metavar="MODEL_DIR", help=new)
    return p


def main(arguments: Sequence[str] | None = None) -> int:
    given = parser().parse_args(arguments)
    data = TextData(train=given.text, raw_text=given.raw_text)
    return run_command(
        PROGRAM,
        lambda: keep_start_state(
            given.model, data, n_sentences=given.sentences, output=given.output
        ),
    )


def keep_start_state(
    model: str, data: TextData, *, n_sentences: int, output: Path | None
) -> None:
    """Computes the start state of a model and writes it, by default beside the model."""
    from elmo_keras.formats.model_directory import (
        find_model,
        save_model,
    )  # by Keras
    from elmo_keras.formats.start_state_file import start_state_content
    from elmo_keras.training.inputs import python_reference, sentences_of
    from elmo_keras.training.mean_end_state import mean_end_state

    check_output(model, data, output)
    # The state is made again.
    files = dataclasses.replace(find_model(model), start_state_file=None)
    bilm = files.bilm(has_start_state=True)
    found = itertools.chain.from_iterable(python_reference())
    if data.train:
        found = sentences_of(data, data.train, bilm.config)
    sentences = list(itertools.islice(found, n_sentences))
    if not sentences:
        raise ValueError("The files of --text hold no sentence.")
    bilm.lstm.assign_start_state(*mean_end_state(bilm, sentences))
    if output is None:
        with replacing(files.directory / START_STATE) as path:
            path.write_bytes(start_state_content(bilm))
    else:
        vocabulary = files.vocabulary if files.has_softmax else None
        save_model(output, bilm, vocabulary, options=files.options, mix=files.mix)
    kept = (output or Path(model)) / START_STATE
    print(f"The start state, a mean over {len(sentences):,} sentences, is in {kept}")


def check_output(model: str, data: TextData, output: Path | None) -> None:
    from elmo_keras.formats.model_directory import find_model
    from elmo_keras.training.output import has_model

    texts = text_files(data.train or [])
    if output is not None:
        check_folder(output)
        check_apart([output / part for part in PARTS], [*parts_of_model(model), *texts])
        if has_model(output):
            raise ValueError(f"{output} holds a model already. Give another --output.")
        return
    folder = Path(model)
    if not (folder.is_dir() and find_model(folder).directory):
        raise ValueError(
            f"{model} should be a directory with {OPTIONS} and {WEIGHTS}, to keep the "
            "state beside them. Give --output, a directory for the model and its state."
        )
    check_file(folder / START_STATE)
    check_apart([folder / START_STATE], texts)


if __name__ == "__main__":
    sys.exit(main())
