"""The paths of TensorFlow Serving's REST API."""

import re
from typing import NamedTuple
from urllib.parse import unquote

from tensorflow_serving.apis.model_pb2 import ModelSpec

from .request_error import invalid

ROOT = "/v1/"
MAX_VERSION = 2**63 - 1

_MODEL = (
    r"(?i:/v1/models/)(?P<name>[^/:]+)"
    r"(?:(?i:/versions/)(?P<version>[0-9]+)|(?i:/labels/)(?P<label>[^/:]+))?"
)
_POST = re.compile(_MODEL + r"(?i::(?P<page>classify|regress|predict))")
_GET = re.compile(_MODEL + r"(?i:/(?P<page>metadata))?")


class Target(NamedTuple):
    """What a request asks for.

    Attributes:
        page: `"status"`, `"metadata"`, `"predict"`, `"classify"` or `"regress"`.
        spec: the model, with the version or label if the path has one.
    """

    page: str
    spec: ModelSpec


def is_of_api(path: str) -> bool:
    """Whether a path belongs to the API; others are not found."""
    return path.lower().startswith(ROOT)


def parse_path(method: str, path: str) -> Target:
    """What a method and an undecoded path without a query ask for.

    Raises:
        RequestError: nothing of the API, or the version is no number of 64 bits.
    """
    if method == "GET" and path.lower() == f"{ROOT}models":
        raise invalid("The name of a model is missing: /v1/models/NAME")
    patterns = {"POST": _POST, "GET": _GET}
    found = patterns[method].fullmatch(path) if method in patterns else None
    if not found:
        raise invalid(f"Malformed request: {method} {path}")
    spec = ModelSpec(name=_decoded(found["name"]))
    if found["version"]:
        spec.version.value = _version(found["version"])
    if found["label"]:
        spec.version_label = _decoded(found["label"])
    return Target((found["page"] or "status").lower(), spec)


def _version(digits):
    significant = digits.lstrip("0")
    # `int` refuses to read thousands of digits.
    if len(significant) > 19 or int(significant or 0) > MAX_VERSION:
        raise invalid(f"A version should fit into 64 bits. Received: {digits[:40]}")
    return int(significant or 0)


def _decoded(name):
    try:
        decoded = unquote(name, errors="strict")
        decoded.encode()  # bytes of a path that are no text become surrogates
    except UnicodeError:
        raise invalid(f"Names should be UTF-8. Received: {name}") from None
    return decoded
