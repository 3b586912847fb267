"""The configuration of a server, also from TensorFlow Serving's files."""

import dataclasses
import os
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import grpc
from google.protobuf import text_format
from google.protobuf.descriptor_pb2 import FieldDescriptorProto as Field
from google.protobuf.proto_builder import MakeSimpleProtoClass
from tensorflow_serving.config.model_server_config_pb2 import ModelServerConfig  # pyright: ignore[reportAttributeAccessIssue]

from elmo_keras.util.files import whole_file

MEGABYTE = 2**20
PLATFORM = "tensorflow"


class VersionPolicy(NamedTuple):
    """Which versions are loaded: how many of the newest, of which numbers; None: all."""

    newest: int | None = 1
    only: frozenset[int] | None = None


@dataclasses.dataclass(frozen=True)
class ModelConfig:
    name: str
    directory: Path
    policy: VersionPolicy = VersionPolicy()
    labels: Mapping[str, int] = dataclasses.field(default_factory=dict)


def batches_at_once() -> int:
    """2 if each has two processors, one for each direction of the LSTMs; else 1."""
    has_affinity = hasattr(os, "sched_getaffinity")  # Linux
    processors = len(os.sched_getaffinity(0)) if has_affinity else os.cpu_count()
    return max(1, min(2, (processors or 1) // 2))


@dataclasses.dataclass(frozen=True)
class Config:
    models: Sequence[ModelConfig] = ()
    threads: int | None = None
    poll_seconds: float = 2.0
    host: str = "127.0.0.1"
    port: int = 8500
    rest_port: int = 8501
    grace_seconds: float = 10.0
    max_message_bytes: int = 64 * MEGABYTE
    credentials: grpc.ServerCredentials | None = None  # of TLS over gRPC
    tensor_content: bool = False
    rest_timeout: float = 30.0
    rest_header_timeout: float = 30.0
    rest_body_timeout: float = 60.0
    rest_cors: bool = False
    max_request_tokens: int = 65_536  # with padding
    max_batch_size: int = 32
    max_batch_tokens: int = 4096  # a long sentence doesn't pad many short ones
    long_request_tokens: int = 2048
    batch_timeout_micros: int = 0  # batches form while all threads are busy
    max_enqueued_requests: int = 128
    num_batch_threads: int = dataclasses.field(default_factory=batches_at_once)


def listen(host: str, port: int, option: str) -> socket.socket:
    """A socket on an address; of a name's addresses, one of IPv4 if there is one."""
    try:
        addresses = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        family, *_, address = min(addresses, key=lambda a: a[0] != socket.AF_INET)
        both = family == socket.AF_INET6 and socket.has_dualstack_ipv6()
        return socket.create_server(address, family=family, dualstack_ipv6=both)
    except OSError as error:
        raise OSError(
            f"Can't listen on {option} {port} of --host {host}: {error.strerror}. Give "
            "another, or end the program that listens there."
        ) from error


def read_model_configs(path: Path) -> list[ModelConfig]:
    """The models of a file in the text format of TensorFlow Serving's `ModelServerConfig`.

    A `base_path` that is not absolute is taken from the folder of the file.
    """
    message = _read(path, ModelServerConfig())
    configs = message.model_config_list.config
    if not configs:
        raise ValueError(f"{path} should list models: model_config_list {{ config {{…")
    models = [_model(config, path) for config in configs]
    names = [model.name for model in models]
    if repeated := sorted({name for name in names if names.count(name) > 1}):
        raise ValueError(f"{path} should name each model once. Repeated: {repeated}")
    return models


def _model(config, path):
    if not config.name or not config.base_path:
        raise ValueError(f"{path}: each config should have a `name` and a `base_path`.")
    if config.model_platform not in ("", PLATFORM):
        raise ValueError(
            f"{path}: the `model_platform` of {config.name!r} should be "
            f"{PLATFORM!r}. Received: {config.model_platform!r}"
        )
    proto = config.model_version_policy
    choice = proto.WhichOneof("policy_choice")
    policy = VersionPolicy(proto.latest.num_versions or 1)
    if choice in ("all", "specific"):
        policy = VersionPolicy(None, frozenset(proto.specific.versions) or None)
    if choice == "specific" and not policy.only:
        raise ValueError(
            f"{path}: `specific` of {config.name!r} should list `versions`."
        )
    directory, labels = path.parent / config.base_path, dict(config.version_labels)
    return ModelConfig(config.name, directory, policy, labels)


def read_ssl_config(path: Path) -> grpc.ServerCredentials:
    """The credentials of a file in the text format of TensorFlow Serving's `SSLConfig`.

    `custom_ca` has the authorities that check clients' certificates if `client_verify`.
    """
    fields: dict[str, int] = dict.fromkeys(
        ("server_key", "server_cert", "custom_ca"), Field.TYPE_STRING
    )
    fields["client_verify"] = Field.TYPE_BOOL
    # tensorflow-serving-api lacks this message.
    message = _read(path, MakeSimpleProtoClass(fields, "elmo_keras.SSLConfig")())
    key, cert, authorities, verify = (getattr(message, name) for name in fields)
    needed = {"server_key": key, "server_cert": cert}
    if verify:
        needed["custom_ca"] = authorities
    for name, content in needed.items():
        if "-----BEGIN" not in content:
            raise ValueError(f"{path} should hold PEM as `{name}`.")
    return grpc.ssl_server_credentials(
        [(key.encode(), cert.encode())],
        root_certificates=authorities.encode() or None,
        require_client_auth=verify,
    )


def _read(path, message):
    try:
        return text_format.Parse(whole_file(path, 2**20).decode(), message)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        name = message.DESCRIPTOR.name
        raise ValueError(
            f"{path} should be in the text format of {name}: {error}"
        ) from None
