"""The processors and GPUs that Ray assigns to a worker, and no others."""

import contextlib
import sys

import tensorflow as tf


def use_assigned_devices() -> None:
    """Limits TensorFlow to the devices that Ray has assigned to this process.

    A worker with n processors computes with n threads, so that all workers of a
    machine together have as many threads as it has processors. Without a GPU
    assigned, none is used. Has no effect outside of a worker of Ray, or after
    TensorFlow has computed something.
    """
    assigned = _assigned()
    if assigned is None:
        return
    n_threads = max(1, int(assigned.get("CPU", 1)))
    with contextlib.suppress(RuntimeError):  # TensorFlow has begun to compute
        tf.config.threading.set_intra_op_parallelism_threads(n_threads)
        tf.config.threading.set_inter_op_parallelism_threads(n_threads)
        if not assigned.get("GPU"):
            tf.config.set_visible_devices([], "GPU")
        for gpu in tf.config.get_visible_devices("GPU"):
            tf.config.experimental.set_memory_growth(gpu, True)


def _assigned():
    """The resources of this worker by name; None if this process is no worker."""
    ray = sys.modules.get("ray")
    if ray is None or not ray.is_initialized():
        return None
    context = ray.get_runtime_context()
    if context.worker.mode != ray.WORKER_MODE:
        return None
    return context.get_assigned_resources()
