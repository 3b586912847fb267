"""Threads of TensorFlow for short requests, and others for long ones.

The loop of an LSTM holds a thread from the first token to the last. A long request
would hold every thread of a pool that it shares, and short ones would wait for its end.
So long ones have threads of their own, and the operating system prefers the others.
"""

import contextlib
import enum
import functools
import os
import threading

import tensorflow as tf

NICENESS = 5  # added to that of the process, for the threads of long requests
DIRECTIONS = 2  # loops that one request runs at the same time


class Lane(enum.IntEnum):
    SHORT = 0
    LONG = 1


def session_config(
    threads: int | None = None, concurrent: int = 2
) -> tf.compat.v1.ConfigProto:
    """The configuration of a session; all sessions share a pool for each lane."""
    sizes = DIRECTIONS * concurrent, DIRECTIONS
    _make_pools(threads, sizes)
    return _config(threads, zip(Lane, sizes))


def _config(threads, pools):
    config = tf.compat.v1.ConfigProto(intra_op_parallelism_threads=threads or 0)
    for lane, size in pools:
        pool = config.session_inter_op_thread_pool.add(num_threads=size)
        pool.global_name = f"elmo_keras {lane.name} {size}"
    return config


def run_options(lane: Lane, seconds: float | None = None) -> tf.compat.v1.RunOptions:
    milliseconds = 0 if seconds is None else max(int(seconds * 1000), 1)
    return tf.compat.v1.RunOptions(
        inter_op_thread_pool=lane, timeout_in_ms=milliseconds
    )


@functools.cache
def _make_pools(threads, sizes):
    """Makes the pools: their threads inherit the niceness of the thread that does."""
    short, long = (_config(threads, [pool]) for pool in zip(Lane, sizes))
    _make_pool(short)  # first, because it also makes the threads within operations
    thread = threading.Thread(target=_make_pool, args=(long, NICENESS))
    thread.start()
    thread.join()


def _make_pool(config, niceness=0):
    if niceness and hasattr(os, "setpriority"):
        with contextlib.suppress(OSError):
            # On Linux this is the priority of the calling thread alone.
            thread = threading.get_native_id()
            niceness += os.getpriority(os.PRIO_PROCESS, thread)
            os.setpriority(os.PRIO_PROCESS, thread, niceness)
    tf.compat.v1.Session(graph=tf.Graph(), config=config).close()
