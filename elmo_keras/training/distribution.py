"""Replicas: one device, several devices of a machine, or several machines."""

import functools
import json
import os
from typing import Any

import tensorflow as tf

from elmo_keras.base.files import naming_damage
from elmo_keras.mirrored_strategy import MirroredStrategy


def make_strategy(n_replicas: int | None = None) -> tf.distribute.Strategy:
    """The strategy for this machine; call it before TensorFlow runs anything.

    `MultiWorkerMirroredStrategy` if `TF_CONFIG` in the environment names several
    workers; otherwise `MirroredStrategy` over this number of replicas, by default one
    for each GPU, or over logical CPUs if there is no GPU.
    """
    if _n_workers() > 1:
        return tf.distribute.MultiWorkerMirroredStrategy()
    gpus = tf.config.list_physical_devices("GPU")
    n_replicas = n_replicas or max(1, len(gpus))
    if n_replicas == 1:
        return tf.distribute.get_strategy()
    if gpus and n_replicas > len(gpus):
        raise ValueError(
            f"`replicas` should be at most {len(gpus)}, the number of GPUs. Received: "
            f"{n_replicas}"
        )
    (cpu,) = tf.config.list_physical_devices("CPU")
    parts = tf.config.get_logical_device_configuration(cpu) or ()
    if not gpus and len(parts) < n_replicas:
        part = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, n_replicas * [part])
    kind = "GPU" if gpus else "CPU"
    return MirroredStrategy([f"{kind}:{i}" for i in range(n_replicas)])


def _n_workers():
    with naming_damage("TF_CONFIG should be JSON with `cluster` and `task`."):
        config = json.loads(os.environ.get("TF_CONFIG") or "{}")
        cluster = config.get("cluster", {})
        return sum(len(cluster.get(job, ())) for job in ("chief", "worker"))


def n_workers(strategy: tf.distribute.Strategy) -> int:
    resolver = strategy.cluster_resolver
    if resolver is None or resolver.task_type is None:
        return 1
    cluster = resolver.cluster_spec()
    return sum(map(cluster.num_tasks, cluster.jobs))


def worker(strategy: tf.distribute.Strategy) -> int:
    """The index of this process; process 0 writes the files."""
    if n_workers(strategy) == 1:
        return 0
    resolver = strategy.cluster_resolver
    has_chief = "chief" in resolver.cluster_spec().jobs
    return resolver.task_id + (has_chief and resolver.task_type == "worker")


def n_local_replicas(strategy: tf.distribute.Strategy) -> int:
    return strategy.num_replicas_in_sync // n_workers(strategy)


def scatter_rows(strategy: tf.distribute.Strategy, rows: Any) -> Any:
    return _on_replicas(strategy, _replica_rows)(rows)


def _replica_rows(rows):
    context = tf.distribute.get_replica_context()
    replica = context.replica_id_in_sync_group
    n = context.num_replicas_in_sync

    def share(x):
        size = x.shape[0] // n
        return tf.convert_to_tensor(x)[replica * size : (replica + 1) * size]

    return tf.nest.map_structure(share, rows)


@functools.cache
def _on_replicas(strategy, function):
    """The function on all replicas, one graph for all calls with the same shapes."""
    return tf.function(lambda *args: strategy.run(function, args), autograph=False)


def gather_rows(strategy: tf.distribute.Strategy, rows: Any) -> Any:
    """The rows of all replicas, in their order, as NumPy arrays."""

    def join(x):
        if n_workers(strategy) > 1:
            return strategy.gather(x, axis=0).numpy()
        return tf.concat(strategy.experimental_local_results(x), axis=0).numpy()

    return tf.nest.map_structure(join, rows)


def sum_over_workers(strategy: tf.distribute.Strategy, array: Any) -> Any:
    """The sum of an array over all processes; every process gets it."""
    if n_workers(strategy) == 1:
        return array
    share = tf.constant(array, tf.float64) / n_local_replicas(strategy)
    total = _on_replicas(strategy, _all_reduce)(share)
    return strategy.experimental_local_results(total)[0].numpy()


def _all_reduce(share):
    share = tf.identity(share)  # a graph's argument has no device
    return tf.distribute.get_replica_context().all_reduce("SUM", share)
