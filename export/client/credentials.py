"""TLS of a client: certificates and a key, read from files."""

from pathlib import Path

import grpc


def read_credentials(
    root_certificates: Path | None = None,
    client_key: Path | None = None,
    client_certificate: Path | None = None,
) -> grpc.ChannelCredentials | None:
    """The credentials of a client, or None without any file: no TLS.

    Args:
        root_certificates: the authorities that the server's certificate is checked
            with; those of the system if None and the others are given.
        client_key, client_certificate: for a server that checks its clients.

    Raises:
        OSError: a file can't be read.
        ValueError: a file holds no PEM, or a key comes without a certificate, or the
            other way round.
    """
    if (client_key is None) != (client_certificate is None):
        raise ValueError(
            "--client-key and --client-certificate belong together. Received one of them."
        )
    paths = root_certificates, client_key, client_certificate
    if not any(paths):
        return None
    return grpc.ssl_channel_credentials(*(path and _read_pem(path) for path in paths))


def _read_pem(path):
    content = path.read_bytes()
    if b"-----BEGIN" not in content:
        raise ValueError(f"{path} should hold PEM, with a line -----BEGIN …-----.")
    return content
