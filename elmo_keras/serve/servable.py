"""A loaded version of a model, whose graph is optimised once for all its outputs."""

import contextlib
import json
import logging
import os
import tempfile
import threading
from collections.abc import Iterator
from pathlib import Path

import grpc
import tensorflow as tf
from tensorflow.core.protobuf.saved_model_pb2 import SavedModel

# The optimiser has no public name; without it, graphs are served as they are.
from tensorflow.python.grappler import tf_optimizer
from tensorflow_serving.apis.get_model_metadata_pb2 import SignatureDefMap
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from elmo_keras.export.options import TOKENIZERS
from elmo_keras.export.sentences import tensorflow_text
from elmo_keras.export.version_paths import EXTRA, INFO, MODEL_NAME
from elmo_keras.serve.errors import RequestError, of_tensorflow
from elmo_keras.serve.lanes import Lane, run_options, session_config
from elmo_keras.serve.proto_tensors import decode
from elmo_keras.serve.signature import Arrays, Signature

DEFAULT_SIGNATURE = "serving_default"
WARM_UP = "assets.extra/tf_serving_warmup_requests"
MAX_WARM_UP_REQUESTS = 1000
# Sets of outputs of a signature: a session keeps a graph of megabytes for each.
MAX_CHOICES = 32
CPU = "/job:localhost/replica:0/task:0/device:CPU:0"
FETCHES = "train_op"  # the collection of the tensors that the optimiser keeps
NAME = tf.saved_model.SAVED_MODEL_FILENAME_PB
LOG = logging.getLogger(__name__)

_optimizing = threading.Lock()


class Servable:
    """A SavedModel in a session, which computes only what the fetched outputs need."""

    def __init__(
        self,
        directory: Path,
        name: str = MODEL_NAME,
        config: tf.compat.v1.ConfigProto | None = None,
    ):
        self.version, self.name, self.directory = int(directory.name), name, directory
        self._prepared: dict[int, set[tuple[str, ...]]] = {}
        self._lock = threading.Lock()
        info = directory / EXTRA / INFO
        about = json.loads(info.read_bytes()) if info.exists() else {}
        self.tokenizer = about.get("tokenizer", TOKENIZERS[0])
        config = config or session_config()
        try:
            self._session, graph = _session(directory, config)
        except tf.errors.NotFoundError as error:
            if "Op type not registered" not in str(error):
                raise
            tensorflow_text()  # registers its operations
            self._session, graph = _session(directory, config)
        self._set_signatures(dict(graph.signature_def))

    def _set_signatures(self, protos):
        self.signature_map = SignatureDefMap(signature_def=protos)
        self._signatures = {
            name: Signature.of(proto)
            for name, proto in protos.items()
            if proto.method_name == tf.saved_model.PREDICT_METHOD_NAME
        }

    @classmethod
    def warm(cls, directory: Path, **kwargs) -> "Servable":
        servable = cls(directory, **kwargs)
        try:
            servable.warm_up()
        except BaseException:
            servable.close()
            raise
        return servable

    def signature(self, name: str) -> Signature:
        name = name or DEFAULT_SIGNATURE
        if name not in self._signatures:
            raise RequestError(
                grpc.StatusCode.FAILED_PRECONDITION,
                f"The signatures are {sorted(self._signatures)}. Received: {name}",
            )
        return self._signatures[name]

    def run(
        self,
        signature: Signature,
        inputs: Arrays,
        keys: tuple[str, ...],
        *,
        lane: Lane = Lane.SHORT,
        seconds: float | None = None,
    ) -> Arrays:
        feeds = {signature.feeds[key]: array for key, array in inputs.items()}
        fetched = self._fetched(signature, keys)
        try:
            arrays = self._session.run(
                [signature.fetches[k] for k in fetched],
                feeds,
                options=run_options(lane, seconds),
            )
        except tf.errors.OpError as error:
            raise of_tensorflow(error) from error
        found = dict(zip(fetched, arrays))
        return {key: found[key] for key in keys}

    def _fetched(self, signature, keys):
        """`keys`, or after too many choices the smallest earlier one with all of them."""
        with self._lock:
            prepared = self._prepared.setdefault(id(signature), set())
            if keys not in prepared and len(prepared) >= MAX_CHOICES:
                larger = [choice for choice in prepared if set(keys) <= set(choice)]
                return min(larger, key=len, default=tuple(signature.outputs))
            prepared.add(keys)
        return keys

    def warm_up(self) -> int:
        path = self.directory / WARM_UP
        if not path.exists():
            return 0
        records = tf.data.TFRecordDataset(str(path)).take(MAX_WARM_UP_REQUESTS)
        logs = [PredictionLog.FromString(x) for x in records.as_numpy_iterator()]
        if not all(log.HasField("predict_log") for log in logs):
            raise ValueError(f"{WARM_UP} should hold only requests of Predict.")
        for request in (log.predict_log.request for log in logs):
            signature = self.signature(request.model_spec.signature_name)
            inputs = signature.arrays(request.inputs, decode)
            self.run(signature, inputs, signature.chosen(request.output_filter))
        return len(logs)

    def close(self) -> None:
        """Frees the memory; requests that are computed end with CANCELLED."""
        self._session.close()


def _session(directory, config):
    with optimized(directory) as folder:
        rewriting = config.graph_options.rewrite_options
        rewriting.disable_meta_optimizer = folder != directory
        session = tf.compat.v1.Session(graph=tf.Graph(), config=config)
        try:
            return session, tf.compat.v1.saved_model.load(
                session, [tf.saved_model.SERVING], str(folder)
            )
        except BaseException:
            session.close()
            raise


@contextlib.contextmanager
def optimized(directory: Path) -> Iterator[Path]:
    """A temporary folder with the optimised graph and links, or the directory itself.

    A session optimises the graph anew for each set of outputs, which takes seconds;
    from an optimised graph it only picks the operations that a set needs.
    """
    with contextlib.ExitStack() as stack:
        try:
            graph = _optimized(directory / NAME)
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
            (folder / NAME).write_bytes(graph.SerializeToString())
            for path in directory.iterdir():
                if path.name != NAME:
                    os.symlink(path.resolve(), folder / path.name)
        except Exception as error:  # the loader reports what is wrong with a file
            LOG.debug("The graph of %s can't be optimised: %s", directory, error)
            folder = directory
        yield folder


def _optimized(file):
    saved_model = SavedModel.FromString(file.read_bytes())
    (meta_graph,) = saved_model.meta_graphs
    given = type(meta_graph)()
    given.CopyFrom(meta_graph)
    for node in given.graph_def.node:
        node.device = node.device or CPU  # operations are fused for a known device
    given.collection_def.clear()
    kept = given.collection_def[FETCHES].node_list.value
    kept.extend(sorted(_tensors_to_keep(meta_graph)))
    with _optimizing:  # the optimiser allows one at a time
        graph = tf_optimizer.OptimizeGraph(tf.compat.v1.ConfigProto(), given)
    meta_graph.graph_def.CopyFrom(graph)
    return saved_model


def _tensors_to_keep(meta_graph):
    saver = meta_graph.saver_def
    names = {saver.restore_op_name, saver.filename_tensor_name, saver.save_tensor_name}
    for signature in meta_graph.signature_def.values():
        tensors = [*signature.inputs.values(), *signature.outputs.values()]
        names |= {tensor.name for tensor in tensors}
    for collection in meta_graph.collection_def.values():
        names |= set(collection.node_list.value)
    return names - {""}
