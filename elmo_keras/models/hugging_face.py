"""Files of repositories at Hugging Face, in the cache of `huggingface_hub`.

Its settings apply: `HF_TOKEN` or `hf auth login` for private repositories, `HF_HOME`
for the folder of the cache, `HF_ENDPOINT` for another hub.
"""

import re
from collections.abc import Sequence
from pathlib import Path
from urllib.parse import unquote

from elmo_keras.models.cache import OFFLINE, is_offline, mirrored

PARTS = re.compile(r"hf://([^/]+/[^/@]+)(?:@([^/]+))?/(.+)")


def hub_files(addresses: Sequence[str]) -> list[Path]:
    """The paths of files of one commit of a repository, downloaded if needed.

    Each address is `hf://OWNER/NAME[@REVISION]/FILE`. Errors are those of `download`.
    """
    try:
        from huggingface_hub import constants, errors, hf_hub_download
    except ImportError as error:
        raise ImportError(
            f"{addresses[0]} needs huggingface_hub: pip install 'elmo-keras[hub]'"
        ) from error
    failures = (
        errors.LocalEntryNotFoundError,
        errors.FileMetadataError,
        errors.HTTPError,
    )
    paths, commit = [], None
    for address in addresses:
        parts = PARTS.fullmatch(address)
        if parts is None:
            raise ValueError(
                f"The address of a file should be hf://OWNER/NAME/FILE. Received: {address}"
            )
        repository, revision, file = parts.groups()
        try:
            path = hf_hub_download(
                repository,
                file,
                revision=commit or (revision and unquote(revision)),
                library_name="elmo-keras",
                local_files_only=is_offline(),
                endpoint=mirrored(constants.ENDPOINT),
            )
        except errors.HFValidationError as error:
            raise ValueError(
                f"{address} should name a repository, hf://OWNER/NAME. {error}"
            ) from error
        except failures as error:
            if is_offline():
                raise FileNotFoundError(
                    f"{address} is not in the cache of huggingface_hub, and {OFFLINE} "
                    "forbids downloads."
                ) from error
            text = f"{address} could not be downloaded: {' '.join(str(error).split())}"
            raise ConnectionError(text) from error
        # …/snapshots/COMMIT/FILE; the next file should belong to the same commit.
        commit = Path(path).parts[-len(Path(file).parts) - 1]
        paths.append(Path(path))
    return paths
