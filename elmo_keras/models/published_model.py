"""A published model: its name, and the files that it consists of."""

from pathlib import PurePosixPath
from typing import NamedTuple
from urllib.parse import urlsplit

from elmo_keras.models.file_names import OPTIONS, WEIGHTS

ARCHIVES = ".zip", ".tar.gz", ".tgz", ".tar.bz2", ".tar"


class RemoteFile(NamedTuple):
    """A file that can be downloaded.

    Attributes:
        address: its http or https address.
        name: its path in the model's folder of the cache.
        checksum: `"md5:…"`, `"sha1:…"` or `"sha256:…"` as its publisher states it, or
            "".
        size: the number of bytes that its publisher states, or None.
    """

    address: str
    name: str
    checksum: str = ""
    size: int | None = None


class PublishedModel(NamedTuple):
    """A model that was published, under the name it has here.

    Attributes:
        name: its name.
        language: its language, or the kind of its sequences.
        files: the files that give vectors: an archive, or the files of a folder.
        layout: the layout of the files, in words.
        aliases: further names.
        text: the text it was trained on.
        megabytes: about how large the files are, or None.
        licence: the licence, where it is known.
        extra: files for the language model's own predictions, downloaded on request.
        unavailable: why it can't be downloaded, and what to do; "" if it can.
    """

    name: str
    language: str
    files: tuple[RemoteFile, ...] = ()
    layout: str = "options + HDF5"
    aliases: tuple[str, ...] = ()
    text: str = ""
    megabytes: float | None = None
    licence: str = ""
    extra: tuple[RemoteFile, ...] = ()
    unavailable: str = ""

    @property
    def is_archive(self) -> bool:
        """Whether the model is one archive."""
        return len(self.files) == 1 and self.files[0].name.endswith(ARCHIVES)


def options_and_weights(options: str, weights: str) -> tuple[RemoteFile, ...]:
    """The two files of the layout of bilm-tf and AllenNLP, by their addresses."""
    return RemoteFile(options, OPTIONS), RemoteFile(weights, WEIGHTS)


def archive(address: str) -> tuple[RemoteFile]:
    """An archive, named as in its address."""
    return (RemoteFile(address, PurePosixPath(urlsplit(address).path).name),)
