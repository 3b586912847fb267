"""The versions of a model in a directory; the newest loaded one answers requests."""

import collections
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from tensorflow_serving.apis.get_model_status_pb2 import ModelVersionStatus  # pyright: ignore[reportAttributeAccessIssue]

from elmo_keras.export.version_paths import versions
from elmo_keras.serve.config import ModelConfig
from elmo_keras.serve.errors import invalid, not_found
from elmo_keras.serve.servable import Servable

LOG = logging.getLogger(__name__)
SAVED_MODEL = "saved_model.pb"

State = ModelVersionStatus.State


class Status(NamedTuple):
    state: int
    error: str = ""


class Versions:
    """Loads the versions of a policy, and others when they appear.

    An old version answers until the new one is loaded and warm, and is unloaded after
    its last request. A version that fails to load has the error in its status, and is
    tried again when its files change. If all directories disappear, versions stay.
    """

    def __init__(self, model: ModelConfig, load: Callable[[Path], Servable]):
        self._model, self._load = model, load
        self._changed = threading.Condition()
        self._loaded: dict[int, Servable] = {}
        self._uses: collections.Counter[Servable] = collections.Counter()
        self._statuses: dict[int, Status] = {}
        self._broken: dict[int, list] = {}  # the files that can't be loaded
        self._file: tuple[list, int] = [], 0
        self.refresh()
        if not self._loaded:
            directory = model.directory
            errors = [f"{v}: {s.error}" for v, s in self._statuses.items()]
            if os.path.lexists(directory / SAVED_MODEL):
                errors = [f"It is itself a version: give {directory.parent}"]
            raise ValueError(
                f"{directory} should hold a version that can be loaded, such as "
                f"{directory / '1' / SAVED_MODEL}. {'; '.join(errors)}".strip()
            )

    @contextlib.contextmanager
    def lease(self, version: int | str | None = None) -> Iterator[Servable]:
        """The version or label, or the newest version; it stays within the context."""
        wanted = self.resolve(version)
        with self._changed:
            key = max(self._loaded) if wanted is None else wanted
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

    def resolve(self, version: int | str | None) -> int | None:
        """The version that a label stands for; any other as it is."""
        if not isinstance(version, str):
            return version
        if version not in self._model.labels:
            raise invalid(
                f"The labels of versions are {sorted(self._model.labels)}. "
                f"Received: {version!r}"
            )
        return self._model.labels[version]

    def statuses(self) -> dict[int, Status]:
        with self._changed:
            return dict(sorted(self._statuses.items(), reverse=True))

    def watch(self, seconds: float, stop: threading.Event) -> None:
        while not stop.wait(seconds):
            try:
                self.refresh()
            except OSError as error:  # an unmounted disk may come back
                directory = self._model.directory
                LOG.error(
                    "%s: %s can't be read: %s", self._model.name, directory, error
                )

    def refresh(self) -> bool:
        """Loads and unloads versions, in one thread only; returns whether any changed."""
        before, wanted = set(self._loaded), set()
        newest, only = self._model.policy
        for version, path in self._paths():
            if len(wanted) == newest:
                break
            allowed = only is None or version in only
            if allowed and (
                version in self._loaded or self._load_version(version, path)
            ):
                wanted.add(version)
        if wanted:
            for version in sorted(set(self._loaded) - wanted):
                self._unload(version)
        return set(self._loaded) != before

    def close(self) -> None:
        for servable in list(self._loaded.values()):
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
            if not (path.is_file() or os.path.lexists(path / SAVED_MODEL)):
                raise FileNotFoundError(f"it lacks {SAVED_MODEL}")
            servable = self._load(path)
            servable.version = version
        except Exception as error:  # whatever the reason, the old version stays
            self._broken[version] = files
            self._set_status(version, State.END, f"{type(error).__name__}: {error}")
            LOG.error("%s: version %d can't be loaded: %s", name, version, error)
            return False
        self._broken.pop(version, None)
        with self._changed:
            self._loaded[version] = servable
            self._statuses[version] = Status(State.AVAILABLE)
        LOG.info("%s: version %d answers", name, version)
        return True

    def _unload(self, version):
        self._set_status(version, State.UNLOADING)
        with self._changed:
            old = self._loaded.pop(version)
            self._changed.wait_for(lambda: not self._uses[old])
            del self._uses[old]
        old.close()
        self._set_status(version, State.END)

    def _set_status(self, version, state, error=""):
        with self._changed:
            self._statuses[version] = Status(state, error)


def fingerprint(path: Path) -> list:
    """The files of a version, with their sizes and times."""
    files = []
    for file in [path, *sorted(path.rglob("*"))]:
        files.append(str(file))
        with contextlib.suppress(OSError):  # a link to nothing, or it was just removed
            status = file.stat()
            files.append((status.st_ino, status.st_size, status.st_mtime_ns))
    return files
