"""The versions of a model in a directory; the newest one answers requests."""

import collections
import contextlib
import logging
import os
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import grpc
from tensorflow_serving.apis.get_model_status_pb2 import ModelVersionStatus

from ..version_directory import versions
from .request_error import RequestError
from .servable import Servable

LOG = logging.getLogger(__name__)
SAVED_MODEL = "saved_model.pb"

State = ModelVersionStatus.State


class Status(NamedTuple):
    """The status of a version.

    Attributes:
        state: a `ModelVersionStatus.State`.
        error: the reason why it failed to load, or `""`.
    """

    state: int
    error: str = ""


class Versions:
    """Loads the newest version, and switches to a newer one when it appears.

    Requests are answered throughout a change: the old version answers until the new
    one is loaded and warm, and is unloaded after its last request. A version that
    fails to load has the error in its status and is tried again when its files
    change; the loaded version stays. If the newest directory disappears, the one
    before it is loaded again; if all disappear, the loaded version stays.

    Args:
        directory: the folder of the versions, folders whose names are numbers.
        load: makes a servable from a version's directory.

    Raises:
        OSError: the directory can't be read.
        ValueError: it holds no version that can be loaded.
    """

    def __init__(self, directory: Path, load: Callable[[Path], Servable]):
        self._directory, self._load = directory, load
        self._changed = threading.Condition()
        self._current: Servable | None = None
        self._uses: collections.Counter[Servable] = collections.Counter()
        self._statuses: dict[int, Status] = {}
        self._broken: dict[int, list] = {}
        self.refresh()
        if self._current is None:
            errors = [f"{v}: {s.error}" for v, s in self._statuses.items()]
            raise ValueError(
                f"{directory} should hold a version that can be loaded, such as "
                f"{directory / '1' / SAVED_MODEL}. {'; '.join(errors)}".strip()
            )

    @contextlib.contextmanager
    def lease(self, version: int | None = None) -> Iterator[Servable]:
        """The loaded version, which stays loaded within the context.

        Args:
            version: its number, or None for the loaded one.

        Raises:
            RequestError: another version is loaded.
        """
        with self._changed:
            servable = self._current
            if version not in (None, servable.version):
                raise RequestError(
                    grpc.StatusCode.NOT_FOUND,
                    f"The loaded version is {servable.version}. Received: {version}",
                )
            self._uses[servable] += 1
        try:
            yield servable
        finally:
            with self._changed:
                self._uses[servable] -= 1
                self._changed.notify_all()

    def statuses(self) -> dict[int, Status]:
        """Version → status of all versions seen so far, the newest first."""
        with self._changed:
            return dict(sorted(self._statuses.items(), reverse=True))

    def watch(self, seconds: float, stop: threading.Event) -> None:
        """Looks for changes every `seconds` until `stop` is set."""
        while not stop.wait(seconds):
            try:
                self.refresh()
            except OSError as error:  # an unmounted disk may come back
                LOG.error("%s can't be read: %s", self._directory, error)

    def refresh(self) -> bool:
        """Loads the newest version unless it is loaded; returns whether it changed.

        Returns after the old version is unloaded. Only one thread may call it.

        Raises:
            OSError: the directory can't be read.
        """
        for version in reversed(versions(self._directory)):
            if not os.path.lexists(self._directory / str(version) / SAVED_MODEL):
                continue  # incomplete
            if self._current and version == self._current.version:
                return False
            if new := self._loaded(version):
                self._switch(new)
                return True
        return False

    def _loaded(self, version):
        """The version's servable, or None if it is broken."""
        path = self._directory / str(version)
        files = _fingerprint(path)
        if self._broken.get(version) == files:
            return None
        self._set_status(version, State.LOADING)
        try:
            servable = self._load(path)
        except Exception as error:  # whatever the reason, the old version stays
            self._broken[version] = files
            self._set_status(version, State.END, f"{type(error).__name__}: {error}")
            LOG.error("version %d can't be loaded: %s", version, error)
            return None
        self._broken.pop(version, None)
        return servable

    def _switch(self, new):
        with self._changed:
            old, self._current = self._current, new
            self._statuses[new.version] = Status(State.AVAILABLE)
        LOG.info("version %d answers", new.version)
        if old:
            self._set_status(old.version, State.UNLOADING)
            with self._changed:
                self._changed.wait_for(lambda: not self._uses[old])
                del self._uses[old]
            old.close()
            self._set_status(old.version, State.END)

    def _set_status(self, version, state, error=""):
        with self._changed:
            self._statuses[version] = Status(state, error)


def _fingerprint(path):
    """A list that changes when a file of the directory changes."""
    return [_stat(p) for p in sorted(path.rglob("*"))]


def _stat(path):
    try:
        stat = path.stat()
    except OSError:  # a link to nothing, or a file that was just removed
        return str(path)
    return str(path), stat.st_size, stat.st_mtime_ns
