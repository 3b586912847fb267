"""JSON in data files."""

import json
from pathlib import Path
from typing import Any

from elmo_keras.tasks.readers.lines import malformed


def decoded_json(path: str | Path, line: int, text: str) -> Any:
    """The value of JSON text that begins at this line of a file.

    Raises:
        ValueError: `file:line:` and the reason.
    """
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        reason = f"JSON is expected. Column {error.colno}: {error.msg}"
        raise malformed(path, line + error.lineno - 1, reason) from None
    except RecursionError:
        raise malformed(path, line, "the JSON has too many nested brackets") from None
