"""Files of repositories at Hugging Face, in the cache of `huggingface_hub`.

Its settings apply: `HF_TOKEN` or `hf auth login` for private repositories, `HF_HOME`
for the folder of the cache, `HF_ENDPOINT` for another hub.
"""

import functools
import importlib
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from elmo_keras.base.extras import import_extra
from elmo_keras.hub.cache import OFFLINE, is_offline, max_bytes, mirrored
from elmo_keras.hub.catalogue import (
    CARD,
    CURVES,
    HEAD_FILES,
    OPTIONAL,
    OPTIONS,
    WEIGHTS,
)

PARTS = re.compile(r"hf://([^/]+/[^/@]+)(?:@([^/]+))?/(.+)")
PERPLEXITY = re.compile(r"as `Elmo` reads it: .* mean ([\d.]+)")  # model card


def download_from_hub(
    addresses: Sequence[str], optional: Sequence[str] = ()
) -> list[Path]:
    """The paths of `hf://OWNER/NAME[@REVISION]/FILE`, of one commit, downloaded if needed."""
    hub = _import_huggingface_hub(addresses[0])
    errors, paths, commit = hub.errors, [], None
    missing_here = errors.LocalEntryNotFoundError, errors.FileMetadataError
    for address in (*addresses, *optional):
        parts = PARTS.fullmatch(address)
        if parts is None:
            raise ValueError(
                f"The address of a file should be hf://OWNER/NAME/FILE. Received: {address}"
            )
        repository, revision, file = parts.groups()
        download = functools.partial(
            hub.hf_hub_download,
            repository,
            file,
            revision=commit or (revision and unquote(revision)),
            library_name="elmo-keras",
            local_files_only=is_offline(),
            endpoint=mirrored(hub.constants.ENDPOINT),
        )
        try:
            metadata = download(dry_run=True)
            size = metadata.file_size
            if size is None or size > max_bytes(file):
                size = "an unknown number" if size is None else f"{size:,}"
                raise ValueError(
                    f"{address} is not the right file: it should have at most "
                    f"{max_bytes(file):,} bytes. It has {size}"
                )
            paths.append(Path(download()))
        except (errors.HTTPError, *missing_here) as error:
            missing = is_offline() or isinstance(error, errors.RemoteEntryNotFoundError)
            if missing and address in optional:
                continue
            if is_offline():
                raise FileNotFoundError(
                    f"{address} is not in the cache of huggingface_hub, and {OFFLINE} "
                    "forbids downloads."
                ) from error
            text = f"{address} could not be downloaded: {_reason(error)}"
            raise ConnectionError(text) from error
        commit = metadata.commit_hash  # the next file should be of the same commit
    return paths


def push_to_hub(
    model: str | Path,
    repository: str,
    *,
    private: bool | None = None,
    **metadata: Any,
) -> str:
    """Uploads a model directory, or a head, to a repository at Hugging Face, as one commit.

    The directory's `model_card.md` becomes its README, with metadata in front.

    Args:
        model: the path of a model directory, or of the folder of a head.
        repository: `OWNER/NAME`; it is made if it is missing.
        private: whether a new repository is private; None for its owner's default.
        **metadata: further arguments of `huggingface_hub.ModelCardData`, such as
            `language="en"`, `license="mit"` and `datasets=["wikipedia"]`.

    Returns:
        `hf://OWNER/NAME@COMMIT`, which names this model also after another push.

    Raises:
        ValueError: there is no model directory, no token, or no `OWNER/NAME`.
        ConnectionError, ImportError: the hub refuses; huggingface_hub is missing.
    """
    hub, folder = _import_huggingface_hub("push_to_hub"), Path(model)
    if not re.fullmatch(r"[\w.-]+/[\w.-]+", repository):
        raise ValueError(f"`repository` should be OWNER/NAME. Received: {repository}")
    is_head = (folder / HEAD_FILES[0]).is_file()
    if not is_head and not all((folder / n).is_file() for n in (OPTIONS, WEIGHTS)):
        raise ValueError(
            f"`model` should be a folder with {OPTIONS} and {WEIGHTS}, or of a head. "
            f"Received: {model}"
        )
    head = json.loads((folder / HEAD_FILES[0]).read_bytes()) if is_head else {}
    if Path(below := head.get("language_model", "")).is_absolute():
        raise ValueError(
            f"The head's language model is at {below}, where nobody else has it. Push that "
            "one first, and train the head with its hf://OWNER/NAME as the model."
        )
    if is_offline():
        raise ConnectionError(f"{repository} can't be written: {OFFLINE} forbids it.")
    if hub.get_token() is None:
        raise ValueError(
            f"Writing {repository} needs a token: set HF_TOKEN, or run `hf auth login`."
        )
    names = HEAD_FILES if is_head else (OPTIONS, WEIGHTS, *OPTIONAL, CURVES)
    files = [name for name in names if (folder / name).is_file()]
    changes = [hub.CommitOperationAdd(name, folder / name) for name in files]
    card = _card(hub, folder / CARD, repository.split("/")[1], metadata)
    changes.append(hub.CommitOperationAdd("README.md", card.encode()))
    api = hub.HfApi(mirrored(hub.constants.ENDPOINT), library_name="elmo-keras")
    try:
        api.create_repo(repository, private=private, exist_ok=True)
        ours = {*HEAD_FILES, OPTIONS, WEIGHTS, *OPTIONAL, CURVES}
        outdated = {*api.list_repo_files(repository)} & ours - {*files}
        changes += map(hub.CommitOperationDelete, sorted(outdated))
        commit = api.create_commit(repository, changes, commit_message="Upload a model")
    except (hub.errors.HTTPError, RuntimeError) as error:
        text = f"{repository} could not be written: {_reason(error)}"
        raise ConnectionError(text) from error
    return f"hf://{repository}@{commit.oid}"


def _card(hub, path, name, metadata):
    """A model card, or a new one, with the metadata in front."""
    text = path.read_text(encoding="utf-8") if path.exists() else f"# {name}\n"
    head = hub.ModelCardData(library_name="elmo-keras", tags=["elmo"], **metadata)
    if match := PERPLEXITY.search(text):
        head.model_name = name
        head.eval_results = [
            hub.EvalResult(
                task_type="text-generation",
                dataset_type="text",
                dataset_name="held-out text",
                metric_type="perplexity",
                metric_value=float(match[1]),
            )
        ]
    return f"---\n{head.to_yaml()}\n---\n\n{text}"


def _reason(error):
    cause = error.__cause__ if isinstance(error, RuntimeError) else ""  # an upload's
    return " ".join(f"{error} {cause}".split())


def _import_huggingface_hub(needed_by):
    for name in "huggingface_hub.constants", "huggingface_hub.errors":
        import_extra(name, needed_by)
    return importlib.import_module("huggingface_hub")
