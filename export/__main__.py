"""Writes a model as a SavedModel: for TensorFlow Serving, TF Hub's users, Keras.

    python -m export MODEL OUT_DIR
    python -m export OUT_DIR --options options.json --weights weights.hdf5
    python -m export tagger.keras OUT_DIR

MODEL is a model directory, a .zip of one, or a Keras model that was saved with an
`Elmo` layer, whose language model and mix are taken. The export goes to
OUT_DIR/<version>, a new folder each time.
"""

import argparse
import sys
from pathlib import Path

import keras
import tensorflow as tf

from elmo_keras import Elmo
from elmo_keras.model_directory import VOCABULARY, find_model
from elmo_keras.training_arguments import positive, rate, whole
from export.in_graph_batching import Batching
from export.saved_model import DTYPES, TRAINABLE, ExportOptions
from export.sentences import TOKENIZERS
from export.serving_files import write_serving_files
from export.version_directory import export_elmo, write_archive


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = argparse.ArgumentParser(
        prog="python -m export",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    add = p.add_argument
    add("model", nargs="?", type=Path, metavar="MODEL")
    add("output", type=Path, metavar="OUT_DIR")
    add("--options", type=Path, metavar="FILE", help="published options.json, and")
    add("--weights", type=Path, metavar="FILE", help="published HDF5 weights")
    add("--version", type=positive(int), help="default: the next one")
    add("--archive", action="store_true", help="a .tar.gz too, for hub.load")
    add("--serving-files", action="store_true", help="for TF Serving's image")
    add("--no-warmup", dest="warmup", action="store_false")
    _mix(p.add_argument_group("mix of the layers").add_argument)
    _saved_model(p.add_argument_group("SavedModel").add_argument)
    return p


def _mix(add):
    add("--mix", type=numbers, metavar="W0,W1,…", help="before the softmax")
    add("--gamma", type=float, help="factor of the mix (default: 1)")
    add("--layer-norm", action="store_true", help="of each layer before the mix")
    add("--dropout", type=rate, help="on the mix, where it is trained on")
    add("--l2", type=float, help="the paper's λ, where it is trained on")
    add("--layer", metavar="NAME", help="the Elmo layer of a .keras model")
    add("--representation", type=whole, default=0, help="which mix of that layer")


def _saved_model(add):
    add("--trainable", choices=TRAINABLE, default="mix", help="default: mix")
    add("--dtype", choices=DTYPES, default="float32", help="of the language model")
    add(
        "--cached-words",
        type=positive(int),
        metavar="N",
        help="first words of vocab.txt whose vectors are kept, not computed",
    )
    add("--tokenizer", choices=TOKENIZERS, default="spaces", help="default: spaces")
    add("--normalization", choices=["NFC"], help="of sentences; needs tensorflow-text")
    add("--batching", action="store_true", help="in the graph; see the README")


def numbers(text: str) -> list[float]:
    """An argparse type: numbers separated by commas."""
    return [float(number) for number in text.split(",")]


def main(arguments=None) -> int:
    """Runs the program; returns its exit status."""
    arguments = parser().parse_args(arguments)
    try:
        export(arguments)
    except (ValueError, OSError, ImportError) as error:
        return fail(2, error)
    except tf.errors.OpError as error:  # such as a full disk
        return fail(1, error)
    return 0


def export(arguments) -> None:
    """Reads the model and writes all that is asked for."""
    options = ExportOptions(
        trainable=arguments.trainable,
        dtype=arguments.dtype,
        tokenizer=arguments.tokenizer,
        normalization=arguments.normalization,
        batching=Batching() if arguments.batching else None,
    )
    version = export_elmo(
        read_elmo(arguments),
        arguments.output,
        options,
        arguments.representation,
        arguments.version,
        arguments.warmup,
    )
    print(f"The export is in {version}")
    if arguments.archive:
        print(f"The archive is {write_archive(version)}")
    if arguments.serving_files:
        print(f"TF Serving's files are in {write_serving_files(arguments.output)}")


def read_elmo(arguments) -> Elmo:
    """The layer to export.

    Raises:
        FileNotFoundError: a file is missing.
        ValueError: a file or an argument doesn't fit.
    """
    model = arguments.model or arguments.options
    if (arguments.model is None) != (
        None not in (arguments.options, arguments.weights)
    ):
        raise ValueError("Give either MODEL, or --options and --weights.")
    if model.suffix == ".keras":
        return layer_of(model, arguments)
    if arguments.layer is not None:
        raise ValueError("--layer is for a .keras MODEL.")
    words = cached_words(model, arguments)
    choices = {"dropout": arguments.dropout, "l2": arguments.l2}
    choices = {name: value for name, value in choices.items() if value is not None}
    elmo = Elmo.from_pretrained(
        model, arguments.weights, words, layer_norm=arguments.layer_norm, **choices
    )
    set_mix(elmo.mixes[0], arguments.mix, arguments.gamma)
    return elmo


def cached_words(model: Path, arguments) -> tuple[str, ...]:
    """The words whose vectors are kept.

    Raises:
        ValueError: there is no vocabulary, or what is kept would be trained.
    """
    if arguments.cached_words is None:
        return ()
    if arguments.trainable == "all":
        raise ValueError("--cached-words keeps what --trainable all would change.")
    vocabulary = find_model(model, arguments.weights).vocabulary
    if vocabulary is None:
        raise ValueError(f"--cached-words needs {model / VOCABULARY}.")
    return vocabulary.words[: arguments.cached_words]


def set_mix(mix, weights, gamma) -> None:
    """Gives a mix the weights and the factor that were asked for.

    Raises:
        ValueError: there is not one weight for each layer.
    """
    if weights is not None:
        if len(weights) != mix.n_layers:
            raise ValueError(
                f"--mix should hold {mix.n_layers} numbers, one for each layer. "
                f"Received: {len(weights)}"
            )
        mix.scalars.assign(weights)
    if gamma is not None:
        mix.gamma.assign(gamma)


def layer_of(path: Path, arguments) -> Elmo:
    """The `Elmo` layer of a saved Keras model.

    Raises:
        ValueError: it is not one layer that is named or alone.
    """
    given = (
        arguments.mix,
        arguments.gamma,
        arguments.dropout,
        arguments.l2,
        arguments.cached_words,
    )
    if arguments.layer_norm or any(value is not None for value in given):
        raise ValueError(
            "--mix, --gamma, --layer-norm, --dropout, --l2 and --cached-words are "
            "those of the layer in a .keras MODEL. Leave them out."
        )
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    model = keras.models.load_model(path, compile=False)
    layers = {layer.name: layer for layer in model.layers if isinstance(layer, Elmo)}
    found = [layers.get(arguments.layer)] if arguments.layer else [*layers.values()]
    if len(found) != 1 or found[0] is None:
        raise ValueError(
            f"--layer should name one Elmo layer of {path}. It has: {sorted(layers)}"
        )
    return found[0]


def fail(status: int, error) -> int:
    """Says in one line what went wrong."""
    text = " ".join(str(error).split())
    print(f"python -m export: error: {text}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
