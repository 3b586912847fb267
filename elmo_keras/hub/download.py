"""The files of a published model, downloaded by pooch to its folder of the cache."""

import errno
import functools
import os
import re
import shutil
import sys
import time
from email.utils import formatdate, mktime_tz, parsedate_tz
from pathlib import Path
from urllib.parse import urljoin

from elmo_keras.files import only_process
from elmo_keras.hub.cache import (
    CACHE,
    OFFLINE,
    cache_folder,
    folder_name,
    is_offline,
    max_bytes,
    mirrored,
)
from elmo_keras.hub.catalogue import HUB, OPTIONAL, OPTIONS, PublishedModel, RemoteFile
from elmo_keras.hub.hugging_face import download_from_hub
from elmo_keras.progress import Progress

TIMEOUTS = 10.0, 60.0  # seconds until there is a connection, and without a byte
ATTEMPTS, PAUSE = 3, 1.0  # in a row without a new byte; seconds
PASSING = 408, 416, 425, 429, 500, 502, 503, 504  # statuses that may soon be others
BLOCK = 2**14  # bytes, at most so many are lost when a connection breaks
PAGE = re.compile(rb"(?i)\s*<(!doctype|html|head|body|\?xml|error|!--)")


def download_model(
    model: PublishedModel, *, with_extra: bool = False
) -> tuple[Path, Path | None]:
    """Downloads the files of a model that are not in the cache, `extra` ones on request.

    Returns the archive, or the folder of the files, and None; for files of other names at
    Hugging Face its options and its weights. A model of the package needs no download.
    """
    if model.unavailable:
        raise FileNotFoundError(
            f"{model.name} can't be downloaded: {model.unavailable}."
        )
    if model.in_package:
        return model.in_package, None
    if model.name.startswith(HUB):
        addresses = [file.address for file in model.files]
        folder, name = addresses[0].rsplit("/", 1)
        optional = [f"{folder}/{n}" for n in OPTIONAL] if name == OPTIONS else []
        path, *others = download_from_hub(addresses, optional)
        if name == OPTIONS:
            return path.parent, None
        return path, others[0] if others else None
    folder = cache_folder() / folder_name(model.name)
    for file in (*model.files, *(model.extra if with_extra else ())):
        download_file(file, folder)
    archive = len(model.files) == 1
    return folder / model.files[0].name if archive else folder, None


def download_file(file: RemoteFile, folder: Path) -> Path:
    """Downloads a file unless it is there; several processes may ask for it at once."""
    target = folder / file.name
    if target.exists():
        return target
    by_hand = (
        f"Download {file.address} by hand to {target}, or give the path of a model."
    )
    if is_offline():
        raise FileNotFoundError(
            f"There is no {target}, and {OFFLINE} forbids downloads. {by_hand}"
        )
    import pooch  # after the checks, because it and requests take a while
    import requests

    address, part = mirrored(file.address), target.with_name(f"{target.name}.part")
    pooch.get_logger().setLevel("WARNING")
    storage = pooch.create(
        folder, "", registry={file.name: file.checksum}, urls={file.name: address}
    )
    try:
        with only_process(
            folder, f"Waiting for another download to {folder}.", wait=True
        ):
            if not target.exists():
                print(f"Downloading {address} to {target}", file=sys.stderr, flush=True)
                downloader = functools.partial(_download, file=file, part=part)
                # pooch's annotation has the names of another function's parameters.
                storage.fetch(file.name, downloader=downloader)  # pyright: ignore
    except requests.RequestException as error:
        reason = getattr(error.args[0], "reason", error) if error.args else error
        text = f"{address} could not be downloaded: {reason}. {by_hand}"
        raise ConnectionError(text) from error
    except ValueError as error:
        text = f"{address} is not the right file: {error}. {by_hand}"
        raise ValueError(text) from error
    except OSError as error:
        raise OSError(
            error.errno,
            f"{error.strerror or error}: {part} can't be written; {CACHE} names another "
            "folder. What is there is kept: the same call resumes",
        ) from error
    return target


def _download(address, output, _, *, file, part):
    """A downloader for pooch, which writes to `part` first."""
    try:
        _complete(address, part, file.size or max_bytes(file.name))
        _check_content(file, part)
    except ValueError:
        part.unlink(missing_ok=True)
        raise
    os.replace(part, output)


def _complete(address, part, limit):
    """Resumes a part, and tries again while bytes come."""
    import requests

    most, failures = _size(part), 0
    while True:
        try:
            return _receive(address, part, limit)
        except (
            requests.ConnectionError,
            requests.Timeout,
            requests.exceptions.ChunkedEncodingError,
        ):
            failures = 0 if _size(part) > most else failures + 1
            most = max(most, _size(part))
            if failures == ATTEMPTS:
                raise
            time.sleep(PAUSE * failures)


def _receive(address, part, limit):
    """One attempt. The time of a part is the server's, which tells it if it may resume."""
    import requests

    done = _size(part)
    headers = {"User-Agent": "elmo-keras", "Accept-Encoding": "identity"}
    if done:
        headers["Range"] = f"bytes={done}-"
        headers["If-Range"] = formatdate(part.stat().st_mtime, usegmt=True)
    with requests.get(
        address,
        headers=headers,
        timeout=TIMEOUTS,
        stream=True,
        hooks={"response": _check_redirect},
    ) as response:
        status, headers = response.status_code, response.headers
        if status == 416:  # there is nothing after the bytes that are here
            if headers.get("Content-Range") == f"bytes */{done}":
                return
            part.unlink(missing_ok=True)
        if status in PASSING:
            raise requests.Timeout(f"the server answered {status} {response.reason}")
        response.raise_for_status()
        if status != 206:
            part.unlink(missing_ok=True)
            done = 0
        length = headers.get("Content-Length", "")
        total = done + int(length) if length.isdecimal() else None
        _check_size(total or done, limit)
        if total and total - done > (free := shutil.disk_usage(part.parent).free):
            text = f"{total - done:,} bytes are needed, and {free:,} are free"
            raise OSError(errno.ENOSPC, text)
        # A server may call an archive gzipped content: it stays an archive.
        response.raw.headers.pop("Content-Encoding", None)
        progress = Progress(total=total, initial=done, unit="B")
        with part.open("ab") as file, progress:
            for block in response.iter_content(BLOCK):
                _check_size(file.tell() + len(block), limit)
                file.write(block)
                file.flush()
                _set_time(part, headers)
                progress.update(len(block))
            os.fsync(file.fileno())
    _set_time(part, headers)
    if total and _size(part) < total:
        raise requests.ConnectionError(
            f"the server broke off after {_size(part):,} of {total:,} bytes"
        )


def _set_time(part, headers):
    if modified := parsedate_tz(headers.get("Last-Modified", "")):
        os.utime(part, (0, mktime_tz(modified)))


def _check_redirect(response, **_):
    import requests

    target = urljoin(response.url, response.headers.get("Location", ""))
    secure = response.url.startswith("https:")
    if response.is_redirect and secure and not target.startswith("https:"):
        raise requests.RequestException(f"it redirects to {target}, which is not https")


def _check_size(size, limit):
    if size > limit:
        raise ValueError(
            f"it should have at most {limit:,} bytes. It has {size:,} or more"
        )


def _check_content(file, path):
    """Refuses another size than the stated one, nothing at all, and web pages."""
    if file.size is not None and _size(path) != file.size:
        raise ValueError(f"it should have {file.size:,} bytes. It has {_size(path):,}")
    with path.open("rb") as content:
        start = content.read(1024).removeprefix(b"\xef\xbb\xbf")
    if PAGE.match(start):
        words = re.sub(rb"(?s)<(script|style).*?</\1>|<[^>]*>", b" ", start)
        text = " ".join(words.decode(errors="replace").split())
        raise ValueError(f"it is a web page or an error message: {text[:100]!r}")
    if not start:
        raise ValueError("it is empty")


def _size(path):
    return path.stat().st_size if path.exists() else 0
