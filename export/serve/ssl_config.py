"""TLS of gRPC, from TensorFlow Serving's own `ssl_config_file`."""

from pathlib import Path

import grpc
from google.protobuf import (
    descriptor_pb2,
    descriptor_pool,
    message_factory,
    text_format,
)

_Field = descriptor_pb2.FieldDescriptorProto
_TEXTS = "server_key", "server_cert", "custom_ca"


def read_ssl_config(path: Path) -> grpc.ServerCredentials:
    """The credentials of a file in the text format of TensorFlow Serving's `SSLConfig`.

    `server_key` and `server_cert` hold PEM, and so does `custom_ca`, the authorities
    that certificates of clients are checked with if `client_verify` is true.

    Raises:
        OSError: the file can't be read.
        ValueError: it is no such file, or lacks what it needs.
    """
    config = _message()
    try:
        text_format.Parse(path.read_text(encoding="utf-8"), config)
    except (text_format.ParseError, UnicodeDecodeError) as error:
        raise ValueError(
            f"{path} should be in the text format of SSLConfig: {error}"
        ) from None
    needed = [*_TEXTS[:2], *_TEXTS[2:] * config.client_verify]
    for name in needed:
        if "-----BEGIN" not in getattr(config, name):
            raise ValueError(f"{path} should hold PEM as `{name}`.")
    return grpc.ssl_server_credentials(
        [(config.server_key.encode(), config.server_cert.encode())],
        root_certificates=config.custom_ca.encode() or None,
        require_client_auth=config.client_verify,
    )


def _message():
    """An empty `SSLConfig`, which tensorflow-serving-api lacks."""
    file = descriptor_pb2.FileDescriptorProto(
        name="elmo_keras/ssl_config.proto", package="elmo_keras", syntax="proto3"
    )
    message = file.message_type.add(name="SSLConfig")
    for number, name in enumerate((*_TEXTS, "client_verify"), start=1):
        kind = _Field.TYPE_STRING if name in _TEXTS else _Field.TYPE_BOOL
        message.field.add(
            name=name, number=number, type=kind, label=_Field.LABEL_OPTIONAL
        )
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    descriptor = pool.FindMessageTypeByName("elmo_keras.SSLConfig")
    return message_factory.GetMessageClass(descriptor)()
