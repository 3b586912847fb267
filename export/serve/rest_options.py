"""Limits of the REST server."""

import dataclasses


@dataclasses.dataclass(frozen=True)
class RestOptions:
    """Limits of the REST server, in seconds and connections.

    Args:
        timeout: seconds for an answer, from the end of the request's body.
        header_timeout: seconds for the headers of a request, from the connection or
            the answer before it; then the connection is closed.
        body_timeout: seconds for the body of a request, and for each part of an
            answer that a client reads.
        max_connections: maximum number of connections. A further one takes the place
            of the oldest one without a complete request.
        cors: whether answers allow pages of any origin to read them.
    """

    timeout: float = 30.0
    header_timeout: float = 30.0
    body_timeout: float = 60.0
    max_connections: int = 512
    cors: bool = False
