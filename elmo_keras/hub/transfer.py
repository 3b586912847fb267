"""One file over HTTP: resumed where it broke off, and tried again after a fault."""

import dataclasses
import errno
import http.client
import json
import os
import shutil
import socket
import ssl
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

from elmo_keras.hub.file_kinds import START
from elmo_keras.util.fingerprint import installed_version
from elmo_keras.util.progress import Progress

TIMEOUT = 60.0  # seconds without a byte
ATTEMPTS = 5  # in a row without a new byte
PAUSES = 1.0, 1.0, 2.0, 4.0, 8.0  # seconds after 0, 1, 2, … attempts without a byte
BLOCK = 2**18
PASSING = 408, 425, 429, 500, 502, 503, 504  # statuses that may be different next time
UNREACHABLE = errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN
NETWORK_ERRORS = OSError, http.client.HTTPException


class TransferFailed(Exception):
    """The server can't be reached, or failed too often; the text says what happened."""


class PassingFault(Exception):
    """An attempt failed; another one may succeed."""


@dataclasses.dataclass(frozen=True)
class Transfer:
    """The download of an address to a file, which stays if it fails or is interrupted.

    The next one resumes if the server says that its file is still the same.
    """

    address: str
    part: Path
    check_start: Callable[[bytes], None]  # raises if the first bytes are wrong ones
    max_bytes: int

    def run(self) -> None:
        most, failures = self._size(), 0
        while True:
            try:
                return self._attempt()
            except PassingFault as fault:
                failures = 0 if self._size() > most else failures + 1
                most = max(most, self._size())
                if failures >= ATTEMPTS:
                    text = f"{fault} ({failures} times in a row)"
                    raise TransferFailed(text) from fault
            time.sleep(PAUSES[min(failures, len(PAUSES) - 1)])

    def discard(self) -> None:
        self.part.unlink(missing_ok=True)
        self._validator_file().unlink(missing_ok=True)

    def put_in_place(self, target: Path) -> None:
        self.part.replace(target)
        self._validator_file().unlink(missing_ok=True)

    def _attempt(self):
        done, validator = self._size(), self._validator()
        agent = f"elmo-keras/{installed_version('elmo-keras') or '0'}"
        request = urllib.request.Request(self.address, headers={"User-Agent": agent})
        if done and validator:
            request.add_header("Range", f"bytes={done}-")
            request.add_header("If-Range", validator)
        try:
            opener = urllib.request.build_opener(_Redirects)
            response = opener.open(request, timeout=TIMEOUT)
        except NETWORK_ERRORS as error:
            return self._refused(error)
        headers = response.headers
        with response:
            if response.status != 206:
                self.part.unlink(missing_ok=True)
            elif not headers.get("Content-Range", "").startswith(f"bytes {done}-"):
                self.part.unlink()
                raise PassingFault("the server sent another part than it was asked for")
            # The server's name for the content: a strong tag, or its time.
            tag = headers.get("ETag", "")
            known = tag if tag.startswith('"') else headers.get("Last-Modified")
            text = json.dumps({"address": self.address, "validator": known})
            self._validator_file().write_text(text, encoding="utf-8")
            self._receive(response)

    def _receive(self, response):
        done = self._size()
        announced = response.headers.get("Content-Length", "")
        total = done + int(announced) if announced.isdecimal() else None
        self._check_size(total or done)
        free = shutil.disk_usage(self.part.parent).free
        if total is not None and total - done > free:
            text = f"{total - done:,} bytes are needed, and {free:,} are free"
            raise OSError(errno.ENOSPC, text)
        progress = Progress(total=total, initial=done, unit="B")
        with self.part.open("ab") as file, progress:
            for block in _blocks(response):
                if file.tell() == 0:
                    if total is not None and len(block) < min(START, total):
                        break  # too few bytes to tell what they are
                    self.check_start(block)
                self._check_size(file.tell() + len(block))
                file.write(block)
                progress.update(len(block))
            file.flush()
            os.fsync(file.fileno())
        if total is not None and (size := self._size()) < total:
            raise PassingFault(
                f"the server broke off after {size:,} of {total:,} bytes"
            )

    def _check_size(self, size):
        if size > self.max_bytes:
            raise ValueError(
                f"it should have at most {self.max_bytes:,} bytes. It has {size:,} or more"
            )

    def _refused(self, error):
        """Raises what an error means; returns if the partial file is the whole one."""
        if isinstance(error, urllib.error.HTTPError):
            error.close()
            if error.code == 416:  # there is nothing after the bytes that are here
                if error.headers.get("Content-Range") == f"bytes */{self._size()}":
                    return
                self.part.unlink(missing_ok=True)
                raise PassingFault("the server's file is shorter than what is here")
        raise _fault(error)

    def _size(self):
        return self.part.stat().st_size if self.part.exists() else 0

    def _validator_file(self):
        return self.part.with_name(f"{self.part.name}.from")

    def _validator(self):
        try:
            kept = json.loads(self._validator_file().read_text(encoding="utf-8"))
            return kept["validator"] if kept["address"] == self.address else None
        except (OSError, ValueError, KeyError, TypeError):
            return None


class _Redirects(urllib.request.HTTPRedirectHandler):
    def redirect_request(self, req, fp, *args):
        address = args[-1]
        if not address.startswith("https:" if req.type == "https" else "http"):
            fp.close()
            raise TransferFailed(f"it redirects to {address}, which is not https")
        return super().redirect_request(req, fp, *args)


def _blocks(response) -> Iterator[bytes]:
    """The content in pieces; the first is shorter than `START` only if all is."""
    try:
        yield response.read(START)
        while block := response.read1(BLOCK):
            yield block
    except NETWORK_ERRORS as error:
        raise _fault(error) from error


def _fault(error) -> PassingFault | TransferFailed:
    """What one of `NETWORK_ERRORS` means: a fault that may pass, or one that lasts."""
    if isinstance(error, urllib.error.HTTPError):
        text = f"the server answered {error.code} {error.reason}"
        return PassingFault(text) if error.code in PASSING else TransferFailed(text)
    if isinstance(error, urllib.error.URLError):
        error = error.reason
    if isinstance(error, TimeoutError):
        return PassingFault(f"the server sent nothing for {TIMEOUT:g} seconds")
    lasts = isinstance(error, str | socket.gaierror | ssl.SSLCertVerificationError)
    if lasts or getattr(error, "errno", None) in UNREACHABLE:
        return TransferFailed(f"the server can't be reached: {error}")
    return PassingFault(f"the connection broke: {error or type(error).__name__}")
