"""The configuration of a server, also from TensorFlow Serving's files."""

import dataclasses
import os
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter
from google.protobuf import text_format

from elmo_keras.base.files import naming_damage, whole_file
from elmo_keras.commands.arguments import Count, Index, Port, Positive, Seconds

GRPC = Parameter(group="gRPC")
REST = Parameter(group="REST")
LIMITS = Parameter(group="Limits of a request")
BATCHING = Parameter(group="Batching, named as in TensorFlow Serving's file")


def batches_at_once() -> int:
    """2 if each has two processors, one for each direction of the LSTMs; else 1."""
    has_affinity = hasattr(os, "sched_getaffinity")  # Linux
    processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
    return max(1, min(2, (processors or 1) // 2))


@Parameter(name="*")
@dataclasses.dataclass(frozen=True)
class Config:
    """The options of a server.

    Args:
        threads: threads of TensorFlow's operations; one for each processor if not given
        poll_seconds: seconds between checks for a newer version
        host: address to listen on
        grace_seconds: seconds to answer waiting requests at the end
        port: port of gRPC; 0 takes a free one
        tensor_content: answers with tensor_content, not float_val
        rest_port: port of REST; 0 takes a free one
        rest_timeout: seconds for an answer, after the request's end
        rest_header_timeout: seconds for headers, or idle
        rest_body_timeout: seconds for a request, and to read a part of an answer
        rest_cors: answers any page of a browser
        max_message_mb: maximum size of a request, in MB
        max_request_tokens: tokens of all sentences, with their padding
        max_batch_size: rows; a larger request is a batch by itself
        max_batch_tokens: positions, with padding
        long_request_tokens: a request with more has threads of its own
        batch_timeout_micros: time to wait for other requests
        max_enqueued_requests: requests that wait; further ones are refused
        num_batch_threads: batches computed at the same time
    """

    threads: Count | None = None
    poll_seconds: Seconds = 2.0
    host: str = "127.0.0.1"
    grace_seconds: Seconds = 10.0
    port: Annotated[Port, GRPC] = 8500
    tensor_content: Annotated[bool, GRPC] = False
    rest_port: Annotated[Port, REST] = 8501
    rest_timeout: Annotated[Positive, REST] = 30.0
    rest_header_timeout: Annotated[Positive, REST] = 30.0
    rest_body_timeout: Annotated[Positive, REST] = 60.0
    rest_cors: Annotated[bool, REST] = False
    max_message_mb: Annotated[Count, LIMITS] = 64
    max_request_tokens: Annotated[Count, LIMITS] = 65_536
    max_batch_size: Annotated[Count, BATCHING] = 32
    # A long sentence doesn't pad many short ones.
    max_batch_tokens: Annotated[Count, BATCHING] = 4096
    long_request_tokens: Annotated[Count, BATCHING] = 2048
    # Batches form while all threads are busy.
    batch_timeout_micros: Annotated[Index, BATCHING] = 0
    max_enqueued_requests: Annotated[Count, BATCHING] = 128
    num_batch_threads: Annotated[Count, BATCHING] = dataclasses.field(
        default_factory=batches_at_once
    )

    @property
    def max_message_bytes(self) -> int:
        return self.max_message_mb * 2**20


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    """A model, and which of its versions are loaded: the newest ones of the allowed."""

    name: str
    directory: Path
    newest: int | None = 1  # None: all
    allowed: frozenset[int] | None = None  # None: all


def read_model_configs(path: Path) -> list[ModelConfig]:
    """The models of a file in the text format of TensorFlow Serving's `ModelServerConfig`.

    A `base_path` that is not absolute is taken from the folder of the file. Labels of
    versions are not read: requests name versions by their number.
    """
    # `serve` names all packages that are missing, so it is imported without this one.
    from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig  # pyright: ignore[reportAttributeAccessIssue]

    message = ModelServerConfig()
    with naming_damage(f"{path} should be in the text format of ModelServerConfig:"):
        text_format.Parse(whole_file(path, 2**20).decode(), message)
    configs = message.model_config_list.config
    names = [config.name for config in configs]
    if not names or len(set(names)) < len(names):
        raise ValueError(f"{path} should list models, each once. Received: {names}")
    return [_model(config, path) for config in configs]


def _model(config, path):
    if not config.name or not config.base_path:
        raise ValueError(f"{path}: each config should have a `name` and a `base_path`.")
    policy = config.model_version_policy
    choice = policy.WhichOneof("policy_choice")
    newest, allowed = policy.latest.num_versions or 1, None
    if choice in ("all", "specific"):
        newest = None
    if choice == "specific":
        allowed = frozenset(policy.specific.versions)
    return ModelConfig(config.name, path.parent / config.base_path, newest, allowed)
