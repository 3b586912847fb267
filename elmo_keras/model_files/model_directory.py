"""Model directories and archives: options, weights and vocabulary, read and written."""

import contextlib
import json
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from elmo_keras.bilm import BidirectionalLanguageModel
from elmo_keras.cli.replacing import replacing
from elmo_keras.cli.shortened import shortened
from elmo_keras.config import ElmoConfig
from elmo_keras.layers.token_dictionary import TokenDictionary
from elmo_keras.model_files.archives import Archive, is_archive, open_archive
from elmo_keras.model_files.dictionary_files import (
    MAX_SIZE,
    WORDS,
    dictionary_files,
    read_dictionary,
)
from elmo_keras.model_files.hdf5 import new_hdf5, open_hdf5
from elmo_keras.model_files.hdf5_format.hdf5_reader import Hdf5File
from elmo_keras.model_files.many_langs import (
    Folder,
    ManyLangsModel,
    is_many_langs,
    read_many_langs,
)
from elmo_keras.model_files.published import (
    check_shapes,
    check_weights,
    published_shapes,
    read_table,
    read_weights,
    softmax_shapes,
    softmax_table,
    write_table,
    write_weights,
)
from elmo_keras.models.local_files import local_files
from elmo_keras.published_options import (
    has_dictionary,
    parse_options,
    read_options,
)
from elmo_keras.text.vocabulary import Vocabulary

OPTIONS = "options.json"
WEIGHTS = "weights.hdf5"
VOCABULARY = "vocab.txt"
SOFTMAX = "training/softmax.hdf5"
_DIGEST = "vocabulary_sha256"
# Bytes that a file of an archive may have. Weights may come with a softmax, and in
# float64: so many times what the options ask for, and so many bytes for their names.
_MAX_OPTIONS, _MAX_VOCABULARY = 2**20, 2**30
_MAX_WEIGHTS_RATIO, _FREE_WEIGHTS = 16, 2**26


class Content(NamedTuple):
    """A file of an archive.

    Attributes:
        name: the names of the file and of the archive, for error messages.
        data: its bytes.
    """

    name: str
    data: bytes


class ModelFiles(NamedTuple):
    """The files found for a model.

    Attributes:
        options: the content of its `options.json`.
        weights: the HDF5 file: a path, or its content out of an archive; or the weights
            of a model of ELMoForManyLangs.
        vocabulary_file: its `vocab.txt`: a path, or its content, or None.
        directory: the model directory, or None.
        dictionary: its characters and words, if they are not bytes.
    """

    options: dict[str, Any]
    weights: Path | Content | ManyLangsModel
    vocabulary_file: Path | Content | None = None
    directory: Path | None = None
    dictionary: TokenDictionary | None = None

    @property
    def config(self) -> ElmoConfig:
        """The configuration of its biLM, which its weights were found to fit.

        Raises:
            ValueError: its options describe no biLM, or that of other weights or of
                another dictionary.
        """
        config = ElmoConfig.from_options(self.options, self.dictionary)
        with self.open_weights() as file:
            check_weights(config, file)
        return config

    @property
    def vocabulary(self) -> Vocabulary | None:
        """The words of its language model, or None.

        Raises:
            ValueError: the file is not a vocabulary.
        """
        content = self.vocabulary_file
        if isinstance(content, Content):
            return Vocabulary.parse(content.data, content.name)
        return content and Vocabulary.load(content)

    @contextlib.contextmanager
    def open_weights(self) -> Iterator[Hdf5File | ManyLangsModel]:
        """What `read_weights` reads: the HDF5 file, open for reading, if it is one.

        Raises:
            ValueError: it is not a sound HDF5 file.
        """
        content = self.weights
        if isinstance(content, ManyLangsModel):
            yield content
            return
        in_archive = isinstance(content, Content)
        source, name = (content.data, content.name) if in_archive else (content, None)
        with open_hdf5(source, name) as file:
            yield file


def find_model(model: str | Path, weights: str | Path | None = None) -> ModelFiles:
    """The files of a model.

    The name or address of a published model is downloaded, see `models.local_files`.

    Args:
        model: a model directory, a `.zip`, `.tar.gz` or `.tar.bz2` with one
            `….hdf5` and one `…options.json` (and a `vocab.txt`), as the NLPL
            repository ships them, a directory or archive of ELMoForManyLangs, or,
            with `weights`, the path of an `options.json`.
        weights: the path of HDF5 weights.

    Raises:
        FileNotFoundError: a file is missing; the message names it.
        ValueError: a file is not what it should be.
    """
    model, weights = local_files(model, weights)
    if weights is not None and not model.is_dir():
        return ModelFiles(read_options(_existing(model)), _existing(Path(weights)))
    if model.is_dir() and weights is None:
        return _in_directory(model)
    if weights is None and is_archive(_existing(model)):
        return _in_archive(model)
    if weights is None:
        raise ValueError(
            f"{model} should be a model directory, or a zip or tar of one. If it is an "
            "options.json, give the weights as well."
        )
    raise ValueError(
        f"{model} is a directory, which holds weights itself. With other weights "
        f"({weights}), give the path of their options.json."
    )


def _existing(path):
    if not path.exists():
        raise FileNotFoundError(f"There is no {path}.")
    return path


def _in_directory(model):
    folder = _directory_folder(model)
    if is_many_langs(folder.files) and OPTIONS not in folder.files:
        return _of_many_langs(folder)
    vocabulary = model / VOCABULARY
    options = read_options(_existing(model / OPTIONS))
    return ModelFiles(
        options,
        _existing(model / WEIGHTS),
        vocabulary if vocabulary.exists() else None,
        model,
        _dictionary(options, folder),
    )


def _directory_folder(model):
    def read(name, most):
        path = _existing(model / name)
        if path.stat().st_size > most:
            raise ValueError(f"{path} should have at most {most:,} bytes.")
        return path.read_bytes()

    files = tuple(path.name for path in model.iterdir() if path.is_file())
    return Folder(str(model), files, read)


def _archive_folder(archive):
    def read(name, most):
        if name not in archive.members:
            raise FileNotFoundError(f"{archive.path} lacks {name}.")
        return archive.read(name, most)

    return Folder(str(archive.path), tuple(archive.members), read)


def _of_many_langs(folder):
    model = read_many_langs(folder)
    options, dictionary = model.config.to_options(), model.config.dictionary
    return ModelFiles(options, weights=model, dictionary=dictionary)


def _dictionary(options, folder):
    """The dictionary of a directory or archive of this package, None without one."""
    if not has_dictionary(options):
        return None
    names = {Path(name).name: name for name in folder.files}
    return read_dictionary(
        lambda name: folder.read(names.get(name, name), MAX_SIZE), WORDS in names
    )


def _in_archive(model):
    with open_archive(model) as archive:
        folder = _archive_folder(archive)
        if is_many_langs(folder.files):
            return _of_many_langs(folder)
        name = _member(archive, OPTIONS)
        options = parse_options(archive.read(name, _MAX_OPTIONS), f"{name} in {model}")
        dictionary = _dictionary(options, folder)
        config = ElmoConfig.from_options(options, dictionary)
        expected = 4 * sum(map(math.prod, published_shapes(config).values()))
        most = _FREE_WEIGHTS + _MAX_WEIGHTS_RATIO * expected
        weights = _content(archive, ".hdf5", most)
        has_words = any(_is_own(name, VOCABULARY) for name in archive.members)
        words = _content(archive, VOCABULARY, _MAX_VOCABULARY) if has_words else None
        return ModelFiles(options, weights, words, dictionary=dictionary)


def _content(archive, ending, most):
    name = _member(archive, ending)
    return Content(f"{name} in {archive.path}", archive.read(name, most))


def _member(archive: Archive, ending):
    names = [name for name in archive.members if _is_own(name, ending)]
    if len(names) != 1:
        raise ValueError(
            f"{archive.path} should hold one file *{ending}. Found: "
            f"{shortened(names or list(archive.members))}"
        )
    return names[0]


def _is_own(name, ending):
    """Whether a file of an archive belongs to the model itself, not to its training."""
    folders = Path(name).parts[:-1]
    return name.endswith(ending) and not {"training", "__MACOSX"} & set(folders)


def load_bilm(model: str | Path, **kwargs) -> BidirectionalLanguageModel:
    """The language model of a model directory, with its softmax if it has one.

    Args:
        model: a model directory, or what else `find_model` takes.
        **kwargs: arguments of the layer.

    Raises:
        FileNotFoundError: a file is missing; the message names it.
        ValueError: a file doesn't fit; the message says what was expected.
    """
    files = find_model(model)
    config, vocabulary = files.config, None
    softmax = files.directory and files.directory / SOFTMAX
    if softmax and softmax.exists() and (vocabulary := files.vocabulary):
        with _open_softmax(softmax, vocabulary) as file:
            check_shapes(softmax_shapes(config, len(vocabulary)), file.datasets)
        kwargs["vocabulary_size"] = len(vocabulary)
    bilm = BidirectionalLanguageModel(config, **kwargs)
    bilm.build()
    with files.open_weights() as file:
        read_weights(bilm, file)
    if vocabulary is not None:
        read_softmax(bilm, softmax, vocabulary)
    return bilm


def read_softmax(
    bilm: BidirectionalLanguageModel, path: Path, vocabulary: Vocabulary
) -> None:
    """Reads the softmax of a model directory into a built biLM.

    Raises:
        ValueError: it has other words, doesn't fit, is damaged or holds NaN.
    """
    with _open_softmax(path, vocabulary) as file:
        read_table(softmax_table(bilm), file.datasets)


def _open_softmax(path, vocabulary):
    file = open_hdf5(path)
    if file.text_attribute(_DIGEST) not in (None, vocabulary.digest):
        raise ValueError(
            f"{VOCABULARY} is not the one that {path} was trained with. Put that one "
            "back."
        )
    return file


def save_model(
    directory: str | Path,
    bilm: BidirectionalLanguageModel,
    vocabulary: Vocabulary | None = None,
    *,
    options: dict[str, Any] | None = None,
) -> None:
    """Writes a model directory; no file is replaced before all are written.

    Args:
        directory: made if it is missing.
        bilm: a built biLM; its softmax goes to the folder `training`.
        vocabulary: the words of the softmax.
        options: further sections and keys of `options.json`, such as
            `TrainingOptions.to_options`.
    """
    directory = Path(directory)
    directory.mkdir(parents=True, exist_ok=True)
    with contextlib.ExitStack() as stack:  # its exit puts all files in place
        with new_hdf5(stack.enter_context(replacing(directory / WEIGHTS))) as file:
            write_weights(bilm, file)
        for name, content in _dictionary_files(bilm.config).items():
            stack.enter_context(replacing(directory / name)).write_bytes(content)
        if vocabulary is not None:
            vocabulary.save(stack.enter_context(replacing(directory / VOCABULARY)))
        if bilm.softmax is not None:
            (directory / SOFTMAX).parent.mkdir(exist_ok=True)
            path = stack.enter_context(replacing(directory / SOFTMAX))
            with new_hdf5(path) as file:
                write_table(softmax_table(bilm), file)
                if vocabulary is not None:
                    file.attrs[_DIGEST] = vocabulary.digest
        content = json.dumps((options or {}) | bilm.config.to_options(), indent=2)
        path = stack.enter_context(replacing(directory / OPTIONS))
        path.write_text(f"{content}\n", encoding="utf-8")


def _dictionary_files(config):
    return dictionary_files(config.dictionary) if config.dictionary else {}
