"""What goes wrong on the network: what passes, what lasts, and how it is said."""

import errno
import http.client
import socket
import ssl
import urllib.error
from typing import NoReturn

PASSING = 408, 425, 429, 500, 502, 503, 504  # statuses that may be different next time
UNREACHABLE = errno.ENETUNREACH, errno.EHOSTUNREACH, errno.ENETDOWN
NETWORK_ERRORS = OSError, http.client.HTTPException


class TransferFailed(Exception):
    """A file could not be downloaded; the text says what happened."""


class PassingFault(Exception):
    """An attempt failed; another one may succeed."""


def raise_fault(error: Exception | str, timeout: float) -> NoReturn:
    """Raises what an error of the network means.

    Args:
        error: one of `NETWORK_ERRORS`, or the reason of a `URLError`.
        timeout: seconds without a byte after which there is an error.

    Raises:
        PassingFault: it may pass.
        TransferFailed: it lasts: no such host, no route, a wrong certificate.
    """
    if isinstance(error, urllib.error.HTTPError):
        text = f"the server answered {error.code} {error.reason}"
        raise PassingFault(text) if error.code in PASSING else TransferFailed(text)
    if isinstance(error, urllib.error.URLError):
        error = error.reason
    if isinstance(error, TimeoutError):
        raise PassingFault(f"the server sent nothing for {timeout:g} seconds")
    lasts = isinstance(error, str | socket.gaierror | ssl.SSLCertVerificationError)
    if lasts or getattr(error, "errno", None) in UNREACHABLE:
        raise TransferFailed(f"the server can't be reached: {error}")
    raise PassingFault(f"the connection broke: {error or type(error).__name__}")
