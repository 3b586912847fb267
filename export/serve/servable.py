"""A loaded version of a model."""

import json
import threading
from pathlib import Path

import grpc
import tensorflow as tf
from tensorflow.core.protobuf.meta_graph_pb2 import SignatureDef
from tensorflow_serving.apis.prediction_log_pb2 import PredictionLog

from ..sentences import TOKENIZERS, tensorflow_text
from ..version_paths import EXTRA, INFO, MODEL_NAME
from .errors import RequestError, of_tensorflow
from .lanes import Lane, run_options, session_config
from .optimized_graph import optimized
from .proto_tensors import decode_inputs
from .signature import Arrays, Signature

DEFAULT_SIGNATURE = "serving_default"
WARM_UP = "assets.extra/tf_serving_warmup_requests"
MAX_WARM_UP_REQUESTS = 1000
# Sets of outputs of a signature: a session keeps a graph of megabytes for each.
MAX_CHOICES = 32


class Servable:
    """A SavedModel in a session of its own.

    A session of TensorFlow 1 computes only what the fetched outputs need, whatever
    else the signature has, and lets other Python threads run meanwhile.

    Args:
        directory: the version's folder, named by its number.
        name: the name of the model.
        config: the configuration of the session, see `lanes.session_config`.

    Attributes:
        version: its number.
        signature_defs: name → signature as stored in the graph.
        tokenizer: name of the tokenizer of its sentences; exports of other programs
            split at spaces.

    Raises:
        ImportError: it needs tensorflow-text, which is not installed.
        OSError, tf.errors.OpError, ValueError: it can't be loaded.
    """

    def __init__(
        self,
        directory: Path,
        name: str = MODEL_NAME,
        config: tf.compat.v1.ConfigProto | None = None,
    ):
        self.version, self.name, self.directory = int(directory.name), name, directory
        self._prepared: dict[int, set[tuple[str, ...]]] = {}
        self._lock = threading.Lock()
        info, self.tokenizer = directory / EXTRA / INFO, TOKENIZERS[0]
        if info.exists():
            about = json.loads(info.read_text(encoding="utf-8"))
            self.tokenizer = about.get("tokenizer", self.tokenizer)
        self._session, graph = _session(directory, config or session_config())
        self.signature_defs: dict[str, SignatureDef] = dict(graph.signature_def)
        self._signatures = {
            name: Signature.of(proto)
            for name, proto in self.signature_defs.items()
            if proto.method_name == tf.saved_model.PREDICT_METHOD_NAME
        }

    def signature(self, name: str) -> Signature:
        """A signature by its name; an empty name means `serving_default`.

        Raises:
            RequestError: there is no such signature.
        """
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
        """The outputs `keys` of a signature for validated inputs.

        Args:
            signature: one of its signatures.
            inputs: key → array.
            keys: the outputs to compute.
            lane: the threads that compute them.
            seconds: time after which it is given up, or None.

        Raises:
            RequestError: the graph refuses the values, or time is up.
        """
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
        """The outputs to compute: `keys`, or after too many choices an earlier one.

        The smallest choice with all of `keys` is taken, and otherwise all outputs.
        """
        with self._lock:
            prepared = self._prepared.setdefault(id(signature), set())
            if keys not in prepared and len(prepared) >= MAX_CHOICES:
                larger = [choice for choice in prepared if set(keys) <= set(choice)]
                return min(larger, key=len, default=tuple(signature.outputs))
            prepared.add(keys)
        return keys

    def warm_up(self) -> int:
        """Answers the warm-up requests of the version; returns their number.

        Raises:
            RequestError: one of them fails.
            ValueError, tf.errors.OpError: the file is damaged.
        """
        path = self.directory / WARM_UP
        if not path.exists():
            return 0
        records = tf.data.TFRecordDataset(str(path)).take(MAX_WARM_UP_REQUESTS)
        logs = [PredictionLog.FromString(x) for x in records.as_numpy_iterator()]
        if not all(log.HasField("predict_log") for log in logs):
            raise ValueError(f"{WARM_UP} should hold only requests of Predict.")
        for request in (log.predict_log.request for log in logs):
            signature = self.signature(request.model_spec.signature_name)
            inputs = decode_inputs(request.inputs, signature)
            self.run(signature, inputs, signature.chosen(request.output_filter))
        return len(logs)

    def close(self) -> None:
        """Frees the memory; requests that are computed end with CANCELLED."""
        self._session.close()


def _session(directory, config):
    """A session of a SavedModel, and the meta graph with its signatures."""
    try:
        return _loaded(directory, config)
    except tf.errors.NotFoundError as error:
        if "Op type not registered" not in str(error):
            raise
    tensorflow_text()  # registers its operations
    return _loaded(directory, config)


def _loaded(directory, config):
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
