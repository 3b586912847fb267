"""The REST side of the embedded server with heavy and faulty clients.

    python -m tests.benchmarks.rest_faults EXPORT [--before CHECKOUT]

EXPORT holds a version that `python -m export` wrote. Each fault meets a server of its
own, and the status page is asked for meanwhile, as a probe would. With --before, the
server of another checkout meets the same, in a column before. All limits of the
servers are their defaults, but SIGTERM comes with a grace of a second.
"""

import argparse
import collections
import os
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")

import grpc
import numpy as np

from elmo_keras.cli.command import command_parser, run_command
from tests.benchmarks.serving import Server, row
from tests.support.paths import ROOT
from tests.support.rest_clients import (
    HEAD,
    PREDICT,
    Posts,
    Probe,
    ask,
    drip,
    open_connections,
    text_body,
)
from tests.support.serving_requests import PREDICT as PREDICT_METHOD
from tests.support.serving_requests import text_request

PROGRAM = "tests.benchmarks.rest_faults"
POSTS, FAULTY = 180, 300
WATCHED = 15.0  # seconds for which faulty connections are watched
LONGER = 75.0  # seconds after which they should be closed
GRACE = 1.0  # seconds
LARGE = 7  # posts with a large answer


def started(checkout: Path, export: Path, *arguments: str) -> Server:
    """A server of a checkout that has answered a request."""
    server = Server(export, *arguments, checkout=checkout)
    ask(server.rest_port, PREDICT, text_body(8, 40))
    return server


def many_posts(checkout: Path, export: Path) -> Iterator[str]:
    """180 posts of 8 × 40 tokens at once"""
    with started(checkout, export) as server, Probe(server.rest_port) as probe:
        posts = Posts(server.rest_port, text_body(8, 40), POSTS)
        yield counted(posts.join())
        yield f"slowest {max(reply.seconds for reply in posts.replies):.1f} s"
    yield probed(probe)


def half_open(checkout: Path, export: Path) -> Iterator[str]:
    """300 connections without the end of their headers"""
    with (
        started(checkout, export) as server,
        open_connections(server.rest_port, FAULTY, HEAD),
        Probe(server.rest_port) as probe,
    ):
        time.sleep(WATCHED)
    yield probed(probe)


def dripping_headers(checkout: Path, export: Path) -> Iterator[str]:
    """300 connections that drip headers"""
    yield from dripping(checkout, export, HEAD + "X-Slow: ")


def dripping_bodies(checkout: Path, export: Path) -> Iterator[str]:
    """300 connections that drip a body"""
    yield from dripping(checkout, export, f"{HEAD}Content-Length: 1000\r\n\r\n")


def dripping(checkout: Path, export: Path, content: str) -> Iterator[str]:
    """Connections that send a byte a second."""
    with (
        started(checkout, export) as server,
        open_connections(server.rest_port, FAULTY, content) as connections,
    ):
        with Probe(server.rest_port) as probe:
            drip(connections, seconds=WATCHED, pause=1.0)
        yield probed(probe)
        left = drip(connections, seconds=LONGER - WATCHED, pause=1.0)
        yield f"{left} of {FAULTY} still open after {LONGER:.0f} s"


def large_answer(checkout: Path, export: Path) -> Iterator[str]:
    """posts of 32 × 40 tokens, one after another, beside a gRPC client of a word"""
    body, word = text_body(32, 40), text_request(["a"], "default").SerializeToString()
    replies, waits = [], []
    with (
        started(checkout, export) as server,
        grpc.insecure_channel(f"localhost:{server.port}") as channel,
    ):
        predict = channel.unary_unary(PREDICT_METHOD)
        predict(word)
        for _ in range(LARGE):
            posts = Posts(server.rest_port, body, 1)
            while not posts.replies:
                begin = time.monotonic()
                predict(word, timeout=300)
                waits.append(time.monotonic() - begin)
            posts.join()
            replies += posts.replies
    seconds = np.median([reply.seconds for reply in replies[1:]])
    yield f"{seconds:.2f} s (median of {LARGE}), {len(replies[0].content):,} bytes"
    yield f"gRPC p50 {np.median(waits) * 1e3:.0f} ms, slowest {max(waits):.2f} s"


def terminate(checkout: Path, export: Path) -> Iterator[str]:
    """SIGTERM while 60 posts of 32 × 60 tokens wait, grace of 1 s"""
    with started(checkout, export, f"--grace-seconds={GRACE}") as server:
        posts = Posts(server.rest_port, text_body(32, 60), 60)
        time.sleep(0.5)
        begin = time.monotonic()
        status = server.end()
        seconds = time.monotonic() - begin
        yield f"{counted(posts.join())}; status {status} after {seconds:.1f} s"


FAULTS = (
    many_posts,
    half_open,
    dripping_headers,
    dripping_bodies,
    large_answer,
    terminate,
)


def counted(statuses: collections.Counter) -> str:
    """How often each status came."""
    return ", ".join(f"{n} × {status}" for status, n in statuses.most_common())


def probed(probe: Probe) -> str:
    """How the status page was answered."""
    replies = len(probe.replies)
    return f"status page: {probe.missing} of {replies} missing, slowest {probe.slowest:.2f} s"


def main(arguments: Sequence[str] | None = None) -> int:
    """Prints the table; returns the exit status."""
    options = parser().parse_args(arguments)
    checkouts = [*options.before, ROOT]
    names = [fault.__name__ for fault in FAULTS]
    chosen = [f for f, name in zip(FAULTS, names) if name in (options.only or names)]
    return run_command(PROGRAM, lambda: report(checkouts, options.export, chosen))


def report(checkouts, export, faults) -> int:
    """Prints a row for each fault, a column for each checkout."""
    columns = ["before"] * (len(checkouts) - 1) + ["now"]
    print(row(["fault", *columns]), row(["---"] * (len(columns) + 1)), sep="\n")
    for fault in faults:
        cells = ["; ".join(fault(checkout, export)) for checkout in checkouts]
        print(row([fault.__doc__, *cells]), flush=True)
    return 0


def parser() -> argparse.ArgumentParser:
    """The command line."""
    p = command_parser(PROGRAM, __doc__)
    p.add_argument("export", metavar="EXPORT", type=Path)
    p.add_argument(
        "--before", metavar="CHECKOUT", type=Path, action="append", default=[]
    )
    names = [fault.__name__ for fault in FAULTS]
    p.add_argument("--only", nargs="+", choices=names, help="some of the faults")
    return p


if __name__ == "__main__":
    sys.exit(main())
