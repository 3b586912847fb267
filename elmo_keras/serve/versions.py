"""The versions of a model in a directory; the newest loaded one answers requests."""

import collections
import contextlib
import logging
import os
import threading
from collections.abc import Iterator
from pathlib import Path

from tensorflow_serving.apis.get_model_status_pb2 import ModelVersionStatus  # pyright: ignore[reportAttributeAccessIssue]

from elmo_keras.embed.engines.engine import LITE
from elmo_keras.export.version_paths import versions
from elmo_keras.serve.config import Config, ModelConfig
from elmo_keras.serve.errors import not_found
from elmo_keras.serve.lite_servable import LiteServable
from elmo_keras.serve.servable import SavedModelServable, Servable

LOG = logging.getLogger(__name__)
SAVED_MODEL = "saved_model.pb"
UNKNOWN = 2  # the code of an error

State = ModelVersionStatus.State


class Versions:
    """Loads the versions of a model that its configuration names, and those to come.

    An old version answers until the new one is loaded and warm, and is unloaded after
    its last request. A version that fails to load has the error in its status, and is
    tried again when its files change. If all directories disappear, versions stay.
    """

    def __init__(self, model: ModelConfig, config: Config):
        self._model, self._config = model, config
        self._changed = threading.Condition()
        self._loaded: dict[int, Servable] = {}
        self._uses: collections.Counter[Servable] = collections.Counter()
        self._statuses: dict[int, ModelVersionStatus] = {}
        self._broken: dict[int, list] = {}  # the files that can't be loaded
        self._file: tuple[list, int] = [], 0
        directory = model.directory
        if directory.is_file() and directory.suffix != LITE:
            raise ValueError(
                f"{directory} should be a folder of versions or a {LITE} file."
            )
        self.refresh()
        if not self._loaded:
            errors = "; ".join(
                f"{version}: {status.status.error_message}"
                for version, status in self._statuses.items()
            )
            if os.path.lexists(directory / SAVED_MODEL):
                errors = f"It is itself a version: give {directory.parent}"
            raise ValueError(
                f"{directory} should hold a version that can be loaded, such as "
                f"{directory / '1' / SAVED_MODEL}. {errors}".strip()
            )

    @contextlib.contextmanager
    def lease(self, version: int | None = None) -> Iterator[Servable]:
        """A version, or the newest one; it stays loaded within the context."""
        with self._changed:
            key = max(self._loaded) if version is None else version
            if key not in self._loaded:
                loaded = ", ".join(map(str, sorted(self._loaded)))
                raise not_found(f"The loaded version is {loaded}. Received: {key}")
            servable = self._loaded[key]
            self._uses[servable] += 1
        try:
            yield servable
        finally:
            with self._changed:
                self._uses[servable] -= 1
                self._changed.notify_all()

    def statuses(self) -> dict[int, ModelVersionStatus]:
        with self._changed:
            return dict(sorted(self._statuses.items(), reverse=True))

    def watch(self, stop: threading.Event) -> None:
        while not stop.wait(self._config.poll_seconds):
            try:
                self.refresh()
            except OSError as error:  # an unmounted disk may come back
                LOG.error("%s can't be read: %s", self._model.directory, error)

    def refresh(self) -> None:
        """Loads and unloads versions, in one thread only."""
        answering, allowed = set(), self._model.allowed
        for version, path in self._paths():
            if len(answering) == self._model.newest:
                break
            if allowed is not None and version not in allowed:
                continue
            if version in self._loaded or self._load_version(version, path):
                answering.add(version)
        if answering:
            for version in sorted(set(self._loaded) - answering):
                self._unload(version)

    def close(self) -> None:
        for servable in self._loaded.values():
            servable.close()

    def _paths(self):
        """The versions that are there, newest first; a file is a new one if it changes."""
        directory = self._model.directory
        if not directory.is_file():
            return [(v, directory / str(v)) for v in reversed(versions(directory))]
        files, version = self._file
        if (current := fingerprint(directory)) != files:
            self._file = current, version + 1
        return [(self._file[1], directory)]

    def _load_version(self, version, path):
        """Whether the version answers now; it doesn't if it is broken or incomplete."""
        name, files = self._model.name, fingerprint(path)
        if self._broken.get(version) == files:
            return False
        self._set_status(version, State.LOADING)
        try:
            servable = self._load(path)
        except Exception as error:  # whatever the reason, the old version stays
            self._broken[version] = files
            self._set_status(version, State.END, f"{type(error).__name__}: {error}")
            LOG.error("%s: version %d can't be loaded: %s", name, version, error)
            return False
        self._broken.pop(version, None)
        servable.version = version
        with self._changed:
            self._loaded[version] = servable
            self._set_status(version, State.AVAILABLE)
        LOG.info("%s: version %d answers", name, version)
        return True

    def _load(self, path):
        if path.is_file():
            return LiteServable(path, self._model.name)
        if not os.path.lexists(path / SAVED_MODEL):
            raise FileNotFoundError(f"it lacks {SAVED_MODEL}")
        return SavedModelServable(
            path,
            name=self._model.name,
            threads=self._config.threads,
            n_batches=self._config.num_batch_threads,
        )

    def _unload(self, version):
        self._set_status(version, State.UNLOADING)
        with self._changed:
            old = self._loaded.pop(version)
            self._changed.wait_for(lambda: not self._uses[old])
            del self._uses[old]
        old.close()
        self._set_status(version, State.END)

    def _set_status(self, version, state, error=""):
        status = ModelVersionStatus(version=version, state=state)
        status.status.error_code = UNKNOWN if error else 0
        folder = f"{self._model.directory}{os.sep}"  # clients read it
        status.status.error_message = error.replace(folder, "")
        with self._changed:
            self._statuses[version] = status


def fingerprint(path: Path) -> list:
    """The files of a version, with their sizes and times."""
    files = []
    for file in [path, *sorted(path.rglob("*"))]:
        files.append(str(file))
        with contextlib.suppress(OSError):  # a broken link, or it was just removed
            status = file.stat()
            files.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return files
